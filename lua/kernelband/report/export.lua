-- report/export.lua - a run for other tools: JSON lines, CSV, T4 (the exchange format of
-- auto-tuning results, https://github.com/odgaard/TuningSchema, which Kernel Tuner's
-- tools read) and pairs of prompt and answer for training. Pulls are read and
-- written a few hundred at a time, so the length of a run costs no memory.
--
--   export.formats    a list of { name, doc, fn(reader, write) -> true | nil, why }
--   export.NAME       the function of a format
local clean     = require "kernelband.report.clean"
local core      = require "kernelband.core"
local format    = require "kernelband.store.run_format"
local json      = require "kernelband.base.json"
local lists     = require "kernelband.base.lists"
local template  = require "kernelband.base.template"
local text      = require "kernelband.base.text"

local export = {}

local CHUNK = 500

-- JSON has no infinities, and what is recorded may say 1e999.
local function finite(v)
  if type(v) == "table" then
    for k, x in pairs(v) do v[k] = finite(x) end
  elseif type(v) == "number" and v - v ~= 0 then
    return json.null
  end
  return v
end

-- Sources are hostile and may be no UTF-8; JSON is.
local function encode(v) return text.utf8(json.encode(finite(v))) end

local function rows_of(reader, name, ...)
  return reader:rows(template.piece("report/queries." .. name), ...)
end

-- Calls fn with each row of the statement "all_" .. what of queries.in; what is JSON in the row is
-- decoded.
local function each(reader, what, fn)
  local last, key = -1, what == "pull" and "landed" or "id"
  repeat
    local rows = rows_of(reader, "all_" .. what, last, CHUNK)
    for _, row in ipairs(rows) do
      row.evaluation, row.json, row.params = json.table(row.json), nil, json.table(row.params)
      last = row[key]
      fn(row)
    end
  until #rows < CHUNK
end

-- JSON lines: the experiment, the baseline, then a line a pull; whole evaluations,
-- calls and events with them.
function export.jsonl(reader, write)
  local function line(kind, row)
    row.type = kind
    write(encode(row) .. "\n")
  end
  local e = reader:experiment()
  e.format = format.version
  line("experiment", e)
  for _, kind in ipairs { "baseline", "pull", "evaluation", "call", "event" } do
    each(reader, kind, function(row) line(kind, row) end)
  end
  return true
end

-- CSV (RFC 4180). A text that a spreadsheet would take for a formula gets a quote
-- before it: reasons hold words of candidates.
local columns = { "n", "landed", "parent", "strategy", "verdict", "reason", "child", "depth",
  "speedup", "speedup_low", "speedup_high", "time_ns", "reward", "mean", "exploration", "psi",
  "cluster", "seconds", "usd", "tokens_in", "tokens_out", "started_s", "at_s" }

local function cell(v)
  if v == nil then return "" end
  if type(v) == "number" then
    return math.type(v) == "integer" and ("%d"):format(v) or ("%.17g"):format(v)
  end
  v = tostring(v)
  if v:find "^[=+@\t\r-]" then v = "'" .. v end
  if v:find '[",\r\n]' then v = '"' .. v:gsub('"', '""') .. '"' end
  return v
end

function export.csv(reader, write)
  write(table.concat(columns, ",") .. "\r\n")
  each(reader, "pull", function(row)
    local cells = lists.collect(columns, function(name) return cell(row[name]) end)
    write(table.concat(cells, ",") .. "\r\n")
  end)
  return true
end

-- T4 ------------------------------------------------------------------------------

local invalidity = { ok = "correct", build_failed = "compile", launch_failed = "runtime",
  crashed = "runtime", wrong = "correctness", cheated = "correctness", timeout = "timeout" }

-- What T4 has no place for: of each result, and of the whole. Readers of T4 pass over it, import
-- does not.
export.own = clean.figures(
  "pull child parent cluster depth at_s reward speedup speedup_low speedup_high",
  { strategy = "string", verdict = "string", reason = "string", source = "string" })
export.own_run = { task = "string", policy = "string", generator = "string",
  strategies = "string", started = "string", seed = "number", machine = "table" }

-- Parameters by name. Where one candidate has none (nameless), every configuration is the hash
-- of its source, as readers want the same axes in every row.
local function configuration(params, source, nameless)
  if nameless or not params then return { source = core.system.hash(source or "") } end
  if #params == 0 then return params end
  local out = {}
  for i, v in ipairs(params) do out["x" .. i] = v end
  return out
end

-- Milliseconds of one round over the timed shapes, as many as each has samples for.
local function runtimes(evaluation)
  local least, out = math.huge, {}
  local shapes = lists.collect(evaluation.timed, function(s)
    local list = #s.samples.candidate > 0 and s.samples.candidate or s.samples_ns
    least = math.min(least, #list)
    return list
  end)
  for i = 1, #shapes > 0 and least or 0 do
    local product = 1
    for _, s in ipairs(shapes) do product = product * s[i] ^ (1 / #shapes) end
    out[i] = product / 1e6
  end
  if #out == 0 and evaluation.time_ns then out[1] = evaluation.time_ns / 1e6 end
  return out
end

local without_candidate = { no_candidate = true, not_applicable = true }

-- began: seconds since 1970 at the start of the run, where that is known.
local function result(row, began, nameless)
  local evaluation, why = clean.evaluation(row), invalidity[row.verdict] or "runtime"
  local function ms(name) return 1000 * (evaluation.seconds[name] or 0) end
  local times = { compilation = ms "build", validation = ms "check", search_algorithm = 0,
    framework = math.max(0, ms "total" - ms "build" - ms "check" - ms "time") }
  local value = why == "compile" and "CompilationFailedConfig" or "RuntimeFailedConfig"
  if why == "correct" then
    times.runtimes = runtimes(evaluation)
    value = row.time_ns / 1e6
  end
  return {
    timestamp = began and os.date("!%Y-%m-%d %H:%M:%S+00:00", began + (row.at_s or 0) // 1),
    configuration = configuration(row.params, row.source, nameless),
    times = times, invalidity = why,
    correctness = why == "correct" and 1 or 0, objectives = { "time" },
    measurements = { { name = "time", value = value,
                       unit = why == "correct" and "miliseconds" or "" } },
    kernelband = clean.of(lists.with(row, { pull = row.n }), export.own),
  }
end

-- The baseline, then every pull that had a candidate.
function export.t4(reader, write)
  local e = reader:experiment()
  local metadata = { timeunit = "miliseconds",
                     kernelband = clean.of(lists.with(e.identity, e), export.own_run) }
  write('{"metadata":' .. json.encode(metadata) .. ',"schema_version":"1.0.0","results":[')
  local known = rows_of(reader, "start")[1]
  local comma = "\n"
  local function put(row)
    write(comma .. encode(result(row, known.began, known.nameless == 1)))
    comma = ",\n"
  end
  each(reader, "baseline", function(k) put(lists.with(k, { child = k.id, verdict = "ok" })) end)
  each(reader, "pull", function(row)
    local lost = row.verdict == "ok" and not row.time_ns        -- of a damaged journal
    if not without_candidate[row.verdict] and not lost then put(row) end
  end)
  write "\n]}\n"
  return true
end

-- Training pairs ------------------------------------------------------------------

-- A line a model call that answered: prompt, answer, and what came of the answer.
-- Of several calls in one pull the last one made the candidate that was judged;
-- those before it were repaired, and have the verdict that led to that.
function export.sft(reader, write)
  local span = rows_of(reader, "span")[1]
  if span.n == 0 then
    return nil, "this run made no model calls, so there is nothing to train on"
  end
  for from = span.low or 1, span.high or 0, CHUNK do
    for _, c in ipairs(rows_of(reader, "exchanges", from, from + CHUNK - 1, nil)) do
      if not c.error and c.question and c.answer then
        write(encode { prompt = c.question, answer = c.answer, kind = c.kind,
          verdict = c.verdict or json.null, reward = c.reward or json.null, speedup = c.speedup,
          reason = c.reward and c.reason, strategy = c.strategy, pull = c.pull,
          provider = c.provider, model = c.model } .. "\n")
      end
    end
  end
  return true
end

export.formats = {
  { "jsonl", "JSON lines: the experiment, the baseline, then one object a pull", export.jsonl },
  { "csv", "one row a pull", export.csv },
  { "t4", "T4, the exchange format of auto-tuning results", export.t4 },
  { "sft", "JSON lines of prompt, answer, verdict and reward, for training", export.sft },
}

return export
