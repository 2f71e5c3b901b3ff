-- The CUDA device on a real GPU: every file of tests/hostile_cuda gets the
-- verdict in its first line, a killed worker is replaced, two engines share the
-- GPU, counters are there or say why not. Run by make check-gpu.
local t      = require "harness"
local core   = require "kernelband.core"
local task   = require "kernelband.task"
local worker = require "kernelband.worker"
local system = core.system

if core.gpus() == 0 then
  print "skipped: no NVIDIA GPU, or no driver, on this machine"
  print "0 passed, 0 failed"
  return
end

local root = arg[0]:match "^(.*)/" or "."
local axpy = task.load(root .. "/tasks/axpy")
local good = assert(system.read_file(root .. "/tasks/axpy/baseline.cu"))
local second_ns = 10 ^ 9 // 1

local function open() return worker.start { task = axpy, device = "cuda:0" } end

local function judge(evaluator, source, options)
  evaluator.submit(1, { source = source }, options or {})
  for _ = 1, 120 do
    local ticket, out, code = evaluator.next(second_ns)
    if ticket then return out end
    if code ~= "ETIME" and code ~= "EINTR" then error(out) end
  end
  error "no answer in two minutes"
end

local evaluator = open()
t.test("the baseline is ok", function() t.equal(evaluator.baseline().verdict, "ok") end)

local names = assert(system.list(root .. "/hostile_cuda"))
for _, name in ipairs(names) do
  local source = assert(system.read_file(root .. "/hostile_cuda/" .. name))
  local want = source:match "expect: ([%a_]+)"
  t.test(("%s is %s"):format(name, want), function()
    local out = judge(evaluator, source)
    t.equal(out.verdict, want, out.reason)
  end)
  t.test("after it a good kernel is judged", function()
    t.equal(judge(evaluator, good).verdict, "ok")
  end)
end

t.test("from a hang's deadline to the next verdict takes half a second", function()
  local hang = assert(system.read_file(root .. "/hostile_cuda/never_returns.cu"))
  local waits = {}
  for i = 1, 5 do
    system.sleep_ns(second_ns)          -- the spare gets ready
    local out = judge(evaluator, hang)
    t.equal(out.verdict, "timeout", out.reason)
    local start = system.now_ns()
    local after = judge(evaluator, good)
    waits[i] = (system.now_ns() - start) / 1e6 - after.seconds.total * 1e3
  end
  print(("kill to ready: %.0f ms (median of 5, target 500 ms)"):format(core.stats.median(waits)))
  t.equal(core.stats.median(waits) < 5000, true)    -- a bound on sanity; the figure is the bench's
end)

t.test("counters are there, or say why not", function()
  local out = judge(evaluator, good, { profile = true })
  t.equal(out.verdict, "ok", out.reason)
  t.equal(#out.evidence.phi, 9)
  local measured = 0
  for _, kind in ipairs(out.evidence.phi_kind) do
    if kind == "measured" then measured = measured + 1 end
  end
  print(("phi: %d of 9 measured"):format(measured))
end)

t.test("two engines share the GPU", function()
  local other = open()
  t.equal(other.baseline().verdict, "ok")
  evaluator.submit(1, { source = good }, {})
  other.submit(1, { source = good }, {})
  for _, e in ipairs { evaluator, other } do
    local ticket, out
    repeat ticket, out = e.next(second_ns) until ticket
    t.equal(out.verdict, "ok", out.reason)
  end
  other.close()
end)
evaluator.close()
t.finish()
