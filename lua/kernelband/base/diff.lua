-- base/diff.lua - lines that differ between two texts: E. W. Myers, "An O(ND)
-- difference algorithm and its variations", 1986. Where the two have too little
-- in common for that to be worth its time, all of the one gives way to the other.
local lines = require("kernelband.base.text").lines

local diff = {}

local MOST_EDITS = 600

-- The end of the shortest way from both beginnings to both ends: a point { x, y, from }, from being
-- the point before the last edit and the run of equal lines behind it; nil when there are more
-- edits than are worth finding. Of each diagonal the furthest point so far is kept.
local function shortest(a, b, n, m, at)
  local v = { [1] = { x = 0, y = -1 } }
  for d = 0, math.min(n + m, MOST_EDITS) do
    for k = -d, d, 2 do
      local down = k == -d or (k ~= d and v[k - 1].x < v[k + 1].x)
      local from = down and v[k + 1] or v[k - 1]
      local x = down and from.x or from.x + 1
      local y = x - k
      while x < n and y < m and a[at + x + 1] == b[at + y + 1] do x, y = x + 1, y + 1 end
      v[k] = { x = x, y = y, from = from }
      if x >= n and y >= m then return v[k] end
    end
  end
end

-- A list of { " " | "-" | "+", text, line in old, line in new }.
function diff.lines(old, new)
  local a, b = lines(old), lines(new)
  local head, tail = 0, 0
  while head < #a and head < #b and a[head + 1] == b[head + 1] do head = head + 1 end
  while tail < #a - head and tail < #b - head and a[#a - tail] == b[#b - tail] do
    tail = tail + 1
  end
  local n, m = #a - head - tail, #b - head - tail
  local back, out = {}, {}
  local function entry(mark, i, k) return { mark, i and a[i] or b[k], i, k } end
  local point = shortest(a, b, n, m, head)
  if not point then
    for k = m, 1, -1 do back[#back + 1] = entry("+", nil, head + k) end
    for i = n, 1, -1 do back[#back + 1] = entry("-", head + i) end
  end
  while point and point.from do
    local x, y, from = point.x, point.y, point.from
    local down = x - y < from.x - from.y
    while x > from.x + (down and 0 or 1) do
      back[#back + 1] = entry(" ", head + x, head + y)
      x, y = x - 1, y - 1
    end
    if not down then back[#back + 1] = entry("-", head + x)
    elseif y > 0 then back[#back + 1] = entry("+", nil, head + y) end
    point = from
  end
  for i = 1, head do out[i] = entry(" ", i, i) end
  for i = #back, 1, -1 do out[#out + 1] = back[i] end
  for i = tail - 1, 0, -1 do out[#out + 1] = entry(" ", #a - i, #b - i) end
  return out
end

-- Lines added and lines taken away.
function diff.count(list)
  local plus, minus = 0, 0
  for _, e in ipairs(list) do
    if e[1] == "+" then plus = plus + 1 elseif e[1] == "-" then minus = minus + 1 end
  end
  return plus, minus
end

return diff
