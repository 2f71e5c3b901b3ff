-- trace/ktt.lua - KTT's JSON output: times, and with profiling on, counters,
-- registers and block sizes, which become phi, rho, h and signature.
--
-- Counters are Nsight Compute's names. What KTT's set cannot say stays
-- "missing": bank conflicts, bytes used of the sectors moved, tensor pipes.
local best        = require("kernelband.base.lists").best
local evidence_of = require("kernelband.evaluate.evidence").of
local ratio = require("kernelband.evaluate.evidence").ratio

local ktt = {}

local max_registers, max_threads, max_shared = 255, 1024, 48 * 1024

local verdicts = {
  CompilationFailed = "build_failed", ComputationFailed = "launch_failed",
  ValidationFailed = "wrong", DeviceLimitsExceeded = "launch_failed",
}


function ktt.claims(d) return type(d.Results) == "table" and type(d.Metadata) == "table" end

local function counters_of(result)
  local out = {}
  local list = type(result.ProfilingData) == "table" and result.ProfilingData.Counters
  if type(list) ~= "table" then return out end
  for _, c in ipairs(list) do
    if type(c) == "table" and type(c.Value) == "number" and c.Value == c.Value then
      out[c.Name or ""] = c.Value
    end
  end
  return out
end

local function number(t, key)
  local v = type(t) == "table" and t[key]
  return type(v) == "number" and v == v and v or nil
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
local function evidence(results, time_ns)
  local main = best(results, function(r) return r.Duration end)
  local c, compiled = counters_of(main), main.CompilationData
  local function share(name) return c[name] and math.max(0, math.min(1, c[name] / 100)) end
  local issue = share "smsp__issue_active.avg.pct_of_peak_sustained_active"
  local fma = share "smsp__pipe_fma_cycles_active.avg.pct_of_peak_sustained_active"
  local sm = issue and fma and math.max(issue, fma) or issue or fma
  local dram = share "dram__throughput.avg.pct_of_peak_sustained_elapsed"
  local l2 = share "lts__t_sectors.avg.pct_of_peak_sustained_elapsed"
  local occupancy = share "sm__warps_active.avg.pct_of_peak_sustained_active"
  local reads = ratio(c["dram__sectors_read.sum"], c["lts__t_sectors_op_read.sum"])
  local moved = c["dram__sectors_read.sum"] and c["dram__sectors_write.sum"]
                and 32 * (c["dram__sectors_read.sum"] + c["dram__sectors_write.sum"])
  local registers = ratio(number(compiled, "RegistersCount"), max_registers)
  local shared = number(compiled, "LocalMemorySize")
  local x, y = number(main.LocalSize, "X"), number(main.LocalSize, "Y")
  local threads = x and y and x * y * (number(main.LocalSize, "Z") or 1)
  local spread = moved and moved > 0 and math.log(moved) or nil
  -- The first of the signature is T / T0, which the environment fills in.
  return evidence_of { phi = {
    { reads and math.max(0, 1 - reads), "derived" }, { dram, "measured" },
    { sm, "measured" },
    { share "smsp__thread_inst_executed_per_inst_executed.pct", "measured" },
    { occupancy, "measured" }, { registers, "derived" },
  }, rho = {
    { math.log(time_ns), "measured" }, { spread, "measured" },
    { ratio(flops_of(c), moved), "measured" },
    { x, "derived" }, { y, "derived" }, { occupancy, "measured" },
  }, signature = {
    { 1, "measured" }, { registers, "derived" },
    { ratio(shared, max_shared), "derived" }, { ratio(threads, max_threads), "derived" },
    { occupancy, "measured" },
  }, h = { sm = { sm, "measured" }, dram = { dram, "measured" }, l2 = { l2, "measured" } } }
end

local function configuration(file, where, result, read)
  local list, config, names = read.field(file, where, result, "Configuration", "table"), {}, {}
  for i, p in ipairs(list) do
    local name = type(p) == "table" and p.Name
    if type(name) == "string" then
      local as_number = p.ValueType ~= "String" and type(p.Value) == "string" and tonumber(p.Value)
      config[name], names[i] = as_number or p.Value, name
    end
  end
  return config, names
end

function ktt.read(file, d, read)
  local unit = read.unit(file, d.Metadata.TimeUnit or "Nanoseconds")
  local space
  for i, result in ipairs(d.Results) do
    local where = ("Results[%d]"):format(i - 1)
    local config, names = configuration(file, where, result, read)
    space = space or read.space(file, "ktt", names)
    local status = read.field(file, where, result, "Status", "string")
    local parts, sum = {}, 0
    if status == "Ok" then
      parts = read.field(file, where, result, "ComputationResults", "table")
    end
    for j, part in ipairs(parts) do
      sum = sum + read.time(file, where, ("ComputationResults[%d].Duration"):format(j - 1),
                            type(part) == "table" and part.Duration or nil, unit)
    end
    space.add(where, config, read.row(file, where, { told = status, time = sum,
      verdict = status == "Ok" and "ok" or verdicts[status] or "launch_failed",
      evidence = sum > 0 and evidence(parts, sum) or nil }))
  end
  if not space then require("kernelband.base.schema").raise("%s: Results is empty", file) end
  space.device = type(d.Metadata.Device) == "string" and d.Metadata.Device or nil
  return space
end

return ktt
