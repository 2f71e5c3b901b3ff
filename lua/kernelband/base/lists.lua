-- base/lists.lua - lists made of lists, copies of tables.
local lists = {}

-- What of(item, i) gives for each item of a list, in their order; items for which it gives nothing
-- (nil, false) are left out. of may be the name of a field.
function lists.collect(list, of)
  local out = {}
  for i, item in ipairs(list) do
    local value
    if type(of) == "string" then value = item[of] else value = of(item, i) end
    if value then out[#out + 1] = value end
  end
  return out
end

-- Where each item of a list stands: the set of them, too.
function lists.places(list)
  local out = {}
  for i, item in ipairs(list) do out[item] = i end
  return out
end

-- A copy of t, with what more says laid over it.
function lists.with(t, more)
  local out = {}
  for key, value in pairs(t) do out[key] = value end
  for key, value in pairs(more or {}) do out[key] = value end
  return out
end

return lists
