-- report/pca.lua - the two directions in which points differ most: features are standardised,
-- then the two largest eigenvectors of their correlation matrix found by power iteration, the
-- second in what the first leaves.
local lists = require "kernelband.base.lists"

local pca = {}

local function dot(a, b)
  local sum = 0
  for i = 1, #a do sum = sum + a[i] * b[i] end
  return sum
end

-- Field j of points with mean 0 and length 1; zeros where it does not vary.
local function standardised(points, j)
  local mean, out = 0, {}
  for _, p in ipairs(points) do mean = mean + p[j] / #points end
  for i, p in ipairs(points) do out[i] = p[j] - mean end
  local length = math.sqrt(dot(out, out))
  if length <= 1e-9 * math.sqrt(#points) * math.max(1, math.abs(mean)) then length = math.huge end
  return lists.collect(out, function(v) return v / length end)
end

-- The largest eigenvalue of a symmetric matrix and its vector, whose largest weight is positive.
local function largest(a)
  local v, value = {}, 0
  for i = 1, #a do v[i] = 1 + i / 7 end            -- orthogonal to nothing that is likely
  for _ = 1, 500 do
    local w = lists.collect(a, function(row) return dot(row, v) end)
    value = math.sqrt(dot(w, w))
    if value < 1e-12 then return 0, lists.collect(v, function() return 0 end) end
    v = lists.collect(w, function(x) return x / value end)
  end
  if lists.best(v, math.abs) < 0 then v = lists.collect(v, function(x) return -x end) end
  return value, v
end

-- points: lists of `dim` finite numbers. Returns places { x, y } .., the share of the
-- variance each axis has, and for each axis its weights by feature; nil when the
-- points do not differ.
function pca.plane(points, dim)
  local columns, a, variance, shares, weights = {}, {}, 0, {}, {}
  for j = 1, dim do columns[j] = standardised(points, j) end
  for i, x in ipairs(columns) do
    a[i] = lists.collect(columns, function(y) return dot(x, y) end)
    variance = variance + a[i][i]
  end
  if variance == 0 then return nil end
  local places = lists.collect(points, function() return { 0, 0 } end)
  for axis = 1, 2 do
    local value, v = largest(a)
    shares[axis], weights[axis] = value / variance, v
    for j, column in ipairs(columns) do
      for i, p in ipairs(places) do p[axis] = p[axis] + v[j] * column[i] * math.sqrt(#points) end
      for k = 1, dim do a[j][k] = a[j][k] - value * v[j] * v[k] end
    end
  end
  return places, shares, weights
end

return pca
