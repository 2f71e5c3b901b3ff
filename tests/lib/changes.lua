-- changes.lua - candidates that are another file but for a few lines, tests/candidates/*/*.change:
--
--   # expect: wrong                  head: until the first place
--   # H6: an answer kept by the address of its input
--   #: before def scaled_add         what follows goes before the line that begins so
--   kept = {}
--   #: instead of n = .. return      and this in place of these lines, or of one
--       return kept[x]
--   #: at the end
--
--   changes.list(folder, base) -> { { name =, head =, source = }, .. }    by name
local system = require "kernelband.core".system

local changes = {}

local function lines(text)
  local out = {}
  for line in (text:gsub("\n*$", "\n")):gmatch "(.-)\n" do out[#out + 1] = line end
  return out
end

local function find(list, start, path)
  for i, line in ipairs(list) do
    if line:match "^%s*(.*)":sub(1, #start) == start then return i end
  end
  error(("%s: no line of the base begins with '%s'"):format(path, start), 0)
end

-- The lines before, between and after which something goes: a place's first, and how many it takes.
local function at(place, base, path)
  local how, what = place:match "^(before) (.+)$"
  if how then return find(base, what, path), 0 end
  what = place:match "^instead of (.+)$"
  if what then
    local from, to = what:match "^(.-) %.%. (.+)$"
    from = find(base, from or what, path)
    return from, (to and find(base, to, path) or from) - from + 1
  end
  if place == "at the end" then return #base + 1, 0 end
  error(("%s: what place is '%s'?"):format(path, place), 0)
end

function changes.apply(text, base, path)
  local head, own, here = {}, lines(base), nil
  local before, gone = {}, {}
  for _, line in ipairs(lines(text)) do
    local place = line:match "^#: (.+)$"
    if place then
      local first, n = at(place, own, path)
      for i = first, first + n - 1 do gone[i] = true end
      before[first] = before[first] or {}
      here = before[first]
    else
      table.insert(here or head, line)
    end
  end
  local out = {}
  for i = 1, #own + 1 do
    table.move(before[i] or {}, 1, #(before[i] or {}), #out + 1, out)
    if not gone[i] then out[#out + 1] = own[i] end
  end
  return table.concat(head, "\n") .. "\n", table.concat(out, "\n") .. "\n"
end

function changes.list(folder, base)
  local out = {}
  for _, file in ipairs(assert(system.list(folder))) do
    local name = file:match "^(.+)%.change$"
    if name then
      local path = folder .. "/" .. file
      local head, source = changes.apply(assert(system.read_file(path)), base, path)
      out[#out + 1] = { name = name, head = head, source = source }
    end
  end
  return out
end

return changes
