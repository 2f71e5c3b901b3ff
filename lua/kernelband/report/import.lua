-- report/import.lua - T4, the exchange format of auto-tuning results, as a run folder that
-- reports, exports and lists like one of ours. What our own export added to it comes back
-- (parents, strategies, sources); a file of another tool has none of that: its first valid
-- configuration is then the baseline and the parent of all. The file may be hostile: what
-- trace/t4.lua does not look at is looked at here.
local lists   = require "kernelband.base.lists"
local core    = require "kernelband.core"
local json    = require "kernelband.base.json"
local read    = require "kernelband.trace.read"
local run     = require "kernelband.store.run"
local schema  = require "kernelband.base.schema"
local text    = require "kernelband.base.text"
local t4      = require "kernelband.trace.t4"
local clean   = require "kernelband.report.clean"

local verdicts = lists.places(require("kernelband.evaluate.verdict").names)     -- "ok" first

local import = {}

-- What our own export adds to a result, and to the whole.
local own_result = clean.figures(
  "child parent cluster at_s reward speedup speedup_low speedup_high",
  { strategy = "string", verdict = "string", reason = "string", source = "string" })
local own_run = { task = "string", policy = "string", generator = "string", strategies = "string",
                  started = "string", seed = "number", machine = "table" }

-- Whether JSON can hold it: numbers must be finite.
local function storable(v)
  if type(v) == "number" then return text.finite(v) ~= nil end
  for _, x in pairs(type(v) == "table" and v or {}) do
    if not storable(x) then return false end
  end
  return true
end

-- Names of the configuration in order, each with its value: what stands for a
-- source where none was recorded.
local function listing(configuration)
  return table.concat(lists.collect(text.keys(configuration), function(name)
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
  t4.each(file, document, read, function(where, configuration, row, result, unit)
    if not storable(configuration) then
      schema.raise("%s: %s: 'configuration' must hold numbers that are finite", file, where)
    elseif not row.verdict then
      schema.raise("%s: %s: 'invalidity' must be one of T4's, got %s", file, where,
                   schema.show(result.invalidity))
    end
    local own = clean.of(result.kernelband, own_result)
    if result.invalidity == "constraints" then row.verdict = "no_candidate" end
    if row.verdict ~= "ok" and (verdicts[own.verdict or ""] or 1) > 1 then
      row.verdict = own.verdict
    end
    row.reason, row.params, row.own = own.reason, configuration, own
    row.source = own.source or listing(configuration)
    row.hash = core.system.hash(row.source)
    row.seconds = seconds_of(clean.of(result.times, { "number" }), row, unit)
    rows[#rows + 1] = row
  end)
  return rows
end

local function baseline_of(file, rows)
  local first
  for _, row in ipairs(rows) do
    if row.verdict == "ok" and row.own.child == 1 then return row end
    first = first or row.verdict == "ok" and row
  end
  return first or schema.raise("%s: none of its results is correct", file)
end

-- The baseline, and the other rows as pulls of a journal, with kernels, parents and figures by
-- our own words where there are any.
local function arrange(file, rows)
  local base, pulls, last, at_s = baseline_of(file, rows), {}, 1, 0
  local kernels = { [base.own.child or 1] = base }
  base.id, base.depth, base.speedup, base.speedup_low, base.speedup_high = 1, 0, 1, 1, 1
  for _, row in ipairs(rows) do
    if row ~= base then
      local own, parent = row.own, kernels[row.own.parent or 0] or base
      at_s = at_s + row.seconds.total
      row.at_s, row.strategy = math.max(own.at_s or at_s, 0), own.strategy or "recorded"
      if row.verdict == "ok" then
        last = last + 1
        row.id, row.parent, row.depth = last, parent.id, parent.depth + 1
        row.speedup = own.speedup or base.time_ns / row.time_ns
        row.speedup_low = own.speedup_low or row.speedup
        row.speedup_high = own.speedup_high or row.speedup
        kernels[own.child or -row.id] = row
      end
      row.reward = own.reward or row.id and math.max(-1, 1 - row.time_ns / parent.time_ns) or -1
      pulls[#pulls + 1] = { n = #pulls + 1, landed = #pulls + 1, parent = parent, row = row }
    end
  end
  return base, pulls
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

local function write_pull(j, p, base)
  local row, attempts = p.row, {}
  p.evaluation, p.child = evaluation_of(row, base), row.id and row
  if row.verdict ~= "no_candidate" then
    attempts[1] = { kind = "pull", candidate = row, evaluation = p.evaluation,
                    text = json.encode(p.evaluation) }
    p.kept = attempts[1]
  end
  p.strategy_name, p.verdict, p.reason, p.reward = row.strategy, row.verdict, row.reason, row.reward
  p.terms = { cluster = math.tointeger(row.own.cluster) }
  p.cost = { seconds = row.seconds.total, usd = 0, tokens_in = 0, tokens_out = 0 }
  p.started_s = row.at_s - math.min(row.at_s, row.seconds.total)
  function j.elapsed_s() return row.at_s end
  j.pull(p, attempts)
end

-- The experiment, as far as the file knows.
local function experiment_of(file, own, out, pulls)
  local names = lists.words(own.strategies or "")
  for _, p in ipairs(pulls) do names[#names + 1] = p.row.strategy:gsub("%s", "_") end
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
  if type(document) ~= "table" or not t4.claims(document) then
    schema.raise("%s: expected T4, an object with results, got %s", file, schema.show(document))
  end
  local rows = rows_of(file, document)
  local base, pulls = arrange(file, rows)
  local own = clean.of(clean.of(document.metadata, { "table" }).kernelband, own_run)
  local j = run.open(experiment_of(file, own, out, pulls))
  local ok, why = pcall(j.at_once, function()
    j.event("imported", file)
    j.baseline(base, evaluation_of(base, base))
    for _, p in ipairs(pulls) do write_pull(j, p, base) end
    j.state "done"
  end)
  j.close()
  if ok then return #rows end
  os.remove(out .. "/run.db")
  error(why, 0)
end

return import
