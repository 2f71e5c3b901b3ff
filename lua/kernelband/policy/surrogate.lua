-- policy/surrogate.lua - ctx.surrogate: a model of the candidates that the generator can
-- list (Bayesian optimisation). A Gaussian process (core.gp) over the parameters measured
-- so far forecasts the log speed-up of every listed child, a second one, over 1 and 0,
-- whether it is valid. What a child is worth is its expected improvement over the best
-- (Jones, Schonlau and Welch, 1998) times its chance to be valid.
--
--   local model = ctx.surrogate { rate =, fit =, kin =, gain =, spread = }
--   model.worth(kernel, i, pending)  what a pull of strategy i on this kernel is worth: of
--                          children ranked by the policy that of the best, of `draws` drawn
--                          at random the mean of the best of so many; where moves are not
--                          listed what pulls gained up to now. pending: as choose got it
--   model.neighbour(kernel, i, pending)  whether all children of strategy i are listed and one
--                          that differs in one parameter is neither measured nor under way
--                          to be: prefer(its list) then says which, whatever it is worth
--   model.prefer(list)     the number of the child worth most; nil when all are known
--   model.admit(kernel)  model.learn(pull)
--   model.remember() -> list of { params =, time_ns = or nil }
--
-- A pull under way counts as if it had given what the model forecasts for it, so that
-- the next looks elsewhere: the kriging believer (Ginsbourger, Le Riche and Carraro,
-- 2010). Its child is not offered a second time.
--
-- A parameter enters by its binary logarithm where it is a positive number, so that 64
-- lies between 32 and 128; 0 counts as 1/2, true as 1, and names of other kinds by their
-- place in the order met. rate is the inverse length scale of an axis at first, of an axis of
-- two values a third of it; fit is how far 24 points and more may move that, 8
-- where children are drawn at random: those that the model picked lie where it hoped.

local lists   = require "kernelband.base.lists"
local core    = require "kernelband.core"
local schema  = require "kernelband.base.schema"

local collect = lists.collect

local surrogate = {}

local most_points = 256                 -- of this search a model holds
local most_places = 60000               -- a model keeps, of 65,536 it can
local least = 1e-9                      -- that an unknown child is worth
local prior_pulls = 4                   -- that gain and spread count for
local most_looks = 20000                -- points that prefer was asked about beyond these

local rules = {
  { "rate", "number", default = 0.3, at_least = 0, at_most = 1e6 },
  { "fit", "number", default = 1.5, at_least = 0, at_most = 2 },
  { "kin", "number", default = 0.9, at_least = 0, at_most = 1 },
  { "gain", "number", default = 0.1 },
  { "spread", "number", default = 0.3, at_least = 1e-6 },
}

-- The place of a number or a flag on its axis: powers of two from 1 on are even steps, 0
-- (false) is one below 1 (true), and numbers below 0 go on from there.
function surrogate.place_of(v)
  if type(v) == "boolean" then return v and 0 or -1 end
  if v >= 1 then return math.log(v, 2) end
  return v >= 0 and v - 1 or -1 - math.log(1 - v, 2)
end

-- Parameters to coordinates: one number an axis. With look nothing is remembered of
-- them: they stand where the next ones met would.
local function encoder(params)
  local axes, codes = lists.keys(params), {}
  return axes, function(p, look)
    local x = {}
    for d, name in ipairs(axes) do
      local v = p[name]
      if type(v) == "number" or type(v) == "boolean" then
        x[d] = surrogate.place_of(v)
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

-- Mean of the largest of `draws` of these numbers, each drawn with replacement.
local function best_of(values, draws)
  table.sort(values, function(a, b) return a > b end)
  local n, sum, before = #values, 0, 1
  for at, v in ipairs(values) do
    local rest = (1 - at / n) ^ draws   -- that all draws come after this one
    sum, before = sum + v * (before - rest), rest
  end
  return sum
end

-- Of children that nobody can list: they gain on their parent what children gained up to now.
-- o.gain, o.spread: of log time, before anything was seen. law.worth(kernel): the expected
-- improvement of a child over the best in log time, of a logistic law.
local function law_of_gains(o)
  local n, sum, squares, best = 0, 0, 0, 1
  local law = {}

  -- A gain within both intervals is none.
  function law.learn(pull)
    local k, child = pull.parent, pull.child
    n = n + 1
    if not child then return end
    best = math.max(best, child.speedup)
    if child.speedup_low > k.speedup_high or child.speedup_high < k.speedup_low then
      local gain = math.log(child.speedup / k.speedup)
      sum, squares = sum + gain, squares + gain ^ 2
    end
  end

  function law.worth(kernel)
    local mean = (prior_pulls * o.gain + sum) / (prior_pulls + n) + math.log(kernel.speedup / best)
    local w = 0.55 * math.sqrt((prior_pulls * o.spread ^ 2 + squares) / (prior_pulls + n))
    return mean > 30 * w and mean or w * math.log(1 + math.exp(mean / w))
  end

  return law
end

-- moves(kernel, i) is the generator's: a list of parameters, the kernel's own among them
-- and the same list for pairs that share their children; whether known ones may come
-- again; and how many are drawn for a pull, all of them where it does not say.
function surrogate.new(options, moves, remembered, strategies)
  local o = schema.options(options, rules, "ctx.surrogate")
  local law = law_of_gains(o)
  local model, axes, encode, speed, valid, rates = {}, nil, nil, nil, nil, {}
  local moving, middle, spaces = {}, nil, {}
  local points, top = {}, -math.huge    -- measured, in their order: { x, y or nil, .. }
  local known = {}                      -- keys of what was measured or is under way
  local places, by_key, looks = {}, {}, 0       -- children, as both models track them
  local drawn = false                   -- whether children are drawn, not ranked
  local looked, values, first = {}, {}, {}      -- list -> places; worth, best child now
  local offered = {}                    -- keys that neighbour found: a generator may refuse one
  local imagined = { all = "" }         -- places under way, as learnt, and keys, as told
  local valued, improvement, chance = false, {}, {}     -- whether worths are up to date

  local function value(p, gain, mean)
    p.worth = known[p.key] and 0 or gain * (mean > 1 and 1 or mean < 0.02 and 0.02 or mean)
  end

  -- The place of a child's coordinates: { n =, x =, key =, worth = }.
  local function at(x)
    local key = table.concat(x, ",")
    local p = by_key[key]
    if not p then
      p = { n = assert(speed:track(x) and valid:track(x)), x = x, key = key }
      by_key[key], places[p.n] = p, p
      if valued then value(p, speed:improvement(p.n, top), (valid:at(p.n))) end
    end
    return p
  end

  local function places_of(list, look)
    return collect(list, function(params) return at(encode(params, look)) end)
  end

  local function forget_imagined()
    speed:forget(#speed - #imagined)
    for _, p in ipairs(imagined) do known[p.key] = nil end
    imagined, valued = { all = "" }, false
  end

  local function take(point, group)
    if point.y then speed:learn(point.x, point.y, group) end
    valid:learn(point.x, point.y and 1 or 0, group)
  end

  local transfer = remembered and require "kernelband.policy.transfer"
  local capacity = most_points + (transfer and transfer.most_points or 0) + 64
  local function new_speed()
    return core.gp(rates, { signal = 1, noise = 0.05, level = 1, mean = 0.2,
                            correlation = o.kin, capacity = capacity })
  end

  local function fitted(of, group, count)
    if o.fit > 0 and count > 8 then of:fit(o.fit, group) end
  end

  -- What the spaces count for, by the points of this search; true when that has moved.
  local function weigh()
    local own, moved = collect(points, function(p) return p.y and p end), false
    for _, space in ipairs(spaces) do
      transfer.weigh(space, own, o.kin, new_speed, fitted)
      moved = moved or math.abs(space.weight - space.used) > 0.1
    end
    return moved
  end

  -- The fastest and the latest of the points, when there are too many.
  local function thin_out()
    local ranked, kept = lists.sorted(points, function(p) return -(p.y or -math.huge) end), {}
    for n = 1, most_points // 4 do kept[ranked[n]] = true end
    for n = #points - most_points // 4 + 1, #points do kept[points[n]] = true end
    points = collect(points, function(p) return kept[p] and p end)
  end

  -- The models anew, from memory and the points. Remembered spaces are groups of theirs, each for
  -- what it counts for. Rates are those of the spaces that count for half or more.
  local function rebuild()
    speed = new_speed()
    valid = core.gp(rates, { signal = 0.4, noise = 0.1, level = 0.2, mean = 0.85,
                             correlation = o.kin, capacity = capacity })
    places, by_key, looks, looked, valued = {}, {}, 0, {}, false
    for g, space in ipairs(spaces) do
      for _, p in ipairs(space.points) do take(p, g) end
      if space.weight >= 0.5 then fitted(speed, g, space.count) end
      space.used = space.weight
      speed:correlate(g, o.kin * space.weight)
      valid:correlate(g, o.kin * space.weight)
    end
    if #points >= most_points then thin_out() end
    for _, p in ipairs(points) do take(p) end
  end

  -- Rates at first: an axis of two values, a flag, mostly does less.
  local function guess(kernel)
    local values_of = collect(axes, function() return {} end)
    local function see(params)
      for d, v in ipairs(encode(params)) do values_of[d][v] = true end
    end
    see(kernel.params)
    for i = 1, strategies or 0 do
      for _, params in ipairs(moves(kernel, i) or {}) do see(params) end
    end
    for d in ipairs(axes) do
      local count = #lists.keys(values_of[d])
      rates[d], moving[d] = count == 2 and o.rate / 3 or o.rate, not strategies or count > 1
    end
  end

  -- kernel: nil of a candidate that failed.
  local function add(params, kernel)
    if not params then return end
    if not axes then
      axes, encode = encoder(params)
      middle = params
      guess(kernel or { params = params })
      if #axes > 0 and #axes <= 64 then
        spaces = transfer and transfer.spaces(remembered, axes, moving, middle, encode) or {}
        rebuild()
      end
    end
    local function lacking(name) return params[name] == nil end
    if not speed or lists.find(axes, lacking) then return end -- of another generator
    forget_imagined()
    local x, y, n = encode(params), kernel and math.log(kernel.speedup), #points + 1
    known[table.concat(x, ",")] = true
    points[n] = { x = x, y = y, params = params, time_ns = kernel and kernel.time_ns }
    local moved = spaces[1] and n % (n <= 8 and 2 or 4) == 0 and n <= 64 and weigh()
    if n == most_points or moved then rebuild() else take(points[n]) end
    n = #points                         -- they may have been thinned out
    local due = n >= (drawn and 8 or 24) and n % (n <= 32 and 2 or 8) == 0
    if o.fit > 0 and y and due then speed:fit(o.fit) end
  end

  function model.admit(kernel)
    top = math.max(top, math.log(kernel.speedup))
    add(kernel.params, kernel)
  end

  -- A failed candidate counts where the engine knows its parameters.
  function model.learn(pull)
    law.learn(pull)
    if not pull.child and pull.verdict ~= "no_candidate" then add(pull.params) end
  end

  -- Learns what the model itself forecasts for the children under way.
  local function imagine(pending)
    local now = collect(pending or {}, function(e)
      return e.params and e.params[axes[1]] ~= nil and at(encode(e.params))
    end)
    local all = table.concat(collect(now, "key"), ";")
    if all == imagined.all then return end
    forget_imagined()
    imagined.all = all
    for n, p in ipairs(now) do
      if not speed:learn(p.x, (speed:at(p.n))) then break end
      imagined[n], known[p.key] = p, true
    end
  end

  -- The worth of every place, where it is out of date.
  local function value_all()
    if valued then return end
    valued, values, first = true, {}, {}
    speed:improvements(top, improvement)
    valid:means(chance)
    for n, p in ipairs(places) do value(p, improvement[n], chance[n]) end
  end

  -- The places of a list, whose worths are up to date.
  local function look_at(list, pending)
    imagine(pending)
    looked[list] = looked[list] or places_of(list)
    value_all()
    return looked[list]
  end

  -- The largest worth of children that are not known, and that fit, and which it is: 0, nil when
  -- there are none.
  local function best_of_all(list, fits)
    local best, i = lists.best(list, function(p)
      return not known[p.key] and (not fits or fits(p)) and p.worth
    end)
    return best and math.max(least, best.worth) or 0, i
  end

  -- The same of the best of `draws` children drawn evenly, known ones among them or not.
  local function best_of_drawn(list, again, draws)
    local new = lists.find(list, function(p) return not known[p.key] end)
    local all = collect(list, function(p) return (again or not known[p.key]) and p.worth end)
    if again and #all > 1 then all[#all] = nil end      -- the parent itself
    return new and math.max(least, best_of(all, draws)) or 0
  end

  function model.worth(kernel, i, pending)
    local list, again, draws = moves(kernel, i)
    if not speed or not list then return law.worth(kernel) end
    drawn = draws ~= nil
    if #places > most_places then         -- without moves that are long gone
      forget_imagined()
      rebuild()
    end
    local children = look_at(list, pending)
    if not values[list] and draws then
      values[list] = best_of_drawn(children, again, draws)
    elseif not values[list] then
      values[list], first[list] = best_of_all(children)
    end
    return values[list]
  end

  function model.neighbour(kernel, i, pending)
    local list, _, draws = moves(kernel, i)
    if not speed or not list or draws then return false end
    local children, own = look_at(list, pending), encode(kernel.params, true)
    local _, best = best_of_all(children, function(p)
      local apart = 0
      for d, v in ipairs(own) do apart = apart + (p.x[d] == v and 0 or 1) end
      return apart == 1 and not offered[p.key]
    end)
    if not best then return false end
    first[list], offered[children[best].key] = best, true
    return true
  end

  -- A resumed search asks it of no pull that the journal knows: it must change nothing.
  function model.prefer(list)
    if not speed then return nil end
    if valued and first[list] then return first[list] end
    local children = looked[list]
    if not children then                -- of children that were drawn: it comes once
      looks = looks + #list
      if looks > most_looks then return nil end
      children = places_of(list, true)
    end
    value_all()
    return select(2, best_of_all(children))
  end

  function model.remember()
    return collect(points, function(p) return { params = p.params, time_ns = p.time_ns } end)
  end

  return model
end

return surrogate
