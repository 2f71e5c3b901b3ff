-- base/lists.lua - lists made of lists, copies of tables.
local lists = {}

-- What of(item, i) gives for each item of a list, in their order; items for which it gives nothing
-- (nil, false) are left out. of may be the key of a field.
function lists.collect(list, of)
  local out = {}
  for i, item in ipairs(list) do
    local value
    if type(of) == "function" then value = of(item, i) else value = item[of] end
    if value then out[#out + 1] = value end
  end
  return out
end

-- The first item for which fits(item) holds, and where it is; nil: there is none.
function lists.find(list, fits)
  for i, item in ipairs(list) do
    if fits(item) then return item, i end
  end
end

-- The item with the largest score(item), the first of several, and where it is; items without a
-- score (nil, false) are passed over.
function lists.best(list, score)
  local best, at, most
  for i, item in ipairs(list) do
    local s = score(item)
    if s and (not most or s > most) then best, at, most = item, i, s end
  end
  return best, at
end

-- The items in ascending order of key(item), a number; ties in the order they had.
function lists.sorted(list, key)
  local rows = lists.collect(list, function(item, i) return { key(item), i, item } end)
  table.sort(rows, function(a, b)
    if a[1] ~= b[1] then return a[1] < b[1] end
    return a[2] < b[2]
  end)
  return lists.collect(rows, 3)
end

-- The items in groups of the same key(item, i), or of the same field of that name, in the order of
-- their first items.
function lists.groups(list, key)
  local out, by = {}, {}
  for i, item in ipairs(list) do
    local k
    if type(key) == "function" then k = key(item, i) else k = item[key] end
    local group = by[k] or {}
    if not by[k] then out[#out + 1], by[k] = group, group end
    group[#group + 1] = item
  end
  return out
end

-- The keys of a table, sorted as text.
function lists.keys(t)
  local keys = {}
  for key in pairs(t) do keys[#keys + 1] = key end
  table.sort(keys, function(a, b) return tostring(a) < tostring(b) end)
  return keys
end

function lists.contains(list, v) return lists.find(list, function(x) return x == v end) ~= nil end

-- Where each item of a list stands: the set of them, too.
function lists.places(list)
  local out = {}
  for i, item in ipairs(list) do out[item] = i end
  return out
end

-- The parts of a text that match a pattern, in their order; its words unless given.
function lists.words(text, pattern)
  local out = {}
  for word in text:gmatch(pattern or "%S+") do out[#out + 1] = word end
  return out
end

-- The items of a list, each once, where it stands first.
function lists.distinct(list)
  local seen = {}
  return lists.collect(list, function(item)
    local new = not seen[item]
    seen[item] = true
    return new and item
  end)
end

-- A position of a list of weights, drawn with a chance in proportion to its weight; 0 of none.
function lists.draw(weights, rng)
  local sum = 0
  for _, w in ipairs(weights) do sum = sum + w end
  local left = rng:uniform() * sum
  for at, w in ipairs(weights) do
    if left < w then return at end
    left = left - w
  end
  return #weights
end

-- A copy of t, with what more says laid over it.
function lists.with(t, more)
  local out = {}
  for key, value in pairs(t) do out[key] = value end
  for key, value in pairs(more or {}) do out[key] = value end
  return out
end

-- The items of several lists in one.
function lists.joined(several)
  local out = {}
  for _, list in ipairs(several) do table.move(list, 1, #list, #out + 1, out) end
  return out
end

return lists
