-- trace/own.lua - recordings of kernelband record: one JSON value a line.
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
local letters = { measured = "m", derived = "d", missing = "-" }
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

-- The keys of a row's features: values, kinds, how many, the name in evidence.
local vectors = { { "phi", "pk", 9, "phi" }, { "rho", "rk", 6, "rho" },
                  { "sig", "sk", 5, "signature" } }

local function evidence(file, where, row)
  local e = { h = {}, h_kind = {} }
  for _, v in ipairs(vectors) do
    e[v[4]], e[v[4] .. "_kind"] = vector(file, where, row, v[1], v[2], v[3])
  end
  local h, kind = vector(file, where, row, "h", "hk", 3)
  for i, name in ipairs(h_names) do
    e.h_kind[name] = kind and kind[i] or "missing"
    if e.h_kind[name] ~= "missing" then e.h[name] = h[i] end
  end
  return e
end

local function strategies_of(file, head)
  local out = {}
  for i, s in ipairs(type(head.strategies) == "table" and head.strategies or {}) do
    if type(s) ~= "table" or type(s.name) ~= "string" or type(s.axes) ~= "table" then
      schema.raise("%s: line 1: strategies[%d] must have a name and axes", file, i)
    end
    out[i] = { name = s.name, axes = s.axes, target = s.target }
  end
  return #out > 0 and out or nil
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
      space = read.space(file, "kernelband", read.field(file, where, head, "axes", "table"))
      space.task, space.language, space.device = head.task, head.language, head.device
      space.strategies = strategies_of(file, head)
      space.start, space.head = head.start, head
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

local function digits(x, n) return tonumber(("%." .. n .. "g"):format(x)) end

local function pack(out, key, kind_key, values, kind)
  if not values then return end
  local list, letter = {}, {}
  for i, v in ipairs(values) do
    list[i], letter[i] = digits(v, 4), letters[kind[i]] or "-"
  end
  out[key], out[kind_key] = list, table.concat(letter)
end

-- A row as it is kept: times with six digits, features with four.
function own.row(values, evaluation)
  local out = { c = values, v = evaluation.verdict }
  if evaluation.verdict ~= "ok" then return out end
  out.t = digits(evaluation.time_ns, 6)
  if evaluation.samples_ns and #evaluation.samples_ns > 0 then
    out.s = {}
    for i, t in ipairs(evaluation.samples_ns) do out.s[i] = digits(t, 5) end
  end
  local e = evaluation.evidence
  if not e then return out end
  for _, v in ipairs(vectors) do pack(out, v[1], v[2], e[v[4]], e[v[4] .. "_kind"]) end
  local h, kind = {}, {}
  for i, name in ipairs(h_names) do
    h[i], kind[i] = e.h and e.h[name] or 0, e.h and e.h[name] and e.h_kind[name] or "missing"
  end
  pack(out, "h", "hk", h, kind)
  return out
end

return own
