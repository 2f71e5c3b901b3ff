-- trace/t4.lua - T4, the exchange format of auto-tuning results.
local cjson  = require "cjson"
local schema = require "kernelband.base.schema"

local t4 = {}

local verdicts = { correct = "ok", compile = "build_failed", runtime = "launch_failed",
                   constraints = "launch_failed", correctness = "wrong", timeout = "timeout" }

function t4.claims(d) return type(d.results) == "table" and d.cache == nil end

local function values(list)
  local out = {}
  for i, v in ipairs(type(list) == "table" and list or {}) do out[i] = v end
  return out
end

-- The figure that was to be made small: the first objective's measurement.
local function objective(result)
  local name = values(result.objectives)[1] or "time"
  for _, m in ipairs(values(result.measurements)) do
    if type(m) == "table" and m.name == name then return m.value, m.unit end
  end
end

local function unit_of(file, own, general, read)
  if type(own) == "string" and own ~= "" then return read.unit(file, own) end
  return general
end

function t4.read(file, d, read)
  local unit = read.unit(file, type(d.metadata) == "table" and d.metadata.timeunit
                               or "milliseconds")
  local space
  for i, result in ipairs(d.results) do
    local where = ("results[%d]"):format(i - 1)
    local config = read.field(file, where, result, "configuration", "table")
    space = space or read.space(file, "t4", read.keys(config))
    local invalidity = read.field(file, where, result, "invalidity", "string")
    local row = { verdict = verdicts[invalidity] or "launch_failed" }
    if row.verdict == "ok" then
      local times = result.times ~= cjson.null and result.times
      local value, own = objective(result)
      local runs = values(type(times) == "table" and times.runtimes)
      row.time_ns = type(value) == "number" and value * unit_of(file, own, unit, read) or value
      row.samples_ns = {}
      for j, v in ipairs(runs) do
        row.samples_ns[j] = type(v) == "number" and v * unit or v
      end
    else
      row.reason = "recorded as " .. invalidity
    end
    space.add(where, config, row)
  end
  if not space then schema.raise("%s: results is empty", file) end
  return space
end

return t4
