-- policy/transfer.lua - what earlier searches on other kernels and devices measured
-- (memory.lua), as points of the space at hand, and what they count for.
--
-- Names of parameters are compared without case and without a leading use_; a parameter that
-- a remembered space lacks is put at its middle here. Times become log speed-ups over the
-- mean of their space, as times of another kernel say nothing by themselves.
--
-- Every space is a group of its own in the models: what was measured there counts for
-- kin(group) of what is measured here (core.gp): 0, 1/3, 2/3 or all of `kin`. At first it is 0
-- with a chance of 1 - 0.8 share^2, share being the part of the axes moving here that the
-- space has too; then Bayes' rule holds that against how well each point of the running search
-- was forecast from those before (the log predictive density; Bonilla, Chai and Williams,
-- "Multi-task Gaussian process prediction", 2008). The mean of the four is used, so that a
-- memory which forecasts badly loses its weight. A space with less than four fifths of the axes
-- that move here is left out: of six recorded spaces such memories made one worse, none better.

local transfer = {}

local most_points = 192                 -- of all spaces, taken evenly from each
local steps = 3                         -- of kin
local least_share = 0.8                 -- of the axes that move here: else another kernel's
local mean_here = 0.2                   -- of a log speed-up over the start

local function plain(name) return (tostring(name):lower():gsub("^use_", "")) end

-- params as a point of these axes, and the part of those that move which it has.
local function translated(params, axes, moving, middle)
  local by_name, own, shared, all = {}, {}, 0, 0
  for name, v in pairs(params) do by_name[plain(name)] = v end
  for d, name in ipairs(axes) do
    own[name] = by_name[plain(name)]
    if moving[d] then
      all, shared = all + 1, shared + (own[name] ~= nil and 1 or 0)
    end
    if own[name] == nil then own[name] = middle[name] end
  end
  return own, all > 0 and shared / all or 0
end

local function mean_log_time(points)
  local sum, n = 0, 0
  for _, p in ipairs(points) do
    if p.time_ns then sum, n = sum + math.log(p.time_ns), n + 1 end
  end
  return n > 0 and sum / n or 0
end

-- How likely kin is j steps of `kin`, before anything was measured here.
local function prior(share, j)
  local any = 0.8 * share ^ 2
  return j == 0 and 1 - any or any * 2 * j / (steps * (steps + 1))
end

-- remembered: a list of { name, points = { { params, time_ns or nil }, .. } }. Returns
-- a list of { share =, weight = of kin, points = { { x =, y = log speed-up or nil }, .. },
-- count = of those with y } of the spaces that share most axes; encode turns parameters into
-- coordinates.
function transfer.spaces(remembered, axes, moving, middle, encode)
  local out, most = {}, most_points // math.max(1, #remembered)
  for _, one in ipairs(remembered) do
    local points, space = one.points, { share = 1, weight = 0, points = {}, count = 0 }
    local level, step, at = mean_log_time(points), math.max(1, #points / most), 1
    while at // 1 <= #points do
      local point = points[at // 1]
      local own, share = translated(point.params, axes, moving, middle)
      local t = point.time_ns
      local y = t and mean_here + level - math.log(t) or nil
      table.insert(space.points, { x = encode(own), y = y })
      space.share, at = math.min(space.share, share), at + step
      if y then space.count = space.count + 1 end
    end
    for j = 1, steps do space.weight = space.weight + prior(space.share, j) * j / steps end
    if space.points[1] and space.share >= least_share then out[#out + 1] = space end
  end
  return out
end

-- Sets space.weight by the valid points { x =, y = } of the running search, in their order.
-- new_model() -> a Gaussian process; fitted(model, group, count) after a group's points.
function transfer.weigh(space, own, kin, new_model, fitted)
  if not space.model then
    space.model = new_model()
    for _, p in ipairs(space.points) do
      if p.y then space.model:learn(p.x, p.y, 1) end
    end
    fitted(space.model, 1, space.count)
  end
  local law, most = {}, -math.huge
  for _, p in ipairs(own) do space.model:learn(p.x, p.y) end
  for j = 0, steps do
    space.model:correlate(1, kin * j / steps)
    law[j] = space.model:density(space.count) + math.log(prior(space.share, j))
    most = math.max(most, law[j])
  end
  space.model:forget(space.count)
  local sum, mean = 0, 0
  for j = 0, steps do
    local p = math.exp(law[j] - most)
    sum, mean = sum + p, mean + p * j / steps
  end
  space.weight = mean / sum
end

transfer.most_points = most_points

return transfer
