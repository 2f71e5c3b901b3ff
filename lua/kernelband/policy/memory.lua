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
local text    = require "kernelband.base.text"

local memory = {}

local LOCK_NS = 30 * 10 ^ 9 // 1        -- to wait for others that save
local most_bytes, most_spaces, most_points, most_params = 1 << 24, 63, 2048, 64

local function check_params(params)
  local count = 0
  for name, v in pairs(params) do
    local kind = type(v)
    count = count + 1
    if type(name) ~= "string" or #name > 256 then return false, "parameters by their names" end
    if not (kind == "boolean" or kind == "string" and #v <= 256
            or kind == "number" and math.abs(v) <= 1e15) then
      return false, ("%s as a number, a short text or a boolean, not %s"):format(name,
                                                                               schema.show(v))
    end
  end
  return count <= most_params, ("at most %d parameters, not %d"):format(most_params, count)
end

local function above_0(t) return t > 0 and t < 1e18, "a number above 0" end

local point = { { "params", "table", check = check_params },
                { "time_ns", "number", optional = true, check = above_0 } }
local rules = {
  { "format", "string", one_of = { "kernelband memory" } },
  { "version", "integer", one_of = { 1 } },
  { "spaces", "list", at_most = most_spaces, item = { type = "table", rules = {
    { "name", "string" },
    { "points", "list", at_most = most_points, item = { type = "table", rules = point } } } } },
}

-- The text of a file; what is wrong with it is for parse to say.
function memory.read(file)
  local found, why = core.system.read_file(file)
  return found or schema.raise("memory: %s", why)
end

-- The spaces in the text of a file, and its hash.
function memory.parse(file, text_of)
  local where = file .. ": not a memory of kernelband"
  local _, lists_in = text_of:gsub("[%[{]", "")
  schema.must(#text_of <= most_bytes and lists_in <= 2 * most_spaces * most_points + 8,
    "%s: it is over %d bytes, or has too many lists", where, most_bytes)
  local ok, m = pcall(json.decode, text_of)
  if not ok then schema.raise("%s: %s", where, tostring(m)) end
  return schema.check(m, rules, where).spaces, core.system.hash(text_of)
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
  schema.must(code == "EAGAIN",
    "remember = \"%s\": what a search learns cannot be written there: %s", file, why)
end

-- Lays points over those known of the space and keeps most_points, the latest.
local function merged(old, new)
  local all, last = lists.joined { old, new }, {}
  local keys = lists.collect(all, function(p) return text.fields(p.params) end)
  for n, key in ipairs(keys) do last[key] = n end
  local kept = lists.collect(all, function(p, n) return last[keys[n]] == n and p end)
  return table.move(kept, math.max(1, #kept - most_points + 1), #kept, 1, {})
end

-- Adds the points of a search on the space called name; the file is replaced whole.
function memory.save(file, name, points)
  if #points == 0 then return end
  local lock <close>, no = lock_of(file)
  if not lock then schema.raise("%s", tostring(no)) end
  local spaces = core.system.exists(file) and memory.load(file) or {}
  local known, at = lists.find(spaces, function(s) return s.name == name end)
  spaces[at or #spaces + 1] = { name = name, points = merged(known and known.points or {}, points) }
  while #spaces > most_spaces do table.remove(spaces, 1) end
  local ok, why = core.system.write_file(file, json.encode { format = "kernelband memory",
    version = 1, spaces = spaces } .. "\n")
  if not ok then schema.raise("%s", tostring(why)) end
end

return memory
