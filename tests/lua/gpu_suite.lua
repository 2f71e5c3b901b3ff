-- The CUDA device on a real GPU: every file of tests/candidates/hostile_cuda gets its
-- verdict, every one of tests/candidates/honest_cuda is ok, a good kernel is judged after
-- each; a killed worker is replaced, two engines share the GPU, counters are
-- there or say why not. Run by make check-gpu.
--   kernelband run tests/lua/gpu_suite.lua [TIMES [WORD]]
-- TIMES: each candidate that often, 20 in the soak; the slow ones only then.
-- WORD: only candidates with it in their names, and nothing else.
package.path = "tests/lib/?.lua;" .. package.path
local t          = require "harness"
local asked = require "asked"
local candidates = require "candidates"
local core       = require "kernelband.core"
local task       = require "kernelband.task"
local worker     = require "kernelband.worker"
local system = core.system

if core.gpus() == 0 then
  print "skipped: no NVIDIA GPU, or no driver, on this machine"
  print "0 passed, 0 failed"
  return
end

local times = math.tointeger(tonumber(arg[1] or 1))
local word = arg[2] or ""
local root = "tests"
local axpy = task.load(root .. "/lib/tasks/axpy")
local good = assert(system.read_file(root .. "/lib/tasks/axpy/baseline.cu"))
local second_ns = 10 ^ 9 // 1

local function open() return asked(worker.start { task = axpy, device = "cuda:0" }) end

local function next_answer(evaluator)
  for _ = 1, 120 do
    local ticket, out, code = evaluator.next(second_ns)
    if ticket then return out end
    if code ~= "ETIME" and code ~= "EINTR" then error(out, 0) end
  end
  error("no answer in two minutes", 0)
end

local function judge(evaluator, source, options)
  evaluator.submit(1, { source = source }, options or {})
  return next_answer(evaluator)
end

-- The two suites ----------------------------------------------------------------

local function listed(folder)
  local out = {}
  for _, c in ipairs(candidates.list(root .. "/candidates/" .. folder, "cuda")) do
    if c.name:find(word, 1, true) and (times > 1 or not c.slow) then out[#out + 1] = c end
  end
  return out
end

local all = listed "hostile_cuda"
table.move(listed "honest_cuda", 1, 1000, #all + 1, all)
local after = {}                        -- hostile ones after which a good kernel was not ok
local tally = candidates.judge(root, all, "cuda:0", times, function(evaluator, c, out, round)
  if round > 1 then return end
  print(("%-38s %-13s %5.2f s  %s"):format(c.name, out.verdict, out.seconds.total or 0,
        out.reason or ("%.2f"):format(out.speedup or 0)))
  if c.task == "axpy" and not c.honest then
    local then_ok = assert(evaluator.evaluate({ source = good }, {}))
    if then_ok.verdict ~= "ok" then
      after[#after + 1] = ("  %s: %s: %s"):format(c.name, then_ok.verdict, then_ok.reason)
    end
  end
end)
t.test("every candidate gets its verdict", function()
  t.equal(table.concat(tally.rows, "\n"), "")
end)
t.test("after each hostile one a good kernel is judged", function()
  t.equal(table.concat(after, "\n"), "")
end)
print(candidates.table { { "CUDA", tally, times } })
print(("%.0f s"):format(tally.seconds))
if word ~= "" then return t.finish() end

-- What goes wrong around them ------------------------------------------------------

local evaluator = open()
t.test("the baseline is ok", function() t.equal(evaluator.baseline().verdict, "ok") end)

t.test("from a hang's deadline to the next verdict takes half a second", function()
  local hang = assert(system.read_file(root .. "/candidates/hostile_cuda/never_returns.cu"))
  local waits = {}
  for i = 1, 5 do
    system.sleep_ns(second_ns)          -- the spare gets ready
    local out = judge(evaluator, hang)
    t.equal(out.verdict, "timeout", out.reason)
    local start = system.now_ns()
    local later = judge(evaluator, good)
    waits[i] = (system.now_ns() - start) / 1e6 - later.seconds.total * 1e3
  end
  print(("kill to ready: %.0f ms (median of 5, target 500 ms)"):format(core.stats.median(waits)))
  t.equal(core.stats.median(waits) < 5000, true)    -- a bound on sanity; the figure is the bench's
end)

t.test("a worker killed twice during the launches of a candidate costs that one", function()
  local hang = assert(system.read_file(root .. "/candidates/hostile_cuda/never_returns.cu"))
  for i = 1, 3 do
    system.sleep_ns(second_ns)
    evaluator.submit(1, { source = hang }, {})
    evaluator.next(second_ns // 10 * i // 2)          -- into the compile, into the hang
    if not candidates.kill_worker() then return print "skipped: no /proc/thread-self/children" end
    evaluator.next(second_ns // 100)
    while evaluator.state()[1].state ~= "busy" do evaluator.next(second_ns // 100) end
    evaluator.next(second_ns // 10)
    candidates.kill_worker()
    local out = next_answer(evaluator)
    t.equal(out.verdict, "crashed", out.reason)
    t.contains(out.reason, "the worker died")
    t.equal(judge(evaluator, good).verdict, "ok")
  end
end)

t.test("a worker killed while idle costs no candidate", function()
  if not candidates.kill_worker() then return end
  t.equal(judge(evaluator, good).verdict, "ok")
end)

t.test("a confirmation is made by a new process", function()
  local out = judge(evaluator, good, { confirm = true })
  t.equal(out.verdict, "ok", out.reason)
  t.equal(#out.shapes[1].samples.candidate >= 8, true)
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

t.test("the tasks of examples open, and their judges are awake", function()
  local folder = root .. "/../examples/tasks"
  local slept = {}
  for _, name in ipairs(assert(system.list(folder))) do
    local own = task.load(folder .. "/" .. name)
    if own.baseline.cuda then
      local start = system.now_ns()
      local e = worker.start { task = own, device = "cuda:0" }
      local ok, out = pcall(e.baseline)
      if not ok or out.verdict ~= "ok" then slept[#slept + 1] = name .. ": " .. tostring(out) end
      print(("%-20s %4.1f s  mutants caught %s, not applicable: %s"):format(name,
            (system.now_ns() - start) / 1e9, ok and out.mutants.caught or "-",
            ok and table.concat(out.mutants.none, ", ") or ""))
      e.close()
    end
  end
  t.equal(table.concat(slept, "\n"), "")
end)

t.test("two engines share the GPU", function()
  local other = open()
  t.equal(other.baseline().verdict, "ok")
  for _ = 1, 3 do
    evaluator.submit(1, { source = good }, {})
    other.submit(1, { source = good }, {})
    for _, e in ipairs { evaluator, other } do
      local out = next_answer(e)
      t.equal(out.verdict, "ok", out.reason)
      t.equal(out.speedup > 0.8 and out.speedup < 1.25, true, tostring(out.speedup))
    end
  end
  local hang = assert(system.read_file(root .. "/candidates/hostile_cuda/never_returns.cu"))
  evaluator.submit(1, { source = hang }, {})          -- and one of them hangs it
  other.submit(1, { source = good }, {})
  t.equal(next_answer(other).verdict, "ok")
  t.equal(next_answer(evaluator).verdict, "timeout")
  other.close()
end)
evaluator.close()
t.finish()
