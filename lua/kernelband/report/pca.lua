-- report/pca.lua - the two directions in which points differ most: features are standardised,
-- then the two largest eigenvectors of their correlation matrix found by power iteration, the
-- second in what the first leaves.
local pca = {}

-- Points with mean 0 and variance 1 in each feature that varies; which these are.
local function standardise(points, dim)
  local n, used, out = #points, {}, {}
  for i in ipairs(points) do out[i] = {} end
  for j = 1, dim do
    local mean, square = 0, 0
    for _, p in ipairs(points) do mean = mean + p[j] / n end
    for _, p in ipairs(points) do square = square + (p[j] - mean) ^ 2 / n end
    local deviation = math.sqrt(square)
    if deviation > 1e-9 * math.max(1, math.abs(mean)) then
      used[#used + 1] = j
      for i, p in ipairs(points) do out[i][#used] = (p[j] - mean) / deviation end
    end
  end
  return out, used
end

-- The largest eigenvalue of a symmetric matrix and its vector, whose largest weight is positive.
local function largest(a)
  local v, value = {}, 0
  for i = 1, #a do v[i] = 1 + i / 7 end            -- orthogonal to nothing that is likely
  for _ = 1, 500 do
    local w, square = {}, 0
    for i = 1, #a do
      w[i] = 0
      for j = 1, #a do w[i] = w[i] + a[i][j] * v[j] end
      square = square + w[i] ^ 2
    end
    value = math.sqrt(square)
    if value < 1e-12 then return 0, nil end
    for i = 1, #a do v[i] = w[i] / value end
  end
  local most = 0
  for i = 1, #a do if math.abs(v[i]) > math.abs(most) then most = v[i] end end
  if most < 0 then for i = 1, #a do v[i] = -v[i] end end
  return value, v
end

-- points: lists of `dim` finite numbers. Returns places { x, y } .., the share of the
-- variance each axis has, and for each axis its weights by feature; nil when the
-- points do not differ.
function pca.plane(points, dim)
  if #points < 2 then return nil end
  local z, used = standardise(points, dim)
  local m = #used
  if m == 0 then return nil end
  local a = {}
  for i = 1, m do
    a[i] = {}
    for j = 1, m do
      a[i][j] = 0
      for _, p in ipairs(z) do a[i][j] = a[i][j] + p[i] * p[j] / #z end
    end
  end
  local places, shares, weights = {}, {}, { {}, {} }
  for i in ipairs(z) do places[i] = { 0, 0 } end
  for axis = 1, 2 do
    local value, v = largest(a)
    shares[axis] = value / m
    for c = 1, v and m or 0 do
      weights[axis][used[c]] = v[c]
      for i, p in ipairs(z) do places[i][axis] = places[i][axis] + v[c] * p[c] end
      for j = 1, m do a[c][j] = a[c][j] - value * v[c] * v[j] end
    end
  end
  return places, shares, weights
end

return pca
