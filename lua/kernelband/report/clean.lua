-- report/clean.lua - a value decoded from JSON with nothing in it but what is expected: a journal
-- may be damaged, a file another program's.
--
--   clean.of(v, "number")             v where it is of that type, else nil; numbers are finite
--   clean.of(v, "texts")              a list: those items of v that are texts
--   clean.of(v, { "string" })         a table: v's items where they fit, by their keys
--   clean.of(v, { name = form, .. })  a table of those fields, nested tables always there
--   clean.evaluation(row)             what a row of the table evaluations says, timed being its
--                                     timed shapes; of nil what says nothing
local collect = require("kernelband.base.lists").collect
local json    = require "kernelband.base.json"
local finite  = require("kernelband.base.text").finite

local clean = {}

function clean.of(v, form)
  if form == "number" then return finite(v) end
  if form == "texts" then
    return collect(type(v) == "table" and v or {}, function(s) return type(s) == "string" and s end)
  end
  if type(form) == "string" then
    if type(v) == form then return v end
    return nil
  end
  local out = {}
  v = type(v) == "table" and v or {}
  for key in pairs(form[1] and v or form) do out[key] = clean.of(v[key], form[1] or form[key]) end
  return out
end

-- A form of fields that are numbers, by their names, and of more.
function clean.figures(names, more)
  for name in names:gmatch "%S+" do more[name] = "number" end
  return more
end

local figures, numbers, texts = clean.figures, { "number" }, { "string" }

local shape = figures("time_ns baseline_ns speedup speedup_low speedup_high share_of_peak blocks "
  .. "flops bytes", { role = "string", label = "string", roof = "string", interval = "string",
  samples_ns = numbers, samples = { candidate = numbers } })

local evaluation = figures("time_ns baseline_ns speedup speedup_low speedup_high", {
  shapes = { shape }, checks = "texts", weakened = "texts", confirmed = "boolean",
  not_confirmed = "string", screened = "boolean", seconds = numbers,
  mutants = { caught = "number", none = "texts" },
  against = figures("kernel speedup low high", {}),
  evidence = { phi = numbers, phi_kind = texts, h = numbers, h_kind = texts },
  profile = { counters = numbers, bottleneck = { text = "string" } } })

function clean.evaluation(row)
  local e = clean.of(row and (row.evaluation or json.table(row.json)), evaluation)
  e.timed = collect(e.shapes, function(s) return s.role == "timed" and s end)
  return e
end

return clean
