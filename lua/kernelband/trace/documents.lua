-- trace/documents.lua - recorded tuning spaces of other tools, a JSON document each, and what
-- kind of recording a file or folder is.
--
--   documents.space(name)   what a file or folder has, as read.lua tells
--   documents.t4            what T4 has, also for report/import.lua
--
-- A kind of document is { claims(document), axes(file, document) -> names, the device,
-- each(file, document, add) }: add is that of the space.
local core     = require "kernelband.core"
local evidence = require "kernelband.evaluate.evidence"
local finite   = require("kernelband.base.text").finite
local lists    = require "kernelband.base.lists"
local own      = require "kernelband.trace.own"
local path     = require "kernelband.base.path"
local read     = require "kernelband.trace.read"
local run      = require "kernelband.trace.run"
local schema   = require "kernelband.base.schema"
local derived, measured, ratio = evidence.derived, evidence.measured, evidence.ratio

local documents = { t4 = {} }
local ktt, t4, tuner = {}, documents.t4, {}

local function object(v) return type(v) == "table" and v or {} end

-- KTT ---------------------------------------------------------------------------
--
-- Times, and with profiling on, counters, registers and block sizes, which become phi, rho, h and
-- signature. Counters are Nsight Compute's names. What KTT's set cannot say stays
-- "missing": bank conflicts, bytes used of the sectors moved, tensor pipes.

local max_registers, max_threads, max_shared = 255, 1024, 48 * 1024

-- Every other word is a launch that failed.
local ktt_verdicts = { Ok = "ok", CompilationFailed = "build_failed", ValidationFailed = "wrong" }

function ktt.claims(d) return type(d.Results) == "table" and type(d.Metadata) == "table" end

local function counters_of(result)
  local out = {}
  for _, c in ipairs(object(object(result.ProfilingData).Counters)) do
    if finite(object(c).Value) then out[c.Name or ""] = c.Value end
  end
  return out
end

local function flops_of(c)
  local sum
  for _, name in ipairs { "fp16", "fp32", "fp64" } do
    local n = c["smsp__sass_thread_inst_executed_op_" .. name .. "_pred_on.sum"]
    if n then sum = (sum or 0) + n end
  end
  return sum
end

-- A configuration of several kernels is judged by its longest.
local function evidence_of(results, time_ns)
  local main = lists.best(results, function(r) return r.Duration end)
  local c, compiled, block = counters_of(main), object(main.CompilationData), object(main.LocalSize)
  local function share(name) return c[name] and evidence.clip(c[name] / 100) end
  local issue = share "smsp__issue_active.avg.pct_of_peak_sustained_active"
  local fma = share "smsp__pipe_fma_cycles_active.avg.pct_of_peak_sustained_active"
  local sm = measured(issue and fma and math.max(issue, fma) or issue or fma)
  local dram = measured(share "dram__throughput.avg.pct_of_peak_sustained_elapsed")
  local l2 = measured(share "lts__t_sectors.avg.pct_of_peak_sustained_elapsed")
  local occupancy = measured(share "sm__warps_active.avg.pct_of_peak_sustained_active")
  local lanes = measured(share "smsp__thread_inst_executed_per_inst_executed.pct")
  local read_sectors, written = c["dram__sectors_read.sum"], c["dram__sectors_write.sum"]
  local missed = ratio(read_sectors, c["lts__t_sectors_op_read.sum"])
  local moved = read_sectors and written and 32 * (read_sectors + written)
  local registers = derived(ratio(finite(compiled.RegistersCount), max_registers))
  local shared = derived(ratio(finite(compiled.LocalMemorySize), max_shared))
  local x, y = finite(block.X), finite(block.Y)
  local threads = derived(ratio(x and y and x * y * (finite(block.Z) or 1), max_threads))
  -- The first of the signature is T / T0, which the environment fills in.
  return evidence.of {
    phi = { derived(missed and math.max(0, 1 - missed)), dram, sm, lanes, occupancy, registers },
    rho = { measured(math.log(time_ns)), measured(moved and math.log(moved)),
            measured(ratio(flops_of(c), moved)), derived(x), derived(y), occupancy },
    signature = { measured(1), registers, shared, threads, occupancy },
    h = { sm = sm, dram = dram, l2 = l2 },
  }
end

local function configuration(where, result)
  local list, config, names = read.field(where, result, "Configuration", "table"), {}, {}
  for i, p in ipairs(list) do
    local name, value = object(p).Name, object(p).Value
    if type(name) == "string" then
      local number = p.ValueType ~= "String" and type(value) == "string" and tonumber(value)
      config[name], names[i] = number or value, name
    end
  end
  return config, names
end

function ktt.axes(file, d)
  schema.must(d.Results[1], "%s: Results is empty", file)
  local _, names = configuration(file .. ": Results[0]", d.Results[1])
  return names, d.Metadata.Device
end

function ktt.each(file, d, add)
  local unit = read.unit(file, d.Metadata.TimeUnit or "Nanoseconds")
  for i, result in ipairs(d.Results) do
    local where = ("%s: Results[%d]"):format(file, i - 1)
    local config = configuration(where, result)
    local status = read.field(where, result, "Status", "string")
    local parts = status == "Ok" and read.field(where, result, "ComputationResults", "table")
    local sum = 0
    for j, part in ipairs(parts or {}) do
      sum = sum + read.time(where, ("ComputationResults[%d].Duration"):format(j - 1),
                            object(part).Duration, unit)
    end
    add(where, config, read.row(where, { told = status, verdict = ktt_verdicts[status],
      time = sum, evidence = sum > 0 and evidence_of(parts, sum) or nil }))
  end
end

-- T4, the exchange format of auto-tuning results -----------------------------------

local t4_verdicts = { correct = "ok", compile = "build_failed", runtime = "launch_failed",
                      constraints = "launch_failed", correctness = "wrong", timeout = "timeout" }

function t4.claims(d) return type(d.results) == "table" and d.cache == nil end

-- The figure that was to be made small: the first objective's measurement.
local function measured_of(result)
  local name = object(result.objectives)[1] or "time"
  for _, m in ipairs(object(result.measurements)) do
    if type(m) == "table" and m.name == name then return m.value, m.unit end
  end
end

-- Calls fn(where, config, row, result, unit) for each result: row as read.row gives it,
-- without a verdict where T4 knows no such word; unit: nanoseconds of one of its times.
function t4.each(file, d, fn)
  local general = read.unit(file, object(d.metadata).timeunit or "milliseconds")
  for i, result in ipairs(d.results) do
    local where = ("%s: results[%d]"):format(file, i - 1)
    local config = read.field(where, result, "configuration", "table")
    local told = read.field(where, result, "invalidity", "string")
    local time, unit = measured_of(result)
    fn(where, config, read.row(where, { told = told, verdict = t4_verdicts[told],
      time = time, samples = object(result.times).runtimes, unit = general,
      time_unit = type(unit) == "string" and unit ~= "" and read.unit(file, unit) or nil }),
      result, general)
  end
end

function t4.axes(file, d)
  schema.must(d.results[1], "%s: results is empty", file)
  return lists.keys(read.field(file .. ": results[0]", d.results[1], "configuration", "table"))
end

-- Kernel Tuner's cache files; times are milliseconds -----------------------------------

-- Every other word is a launch that failed.
local tuner_verdicts = { CompilationFailedConfig = "build_failed" }

-- A cache still open, as a running or a killed tuner leaves it, ends in a comma.
function tuner.closed(body)
  if not body:find('"cache"', 1, true) then return body end
  local open = body:match "^(.*}),%s*$"
  return open and open .. "}}" or body
end

function tuner.claims(d) return type(d.cache) == "table" end

function tuner.axes(file, d)
  local keys = d.tune_params_keys
  if type(keys) == "table" and #keys > 0 then return keys, d.device_name end
  if type(d.tune_params) == "table" then return lists.keys(d.tune_params), d.device_name end
  schema.raise("%s: a Kernel Tuner cache without tune_params_keys", file)
end

function tuner.each(file, d, add)
  local objective = type(d.objective) == "string" and d.objective or "time"
  for _, key in ipairs(lists.keys(d.cache)) do
    local entry, where = d.cache[key], ("%s: cache[%q]"):format(file, key)
    schema.must(type(entry) == "table", "%s: expected an object, got %s", where, schema.show(entry))
    local value = entry[objective]
    local failure = type(entry.__error__) == "string" and entry.__error__
                    or type(value) == "string" and value
    add(where, entry, read.row(where, { told = failure, time = value, unit = 1e6,
      verdict = not failure and "ok" or tuner_verdicts[failure], samples = entry.times }))
  end
end

-- Any recording ------------------------------------------------------------------

-- The space of a file.
function documents.space(name)
  local file = path.found(name, "kb.trace", "no such file: %s")
  local folder = run.folder(file)
  if folder then return run.read(folder) end
  schema.must_at_call(core.system.exists(file) == "file", "kb.trace", "'%s' is not a file", file)
  local text = read.text(file)
  if own.claims(text) then return own.read(file, text) end
  schema.must(text:find "%S", "%s: the file is empty", file)
  local document = read.json(file, tuner.closed(text))
  local kind = lists.find({ ktt, t4, tuner }, function(kind)
    return type(document) == "table" and kind.claims(document)
  end)
  schema.must(kind, "%s: neither KTT output, a Kernel Tuner cache, a T4 file nor a recording of "
              .. "kernelband record", file)
  local axes, device = kind.axes(file, document)
  local space = read.space(file, axes)
  space.device = type(device) == "string" and device or nil
  kind.each(file, document, space.add)
  return space
end

return documents
