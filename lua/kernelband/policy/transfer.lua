-- policy/transfer.lua - what earlier searches on other kernels and devices measured
-- (memory.lua), as points of the space at hand.
--
-- Names of parameters are compared without case and without a leading use_. A space
-- counts when it shares at least three quarters of the axes that move here, as the same
-- kernel on another device does: with half of them, points of other kernels cost more
-- than they gave (tests/bench/policies.lua). A parameter that it lacks is put at its
-- middle here.
-- Times become log speed-ups over the mean of their space, as times of another kernel
-- say nothing by themselves. Every space is a group of its own in the models: what was
-- measured there counts for `kin` of what is measured here (core.gp).

local transfer = {}

local most_points = 192                 -- of all spaces, taken evenly from each
local most_spaces = 63

local function plain(name) return (tostring(name):lower():gsub("^use_", "")) end

-- params as a point of these axes; nil when too little is shared.
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
  return shared > 0 and 4 * shared >= 3 * all and own or nil
end

local function mean_log_time(points)
  local sum, n = 0, 0
  for _, p in ipairs(points) do
    if p.time_ns then sum, n = sum + math.log(p.time_ns), n + 1 end
  end
  return n > 0 and sum / n or 0
end

-- spaces: a list of { name, points = { { params, time_ns or nil }, .. } } or nil. Calls
-- take(own params, log speed-up or nil, group) for every point that is of use, and
-- ended(group, how many of them are valid) after each space.
function transfer.recall(spaces, axes, moving, middle, take, ended)
  local count = math.min(#(spaces or {}), most_spaces)
  for g = 1, count do
    local points, valid = spaces[g].points, 0
    local level, step, at = mean_log_time(points), math.max(1, #points / (most_points // count)), 1
    while at // 1 <= #points do
      local point = points[at // 1]
      local own, t = translated(point.params, axes, moving, middle), point.time_ns
      if own then
        take(own, t and level - math.log(t) or nil, g)
        valid = valid + (t and 1 or 0)
      end
      at = at + step
    end
    ended(g, valid)
  end
end

transfer.most_points = most_points

return transfer
