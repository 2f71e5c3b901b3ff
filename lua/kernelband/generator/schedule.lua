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
-- A generator is { name, start = function(task, ctx) -> instance }, an instance
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

local core   = require "kernelband.core"
local lists  = require "kernelband.base.lists"
local schema = require "kernelband.base.schema"

local collect, with = lists.collect, lists.with

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
local most_named <const> = 16           -- first points that prompt.in asks a model for

-- A point is a table of parameters, each with a value as the schedule has it.
local function start(task, options, identity, model, ctx)
  local schedule, limit, draws = task.schedule, options.limit, options.draws
  schema.must(schedule, "%s: task %s has no schedule, and the generator 'schedule' needs one: %s",
    task.file or "?", task.name,
    task.no_schedule or 'add schedule = "schedule.lua" (README, A task)')
  local axes = collect(schedule.parameters, function(p)
    return { name = p[1], values = p[2], place = lists.places(p[2]) }
  end)
  local position = lists.places(collect(axes, "name"))
  local known = {}                      -- points that were proposed or seen, by key
  local sources, hashes = {}, {}        -- hashes that are known; a point's, false: not valid
  local reach, witness = {}, {}         -- memos
  local where = schedule.file or ("schedule of task %s"):format(task.name)

  -- What a function of the schedule says; it may do with its argument what it likes.
  local function call(what, argument)
    local ok, value = pcall(schedule[what], with(argument))
    if ok then return value end
    schema.raise("%s: %s: %s", where, what, tostring(value))
  end

  local function emit(point)
    local source = call("emit", point)
    return schema.must(type(source) == "string" and source, "%s: emit must return C source, got %s",
                       where, schema.show(source))
  end

  local function key_of(point)
    return table.concat(collect(axes, function(a) return a.place[point[a.name]] end), ",")
  end

  -- The point of these parameters; nil when it is none of this schedule.
  local function locate(params)
    local point = {}
    for _, a in ipairs(axes) do
      local at = params and a.place[params[a.name]]
      if not at then return nil end
      point[a.name] = a.values[at]
    end
    return point
  end

  -- The axes a strategy owns here and how many combinations they have.
  local function span_of(strategy)
    local moves = strategy.moves or {}
    local span = collect(moves[1] == "*" and collect(axes, "name") or moves, function(name)
      return axes[position[name]]
    end)
    span.size, span.name = 1, strategy.name
    for _, a in ipairs(span) do span.size = span.size * #a.values end
    return span
  end

  -- Combination number n (from 0) of the owned parameters, laid over base.
  local function combine(base, span, n)
    local point = with(base)
    for _, a in ipairs(span) do
      point[a.name], n = a.values[n % #a.values + 1], n // #a.values
    end
    return point
  end

  local everything = span_of { moves = { "*" } }
  local first = combine({}, everything, 0)      -- the first of every value

  -- A valid point never proposed whose source is new: its key; else nil.
  local function fresh(point)
    local key = key_of(point)
    if known[key] then return nil end
    if hashes[key] == nil then
      hashes[key] = call("valid", point) and core.system.hash(emit(point)) or false
    end
    return hashes[key] and not sources[hashes[key]] and key or nil
  end

  -- Base with other values of some owned parameters: of one half of the times, of two
  -- a quarter of them, and so on. To change ten at once is a leap in the dark.
  local function nearby(base, span, rng)
    local point, left = with(base), { table.unpack(span) }
    repeat
      local a = table.remove(left, rng:below(#left) + 1)
      local at, n = a.place[base[a.name]], #a.values
      if n > 1 then point[a.name] = a.values[(at + rng:below(n - 1)) % n + 1] end
    until #left == 0 or rng:below(2) == 0
    return point
  end

  -- Whether a known point has all of these, other than the first points themselves.
  local function tried(owned, is_first)
    for key, point in pairs(known) do
      local all = not is_first[key]
      for name, value in pairs(owned) do all = all and point[name] == value end
      if all then return true end
    end
    return false
  end

  -- A fresh point: one of the first points, else base with the owned parameters of one, once:
  -- from the next parent on the policy decides.
  local first_points                    -- nil while the machine is not known
  local function suggested(base, span)
    if not first_points and schedule.first_points and ctx.device() then
      first_points = call("first_points", ctx.device())
    end
    if not first_points then return nil end
    local whole = collect(first_points, locate)
    local point = lists.find(whole, fresh)
    if point then return point end
    local is_first = lists.places(collect(whole, key_of))
    for _, values in ipairs(first_points) do
      local owned = {}
      for _, a in ipairs(span) do
        owned[a.name] = a.values[a.place[values[a.name]]]
      end
      point = with(base, owned)
      if next(owned) and not tried(owned, is_first) and fresh(point) then return point end
    end
  end

  -- The valid points of base under a span, base among them: the same list for all that share
  -- them; nil when there are too many.
  local function listed(base, span)
    if span.size > limit then return nil end
    local key = key_of(combine(base, span, 0)) .. " " .. span.name
    if not reach[key] then
      local points = {}
      for n = 0, span.size - 1 do
        local point = combine(base, span, n)
        if #points <= most_moves and call("valid", point) then points[#points + 1] = point end
      end
      reach[key] = points
    end
    return #reach[key] <= most_moves and reach[key] or nil
  end

  -- Of all that can be listed the fresh one that prefer points out.
  local function ranked(base, span, prefer)
    local all = listed(base, span)
    while all and all[1] do
      local n = prefer(all)
      if not n or fresh(all[n]) then return all[n] end
      all = collect(all, function(point, i) return i ~= n and point end)
    end
  end

  -- One fresh point, or the one of all or of a few that prefer points out: drawn evenly from all
  -- where there are at most `limit`.
  local function draw(base, span, rng, prefer)
    local best = prefer and not draws and ranked(base, span, prefer)
    if best then return best end
    local some, drawn, most, left = {}, {}, draws or few, 16 * (draws or few)
    local moved = {}                    -- combinations in the place of one that was drawn
    for i = math.min(span.size, limit), 1, -1 do
      local point
      if span.size <= limit then
        local pick = i > 1 and rng:below(i) or 0
        point = combine(base, span, moved[pick] or pick)
        moved[pick] = moved[i - 1] or i - 1
      else
        point = nearby(base, span, rng)
      end
      local key = fresh(point)
      if key and not drawn[key] then drawn[key], some[#some + 1] = true, point end
      left = left - (some[1] and 1 or 0)        -- one will do, where others are rare
      if left == 0 or #some == (prefer and most or 1) then break end
    end
    return some[#some > 1 and prefer(some) or 1]
  end

  local instance = { name = "schedule", identity = identity, priced = model and model.priced,
                     asks = model and model.asks }

  -- The points that sets of a model name, each with the rest as in the first version.
  local function placed(sets, note)
    local points, lost = {}, 0
    for _, set in ipairs(sets) do
      local point = #points < most_named and type(set) == "table" and locate(with(first, set))
      if point then points[#points + 1] = point else lost = lost + 1 end
    end
    if lost > 0 then
      note(("%d of %d first points fit no value of the schedule"):format(lost, lost + #points))
    end
    return points
  end

  -- The first that is new of those that the model named; nil: there is none. Where several pulls
  -- want it, the first asks.
  local places = model and require("kernelband.base.jobs").places(ctx.loop, 1)
  local named                           -- nil: it was not asked yet
  local function from_model(rng, here)
    if not named then
      local sets, why, code, wait_s = model.points(schedule.parameters, schedule.file,
                                                   here.pool[1], rng, here)
      if code then return nil, why, code, wait_s end
      if not sets then here.note("no first points: " .. tostring(why)) end
      named, instance.asks = placed(sets or {}, here.note), nil
    end
    return (lists.find(named, fresh))
  end

  -- Remembers one fresh point a (parent, strategy) and asks only whether it
  -- is still fresh; a pair once found empty stays empty, as points only go.
  function instance.open(parent, strategy)
    local of_parent = witness[parent] or {}
    local point = of_parent[strategy.name]
    if point == nil or point and not fresh(point) then
      local base, span = locate(parent.params), span_of(strategy)
      point = base and span.size > 1
              and draw(base, span, core.rng(1):split(key_of(base) .. " " .. span.name)) or false
      witness[parent], of_parent[span.name] = of_parent, point
    end
    return point ~= false
  end

  -- The parameters of the valid points a strategy reaches from a parent, the parent's among
  -- them; known ones never come again; how many are drawn, nil for all.
  function instance.moves(parent, strategy)
    local base = locate(parent.params)
    if base then return listed(base, span_of(strategy)), false, draws end
  end

  local function know(point, source)
    if point then known[key_of(point)] = point end
    sources[core.system.hash(source)] = true
  end

  local function give(point, origin)
    local source = emit(point)
    know(point, source)
    return { source = source, params = point, origin = origin }
  end

  function instance.propose(parent, strategy, rng, about)
    about = about or {}
    if model and about.pull % 2 == 1 then
      local point, why, code, wait_s = places.use(from_model, rng, about)
      if code then return nil, why, code, wait_s end
      if point then return give(point, "first points of a model") end
    end
    local base, span = locate(parent.params), span_of(strategy)
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

  -- How many valid points there are, where all are known and few enough to be counted.
  local function exhausted()
    local valid = 0
    if everything.size > limit then return nil end
    for n = 0, everything.size - 1 do
      local point = combine({}, everything, n)
      if fresh(point) then return nil end
      if call("valid", point) then valid = valid + 1 end
    end
    return valid
  end

  function instance.ending(strategies)
    local valid, file, owned = exhausted(), schedule.file or "the schedule", {}
    if valid then
      return ("the space is exhausted: all %d valid points of %s are known"):format(valid, file)
    end
    for _, strategy in ipairs(strategies) do
      for _, a in ipairs(span_of(strategy)) do owned[a] = true end
    end
    local left = collect(axes, function(a) return not owned[a] and #a.values > 1 and a.name end)
    return #left > 0 and ("no strategy's moves own %s of %s, and all that the others reach is "
      .. "known"):format(table.concat(left, ", "), file) or nil
  end

  instance.first = give(first).params
  return instance
end

-- kb.generator.schedule { limit = 4096, draws = nil, first = nil }. What differs is told
-- of it in a run, which is resumed with the same alone.
local function new(options)
  options = schema.options(options, rules, "kb.generator.schedule")
  local identity, first = "schedule", options.first
  if options.limit ~= rules[1].default or options.draws then
    identity = ("schedule, limit %d, draws %s"):format(options.limit, options.draws or "all")
  end
  if first then identity = identity .. ", first " .. (first.identity or first.name) end
  return { name = "schedule", identity = identity, start = function(task, ctx)
    local model = first and first.start(task, ctx)
    schema.must(not model or model.points,
      "kb.generator.schedule: option 'first': generator '%s' asks no model", first and first.name)
    return start(task, options, identity, model, ctx)
  end }
end

return { new = new }
