-- The paper's benchmark: a search on every operator of TritonBench-G, and the table.
--   kernelband run examples/tritonbench.lua DIR [only=a,b] [steps=20] [out=runs/tritonbench]
--                  [jobs=1] [model=NAME] [policy=FILE] [seed=1] [survey=yes|again]
--                  [counters=no] [limit=S] [pairs=3] [pairs_from=0]
-- DIR is a checkout of TritonBench, of GEAK-eval, or a folder of such files. Without a
-- model the built-in generator varies block sizes, warps and stages. survey=yes only asks
-- whether each untouched reference is judged ok, and how fast it is against itself;
-- pairs of processes, new ones each, do so: two processes are not quite alike, least so where
-- the host holds calls up: there it is twice as many. In every second pair the other process
-- makes the first calls. The median of each of these two kinds is taken and the mean of both
-- counts; an odd number of pairs is rounded up.
-- pairs_from=0.005 asks for more than one only where the first is that far from 1;
-- survey=again judges it once more, as a candidate; with out=FOLDER whole evaluations are
-- kept there, and what is there is not asked again. jobs=4 works on four operators at once:
-- one is timed while others are compiled and checked. limit is the seconds that a reference
-- has: 240, or 480 of several at once, which share processors and GPU.
-- Stopped, it goes on by the same command: what is done is read, what is begun is resumed.
local kb      = require "kernelband"
local core    = require "kernelband.core"
local json    = require "kernelband.base.json"
local jobs    = require "kernelband.base.jobs"
local run     = require "kernelband.store.run"
local text    = require "kernelband.base.text"
local worker  = require "kernelband.worker"

local opt = { steps = "20", seed = "1", jobs = "1", pairs = "3", pairs_from = "0" }
for i = 2, #arg do
  local key, value = arg[i]:match "^([%w_]+)=(.+)$"
  if not key then error(("expected name=value, got '%s'"):format(arg[i]), 0) end
  opt[key] = value
end
if not arg[1] then error("which folder? kernelband run examples/tritonbench.lua DIR", 0) end
local at_once = math.tointeger(tonumber(opt.jobs))
if not at_once or at_once < 1 then error(("jobs=%s: expected 1 or more"):format(opt.jobs), 0) end
local pairs_most, pairs_from = math.tointeger(tonumber(opt.pairs)), tonumber(opt.pairs_from)
if not pairs_most or pairs_most < 1 or not pairs_from then
  error(("pairs=%s pairs_from=%s: expected 1 or more, and a number such as 0.005"):format(opt.pairs,
    opt.pairs_from), 0)
end

local limit = tonumber(opt.limit or at_once > 1 and 480 or 240)
if not limit or limit <= 0 then error(("limit=%s: expected seconds"):format(opt.limit), 0) end

local only
for name in (opt.only or ""):gmatch "[^,]+" do
  only = only or {}
  only[#only + 1] = name
end
local tasks = kb.import.tritonbench(arg[1], { only = only })
for _, task in ipairs(tasks) do
  task.job.counters, task.job.open_s = opt.counters ~= "no", limit
  if opt.survey then
    task.job.pairs, task.job.pairs_from = pairs_most, pairs_from
    task.job.baseline_only = opt.survey ~= "again"      -- no process waits for a candidate
  end
end
io.write(("%d operators in %s, %g s for a reference\n"):format(#tasks, tasks.kernels, limit))
local bare = 0
for _, task in ipairs(tasks) do bare = bare + (task.perf_missing and 1 or 0) end
if bare > 0 then
  io.write(("%d of them without a performance script (%s): their tests are timed, whose "
    .. "tensors are small\n"):format(bare, tasks.perf and "in " .. tasks.perf
    or "DIR has none: a whole checkout does"))
end
for _, s in ipairs(tasks.skipped) do io.write(("skipped  %s: %s\n"):format(s.name, s.why)) end

local first_line = text.first_line

-- Several at once -----------------------------------------------------------------------

-- This script for one operator each, in processes of their own; what they leave in their
-- folders is then read as if it had been here all along. Returns what each said last.
local function shared_out(undone)
  local names, children, said = {}, {}, {}
  local shared = { ("limit=%g"):format(limit) }
  for i = 2, #arg do
    local key = arg[i]:match "^[%w_]+"
    if key ~= "jobs" and key ~= "only" and key ~= "limit" then shared[#shared + 1] = arg[i] end
  end
  for _, task in ipairs(tasks) do
    if undone(task) then
      names[#names + 1] = task.name
      children[#names] = { argv = { core.system.exe(), "run", arg[0], arg[1],
                                    "only=" .. task.name, table.unpack(shared) },
                           timeout_ns = 3600 * 10 ^ 9 // 1, max_bytes = 4 << 20 }
    end
  end
  jobs.run(at_once, children, function(i, r, why)
    local name = names[i]
    if not r then
      said[name] = why
    elseif r.status ~= 0 then
      said[name] = first_line(r.errors)
    else
      said[name] = r.output:match "\n *1 [^ ]+ *([^\n]*)" or "it said nothing"
    end
    print(("%-32s %s"):format(name, said[name]))
    io.stdout:flush()
  end)
  return said
end

-- The untouched references ---------------------------------------------------------

local function survey_one(task)
  local ok, out = pcall(function()
    local e = worker.start { task = task, device = "triton:0", workers = 1 }
    local done, baseline, why = pcall(e.baseline)
    if opt.survey == "again" and done and baseline and baseline.verdict == "ok" then
      baseline.again = e.evaluate({ source = task.source .. "\n# once more\n" }, {})
    end
    e.close()
    if not done then error(baseline, 0) end
    return baseline or { verdict = "interrupted", reason = why }
  end)
  if not ok then return { verdict = "skipped", reason = first_line(out) } end
  return out
end

local function survey_kept(task)
  if not opt.out then return survey_one(task) end
  local file = ("%s/%s.json"):format(opt.out, task.name)
  local r = json.table(core.system.read_file(file))
  if r then return r end
  r = survey_one(task)
  if core.system.interrupts() == 0 then
    assert(core.system.mkdir_p(opt.out))
    assert(core.system.write_file(file, json.encode(r)))
  end
  return r
end

-- Where the seconds of an evaluation went, and how far two clocks are apart.
local function where(r)
  local out, gap = {}, 0
  for _, name in ipairs { "first", "build", "check", "ahead", "wait", "inputs", "shapes", "time",
                         "count" } do
    local s = r.seconds and r.seconds[name]
    if s then out[#out + 1] = ("%s %.1f"):format(name, s) end
  end
  for _, s in ipairs(r.shapes or {}) do gap = math.max(gap, math.abs(s.clock_gap_ns or 0)) end
  if #out == 0 then return "" end
  local recorded, again = r.recorded or {}, r.begun_again
  return (" (%s; %d shapes, clocks %.0f us apart, recorded %s%s)"):format(table.concat(out, ", "),
    #(r.shapes or {}), gap / 1e3, recorded.why and "not: " .. recorded.why or "yes",
    again and (", begun again %d times"):format(#again) or "")
end

if opt.survey then
  if at_once > 1 and opt.out then
    shared_out(function(task)
      return not core.system.exists(("%s/%s.json"):format(opt.out, task.name))
    end)
  end
  local good, near, first, cold, warm = 0, 0, 0, {}, {}
  for i, task in ipairs(tasks) do
    if core.system.interrupts() > 0 then break end
    local r = survey_kept(task)
    local again = r.again or r
    local x = again.verdict == "ok" and (again.self_speedup or again.speedup) or nil
    good = good + (r.verdict == "ok" and 1 or 0)
    near = near + (x and math.abs(x - 1) <= 0.01 and 1 or 0)
    local one = r.verdict == "ok" and (r.pairs and r.pairs[1] or r.self_speedup) or nil
    first = first + (one and math.abs(one - 1) <= 0.01 and 1 or 0)
    cold[#cold + 1] = r.seconds and r.seconds.total
    warm[#warm + 1] = r.again and again.seconds.total
    print(("%3d %-30s %-13s itself %6s then %6s, %5.1fs then %5.1fs%s %s"):format(i, task.name,
      again.verdict, r.self_speedup and ("%.3f"):format(r.self_speedup) or "-",
      x and ("%.3f"):format(x) or "-", r.seconds and r.seconds.total or 0,
      r.again and again.seconds.total or 0, where(again), first_line(again.reason or "")))
    io.stdout:flush()
  end
  local function median(list) return #list > 0 and core.stats.median(list) or 0 end
  print(("%d of %d ok, %d within 1 %% of themselves, %d by one pair of processes; "
    .. "median %.1f s cold, %.1f s warm"):format(good, #tasks, near, first, median(cold),
    median(warm)))
  return
end

-- The searches ------------------------------------------------------------------------

local function state_of(folder)
  local r = json.table(core.system.read_file(folder .. "/result.json"))
  return r and r.state
end

local function folder_of(task)
  return ("%s/%s"):format(opt.out or "runs/tritonbench", task.name)
end

run.resuming {}
local begun_ns = core.system.now_ns()
local rows, said = {}, at_once > 1 and shared_out(function(task)
  return state_of(folder_of(task)) ~= "done"
end) or {}
local stopped = core.system.interrupts() > 0
for i, task in ipairs(tasks) do
  local folder, row = folder_of(task), nil
  if state_of(folder) ~= "done" and said[task.name] and not stopped then
    row = { task = task.name, verdict = "failed", reason = said[task.name] }
  elseif state_of(folder) ~= "done" and not stopped then
    local ok, r = pcall(function()
      if not opt.model and not task.schedule then
        error("nothing to vary without a model: " .. tostring(task.no_schedule), 0)
      end
      return kb.search {
        task = task, device = "triton:0", strategies = "strategies/triton",
        policy = opt.policy or "policies/kernelband.lua",
        generator = opt.model and kb.generator.llm { model = opt.model } or nil,
        budget = { steps = math.tointeger(tonumber(opt.steps)) },
        seed = math.tointeger(tonumber(opt.seed)), out = folder,
      }
    end)
    stopped = ok and r.interrupted or core.system.interrupts() > 0
    if not ok then
      row = { task = task.name, verdict = "failed", reason = first_line(r) }
    end
  end
  if not row and core.system.exists(folder .. "/run.db") then row = kb.metrics.row(folder) end
  rows[#rows + 1] = row                 -- stopped: of those that were begun
  if row then
    print(("%3d %-32s %-9s %6s  %s%s"):format(i, task.name, row.verdict,
      row.speedup and ("%.2fx"):format(row.speedup) or "-", row.strategy or row.reason or "",
      row.verdict ~= "failed" and state_of(folder) ~= "done" and ", so far" or ""))
  end
end

print()
io.write(kb.metrics.text { { name = opt.model or "built-in", rows = rows } })
print(("in %.0f s"):format((core.system.now_ns() - begun_ns) / 1e9))
if stopped then print "stopped: the same command goes on" end
