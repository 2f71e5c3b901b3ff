-- bench/metrics.lua - what papers report about many tasks, each as its paper defines it.
--
--   m = kb.metrics.of { { task =, verdict = "ok", speedup =, shapes = { { baseline_ns =,
--                         time_ns = }, .. } }, .. }
--   kb.metrics.text { { name =, rows = }, .. }      the papers' table
--   kb.metrics.of_runs { "runs/a", .. }             such sets, from run folders
--   kb.metrics.best_of { rows of seed 1, rows of seed 2, .. }
--
-- A task is correct when it has a verified kernel of the generator; the untouched
-- baseline is none. A row is { task =, verdict =, speedup = } of that kernel; speedup
-- is the geometric mean over shapes. With shapes, speedup_of_sums is the sum of the
-- baseline's times over the sum of the kernel's (KernelBand's published figure).
--   correct_pct    correct tasks of all
--   fast1_pct      tasks whose kernel beats the baseline, of all (Fast@1)
--   geomean        over correct tasks; geomean_best_of: a task whose kernel is slower, or
--                  that has none, keeps its baseline and counts as 1, over all tasks
--   fast[p]        share of all tasks with speedup > p (KernelBench's fast_p)
local lists   = require "kernelband.base.lists"
local core    = require "kernelband.core"
local json    = require "kernelband.base.json"
local schema  = require "kernelband.base.schema"
local text    = require "kernelband.base.text"
local collect = lists.collect

local metrics = {}

local thresholds = { 0, 0.5, 0.8, 1, 1.5, 2 }

function metrics.sums(shapes)
  local base, mine = 0, 0
  for _, s in ipairs(shapes or {}) do
    if type(s.baseline_ns) == "number" and type(s.time_ns) == "number" then
      base, mine = base + s.baseline_ns, mine + s.time_ns
    end
  end
  return mine > 0 and base / mine or nil
end

local function is_time(v) return type(v) == "number" and v > 0 and v < math.huge end

-- The speed-ups of a row: by shapes' geometric mean, by sums; nil when not correct.
local function of_row(row, i)
  schema.must_at_call(type(row) == "table", "kb.metrics", "row %d is %s, expected a table", i,
                      schema.show(row))
  if row.verdict ~= "ok" or not is_time(row.speedup) then return nil end
  return row.speedup, row.speedup_of_sums or metrics.sums(row.shapes) or row.speedup
end

-- Of the speed-ups of all tasks that have one.
local function figures(values, all)
  local m, log, best = { fast = {} }, 0, 0
  local function share_above(p) return #collect(values, function(v) return v > p end) / all end
  for _, v in ipairs(values) do log, best = log + math.log(v), best + math.log(math.max(1, v)) end
  if #values > 0 then m.geomean = math.exp(log / #values) end
  if all > 0 then
    m.fast1_pct, m.geomean_best_of = 100 * share_above(1), math.exp(best / all)
    m.fast = collect(thresholds, function(p) return { p = p, share = share_above(p) } end)
  end
  return m
end

function metrics.of(rows)
  local by_shape, by_sums = {}, {}
  for i, row in ipairs(rows) do
    local a, b = of_row(row, i)
    if a then by_shape[#by_shape + 1], by_sums[#by_sums + 1] = a, b end
  end
  local m = figures(by_shape, #rows)
  m.tasks, m.correct = #rows, #by_shape
  m.correct_pct = #rows > 0 and 100 * #by_shape / #rows or nil
  m.sums = figures(by_sums, #rows)
  return m
end

-- The best kernel of several runs a task, tasks in the order of first sight.
function metrics.best_of(runs)
  local order, best = {}, {}
  for _, rows in ipairs(runs) do
    for i, row in ipairs(rows) do
      local own, known = of_row(row, i) or 0, best[row.task]
      if not known then order[#order + 1] = row.task end
      if not known or own > (of_row(known, i) or 0) then best[row.task] = row end
    end
  end
  return collect(order, function(name) return best[name] end)
end

-- Runs ------------------------------------------------------------------------------

-- The best verified kernel that a run's generator made, as a row. Where kernels were
-- looked at again at the end, these alone count, with that look's figure: what is slower
-- was seen once only, and no kernel is left where all of them fell.
function metrics.row(folder)
  local reader <close> = require("kernelband.store.run").reader(folder)
  local identity, again = reader:experiment().identity, {}      -- kernel -> speed-up, false: fell
  local row = { task = identity.task or folder, verdict = "no kernel", run = folder,
                set = ("%s, %s"):format(identity.generator or "?", identity.policy or "?") }
  for _, look in ipairs(reader:evaluations "confirm") do
    local speedup = look.verdict == "ok" and look.evaluation and look.evaluation.speedup
    again[look.kernel] = is_time(speedup) and speedup
  end
  local result = json.table(core.system.read_file(folder .. "/result.json")) or {}
  local ended = result.confirmed and next(again) ~= nil
  for _, k in ipairs(reader:kernels()) do
    local speedup = again[k.id]
    if speedup == nil and not ended then speedup = k.speedup end
    if k.pull and speedup and speedup > (row.speedup or 0) then
      row.verdict, row.speedup, row.strategy = "ok", speedup, k.strategy
    end
  end
  if ended and result.id ~= 1 and is_time(result.speedup) then
    row.speedup, row.shapes, row.strategy = result.speedup, result.shapes, result.strategy
  elseif ended and not row.speedup then
    row.verdict, row.reason = "refuted", "no kernel stood when it was looked at again"
  end
  return row
end

-- Sets of rows by generator and policy, in the order of first sight; several runs of a
-- set on one task (seeds) are a best-of.
function metrics.of_runs(folders)
  return collect(lists.groups(collect(folders, metrics.row), "set"), function(rows)
    return { name = rows[1].set, rows = metrics.best_of { rows } }
  end)
end

-- Tables -----------------------------------------------------------------------------

local function times(v) return v and ("%.2fx"):format(v) or "-" end
local function percent(v) return v and ("%.1f"):format(v) or "-" end

-- A row of the papers' table for each { name =, rows = }, as words.
function metrics.words(sets)
  local out = { { "", "tasks", "correct %", "Fast@1 %", "geomean", "best-of", "of sums",
                  "fast_1.5", "fast_2" } }
  for _, set in ipairs(sets) do
    local m, fast = metrics.of(set.rows), {}
    for _, f in ipairs(m.fast) do fast[f.p] = percent(100 * f.share) end
    out[#out + 1] = { set.name, tostring(m.tasks), percent(m.correct_pct), percent(m.fast1_pct),
                      times(m.geomean), times(m.geomean_best_of), times(m.sums.geomean),
                      fast[1.5] or "-", fast[2] or "-" }
  end
  return out
end

function metrics.text(sets) return text.table(metrics.words(sets), { right = true }) end

return metrics
