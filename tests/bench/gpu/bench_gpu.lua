-- The figures of a GPU run: what an evaluation costs, how often a kernel wins
-- against itself, and how far short searches get beside torch.
--   kernelband run tests/bench/gpu/bench_gpu.lua [part ..] [policy=NAME] [seed=N] [task=NAME]
-- Parts: cost aa search. The last three are for searches.
local kb     = require "kernelband"
local core   = require "kernelband.core"
local task   = require "kernelband.task"
local worker = require "kernelband.worker"

local second_ns = 10 ^ 9 // 1
local median = core.stats.median
local here = arg[0]:match "^(.*)/" or "."

if core.gpus() == 0 then
  print "skipped: no NVIDIA GPU, or no driver, on this machine"
  return
end

local wanted, option = {}, { seed = "1" }
for i = 1, #arg do
  local key, value = arg[i]:match "^(%a+)=(.+)$"
  if key then option[key] = value else wanted[arg[i]] = true end
end
if not next(wanted) then wanted = { cost = true, aa = true, search = true } end

local function say(...)
  print(string.format(...))
  io.stdout:flush()
end

local function judge(evaluator, source, options)
  evaluator.submit(1, { source = source }, options or {})
  while true do
    local ticket, out, code = evaluator.next(second_ns)
    if ticket then return out end
    if code ~= "ETIME" and code ~= "EINTR" then error(out) end
  end
end

-- Valid points of a task's schedule, drawn evenly.
local function points(t, n, seed)
  local rng, out = core.rng(seed), {}
  while #out < n do
    local p = {}
    for _, q in ipairs(t.schedule.parameters) do p[q[1]] = q[2][1 + rng:below(#q[2])] end
    if t.schedule.valid(p) then out[#out + 1] = t.schedule.emit(p) end
  end
  return out
end

local function cost(name)
  local t = task.for_language(task.load("examples/tasks/" .. name), "cuda")
  local evaluator = worker.start { task = t, device = "cuda:0" }
  evaluator.baseline()
  local parts = { build = {}, check = {}, time = {}, profile = {}, total = {} }
  local n = 0
  local sources = points(t, 24, 7)
  for _, source in ipairs(sources) do
    local out = judge(evaluator, source)
    if out.verdict == "ok" then
      n = n + 1
      for part, list in pairs(parts) do list[n] = out.seconds[part] * 1e3 end
    end
  end
  evaluator.close()
  say("evaluation of %s candidates, median of %d ok of 24: %.0f ms (target 250): build %.0f, "
      .. "check %.0f, time %.0f, lean profile %.0f (target 50)",
      name, n, median(parts.total), median(parts.build), median(parts.check),
      median(parts.time), median(parts.profile))
end

local function against_itself(name, times)
  local t = task.for_language(task.load("examples/tasks/" .. name), "cuda")
  local evaluator = worker.start { task = t, device = "cuda:0" }
  evaluator.baseline()
  local source, wins, worst = task.source(t, "baseline"), 0, 0
  for _ = 1, times do
    local out = judge(evaluator, source)
    assert(out.verdict == "ok", out.reason)
    if out.win then wins = wins + 1 end
    worst = math.max(worst, math.abs(math.log(out.speedup)))
  end
  evaluator.close()
  say("A/A: %s against itself, %d evaluations: %d called a win (at most %d), largest |log| %.4f",
      name, times, wins, times // 100, worst)
end

local function torch_times()
  local out = {}
  local pipe = io.popen(("python3 %s/torch_ops.py 2>/dev/null"):format(here))
  for line in pipe:lines() do
    local name, us = line:match "^(%S+) ([%d.]+)$"
    if name then out[name] = tonumber(us) end
  end
  pipe:close()
  return out
end

-- name, the least speed beside the library that is asked for.
local goals = { { "softmax", 1 }, { "rmsnorm", 1 }, { "layernorm", 1 }, { "reduce_sum", 1 },
                { "transpose", 1 }, { "gelu_bias", 1 }, { "cross_entropy", 1 },
                { "gemm_f32", 0.8 }, { "gemm_bf16", 0.4 }, { "attention_fwd", 0.25 } }

local function searches()
  local library = torch_times()
  local policy = option.policy and kb.policy(option.policy)
  for _, goal in ipairs(goals) do
    local name = goal[1]
    if option.task and option.task ~= name then goto continue end
    local start = core.system.now_ns()
    local best = kb.search { task = kb.task("examples/tasks/" .. name), device = "cuda:0",
                             policy = policy, budget = { steps = 60 },
                             seed = tonumber(option.seed), quiet = true }
    local us = best.shapes[1].time_ns / 1e3
    local bad = best.pulls - (best.verdicts.ok or 0)
    local lib = library[name]
    say("%-14s %8.1f us, library %8s us, ratio %s (target %.2f), %.1fx baseline, %.0f %% of peak, "
        .. "%d pulls, %d not ok, %.0f s", name, us, lib and ("%.1f"):format(lib) or "-",
        lib and ("%.2f"):format(lib / us) or "-", goal[2], best.shapes[1].speedup,
        100 * best.shapes[1].share_of_peak, best.pulls, bad,
        (core.system.now_ns() - start) / 1e9)
    ::continue::
  end
end

local device = assert(core.device "cuda:0")
local about, roof = device:describe(), device:roofline()
device:close()
say("%s, %s; %.1f TFLOP/s fp32, %.0f TFLOP/s bf16 by mma.sync, copy %.0f GB/s", about.name,
    about.driver, roof.f32_flops_per_s / 1e12, roof.bf16_flops_per_s / 1e12,
    roof.dram_copy_bytes_per_s / 1e9)
if wanted.cost then
  for _, name in ipairs { "reduce_sum", "gelu_bias", "rmsnorm" } do cost(name) end
end
if wanted.aa then against_itself("rmsnorm", 200) end
if wanted.search then searches() end
