-- policy/memory.lua - what searches leave for later ones, on another kernel or device: a
-- file of measured points, a list a space (task and device).
--
--   { "format": "kernelband memory", "version": 1, "spaces": [
--       { "name": "matmul cpu", "points": [ { "params": {..}, "time_ns": 1.5 }, .. ] } ] }
--
-- A point without time_ns failed. A file may come from anywhere: it is bounded in
-- bytes, spaces, points and parameters, and every value is checked.

local lists   = require "kernelband.base.lists"
local core    = require "kernelband.core"
local json    = require "kernelband.base.json"
local schema  = require "kernelband.base.schema"
local keys   = schema.keys

local memory = {}

local LOCK_NS = 30 * 10 ^ 9 // 1        -- to wait for others that save
local most_bytes, most_spaces, most_points, most_params = 1 << 24, 63, 2048, 64

local function bad(file, ...)
  schema.raise("%s: not a memory of kernelband: %s", file, string.format(...))
end

local function check_point(file, where, p)
  if type(p) ~= "table" or type(p.params) ~= "table" then
    bad(file, "%s must be { params = .. }, got %s", where, schema.show(p))
  end
  local t = p.time_ns
  if t ~= nil and not (type(t) == "number" and t > 0 and t < 1e18) then
    bad(file, "%s: time_ns must be a number above 0, got %s", where, schema.show(t))
  end
  local count = 0
  for name, v in pairs(p.params) do
    count = count + 1
    local kind = type(v)
    if type(name) ~= "string" or #name > 256 then
      bad(file, "%s: parameters have names", where)
    elseif not (kind == "boolean" or kind == "string" and #v <= 256
                or kind == "number" and v - v == 0 and math.abs(v) <= 1e15) then
      bad(file, "%s: %s must be a number, text or a boolean, got %s", where, name,
          schema.show(v))
    end
  end
  if count > most_params then bad(file, "%s has %d parameters", where, count) end
end

local function check(file, m)
  if type(m) ~= "table" or m.format ~= "kernelband memory" or m.version ~= 1 then
    bad(file, "no format \"kernelband memory\", version 1")
  elseif type(m.spaces) ~= "table" or #m.spaces > most_spaces then
    bad(file, "spaces must be a list of at most %d", most_spaces)
  end
  for i, s in ipairs(m.spaces) do
    local where = ("spaces[%d]"):format(i)
    if type(s) ~= "table" or type(s.name) ~= "string" or type(s.points) ~= "table"
       or #s.points > most_points then
      bad(file, "%s must be { name =, points = at most %d }", where, most_points)
    end
    for n, p in ipairs(s.points) do
      check_point(file, ("%s.points[%d]"):format(where, n), p)
    end
  end
  return m
end

-- The text of a file; what is wrong with it is for parse to say.
function memory.read(file)
  local text, why = core.system.read_file(file)
  if not text then schema.raise("memory: %s", why) end
  return text
end

-- The spaces in the text of a file, and its hash.
function memory.parse(file, text)
  if #text > most_bytes then bad(file, "it is over %d bytes", most_bytes) end
  local _, depth = text:gsub("[%[{]", "")
  if depth > 2 * most_spaces * most_points + 8 then bad(file, "too many lists") end
  local ok, m = pcall(json.decode, text)
  if not ok then bad(file, "%s", tostring(m)) end
  return check(file, m).spaces, core.system.hash(text)
end

function memory.load(file) return memory.parse(file, memory.read(file)) end

-- Who saves holds the lock beside the file, as two that add to it would lose points.
local function lock_of(file)
  local limit = core.system.now_ns() + LOCK_NS
  while true do
    local lock, why, code = core.system.lock(file .. ".lock")
    if lock or code ~= "EAGAIN" or core.system.now_ns() > limit then return lock, why, code end
    core.system.sleep_ns(10 ^ 7 // 1)
  end
end

-- Raises when a search could not save there.
function memory.check_writable(file)
  local is, lock, why, code = core.system.exists(file), nil, "it is no file", nil
  if is == "file" then memory.load(file) end
  if not is or is == "file" then lock, why, code = core.system.lock(file .. ".lock") end
  if lock then return lock:close() end
  if code ~= "EAGAIN" then
    schema.raise("remember = \"%s\": what a search learns cannot be written there: %s", file, why)
  end
end

local function key_of(point)
  return table.concat(lists.collect(keys(point.params), function(name)
    return name .. "=" .. tostring(point.params[name])
  end), ",")
end

-- Lays points over those known of the space and keeps most_points, the latest.
local function merged(old, new)
  local seen, out = {}, {}
  for _, list in ipairs { new, old } do
    for n = #list, 1, -1 do
      local key = key_of(list[n])
      if not seen[key] and #out < most_points then
        seen[key], out[#out + 1] = true, list[n]
      end
    end
  end
  for i = 1, #out // 2 do out[i], out[#out + 1 - i] = out[#out + 1 - i], out[i] end
  return out
end

-- Adds the points of a search on the space called name; the file is replaced whole.
function memory.save(file, name, points)
  if #points == 0 then return end
  local lock <close>, no = lock_of(file)
  if not lock then schema.raise("%s", tostring(no)) end
  local spaces = core.system.exists(file) and memory.load(file) or {}
  local _, at = lists.find(spaces, function(s) return s.name == name end)
  at = at or #spaces + 1
  spaces[at] = { name = name, points = merged(spaces[at] and spaces[at].points or {}, points) }
  while #spaces > most_spaces do table.remove(spaces, 1) end
  local text = json.encode { format = "kernelband memory", version = 1, spaces = spaces }
  local ok, why = core.system.write_file(file, text .. "\n")
  if not ok then schema.raise("%s", tostring(why)) end
end

return memory
