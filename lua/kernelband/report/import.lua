-- report/import.lua - T4, the exchange format of auto-tuning results, as a run folder that
-- reports, exports and lists like one of ours. What our own export added to it comes
-- back (parents, strategies, sources); a file of somebody else's has none of that:
-- its first valid configuration is then the baseline and the parent of all.
-- The file is hostile: bounded in size and depth, every field looked at.
local cjson  = require "cjson"
local chart  = require "kernelband.report.chart"
local core   = require "kernelband.core"
local format = require "kernelband.store.run_format"
local json   = require "kernelband.base.json"
local schema = require "kernelband.base.schema"

local import = {}

local parser = cjson.new()
parser.decode_max_depth(32)

local MOST_BYTES, MOST_ROWS, MOST_SAMPLES, MOST_TEXT = 256 << 20, 1 << 20, 4096, 1 << 20

local verdicts = { correct = "ok", compile = "build_failed", runtime = "launch_failed",
                   constraints = "no_candidate", correctness = "wrong", timeout = "timeout" }

-- Units of T4's timeunit, as nanoseconds; it says "miliseconds" itself.
local units = { nanoseconds = 1, ns = 1, microseconds = 1e3, us = 1e3, milliseconds = 1e6,
                miliseconds = 1e6, ms = 1e6, seconds = 1e9, s = 1e9 }

local function number(v)
  return type(v) == "number" and v == v and math.abs(v) < 1e300 and v or nil
end
local function integer(v) return math.tointeger(number(v)) end
local function text(v) return type(v) == "string" and #v <= MOST_TEXT and v or nil end
local function object(v) return type(v) == "table" and v or {} end

local function load(file)
  local bytes, why = core.system.read_file(file)
  if not bytes then schema.raise("kernelband: %s", why) end
  if bytes:sub(1, 2) == "\x1f\x8b" then
    if not core.gunzip then schema.raise("kernelband: %s: gzip; unpack it first", file) end
    bytes, why = core.gunzip(bytes, MOST_BYTES)
    if not bytes then schema.raise("kernelband: %s: %s", file, why) end
  end
  local ok, value = pcall(parser.decode, bytes)
  if not ok then
    schema.raise("kernelband: %s: no JSON: %s", file, tostring(value):gsub("^.-:%d+: ", ""))
  end
  if type(value) ~= "table" or type(value.results) ~= "table" then
    schema.raise("kernelband: %s: expected T4, an object with results, got %s", file,
                 schema.show(value))
  end
  if #value.results > MOST_ROWS then
    schema.raise("kernelband: %s: expected at most %d results, got %d", file, MOST_ROWS,
                 #value.results)
  end
  return value
end

-- Names of the configuration in order, each with its value: what stands for a
-- source where none was recorded.
local function listing(configuration)
  local names, out = {}, {}
  for name in pairs(configuration) do names[#names + 1] = tostring(name) end
  table.sort(names)
  for i, name in ipairs(names) do
    local v = configuration[name]
    out[i] = ("%s = %s"):format(name, type(v) == "string" and v or json.encode(v))
  end
  return table.concat(out, "\n") .. "\n"
end

-- Whether a configuration can be kept as JSON: numbers that are none cannot.
local function storable(v)
  if type(v) == "number" then return number(v) ~= nil end
  for _, x in pairs(object(v)) do
    if not storable(x) then return false end
  end
  return true
end

-- One result, looked at.
local function read_result(file, i, r, unit)
  local function refuse(what, got)
    schema.raise("kernelband: %s: results[%d]: %s, got %s", file, i - 1, what, schema.show(got))
  end
  if type(r) ~= "table" then refuse("expected an object", r) end
  if type(r.configuration) ~= "table" then
    refuse("'configuration' must be an object", r.configuration)
  elseif not storable(r.configuration) then
    refuse("'configuration' must hold numbers that are finite", 1 / 0)
  end
  local own = object(r.kernelband)
  local row = { i = i, params = r.configuration, own = own, samples = {},
                verdict = verdicts[r.invalidity] }
  if not row.verdict then refuse("'invalidity' must be one of T4's", r.invalidity) end
  if row.verdict ~= "ok" then
    for _, v in ipairs(chart.verdicts) do
      if own.verdict == v and v ~= "ok" then row.verdict = v end
    end
  end
  local times = object(r.times)
  for j, v in ipairs(object(times.runtimes)) do
    if j > MOST_SAMPLES then break end
    row.samples[#row.samples + 1] = number(v) and v > 0 and v * unit or nil
  end
  local name = text(object(r.objectives)[1]) or "time"
  for _, m in ipairs(object(r.measurements)) do
    if type(m) == "table" and m.name == name then
      row.time_ns = number(m.value) and m.value * (units[m.unit] or unit)
    end
  end
  if not row.time_ns and #row.samples > 0 then row.time_ns = core.stats.median(row.samples) end
  if row.verdict == "ok" and not (row.time_ns and row.time_ns > 0) then
    refuse("a correct result needs a time above 0", row.time_ns)
  end
  local build, check = number(times.compilation) or 0, number(times.validation) or 0
  local run = 0
  for _, ns in ipairs(row.samples) do run = run + ns / 1e9 end
  row.seconds = { build = build * unit / 1e9, check = check * unit / 1e9, time = run }
  row.seconds.total = row.seconds.build + row.seconds.check + run
                      + math.max(0, number(times.framework) or 0) * unit / 1e9
  row.source = text(own.source) or listing(r.configuration)
  return row
end

local function evaluation_of(row, base)
  if row.verdict ~= "ok" then
    return { verdict = row.verdict, reason = text(row.own.reason) or "recorded so",
             shapes = json.empty_list, seconds = row.seconds }
  end
  local shape = { label = "recorded", role = "timed", time_ns = row.time_ns,
    baseline_ns = base.time_ns, speedup = base.time_ns / row.time_ns,
    samples_ns = #row.samples > 0 and row.samples or nil }
  return { verdict = "ok", time_ns = row.time_ns, baseline_ns = base.time_ns,
           speedup = row.speedup, speedup_low = row.low, speedup_high = row.high,
           shapes = { shape }, seconds = row.seconds }
end

-- Kernels, parents and figures of all rows, by our own words where there are any.
local function arrange(file, rows)
  local base
  for _, row in ipairs(rows) do
    if row.verdict == "ok" and (row.own.child == 1 or not base) then
      base = row
      if row.own.child == 1 then break end
    end
  end
  if not base then schema.raise("kernelband: %s: none of its results is correct", file) end
  local list, kernels, at_s = {}, { base }, 0
  local by_id = { [integer(base.own.child) or 1] = base }
  base.id, base.depth, base.speedup, base.low, base.high = 1, 0, 1, 1, 1
  for _, row in ipairs(rows) do
    if row ~= base then
      list[#list + 1] = row
      row.n = #list
      row.parent = by_id[integer(row.own.parent)] or base
      row.strategy = text(row.own.strategy) or "recorded"
      at_s = at_s + row.seconds.total
      row.at_s = math.max(number(row.own.at_s) or at_s, 0)
      if row.verdict == "ok" then
        kernels[#kernels + 1] = row
        row.id, row.depth = #kernels, row.parent.depth + 1
        row.speedup = number(row.own.speedup) or base.time_ns / row.time_ns
        row.low = number(row.own.speedup_low) or row.speedup
        row.high = number(row.own.speedup_high) or row.speedup
        by_id[integer(row.own.child) or -row.id] = row
      end
      row.reward = number(row.own.reward) or row.id
        and math.max(-1, 1 - row.time_ns / row.parent.time_ns) or -1
    end
  end
  return base, list
end

local insert = {
  kernel = "INSERT INTO kernels VALUES (?,?,?,?,?,?,?,?,?,?,?,?)",
  evaluation = "INSERT INTO evaluations VALUES (NULL,?,?,?,?,?,?,?)",
  pull = [[INSERT INTO pulls (n, landed, parent, strategy, verdict, reason, child, reward,
    cluster, seconds, usd, tokens_in, tokens_out, started_s, at_s)
    VALUES (?,?,?,?,?,?,?,?,?,?,0.0,0,0,?,?)]],
}

local function add_kernel(db, row)
  assert(db:exec(insert.kernel, row.id, row.n, row.parent and row.parent.id, row.strategy,
    row.depth, row.time_ns + 0.0, row.speedup + 0.0, row.low + 0.0, row.high + 0.0,
    json.encode(row.params), row.source, core.system.hash(row.source)))
end

local function add_pull(db, row, base)
  if row.id then add_kernel(db, row) end
  assert(db:exec(insert.pull, row.n, row.n, row.parent.id, row.strategy, row.verdict,
    text(row.own.reason), row.id, row.reward + 0.0, integer(row.own.cluster),
    row.seconds.total, row.at_s - math.min(row.at_s, row.seconds.total), row.at_s + 0.0))
  if row.verdict ~= "no_candidate" then
    assert(db:exec(insert.evaluation, "pull", row.n, row.id, json.encode(row.params),
      row.source, row.verdict, json.encode(evaluation_of(row, base))))
  end
end

local function add_experiment(db, file, metadata, list)
  local own, names, seen = object(metadata.kernelband), {}, {}
  for name in (text(own.strategies) or ""):gmatch "%S+" do
    if not seen[name] then seen[name] = true names[#names + 1] = name end
  end
  for _, row in ipairs(list) do
    if not seen[row.strategy] then
      seen[row.strategy] = true
      names[#names + 1] = row.strategy:gsub("%s", "_")
    end
  end
  local identity = { task = text(own.task) or file:match "([^/]+)$", policy = text(own.policy)
    or "recorded", generator = text(own.generator) or "recorded", params = "{}",
    strategies = table.concat(names, " "), parallel = "1", seed = "0" }
  local started = text(own.started)
  if not (started and started:find "^%d%d%d%d%-%d%d%-%d%dT%d%d:%d%d:%d%dZ$") then
    started = os.date "!%Y-%m-%dT%H:%M:%SZ"
  end
  assert(db:exec([[INSERT INTO experiment VALUES
    (1, NULL, NULL, '[]', ?, ?, ?, ?, ?, '{}', '{}', ?, ?, 'done')]],
    core.system.realpath ".", json.encode(identity), json.encode { imported = file },
    json.encode(storable(own.machine) and object(own.machine) or {}),
    require("kernelband.base.version"), integer(own.seed) or 0, started))
  assert(db:exec("INSERT INTO events VALUES (NULL, 0.0, 'imported', ?)", file))
end

-- Reads T4 from a file and writes the run folder `out`, all of it or nothing. Returns
-- how many results it has.
function import.t4(file, out)
  if core.system.exists(out .. "/run.db") then
    schema.raise("kernelband: %s already holds a run; choose another folder", out)
  end
  local data = load(file)
  local metadata = object(data.metadata)
  local unit = metadata.timeunit == nil and 1e6 or units[metadata.timeunit]
  if not unit then
    schema.raise("kernelband: %s: metadata.timeunit: expected milliseconds or another unit of "
      .. "time, got %s", file, schema.show(metadata.timeunit))
  end
  local rows = {}
  for i, r in ipairs(data.results) do rows[i] = read_result(file, i, r, unit) end
  local base, list = arrange(file, rows)
  assert(core.system.mkdir_p(out))
  local db <close> = assert(core.store(out .. "/run.db"))
  local ok, why = pcall(function()
    assert(db:exec("BEGIN;" .. format.tables .. "PRAGMA user_version = " .. format.version))
    add_experiment(db, file, metadata, list)
    add_kernel(db, base)
    assert(db:exec(insert.evaluation, "baseline", nil, 1, json.encode(base.params), nil, "ok",
                   json.encode(evaluation_of(base, base))))
    for _, row in ipairs(list) do add_pull(db, row, base) end
    assert(db:exec "COMMIT")
  end)
  if not ok then
    db:exec "ROLLBACK"
    db:close()
    os.remove(out .. "/run.db")
    error(("%s: %s"):format(out, tostring(why)), 0)
  end
  return #rows
end

return import
