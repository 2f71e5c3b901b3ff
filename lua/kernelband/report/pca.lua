-- report/pca.lua - the two directions in which points differ most. Features are
-- standardised first, then the correlation matrix is taken apart by Jacobi's
-- rotations (Golub & Van Loan, Matrix Computations, 8.5).
local pca = {}

local function standardise(points, dim)
  local n, used = #points, {}
  local mean, deviation = {}, {}
  for j = 1, dim do
    local sum, squares = 0, 0
    for _, p in ipairs(points) do sum = sum + p[j] end
    mean[j] = sum / n
    for _, p in ipairs(points) do squares = squares + (p[j] - mean[j]) ^ 2 end
    deviation[j] = math.sqrt(squares / n)
    if deviation[j] > 1e-9 * math.max(1, math.abs(mean[j])) then used[#used + 1] = j end
  end
  local out = {}
  for i, p in ipairs(points) do
    out[i] = {}
    for c, j in ipairs(used) do out[i][c] = (p[j] - mean[j]) / deviation[j] end
  end
  return out, used
end

local function rotate(a, v, p, q)
  if math.abs(a[p][q]) < 1e-14 then return end
  local theta = (a[q][q] - a[p][p]) / (2 * a[p][q])
  local t = (theta >= 0 and 1 or -1) / (math.abs(theta) + math.sqrt(theta * theta + 1))
  local c = 1 / math.sqrt(t * t + 1)
  local s = t * c
  for i = 1, #a do
    a[i][p], a[i][q] = c * a[i][p] - s * a[i][q], s * a[i][p] + c * a[i][q]
  end
  for i = 1, #a do
    a[p][i], a[q][i] = c * a[p][i] - s * a[q][i], s * a[p][i] + c * a[q][i]
    v[i][p], v[i][q] = c * v[i][p] - s * v[i][q], s * v[i][p] + c * v[i][q]
  end
end

-- points: lists of `dim` finite numbers. Returns places { x, y } .., the share of the
-- variance each axis has, and for each axis its weights by feature; nil when the
-- points do not differ.
function pca.plane(points, dim)
  if #points < 2 then return nil end
  local z, used = standardise(points, dim)
  local m = #used
  if m == 0 then return nil end
  local a, v = {}, {}
  for i = 1, m do
    a[i], v[i] = {}, {}
    for j = 1, m do
      local sum = 0
      for _, p in ipairs(z) do sum = sum + p[i] * p[j] end
      a[i][j], v[i][j] = sum / #z, i == j and 1 or 0
    end
  end
  for _ = 1, 30 do
    for p = 1, m - 1 do
      for q = p + 1, m do rotate(a, v, p, q) end
    end
  end
  local order = {}
  for i = 1, m do order[i] = i end
  table.sort(order, function(i, j)
    if a[i][i] ~= a[j][j] then return a[i][i] > a[j][j] end
    return i < j
  end)
  local places, shares, weights = {}, {}, { {}, {} }
  for i in ipairs(z) do places[i] = { 0, 0 } end
  for axis = 1, 2 do
    local e = order[axis]
    shares[axis] = e and math.max(0, a[e][e]) / m or 0
    local sign, most = 1, 0             -- the largest weight is positive
    for c = 1, e and m or 0 do
      if math.abs(v[c][e]) > most then sign, most = v[c][e] < 0 and -1 or 1, math.abs(v[c][e]) end
    end
    for c = 1, e and m or 0 do
      weights[axis][used[c]] = sign * v[c][e]
      for i, p in ipairs(z) do places[i][axis] = places[i][axis] + sign * v[c][e] * p[c] end
    end
  end
  return places, shares, weights
end

return pca
