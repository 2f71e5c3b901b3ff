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
      v[k] = { x = x, y = y, from = d > 0 and from }
      if x >= n and y >= m then return v[k] end
    end
  end
end

-- A list of { " " | "-" | "+", text, line in old, line in new }.
function diff.lines(old, new)
  local a, b, out = lines(old), lines(new), {}
  local head, tail = 0, 0
  while head < #a and head < #b and a[head + 1] == b[head + 1] do head = head + 1 end
  while tail < #a - head and tail < #b - head and a[#a - tail] == b[#b - tail] do
    tail = tail + 1
  end
  local function add(mark, i, k) out[#out + 1] = { mark, i and a[i] or b[k], i, k } end

  -- The way to a point: an edit, then equal lines.
  local function follow(point)
    if not point.from then return end
    follow(point.from)
    local x, y = point.from.x, point.from.y
    if point.x - point.y < x - y then
      y = y + 1
      add("+", nil, head + y)
    else
      x = x + 1
      add("-", head + x)
    end
    for i = 1, point.x - x do add(" ", head + x + i, head + y + i) end
  end

  for i = 1, head do add(" ", i, i) end
  local point = shortest(a, b, #a - head - tail, #b - head - tail, head)
  if point then
    follow(point)
  else
    for i = head + 1, #a - tail do add("-", i) end
    for k = head + 1, #b - tail do add("+", nil, k) end
  end
  for i = tail - 1, 0, -1 do add(" ", #a - i, #b - i) end
  return out
end

-- Lines added and lines taken away.
function diff.count(list)
  local count = { ["+"] = 0, ["-"] = 0, [" "] = 0 }
  for _, e in ipairs(list) do count[e[1]] = count[e[1]] + 1 end
  return count["+"], count["-"]
end

return diff
