-- report/import.lua - T4, the exchange format of auto-tuning results, as a run folder that
-- reports, exports and lists like one of ours. What our own export added to it comes back
-- (parents, strategies, sources); a file of another tool has none of that: its first valid
-- configuration is then the baseline and the parent of all. The file may be hostile: what
-- trace/documents.lua does not look at is looked at here.
local lists   = require "kernelband.base.lists"
local core    = require "kernelband.core"
local export  = require "kernelband.report.export"
local json    = require "kernelband.base.json"
local read    = require "kernelband.trace.read"
local run     = require "kernelband.store.run"
local schema  = require "kernelband.base.schema"
local t4      = require("kernelband.trace.documents").t4
local clean   = require "kernelband.report.clean"

local verdicts = lists.places(require("kernelband.evaluate.verdict").names)     -- "ok" first

local import = {}

-- Whether JSON can hold it: numbers must be finite.
local function storable(v) return (pcall(json.encode, v)) end

-- Names of the configuration in order, each with its value: what stands for a
-- source where none was recorded.
local function listing(configuration)
  return table.concat(lists.collect(lists.keys(configuration), function(name)
    local v = configuration[name]
    return ("%s = %s\n"):format(name, type(v) == "string" and v or json.encode(v))
  end))
end

local function seconds_of(times, row, unit)
  local function of(name) return math.max(0, times[name] or 0) * unit / 1e9 end
  local timed = 0
  for _, ns in ipairs(row.samples_ns or {}) do timed = timed + ns / 1e9 end
  local build, check = of "compilation", of "validation"
  return { build = build, check = check, time = timed,
           total = build + check + timed + of "framework" }
end

-- The results of a document: rows of trace/read.lua with `own`, our words about each.
local function rows_of(file, document)
  local rows = {}
  t4.each(file, document, function(where, configuration, row, result, unit)
    if not storable(configuration) then
      schema.raise("%s: 'configuration' must hold numbers that are finite", where)
    elseif not row.verdict then
      schema.raise("%s: 'invalidity' must be one of T4's, got %s", where,
                   schema.show(result.invalidity))
    end
    local own = clean.of(result.kernelband, export.own)
    if result.invalidity == "constraints" then row.verdict = "no_candidate" end
    if row.verdict ~= "ok" and (verdicts[own.verdict or ""] or 1) > 1 then
      row.verdict = own.verdict
    end
    row.reason, row.params, row.own = own.reason, configuration, own
    row.strategy = own.strategy or "recorded"
    row.source = own.source or listing(configuration)
    row.hash = core.system.hash(row.source)
    row.seconds = seconds_of(clean.of(result.times, { "number" }), row, unit)
    rows[#rows + 1] = row
  end)
  return rows
end

-- The baseline, which is taken out of the rows.
local function take_baseline(file, rows)
  local base, at = lists.best(rows, function(row)
    return row.verdict == "ok" and (row.own.child == 1 and 1 or 0)
  end)
  if not base then schema.raise("%s: none of its results is correct", file) end
  base.id, base.depth, base.speedup, base.speedup_low, base.speedup_high = 1, 0, 1, 1, 1
  base.strategy = nil
  return table.remove(rows, at)
end

local function evaluation_of(row, base)
  if not row.id then
    return { verdict = row.verdict, reason = row.reason or "recorded so", shapes = json.empty_list,
             seconds = row.seconds }
  end
  return { verdict = "ok", time_ns = row.time_ns, baseline_ns = base.time_ns,
    speedup = row.speedup, speedup_low = row.speedup_low, speedup_high = row.speedup_high,
    shapes = { { label = "recorded", role = "timed", time_ns = row.time_ns,
                 baseline_ns = base.time_ns, speedup = base.time_ns / row.time_ns,
                 samples_ns = row.samples_ns } }, seconds = row.seconds }
end

-- Journals the rows as pulls, with kernels, parents and figures by our own words where there are
-- any.
local function write_pulls(j, rows, base)
  local kernels, last, at_s = { [base.own.child or 1] = base }, 1, 0
  for n, row in ipairs(rows) do
    local own, parent, seconds = row.own, kernels[row.own.parent or 0] or base, row.seconds.total
    at_s = at_s + seconds
    if row.verdict == "ok" then
      last = last + 1
      row.id, row.parent, row.depth = last, parent.id, parent.depth + 1
      row.speedup = own.speedup or base.time_ns / row.time_ns
      row.speedup_low = own.speedup_low or row.speedup
      row.speedup_high = own.speedup_high or row.speedup
      kernels[own.child or -row.id] = row
    end
    local evaluation, ended_s = evaluation_of(row, base), math.max(own.at_s or at_s, 0)
    local attempt = { kind = "pull", candidate = row, evaluation = evaluation,
                      text = json.encode(evaluation) }
    function j.elapsed_s() return ended_s end
    j.pull({ n = n, landed = n, parent = parent, strategy_name = row.strategy,
      verdict = row.verdict, reason = row.reason, child = row.id and row, kept = attempt,
      evaluation = evaluation, terms = { cluster = math.tointeger(own.cluster) },
      reward = own.reward or row.id and math.max(-1, 1 - row.time_ns / parent.time_ns) or -1,
      cost = { seconds = seconds, usd = 0, tokens_in = 0, tokens_out = 0 },
      started_s = ended_s - math.min(ended_s, seconds) },
      row.verdict ~= "no_candidate" and { attempt } or {})
  end
end

-- The experiment, as far as the file knows.
local function experiment_of(file, own, out, rows)
  local names = lists.joined { lists.words(own.strategies or ""),
    lists.collect(rows, function(row) return (row.strategy:gsub("%s", "_")) end) }
  return { out = out, ext = "c", args = {}, version = require "kernelband.base.version",
    seed = math.tointeger(own.seed) or 0, options = { imported = file }, hashes = {},
    machine = storable(own.machine) and own.machine or {},
    started = (own.started or ""):match "^%d%d%d%d%-%d%d%-%d%dT%d%d:%d%d:%d%dZ$",
    identity = { task = own.task or file:match "([^/]+)$", params = "{}",
      policy = own.policy or "recorded", generator = own.generator or "recorded",
      strategies = table.concat(lists.distinct(names), " "), parallel = "1", seed = "0" } }
end

-- Reads T4 from a file and writes the run folder `out`, all of it or nothing. Returns
-- how many results it has.
function import.t4(file, out)
  local document = read.json(file, read.text(file))
  schema.must(type(document) == "table" and t4.claims(document),
    "%s: expected T4, an object with results, got %s", file, schema.show(document))
  local rows = rows_of(file, document)
  local base = take_baseline(file, rows)
  local own = clean.of(clean.of(document.metadata, { "table" }).kernelband, export.own_run)
  local j = run.open(experiment_of(file, own, out, rows))
  local ok, why = pcall(j.at_once, function()
    j.event("imported", file)
    j.baseline(base, evaluation_of(base, base))
    write_pulls(j, rows, base)
    j.state "done"
  end)
  j.close()
  if ok then return #rows + 1 end
  os.remove(out .. "/run.db")
  error(why, 0)
end

return import
