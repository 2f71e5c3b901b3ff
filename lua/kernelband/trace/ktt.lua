-- trace/ktt.lua - KTT's JSON output: times, and with profiling on, counters,
-- registers and block sizes, which become phi, rho, h and signature.
--
-- Counters are Nsight Compute's names. What KTT's set cannot say stays
-- "missing": bank conflicts, bytes used of the sectors moved, tensor pipes.
local best        = require("kernelband.base.lists").best
local evidence    = require "kernelband.evaluate.evidence"
local finite      = require("kernelband.base.text").finite
local schema      = require "kernelband.base.schema"
local ratio       = evidence.ratio

local ktt = {}

local max_registers, max_threads, max_shared = 255, 1024, 48 * 1024

-- Every other word is a launch that failed.
local verdicts = { Ok = "ok", CompilationFailed = "build_failed", ValidationFailed = "wrong" }

function ktt.claims(d) return type(d.Results) == "table" and type(d.Metadata) == "table" end

local function object(v) return type(v) == "table" and v or {} end

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
  local main = best(results, function(r) return r.Duration end)
  local c, compiled, block = counters_of(main), object(main.CompilationData), object(main.LocalSize)
  local function share(name) return c[name] and evidence.clip(c[name] / 100) end
  local issue = share "smsp__issue_active.avg.pct_of_peak_sustained_active"
  local fma = share "smsp__pipe_fma_cycles_active.avg.pct_of_peak_sustained_active"
  local sm = issue and fma and math.max(issue, fma) or issue or fma
  local dram = share "dram__throughput.avg.pct_of_peak_sustained_elapsed"
  local l2 = share "lts__t_sectors.avg.pct_of_peak_sustained_elapsed"
  local occupancy = share "sm__warps_active.avg.pct_of_peak_sustained_active"
  local reads = ratio(c["dram__sectors_read.sum"], c["lts__t_sectors_op_read.sum"])
  local moved = c["dram__sectors_read.sum"] and c["dram__sectors_write.sum"]
                and 32 * (c["dram__sectors_read.sum"] + c["dram__sectors_write.sum"])
  local registers = ratio(finite(compiled.RegistersCount), max_registers)
  local shared = ratio(finite(compiled.LocalMemorySize), max_shared)
  local x, y = finite(block.X), finite(block.Y)
  local threads = ratio(x and y and x * y * (finite(block.Z) or 1), max_threads)
  -- The first of the signature is T / T0, which the environment fills in.
  return evidence.of { phi = {
    { reads and math.max(0, 1 - reads), "derived" }, { dram, "measured" },
    { sm, "measured" },
    { share "smsp__thread_inst_executed_per_inst_executed.pct", "measured" },
    { occupancy, "measured" }, { registers, "derived" },
  }, rho = {
    { math.log(time_ns), "measured" }, { moved and math.log(moved), "measured" },
    { ratio(flops_of(c), moved), "measured" },
    { x, "derived" }, { y, "derived" }, { occupancy, "measured" },
  }, signature = {
    { 1, "measured" }, { registers, "derived" },
    { shared, "derived" }, { threads, "derived" },
    { occupancy, "measured" },
  }, h = { sm = { sm, "measured" }, dram = { dram, "measured" }, l2 = { l2, "measured" } } }
end

local function configuration(file, where, result, read)
  local list, config, names = read.field(file, where, result, "Configuration", "table"), {}, {}
  for i, p in ipairs(list) do
    local name, value = object(p).Name, object(p).Value
    if type(name) == "string" then
      local number = p.ValueType ~= "String" and type(value) == "string" and tonumber(value)
      config[name], names[i] = number or value, name
    end
  end
  return config, names
end

function ktt.axes(file, d, read)
  schema.must(d.Results[1], "%s: Results is empty", file)
  local _, names = configuration(file, "Results[0]", d.Results[1], read)
  return names, d.Metadata.Device
end

function ktt.each(file, d, read, add)
  local unit = read.unit(file, d.Metadata.TimeUnit or "Nanoseconds")
  for i, result in ipairs(d.Results) do
    local where = ("Results[%d]"):format(i - 1)
    local config = configuration(file, where, result, read)
    local status = read.field(file, where, result, "Status", "string")
    local parts = status == "Ok" and read.field(file, where, result, "ComputationResults", "table")
    local sum = 0
    for j, part in ipairs(parts or {}) do
      sum = sum + read.time(file, where, ("ComputationResults[%d].Duration"):format(j - 1),
                            object(part).Duration, unit)
    end
    add(where, config, read.row(file, where, { told = status, verdict = verdicts[status],
      time = sum, evidence = sum > 0 and evidence_of(parts, sum) or nil }))
  end
end

return ktt
