-- trace/read.lua - recorded tuning spaces, of whatever kind, as one form:
--
--   { file, device, axes = { name, ... }, strategies = spec or nil,
--     rows = { { values = { one an axis }, verdict, reason, time_ns,
--                samples_ns, evidence }, ... } }
--
-- A file is data from elsewhere: bounded in size and depth and never run; every
-- number is checked before it is used. Errors name file and place.
local cjson   = require "cjson"
local lists   = require "kernelband.base.lists"
local core    = require "kernelband.core"
local schema  = require "kernelband.base.schema"

local read = {}

local most_bytes = 256 << 20            -- unpacked
local most_rows = 1 << 20
local most_axes = 64
local most_value = 256                  -- bytes of a value that is text

local parser = cjson.new()
parser.decode_max_depth(64)

-- The text of a file, unpacked when it is gzip.
function read.text(file)
  local bytes, why = core.system.read_file(file)
  schema.must(bytes, "%s", why)
  if bytes:sub(1, 2) ~= "\x1f\x8b" then return bytes end
  local text, what = core.gunzip(bytes, most_bytes)
  return schema.must(text, "%s: %s", file, what)
end

-- A number of bytes into a text as "line 3, column 17".
local function place(text, at)
  local before = text:sub(1, at - 1)
  local _, breaks = before:gsub("\n", "")
  return ("line %d, column %d"):format(breaks + 1, at - (before:match ".*\n()" or 1) + 1)
end

function read.json(file, text)
  local ok, value = pcall(parser.decode, text)
  if ok then return value end
  local why = tostring(value):gsub("^.-:%d+: ", "")
  local at = tonumber(why:match "at character (%d+)")
  if at then why = why:gsub(" at character %d+", "") .. ", " .. place(text, at) end
  schema.raise("%s: not JSON, or cut short: %s", file, why)
end

-- A value as rows hold it: flags are 1 and 0.
function read.plain(v)
  if type(v) == "boolean" then return v and 1 or 0 end
  return v
end

-- What a reader is given to make a space with. Rows are checked as they come.
function read.space(file, axes)
  local space = { file = file, axes = axes, rows = {} }
  local index = {}
  schema.must(#axes > 0 and #axes <= most_axes, "%s: it names %d tuning axes; 1 to %d are read",
              file, #axes, most_axes)
  for i, name in ipairs(axes) do
    schema.must(type(name) == "string" and name:find "^[%w_.:%-]+$" and #name <= 64,
                "%s: axis %d: expected a name of letters, digits and _ . : -, got %s", file, i,
                schema.show(name))
    schema.must(not index[name], "%s: axis '%s' is named twice", file, name)
    index[name] = i
  end

  local function value_of(where, name, v)
    v = read.plain(v)
    if type(v) == "number" and v == v and math.abs(v) < math.huge then
      return math.tointeger(v) or v
    elseif type(v) == "string" and #v <= most_value and not v:find "[%c]" then
      return v
    end
    schema.raise("%s: axis '%s' must be a number or a short text, got %s", where, name,
                 schema.show(v))
  end

  -- where: "FILE: results[12]"; config: axis name -> value; row: of read.row, without a verdict
  -- where what it failed by is none of ours.
  function space.add(where, config, row)
    row.verdict = row.verdict or "launch_failed"
    schema.must(#space.rows < most_rows, "%s: more than %d rows", file, most_rows)
    row.values = lists.collect(axes, function(name) return value_of(where, name, config[name]) end)
    space.rows[#space.rows + 1] = row
  end

  return space
end

-- Nanoseconds of a time as it may be: finite and above 0. unit: nanoseconds of one.
function read.time(where, what, t, unit)
  local ns = type(t) == "number" and t * (unit or 1)
  if ns and ns > 0 and ns < 1e18 then return ns end
  schema.raise("%s: %s must be a number above 0, got %s", where, what, schema.show(t))
end

-- A row of a space from what a file says: { verdict =, told = its own word for that, time =,
-- samples = list or nil, unit = nanoseconds of one, time_unit = of the time, where it differs,
-- evidence = }. A row without a time has the median of its samples.
function read.row(where, r)
  if r.verdict ~= "ok" then
    return { verdict = r.verdict, reason = "recorded as " .. (r.told or r.verdict) }
  end
  local samples = lists.collect(type(r.samples) == "table" and r.samples or {}, function(t, i)
    return read.time(where, "sample " .. i, t, r.unit)
  end)
  local median = r.time == nil and #samples > 0 and core.stats.median(samples)
  return { verdict = "ok", samples_ns = #samples > 0 and samples or nil, evidence = r.evidence,
    time_ns = median or read.time(where, "its time", r.time, r.time_unit or r.unit) }
end

-- A table's field of the wanted type, or an error that says where.
function read.field(where, t, name, wanted)
  local v = type(t) == "table" and t[name]
  if type(v) == wanted then return v end
  schema.raise("%s: expected a %s '%s', got %s", where,
               wanted == "table" and "list or object" or wanted, name,
               (v == nil or v == false or v == cjson.null) and "nothing" or schema.show(v))
end

local per_unit = { nanoseconds = 1, microseconds = 1e3, milliseconds = 1e6, seconds = 1e9,
                   miliseconds = 1e6, ns = 1, us = 1e3, ms = 1e6, s = 1e9 }

-- Nanoseconds a unit; the third is how T4 spells it.
function read.unit(file, name)
  return schema.must(type(name) == "string" and per_unit[name:lower()],
                     "%s: unknown unit of time %s", file, schema.show(name))
end

return read
