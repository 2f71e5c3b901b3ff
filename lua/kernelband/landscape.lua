-- landscape.lua - ctx.landscape: what is to be expected of a (kernel, strategy)
-- pair where the generator can list its moves. Kernels are then points in a space
-- of parameters, and a Gaussian process over the points measured (core.gp) says of
-- every move how fast its child may be; a second one, over 1 and 0, how likely it
-- is to be valid. A child is drawn, not chosen, so a pair is worth the mean over its
-- moves of chance times expected improvement over the best; a move that leads to
-- what is known already is worth nothing. Of a few children drawn, prefer says which
-- one is worth most.
--
--   local land = ctx.landscape { scale =, noise =, rate =, flag =, keep =, fit =, kin = }
--   land.excess(kernel, i, best)   mean improvement in log speed-up over best;
--                                  nil when the moves of this kernel are not known
--   land.prefer(list)              of a list of parameters, the number of the one of
--                                  which most is expected; nil when all are known
--   land.admit(kernel)  land.learn(pull)
--   land.remember() -> list of { params =, time_ns = or nil }: this search's
--
-- remembered, a list of { name =, points = } (memory.lua), is learnt first,
-- a group of kin a space: what other kernels showed on axes of the same name
-- counts for kin of what this one shows. Names are compared without case and
-- without a leading use_; an axis that a space lacks is put at its middle here.
--
-- A parameter enters by its binary logarithm where it is a positive number, so
-- that 64 lies between 32 and 128; 0 counts as 1/2, true as 1, and names of other
-- kinds by their place in the order met. rate (flag, of an axis of two values) says how
-- fast kinship fades along an axis at first: keep + (1 - keep) exp(-rate |difference|);
-- fit is how far points may move that, those of a remembered space before our own.

local core   = require "kernelband.core"
local schema = require "kernelband.schema"

local landscape = {}

local most_points = 256                 -- points of this search a model holds
local most_memory = 192                 -- and of earlier ones
local most_moves = 256                  -- of a pair, the first listed
local most_places = 40000               -- of moves that a model keeps, of 65,536 it can;
local most_looks = 20000                -- and of points that prefer was asked about

local rules = {
  { "scale", "number", default = 1, at_least = 1e-6, at_most = 100 },
  { "noise", "number", default = 0.05, at_least = 0.01, at_most = 100 },
  { "rate", "number", default = 0.6, at_least = 0, at_most = 1e6 },
  { "flag", "number", default = 0.3, at_least = 0, at_most = 1e6 },
  { "level", "number", default = 1, at_least = 1e-6, at_most = 100 },
  { "mean", "number", default = 0.2, at_least = -100, at_most = 100 },
  { "fit", "number", default = 2, at_least = 0, at_most = 2 },
  { "kin", "number", default = 0.8, at_least = 0, at_most = 1 },
  { "keep", "number", default = 0.5, at_least = 0, at_most = 0.999 },
}

local function sorted(t)
  local names = {}
  for name in pairs(t) do names[#names + 1] = name end
  table.sort(names, function(a, b) return tostring(a) < tostring(b) end)
  return names
end

local function plain(name) return (tostring(name):lower():gsub("^use_", "")) end

-- The place of a number or a flag on its axis: powers of two from 1 on are even steps, 0
-- (false) is one below 1 (true), and numbers below 0 go on from there.
function landscape.place_of(v)
  if type(v) == "boolean" then return v and 0 or -1 end
  if v >= 1 then return math.log(v, 2) end
  return v >= 0 and v - 1 or -1 - math.log(1 - v, 2)
end

-- Parameters to coordinates: one number an axis. With look nothing is remembered of
-- them: they stand where the next ones met would.
local function encoder(params)
  local axes, codes = sorted(params), {}
  return axes, function(p, look)
    local x = {}
    for d, name in ipairs(axes) do
      local v = p[name]
      if type(v) == "number" or type(v) == "boolean" then
        x[d] = landscape.place_of(v)
      else
        local key = name .. "\n" .. tostring(v)
        x[d] = codes[key] or codes[name] or 0
        if not codes[key] and not look then
          codes[key], codes[name] = x[d], x[d] + 1
        end
      end
    end
    return x
  end
end

-- moves(kernel, i) is the generator's: a list of parameters, the kernel's own
-- among them and the same list for pairs that share their children; and whether
-- known ones may come again. strategies: how many there are.
function landscape.new(options, moves, remembered, strategies)
  local o = schema.options(options, rules, "ctx.landscape")
  local axes, encode, middle, speed, valid
  local land, rates = {}, {}
  local points, counted, known = {}, 0, {}  -- measured: { x, y or nil, n }; by key
  local top = -math.huge                    -- log speed-up of the best
  local place, classes, moving = {}, {}, {}
  local places, looks = 0, 0

  -- Earlier points as points of this space; nil when less than half of the axes
  -- that move are shared: what the others do would be noise, and is not small.
  local function recalled(params)
    local by_name, own, shared, all = {}, {}, 0, 0
    for name, v in pairs(params) do by_name[plain(name)] = v end
    for d, name in ipairs(axes) do
      own[name] = by_name[plain(name)]
      if moving[d] then
        all, shared = all + 1, shared + (own[name] ~= nil and 1 or 0)
      end
    end
    return shared > 0 and 2 * shared >= all and own or nil
  end

  -- Mean log time of a remembered space: times of other kernels say nothing.
  local function centre(list)
    local sum, n = 0, 0
    for _, p in ipairs(list) do
      if p.time_ns then sum, n = sum + math.log(p.time_ns), n + 1 end
    end
    return n > 0 and sum / n or 0
  end

  -- Learns memory: evenly from every space, axes that are absent at `middle`.
  local function recall()
    local spaces = remembered or {}
    for g = 1, math.min(#spaces, 63) do
      local list, most = spaces[g].points, most_memory // math.min(#spaces, 63)
      local step, zero, n, before = math.max(1, #list / most), centre(list), 1, #speed
      while n // 1 <= #list do
        local point = list[n // 1]
        local own = recalled(point.params)
        if own then
          for _, name in ipairs(axes) do
            if own[name] == nil then own[name] = middle[name] end
          end
          local x = encode(own)
          local t = point.time_ns
          if t then speed:learn(x, o.mean + zero - math.log(t), g) end
          valid:learn(x, t and 1 or 0, g)
        end
        n = n + step
      end
      if o.fit > 0 and #speed > before + 8 then speed:fit(o.fit, g) end
    end
  end

  local function take(point)
    if point.y then speed:learn(point.x, point.y) end
    valid:learn(point.x, point.y and 1 or 0)
  end

  -- The models anew from memory and the points, the fastest half and the latest.
  local function rebuild()
    speed = core.gp(rates, { scale = o.scale, noise = o.noise, level = o.level, mean = o.mean,
                             keep = o.keep, kin = o.kin, capacity = most_memory + most_points })
    valid = core.gp(rates, { scale = 0.4, noise = 0.1, level = 0.2, mean = 0.85, kin = o.kin,
                             capacity = most_memory + most_points })
    place, classes, places, looks = {}, {}, 0, 0
    recall()
    if #points >= most_points then
      local ranked = table.move(points, 1, #points, 1, {})
      table.sort(ranked, function(a, b)
        local ya, yb = a.y or -math.huge, b.y or -math.huge
        return ya > yb or ya == yb and a.n < b.n
      end)
      local kept = {}
      for n = 1, most_points // 4 do kept[ranked[n]] = true end
      for n = #points - most_points // 4 + 1, #points do kept[points[n]] = true end
      local left = {}
      for _, p in ipairs(points) do
        if kept[p] then left[#left + 1] = p end
      end
      points = left
    end
    for _, p in ipairs(points) do take(p) end
  end

  -- How fast kinship fades at first: an axis of two values, a flag, mostly does less.
  local function guess(kernel)
    local values, count = {}, {}
    for i = 0, strategies or 0 do
      local list = i == 0 and { kernel.params } or moves(kernel, i) or {}
      for n = 1, math.min(#list, most_moves) do
        for d, v in ipairs(encode(list[n])) do
          values[d] = values[d] or {}
          if not values[d][v] then values[d][v], count[d] = true, (count[d] or 0) + 1 end
        end
      end
    end
    local one = not strategies
    for d in ipairs(axes) do
      rates[d] = count[d] == 2 and o.flag or o.rate
      moving[d] = one or count[d] > 1
    end
  end

  local function add(params, y, time_ns, kernel)
    if not params then return end
    if not axes then
      axes, encode = encoder(params)
      middle = params
      guess(kernel or { params = params })
      if #axes > 0 and #axes <= 64 then rebuild() end
    end
    if not speed then return end
    for _, name in ipairs(axes) do      -- another generator's: no point of this space
      if params[name] == nil then return end
    end
    local x = encode(params)
    counted, known[table.concat(x, ",")] = counted + 1, true
    points[#points + 1] = { x = x, y = y, n = counted, params = params,
                           time_ns = time_ns }
    if #points == most_points then rebuild() else take(points[#points]) end
    local n = #points
    if o.fit > 0 and y and n >= 4 and (n <= 12 or n <= 32 and n % 2 == 0 or n % 8 == 0) then
      speed:fit(o.fit)
    end
  end

  function land.admit(kernel)
    top = math.max(top, math.log(kernel.speedup))
    add(kernel.params, math.log(kernel.speedup), kernel.time_ns, kernel)
  end

  -- A failed candidate counts where the engine knows its parameters.
  function land.learn(pull)
    if not pull.child and pull.verdict ~= "no_candidate" then add(pull.params) end
  end

  -- { key, place in either model }
  local function place_of(params, look)
    local x = encode(params, look)
    local key = table.concat(x, ",")
    place[key] = place[key] or { key, assert(speed:track(x)), assert(valid:track(x)) }
    return place[key]
  end

  local function class_of(list)
    local c = classes[list]
    if c then return c end
    c = {}
    for n = 1, math.min(#list, most_moves) do c[n] = place_of(list[n]) end
    classes[list], places = c, places + #c
    return c
  end

  -- Expected improvement times chance.
  local function worth(m, best)
    local e = speed:excess(m[2], best)
    if e <= 1e-9 then return e end
    local chance = valid:at(m[3])       -- and how uncertain that is
    return e * math.min(1, math.max(0.02, chance))
  end

  function land.excess(kernel, i, best)
    if not speed then return nil end
    local list, again = moves(kernel, i)
    if not list then return nil end
    if places > most_places then rebuild() end      -- without moves that are long gone
    local class, sum, count = class_of(list), 0, 0
    for n = 1, #class do
      local m = class[n]
      if not known[m[1]] then
        sum, count = sum + worth(m, best), count + 1
      elseif again then
        count = count + 1
      end
    end
    if again then count = count - 1 end           -- the parent itself
    return count > 0 and sum / count or 0
  end

  -- A resumed search asks it of no pull that the journal knows: it must change nothing.
  function land.prefer(list)
    looks = looks + #list
    if not speed or looks > most_looks then return nil end
    local most, at = -1, nil
    for n = 1, math.min(#list, most_moves) do
      local m = place_of(list[n], true)
      local e = known[m[1]] and -1 or worth(m, top)
      if e > most then most, at = e, n end
    end
    return at
  end

  function land.remember()
    local list = {}
    for n, p in ipairs(points) do
      list[n] = { params = p.params, time_ns = p.time_ns }
    end
    return list
  end

  return land
end

return landscape
