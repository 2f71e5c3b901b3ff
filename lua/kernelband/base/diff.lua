-- base/diff.lua - lines that differ between two texts: E. W. Myers, "An O(ND)
-- difference algorithm and its variations", 1986. Where the two have too little
-- in common for that to be worth its time, all of the one gives way to the other.
local diff = {}

local MOST_EDITS = 600

local function lines(text)
  local out = {}
  if text == "" then return out end
  if text:sub(-1) ~= "\n" then text = text .. "\n" end
  for line in text:gmatch "([^\n]*)\n" do out[#out + 1] = (line:gsub("\r$", "")) end
  return out
end

-- The furthest x on each diagonal after d edits, for d = 0, 1 ..; nil when there
-- are more edits than are worth finding.
local function trace(a, b, n, m, at)
  local v, steps = { [1] = 0 }, {}
  for d = 0, math.min(n + m, MOST_EDITS) do
    local was = {}
    for k = -d, d, 2 do
      local x
      if k == -d or (k ~= d and v[k - 1] < v[k + 1]) then x = v[k + 1]
      else x = v[k - 1] + 1 end
      local y = x - k
      while x < n and y < m and a[at + x + 1] == b[at + y + 1] do x, y = x + 1, y + 1 end
      v[k] = x
      if x >= n and y >= m then return steps, d end
    end
    for k = -d, d, 2 do was[k] = v[k] end
    steps[d] = was
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
  local back = {}
  local steps, d = trace(a, b, n, m, head)
  local x, y = n, m
  local function keep() back[#back + 1] = { " ", a[head + x], head + x, head + y } end
  while steps and (x > 0 or y > 0) do
    local k = x - y
    local v = d > 0 and steps[d - 1]
    if not v then
      while x > 0 do keep() x, y = x - 1, y - 1 end
      break
    end
    local from = (k == -d or (k ~= d and (v[k - 1] or -1) < (v[k + 1] or -1))) and k + 1 or k - 1
    local fx = v[from]
    local fy = fx - from
    while x > fx and y > fy do
      if from == k + 1 and x == fx or from == k - 1 and y == fy then break end
      keep()
      x, y = x - 1, y - 1
    end
    if from == k + 1 then back[#back + 1] = { "+", b[head + y], nil, head + y } y = y - 1
    else back[#back + 1] = { "-", a[head + x], head + x } x = x - 1 end
    d = d - 1
  end
  local out = {}
  for i = 1, head do out[i] = { " ", a[i], i, i } end
  if not steps then
    for i = 1, n do out[#out + 1] = { "-", a[head + i], head + i } end
    for i = 1, m do out[#out + 1] = { "+", b[head + i], nil, head + i } end
  end
  for i = #back, 1, -1 do out[#out + 1] = back[i] end
  for i = 1, tail do
    local j, l = #a - tail + i, #b - tail + i
    out[#out + 1] = { " ", a[j], j, l }
  end
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
