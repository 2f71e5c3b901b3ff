-- trace/own.lua - recordings as kernelband record wrote them once, a file each: one JSON value
-- a line.
--
--   line 1  { "kernelband": "trace", "version": 1, "task":, "language":,
--             "device":, "axes": [..], "strategies": [{ "name":, "target":,
--             "axes": [..] }], "start": [values of the baseline's row] }
--   others  { "c": [values], "v": verdict, "t": time_ns, "s": [samples_ns],
--             "phi": [9], "pk": "mmd.." , "rho": [6], "rk":, "h": [3], "hk":,
--             "sig": [5], "sk": }
--
-- Kinds are letters: m measured, d derived, - missing. h is sm, dram, l2.
local lists    = require "kernelband.base.lists"
local evidence = require "kernelband.evaluate.evidence"
local finite   = require("kernelband.base.text").finite
local read     = require "kernelband.trace.read"
local schema   = require "kernelband.base.schema"
local verdicts = lists.places(require("kernelband.evaluate.verdict").names)

local own = {}

local kinds = { m = "measured", d = "derived" }

function own.claims(text) return text:find('^%s*{[^\n]*"kernelband":%s*"trace"') ~= nil end

-- A list of values and the letters of their kinds, as evidence.of takes them.
local function features(values, letters, unit)
  return lists.collect(type(values) == "table" and values or {}, function(v, i)
    local kind = kinds[tostring(letters):sub(i, i)]
    return { kind and finite(v) and v / unit, kind }
  end)
end

local function evidence_of(row)
  local h = features(row.h, row.hk, 100)
  return evidence.of { phi = features(row.phi, row.pk, 1), rho = features(row.rho, row.rk, 1),
                       signature = features(row.sig, row.sk, 1),
                       h = { sm = h[1], dram = h[2], l2 = h[3] } }
end

local function by_axis(axes, values)
  local out = {}
  for i, name in ipairs(axes) do out[name] = values[i] end
  return out
end

function own.read(file, text)
  local space
  for n, line in ipairs(lists.words(text, "[^\n]+")) do
    local where = ("%s: line %d"):format(file, n)
    local row = read.json(where, line)
    if not space then
      schema.must(row.version == 1, "%s: a trace of version %s; this kernelband reads version 1",
                  file, tostring(row.version))
      space = read.space(file, read.field(where, row, "axes", "table"))
      space.device = row.device
      space.start = type(row.start) == "table" and by_axis(space.axes, row.start) or nil
      space.strategies = type(row.strategies) == "table" and row.strategies[1] and row.strategies
    else
      local config = by_axis(space.axes, read.field(where, row, "c", "table"))
      if not verdicts[row.v or ""] then
        schema.raise("%s: unknown verdict %s", where, schema.show(row.v))
      end
      space.add(where, config, read.row(where, { verdict = row.v, time = row.t,
        samples = row.s, evidence = row.phi and evidence_of(row) }))
    end
  end
  return space
end

return own
