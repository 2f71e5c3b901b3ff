-- generator/schedule.lua - children from a task's schedule.lua: named
-- parameters, a validity rule, and emit(point) -> source. A strategy owns the
-- parameters named in its `moves`, { "*" } for every one; a child is its parent with at
-- least one of these changed and nothing else, drawn among the valid points that were
-- never proposed and whose source is new: evenly where they can be enumerated, else
-- mostly with few of them changed. Where the policy says which it would rather have, all
-- are ranked that can be listed, else a few drawn. The first value of every parameter is
-- the baseline.
--
-- A schedule may have first_points(machine) -> list of parameters: what is known to be
-- good on such a machine, the best first. One that names every parameter is measured by
-- one of the first pulls, whichever its pair is; and a pair's first child is its parent with
-- the owned parameters as the first of these that is new has them.
--
-- A generator is { name, start = function(task) -> instance }, an instance
--   open(parent, strategy)  true when something new could come of it
--   propose(parent, strategy, rng, about) -> { source, params, origin [, usd] }
--                           or nil, reason [, code]; about has pool, best, task, prefer:
--                           nil or function(list of params) -> number of one or nil.
--                           Code EDECLINED: the strategy cannot help this kernel
--   moves(parent, strategy) parameters of what may come of it, whether known ones come
--                           again, how many are drawn (nil: all); nil when unknown. Optional
--   seen(candidate)         it is known already: never propose it again
--   pending(candidate, is)  it is under way from now on, or has landed. Optional
--   ending(strategies)      why no pair is open, a sentence or nil. Optional
--   first                   params of the baseline, or nil
--
-- A point is a list of value positions, one a parameter, in their order.

local core   = require "kernelband.core"
local lists  = require "kernelband.base.lists"
local schema = require "kernelband.base.schema"

local collect = lists.collect

-- limit: combinations of owned values enumerated a pair; beyond it as many are
-- sampled, near the parent. draws: children drawn for a proposal, of which the policy may
-- prefer one; else all of a pair that are valid, where they can be listed, and 4 where not.
-- first: a generator that asks a model; it is asked once for sets of parameters, which every
-- other of the first pulls proposes. In turns: where the model knows little of a space the search
-- is not held up, and where it knows much the search goes on from there at once (on six recorded
-- spaces 0.89 of the optimum after 16 pulls, and 0.85 with the model's sets first of all).
local rules = schema.declare("kb.generator.schedule", {
  { "limit", "integer", default = 4096, at_least = 1, at_most = 1048576,
    doc = "the most children of a pair that are counted and listed" },
  { "draws", "integer", optional = true, at_least = 1, at_most = 64,
    doc = "children drawn for a pull, of which the policy may prefer one; else all that fit" },
  { "first", "table", optional = true,
    doc = "a generator that asks a model for the points to start from",
    check = function(g) return type(g.start) == "function",
      "a generator that asks a model: kb.generator.llm, command or replay" end },
})

local most_moves = 512                  -- told to policies of a pair
local few = 4

local function key_of(point) return table.concat(point, ",") end

local function start(task, options, identity, model, device)
  local schedule, limit, draws = task.schedule, options.limit, options.draws
  if not schedule then
    schema.raise("%s: task %s has no schedule, and the generator 'schedule' needs one: %s",
                 task.file or "?", task.name,
                 task.no_schedule or 'add schedule = "schedule.lua" (README, A task)')
  end
  local parameters = schedule.parameters
  local names = collect(parameters, function(p) return p[1] end)
  local at = lists.places(names)                                -- a parameter's position
  local place = collect(parameters, function(p) return lists.places(p[2]) end)  -- a value's
  local known, is_first = {}, {}        -- points by key: proposed or seen; of first points: true
  local sources, hashes = {}, {}        -- hashes that are known; a point's, false: not valid
  local located, spans, reach, witness = {}, {}, {}, {}         -- memos
  local where = schedule.file or ("schedule of task %s"):format(task.name)

  local function call(what, ...)
    local ok, value = pcall(schedule[what], ...)
    if ok then return value end
    schema.raise("%s: %s: %s", where, what, tostring(value))
  end

  local function named(point)
    local p = {}
    for i, parameter in ipairs(parameters) do p[names[i]] = parameter[2][point[i]] end
    return p
  end

  local function emit(point)
    local source = call("emit", named(point))
    if type(source) == "string" then return source end
    schema.raise("%s: emit must return C source, got %s", where, schema.show(source))
  end

  -- The point of a list of parameters; nil when it is none of this schedule.
  local function locate(params)
    local point = {}
    for i, name in ipairs(names) do
      point[i] = params and place[i][params[name]]
      if not point[i] then return nil end
    end
    return point
  end

  local function point_of(parent)
    if located[parent] == nil then located[parent] = locate(parent.params) or false end
    return located[parent]
  end

  -- The parameters a strategy owns here and how many combinations they have.
  local function span_of(strategy)
    local span = spans[strategy.name]
    if not span then
      local moves = strategy.moves or {}
      span = collect(moves[1] == "*" and names or moves, function(name) return at[name] end)
      span.size, span.name = 1, strategy.name
      for _, i in ipairs(span) do span.size = span.size * #parameters[i][2] end
      spans[strategy.name] = span
    end
    return span
  end

  -- Combination number n (from 0) of the owned parameters, laid over base.
  local function combine(base, span, n)
    local point = { table.unpack(base) }
    for _, i in ipairs(span) do
      local values = #parameters[i][2]
      point[i], n = n % values + 1, n // values
    end
    return point
  end

  -- A valid point never proposed whose source is new: its key; else nil.
  local function fresh(point)
    local key = key_of(point)
    if known[key] then return nil end
    if hashes[key] == nil then
      hashes[key] = call("valid", named(point)) and core.system.hash(emit(point)) or false
    end
    return hashes[key] and not sources[hashes[key]] and key or nil
  end

  -- Base with other values of some owned parameters: of one half of the times, of two
  -- a quarter of them, and so on. To change ten at once is a leap in the dark.
  local function nearby(base, span, rng)
    local point, left = { table.unpack(base) }, { table.unpack(span) }
    repeat
      local i = table.remove(left, rng:below(#left) + 1)
      local values = #parameters[i][2]
      if values > 1 then point[i] = (base[i] + rng:below(values - 1)) % values + 1 end
    until #left == 0 or rng:below(2) == 0
    return point
  end

  -- Points of base under a span, in a random order by rng: an even one of all of them
  -- when there are at most `limit`.
  local function shuffled(base, span, rng)
    local order, left = {}, math.min(span.size, limit)
    for i = 1, span.size <= limit and left or 0 do order[i] = i - 1 end
    return function()
      if left == 0 then return nil end
      left = left - 1
      if span.size > limit then return nearby(base, span, rng) end
      local pick = rng:below(left + 1) + 1
      local n = order[pick]
      order[pick] = order[left + 1]
      return combine(base, span, n)
    end
  end

  -- nil while the machine is not known.
  local first_points
  local function suggestions()
    local machine = device and device()
    if not first_points and machine then
      first_points = schedule.first_points and call("first_points", machine) or {}
    end
    return first_points or {}
  end

  -- Whether a known point has all of these, other than the first points themselves.
  local function tried(owned)
    for key, point in pairs(known) do
      local all = not is_first[key]
      for i, j in pairs(owned) do all = all and point[i] == j end
      if all then return true end
    end
    return false
  end

  -- A fresh point: one of the first points, else base with the owned parameters of one, once:
  -- from the next parent on the policy decides.
  local function suggested(base, span)
    for _, values in ipairs(suggestions()) do
      local point = locate(values)
      if point then is_first[key_of(point)] = true end
      if point and fresh(point) then return point end
    end
    for _, values in ipairs(suggestions()) do
      local point, owned = { table.unpack(base) }, {}
      for _, i in ipairs(span) do
        owned[i] = place[i][values[names[i]]]
        point[i] = owned[i] or base[i]
      end
      if next(owned) and not tried(owned) and fresh(point) then return point end
    end
  end

  -- The valid points of base under a span, base among them, and their parameters: the same
  -- lists for all that share them; nil when there are too many.
  local function listed(base, span)
    if span.size > limit then return nil end
    local rest = { table.unpack(base) }
    for _, i in ipairs(span) do rest[i] = "*" end
    local key = key_of(rest) .. " " .. span.name
    if not reach[key] then
      local points, params = {}, {}
      for n = 0, span.size - 1 do
        local point = combine(base, span, n)
        local p = named(point)
        if #points <= most_moves and call("valid", p) then
          points[#points + 1], params[#params + 1] = point, p
        end
      end
      reach[key] = #points <= most_moves and { points, params } or {}
    end
    return reach[key][1], reach[key][2]
  end

  -- Of all that can be listed the fresh one that prefer points out.
  local function ranked(base, span, prefer)
    local all, params = listed(base, span)
    while all and all[1] do
      local n = prefer(params)
      if not n or fresh(all[n]) then return all[n] end
      local function other(item, i) return i ~= n and item end
      all, params = collect(all, other), collect(params, other)
    end
  end

  -- One fresh point, or the one of all or of a few that prefer points out.
  local function draw(base, span, rng, prefer)
    local best = prefer and not draws and ranked(base, span, prefer)
    if best then return best end
    local some, params, drawn, left = {}, {}, {}, 16 * (draws or few)
    for point in shuffled(base, span, rng) do
      local key = fresh(point)
      if key and not drawn[key] then
        if not prefer then return point end
        drawn[key], some[#some + 1], params[#params + 1] = true, point, named(point)
        if #some == (draws or few) then break end
      end
      left = left - (some[1] and 1 or 0)        -- one will do, where others are rare
      if left == 0 then break end
    end
    return some[#some > 1 and prefer(params) or 1]
  end

  local instance = { name = "schedule", identity = identity, priced = model and model.priced,
                     asks = model and model.asks }

  -- Points that the model named and that are still to be proposed; nil: it was not asked yet.
  -- asking: a promise while it is; where several pulls wait for it, the first of them asks.
  local queue, asking
  local function ask_first(rng, here)
    local answered = here.loop and here.loop:inside() and here.loop:promise() or nil
    asking = answered
    local list, why, code, wait_s = model.points(parameters, schedule.file,
                                                 here.pool and here.pool[1] or {}, rng, here)
    asking = nil
    if answered then answered:resolve(true) end
    if code then return nil, why, code, wait_s end
    if not list and here.note then here.note("no first points: " .. tostring(why)) end
    queue, instance.asks = collect(list or {}, locate), nil
  end

  -- The next of them that is new; nil: there is none.
  local function from_model(rng, here)
    while not queue do
      local _, why, code, wait_s
      if asking then _, why, code = asking:await()
      else _, why, code, wait_s = ask_first(rng, here) end
      if code then return nil, why, code, wait_s end
    end
    while queue[1] do
      local point = table.remove(queue, 1)
      if fresh(point) then return point end
    end
  end

  -- Remembers one fresh point a (parent, strategy) and asks only whether it
  -- is still fresh; a pair once found empty stays empty, as points only go.
  function instance.open(parent, strategy)
    local base = point_of(parent)
    if not base then return false end
    local pair = key_of(base) .. " " .. strategy.name
    local point = witness[pair]
    if point == nil or point and not fresh(point) then
      local span = span_of(strategy)
      point = span.size > 1 and draw(base, span, core.rng(1):split(pair)) or false
      witness[pair] = point
    end
    return point ~= false
  end

  -- The parameters of the valid points a strategy reaches from a parent, the parent's among
  -- them; known ones never come again; how many are drawn, nil for all.
  function instance.moves(parent, strategy)
    local base = point_of(parent)
    if base then return select(2, listed(base, span_of(strategy))), false, draws end
  end

  local function know(point, source)
    if point then known[key_of(point)] = point end
    sources[core.system.hash(source)] = true
  end

  local function give(point, origin)
    local source = emit(point)
    know(point, source)
    return { source = source, params = named(point), origin = origin }
  end

  function instance.propose(parent, strategy, rng, about)
    about = about or {}
    local turn = not about.pull or about.pull % 2 == 1
    if model and turn and not (queue and not queue[1]) then
      local point, why, code, wait_s = from_model(rng, about)
      if code then return nil, why, code, wait_s end
      if point then return give(point, "first points of a model") end
    end
    local base, span = point_of(parent), span_of(strategy)
    if not base then return nil, "the parent is no point of the schedule" end
    if #span == 0 then
      return nil, ("strategy %s owns no parameter of this schedule"):format(strategy.name)
    end
    local point = suggested(base, span) or draw(base, span, rng, about.prefer)
    if point then return give(point, "schedule") end
    return nil, ("every point that %s can reach from kernel %d is known"):format(strategy.name,
                                                                                 parent.id)
  end

  function instance.seen(candidate) know(locate(candidate.params), candidate.source) end

  local naive = collect(parameters, function() return 1 end)    -- the first point

  -- How many valid points there are, where all are known and few enough to be counted.
  local function exhausted()
    local span, valid = span_of { name = "*", moves = { "*" } }, 0
    for n = 0, span.size <= limit and span.size - 1 or -1 do
      local point = combine(naive, span, n)
      if fresh(point) then return nil end
      if call("valid", named(point)) then valid = valid + 1 end
    end
    return valid > 0 and valid or nil
  end

  function instance.ending(strategies)
    local valid, file = exhausted(), schedule.file or "the schedule"
    if valid then
      return ("the space is exhausted: all %d valid points of %s are known"):format(valid, file)
    end
    local spanned = collect(strategies, span_of)
    local left = collect(parameters, function(p, i)     -- with a choice that no moves name
      local owner = lists.find(spanned, function(span) return lists.places(span)[i] end)
      return not owner and #p[2] > 1 and p[1]
    end)
    return #left > 0 and ("no strategy's moves own %s of %s, and all that the others reach is "
      .. "known"):format(table.concat(left, ", "), file) or nil
  end

  instance.first = give(naive).params
  return instance
end

-- kb.generator.schedule { limit = 4096, draws = nil, first = nil }. What differs is told
-- of it in a run, which is resumed with the same alone.
local function new(options)
  options = schema.options(options, rules, "kb.generator.schedule")
  local identity, first = nil, options.first
  if options.limit ~= rules[1].default or options.draws then
    identity = ("schedule, limit %d, draws %s"):format(options.limit, options.draws or "all")
  end
  if first then
    identity = ("%s, first %s"):format(identity or "schedule", first.identity or first.name)
  end
  return { name = "schedule", identity = identity, start = function(task, ctx)
    local model = first and first.start(task, ctx)
    if model and not model.points then
      schema.raise("kb.generator.schedule: option 'first': generator '%s' asks no model",
                   first.name)
    end
    return start(task, options, identity, model, ctx and ctx.device)
  end }
end

return { new = new }
