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
local schema = require "kernelband.base.schema"

local own = {}

local kinds = { m = "measured", d = "derived", ["-"] = "missing" }
local known_verdicts = { ok = true, no_candidate = true, build_failed = true,
  launch_failed = true, wrong = true, cheated = true, crashed = true, timeout = true }
local h_names = { "sm", "dram", "l2" }

function own.claims(text) return text:find('^%s*{[^\n]*"kernelband":%s*"trace"') ~= nil end

local function vector(file, where, row, key, kind_key, n)
  local values, letter = row[key], row[kind_key]
  if values == nil then return nil end
  local out, kind = {}, {}
  for i = 1, n do
    local v = type(values) == "table" and values[i]
    if type(v) ~= "number" or v ~= v or math.abs(v) > 1e300 then
      schema.raise("%s: %s: '%s' must be %d numbers", file, where, key, n)
    end
    out[i] = v
    kind[i] = kinds[type(letter) == "string" and letter:sub(i, i) or "-"] or "missing"
  end
  return out, kind
end

local function evidence(file, where, row)
  local e = {}
  e.phi, e.phi_kind = vector(file, where, row, "phi", "pk", 9)
  e.rho, e.rho_kind = vector(file, where, row, "rho", "rk", 6)
  e.signature, e.signature_kind = vector(file, where, row, "sig", "sk", 5)
  local h, kind = vector(file, where, row, "h", "hk", 3)
  e.h, e.h_kind = {}, {}
  for i, name in ipairs(h_names) do
    e.h_kind[name] = kind and kind[i] or "missing"
    if e.h_kind[name] ~= "missing" then e.h[name] = h[i] end
  end
  return e
end

function own.read(file, text, read)
  local n, space, head = 0, nil, nil
  for line in text:gmatch "[^\n]+" do
    n = n + 1
    local where = "line " .. n
    local row = read.json(file .. ": " .. where, line)
    if not head then
      head = row
      if head.version ~= 1 then
        schema.raise("%s: a trace of version %s; this kernelband reads version 1", file,
                     tostring(head.version))
      end
      space = read.space(file, read.field(file, where, head, "axes", "table"))
      space.device, space.start = head.device, head.start
      space.strategies = type(head.strategies) == "table" and head.strategies[1] and head.strategies
    else
      local values, config = read.field(file, where, row, "c", "table"), {}
      for i, name in ipairs(space.axes) do config[name] = values[i] end
      if not known_verdicts[row.v] then
        schema.raise("%s: %s: unknown verdict %s", file, where, schema.show(row.v))
      end
      space.add(where, config, read.row(file, where, { verdict = row.v, time = row.t,
        samples = row.s, evidence = row.v == "ok" and evidence(file, where, row) or nil }))
    end
  end
  if #space.rows == 0 then schema.raise("%s: no row was recorded", file) end
  return space
end

return own
