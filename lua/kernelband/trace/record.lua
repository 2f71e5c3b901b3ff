-- trace/record.lua - what kernelband record does: a search that evaluates points of a task's
-- schedule one after another, whatever comes of them. kb.trace reads its run.
--
-- A schedule may have millions of points, and points drawn evenly from it would
-- hardly ever be neighbours. So a growing grid is recorded: of every strategy's
-- combinations of values a seeded order, the baseline's first, and the products
-- of the first few of each; more are added where the share taken is least.
-- Whenever recording stops, what there is has neighbours in every direction.
local lists   = require "kernelband.base.lists"
local core    = require "kernelband.core"
local json    = require "kernelband.base.json"
local run     = require "kernelband.store.run"
local schema  = require "kernelband.base.schema"
local search  = require "kernelband.search.search"

local record = {}

local most_combinations = 4096          -- of one strategy; beyond it they are sampled

-- The grid ----------------------------------------------------------------------

-- How many points these parameters of a schedule have.
local function size(parameters)
  local n = 1
  for _, p in ipairs(parameters) do n = n * #p[2] end
  return n
end

-- The strategies that own parameters of the schedule, with these.
local function groups_of(parameters, strategies)
  local free = {}
  for _, p in ipairs(parameters) do free[p[1]] = #p[2] > 1 and p end
  return lists.collect(strategies, function(s)
    local owned = lists.collect(s.moves, function(move) return free[move] end)
    for _, p in ipairs(owned) do free[p[1]] = nil end           -- one strategy owns it
    return #owned > 0 and { name = s.name, target = s.target, parameters = owned, taken = 1 }
  end)
end

-- Combinations of a group's values as numbers, 0, the baseline's, first, the rest in a seeded
-- order.
local function combinations(group, rng)
  local all = size(group.parameters)
  local list, n = { 0 }, math.min(all, most_combinations)
  for i = 1, n - 1 do list[i + 1] = all > n and rng:below(all) or i end
  for i = n, 3, -1 do
    local j = 2 + rng:below(i - 1)
    list[i], list[j] = list[j], list[i]
  end
  return lists.distinct(list)
end

-- The group whose share of combinations taken is least, on a scale on which
-- large groups grow faster; nil when all are taken.
local function least_taken(groups)
  return lists.best(groups, function(g)
    return g.taken < #g.list and -math.log(g.taken) / math.log(#g.list)
  end)
end

-- Yields all products of the combinations taken, with `new` fixed to its latest.
local function yield_products(groups, parameters, new)
  local point = {}
  for _, p in ipairs(parameters) do point[p[1]] = p[2][1] end
  local function walk(k)
    local g = groups[k]
    if not g then return coroutine.yield(lists.with(point)) end
    for c = g == new and g.taken or 1, g.taken do
      local code = g.list[c]
      for _, p in ipairs(g.parameters) do
        point[p[1]] = p[2][code % #p[2] + 1]
        code = code // #p[2]
      end
      walk(k + 1)
    end
  end
  walk(1)
end

-- An iterator over points, values by the parameters' names, in the order in which they are to be
-- recorded, and the groups.
function record.points(schedule, strategies, seed)
  local parameters = schedule.parameters
  local groups = groups_of(parameters, strategies)
  for _, g in ipairs(groups) do
    g.list = combinations(g, core.rng(seed):split("record " .. g.name))
  end
  return coroutine.wrap(function()
    local grown
    repeat
      yield_products(groups, parameters, grown)
      grown = least_taken(groups)
      if grown then grown.taken = grown.taken + 1 end
    until not grown
  end), groups
end

-- The search --------------------------------------------------------------------

-- Proposes the points in their order, each new valid text once.
local function generator(schedule, strategies, seed)
  local points, groups = record.points(schedule, strategies, seed)
  if #groups == 0 then return nil end
  local first = points()                -- the baseline's
  local known = { [core.system.hash(schedule.emit(first))] = true }
  local named = lists.collect(groups, function(group)
    return { name = group.name, target = group.target, axes = lists.collect(group.parameters, 1) }
  end)
  -- The identity has what kb.trace wants to know of a recording (run.lua).
  local g = { name = "points", identity = "points of " .. json.encode(named), first = first }

  -- The candidate of the next valid point, nil: that was the last.
  local function following()
    for p in points do
      if schedule.valid(p) then
        local source = schedule.emit(p)
        return { source = source, params = p, origin = "schedule",
                 hash = core.system.hash(source) }
      end
    end
  end

  local next_one = following()

  -- The next candidate; nil: all are known. A resumed recording passes over what it has.
  local function peek()
    while next_one and known[next_one.hash] do next_one = following() end
    return next_one
  end

  function g.seen(candidate) known[core.system.hash(candidate.source)] = true end

  function g.open() return peek() ~= nil end

  function g.ending() return "the whole schedule is recorded" end

  function g.propose()
    local candidate = peek()
    if not candidate then return nil, g.ending() end
    known[candidate.hash] = true
    return candidate
  end

  return g
end

-- The policy of a recording: every point is a child of the baseline.
local in_order = { name = "in order", params = {}, new = function(ctx)
  local first
  return {
    admit = function(kernel) first = first or kernel end, learn = function() end,
    choose = function()
      if ctx.open(first, 1) then return first, 1 end
    end,
    finish = function() return true end,
  }
end }

-- A recording that is there already goes on; minutes are those of this time.
local function before_s(out)
  if core.system.exists(out .. "/run.db") ~= "file" then return 0 end
  run.resuming { folder = out, out = out }
  local reader <close> = run.reader(out)
  return reader:rows("SELECT coalesce(max(at_s), 0.0) AS s FROM events")[1].s
end

-- opt: task (of one language), strategies, seed, out, limit and minutes or nil; device,
-- parallel, workers, quiet as in kb.search. Returns how many configurations out holds and
-- whether the whole schedule is among them.
function record.run(opt)
  local schedule = opt.task.schedule
  schema.must(core.system.exists(opt.out) ~= "file",
              "%s: is a file, and a recording is a folder; choose another with -o", opt.out)
  local points = schema.must(generator(schedule, opt.strategies, opt.seed),
                             "%s: no strategy moves a parameter of its schedule", opt.task.name)
  local spent_s, all = before_s(opt.out), size(schedule.parameters)
  local r = search.run {
    task = opt.task, device = opt.device, policy = in_order,
    strategies = not opt.task.environment and opt.strategies or nil,
    generator = points, seed = opt.seed, out = opt.out, parallel = opt.parallel,
    workers = opt.workers, quiet = opt.quiet, confirm = false, tune = 0,
    budget = { steps = opt.limit and opt.limit - 1 or not opt.minutes and all or nil,
               minutes = opt.minutes and opt.minutes + spent_s / 60 },
  }
  return 1 + r.pulls, r.state == "done" and not points.open()
end

return record
