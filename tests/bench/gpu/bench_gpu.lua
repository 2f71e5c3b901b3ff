-- The figures of a GPU run: what an evaluation and its steps cost, how often a
-- kernel wins against itself, and how far short searches get beside torch.
--   kernelband run tests/bench/gpu/bench_gpu.lua [part ..] [policy=NAME] [seed=N] [task=NAME,..]
--                                                         [out=DIR]
-- Parts: steps cost aa search. The last four are for searches, whose runs are kept in DIR/TASK.
package.path = (arg[0]:match "^(.*)/bench/" or "tests") .. "/lib/?.lua;" .. package.path
local kb       = require "kernelband"
local core     = require "kernelband.core"
local evaluate = require "kernelband.evaluate"
local points   = require "points"
local progress = require "kernelband.search.progress"
local rooms    = require "kernelband.evaluate.room"
local task     = require "kernelband.task"
local worker   = require "kernelband.worker"

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
if not next(wanted) then wanted = { steps = true, cost = true, aa = true, search = true } end

local function say(...)
  print(string.format(...))
  io.stdout:flush()
end

local function judge(evaluator, source, options)
  return assert(evaluator.evaluate({ source = source }, options or {}))
end

-- Sources of n valid points of a task's schedule.
local function drawn(t, n, seed)
  local rng, out = core.rng(seed), {}
  for i = 1, n do out[i] = t.schedule.emit(points.valid(t.schedule, rng)) end
  return out
end

-- Milliseconds of call(i), one a repetition.
local function laps(n, call)
  local out = {}
  for i = 1, n do
    local start = core.system.now_ns()
    call(i)
    out[i] = (core.system.now_ns() - start) / 1e6
  end
  return out
end

-- Steps of an evaluation by themselves, in this process: an element-wise kernel
-- compiled 20 times, never twice the same text, and its counters by either set.
local function steps()
  local t = task.for_language(task.load(here .. "/../../lib/tasks/axpy"), "cuda")
  local session = evaluate.open(t, evaluate.device "cuda:0")
  local source = task.source(t, "baseline")
  local compile = laps(20, function(i)
    local unique = ("%s// %d %d\n"):format(source, i, core.system.now_ns())
    local kernel, log = rooms.build(session, unique)
    if not kernel then error(log) end
    kernel.object:close()
  end)
  say("compile and admission of a small kernel, median of 20: %.0f ms (target 60), longest %.0f",
      median(compile), math.max(table.unpack(compile)))
  local program = session.timed[1].baseline
  for _, set in ipairs { "lean", "search" } do
    local took = laps(20, function() assert(program:profile(set)) end)
    say("profile of one kernel by the %s set, median of 20: %.0f ms (target %s), first %.0f, "
        .. "%.0f to %.0f", set == "search" and "one-pass" or "two-pass", median(took),
        set == "search" and "30, to try for" or "50", took[1], math.min(table.unpack(took)),
        math.max(table.unpack(took)))
  end
  session:close()
end

-- From an endless kernel's deadline to the next candidate being evaluated.
local function after_a_hang()
  local root = here .. "/../.."
  local hang = assert(core.system.read_file(root .. "/candidates/hostile_cuda/never_returns.cu"))
  local t = task.for_language(task.load(root .. "/lib/tasks/axpy"), "cuda")
  local evaluator = worker.start { task = t, device = "cuda:0" }
  evaluator.baseline()
  local waits = {}
  for i = 1, 9 do
    core.system.sleep_ns(second_ns)     -- a search's spare worker has got ready
    local out = judge(evaluator, hang)
    assert(out.verdict == "timeout", out.reason)
    local start = core.system.now_ns()
    local later = judge(evaluator, task.source(t, "baseline"))
    waits[i] = (core.system.now_ns() - start) / 1e6 - later.seconds.total * 1e3
  end
  evaluator.close()
  say("from an endless kernel's deadline to the next candidate, median of %d: %.0f ms "
      .. "(target 500), longest %.0f", #waits, median(waits), math.max(table.unpack(waits)))
end

local every = {}                        -- ms of all evaluations of cost

local function cost(name)
  local t = task.for_language(task.load("examples/tasks/" .. name), "cuda")
  local evaluator = worker.start { task = t, device = "cuda:0" }
  evaluator.baseline()
  local parts = { build = {}, check = {}, time = {}, profile = {}, total = {} }
  local n = 0
  local sources = drawn(t, 24, 7)
  for _, source in ipairs(sources) do
    local out = judge(evaluator, source)
    if out.verdict == "ok" then
      n = n + 1
      for part, list in pairs(parts) do list[n] = out.seconds[part] * 1e3 end
      every[#every + 1] = out.seconds.total * 1e3
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
    if option.task and not ("," .. option.task .. ","):find("," .. name .. ",", 1, true) then
      goto continue
    end
    local own = kb.task("examples/tasks/" .. name)
    local schedule = task.for_language(own, "cuda").schedule
    local start, others = core.system.now_ns(), {}
    local function note(pull)
      if pull.verdict ~= "ok" then
        local params = pull.candidate and pull.candidate.params
        others[#others + 1] = ("  pull %d, %s: %s (%s)"):format(pull.n, pull.verdict,
          tostring(pull.reason):match "[^\n]*",
          params and points.describe(schedule, params) or "no point of the schedule")
      end
    end
    local best = kb.search { task = own, device = "cuda:0",
                             policy = policy, budget = { steps = 60 },
                             out = option.out and option.out .. "/" .. name,
                             seed = tonumber(option.seed), quiet = true, on_pull = note }
    local us = best.shapes[1].time_ns / 1e3
    local lib = library[name]
    say("%-14s %8.1f us, library %8s us, ratio %s (target %.2f), %.1fx baseline, %.0f %% of peak, "
        .. "%d pulls (%s), %.0f s", name, us, lib and ("%.1f"):format(lib) or "-",
        lib and ("%.2f"):format(lib / us) or "-", goal[2], best.shapes[1].speedup,
        100 * best.shapes[1].share_of_peak, best.pulls, progress.counts(best.verdicts),
        (core.system.now_ns() - start) / 1e9)
    for _, line in ipairs(others) do say("%s", line) end
    ::continue::
  end
end

local device = assert(core.device "cuda:0")
local about, roof = device:describe(), device:roofline()
device:close()
say("%s, %s; %.1f TFLOP/s fp32, %.0f TFLOP/s bf16 by mma.sync, copy %.0f GB/s", about.name,
    about.driver, roof.f32_flops_per_s / 1e12, roof.bf16_flops_per_s / 1e12,
    roof.dram_copy_bytes_per_s / 1e9)
if wanted.steps then
  steps()
  collectgarbage()      -- one process at a time can have the counters: this one lets go of them
  collectgarbage()      -- what was still referred to at the first
  after_a_hang()
end
if wanted.cost then
  for _, name in ipairs { "reduce_sum", "gelu_bias", "rmsnorm" } do cost(name) end
  say("all %d evaluations together, median: %.0f ms", #every, median(every))
end
if wanted.aa then against_itself("rmsnorm", 200) end
if wanted.search then searches() end
