-- trace/t4.lua - T4, the exchange format of auto-tuning results.
local lists  = require "kernelband.base.lists"
local schema = require "kernelband.base.schema"

local t4 = {}

local verdicts = { correct = "ok", compile = "build_failed", runtime = "launch_failed",
                   constraints = "launch_failed", correctness = "wrong", timeout = "timeout" }

function t4.claims(d) return type(d.results) == "table" and d.cache == nil end

local function object(v) return type(v) == "table" and v or {} end

-- The figure that was to be made small: the first objective's measurement.
local function objective(result)
  local name = object(result.objectives)[1] or "time"
  for _, m in ipairs(object(result.measurements)) do
    if type(m) == "table" and m.name == name then return m.value, m.unit end
  end
end

-- Calls fn(where, configuration, row, result, unit) for each result: row as read.row gives it,
-- without a verdict where T4 knows no such word; unit: nanoseconds of one of its times.
function t4.each(file, d, read, fn)
  local general = read.unit(file, object(d.metadata).timeunit or "milliseconds")
  for i, result in ipairs(d.results) do
    local where = ("results[%d]"):format(i - 1)
    local configuration = read.field(file, where, result, "configuration", "table")
    local told = read.field(file, where, result, "invalidity", "string")
    local time, unit = objective(result)
    fn(where, configuration, read.row(file, where, { told = told, verdict = verdicts[told],
      time = time, samples = object(result.times).runtimes, unit = general,
      time_unit = type(unit) == "string" and unit ~= "" and read.unit(file, unit) or nil }),
      result, general)
  end
end

function t4.axes(file, d, read)
  schema.must(d.results[1], "%s: results is empty", file)
  return lists.keys(read.field(file, "results[0]", d.results[1], "configuration", "table"))
end

return t4
