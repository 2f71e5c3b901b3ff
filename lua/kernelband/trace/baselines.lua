-- trace/baselines.lua - what to hold a policy against in a recorded space:
--
--   oracle  knows the true expected gain of every (parent, strategy) pair and
--           takes the largest; bound = "best": on the best kernel only
--   sample  draws whole configurations from all recorded ones: no bandit and
--           no parent, free to jump anywhere
--   arm     one fixed strategy, always on the best kernel that it can move
--
-- Each is f(W, { steps =, seed = , ... }) -> { share_of_optimum =, share = { after
-- pull 1, 2, ... } }, by true times, from the start a search of that seed has.
local core   = require "kernelband.core"
local schema = require "kernelband.schema"
local walk   = require "kernelband.trace.walk"

local baselines = {}

local function rules(more)
  local list = { { "steps", "integer", at_least = 1 }, { "seed", "integer", default = 1 } }
  for _, rule in ipairs(more or {}) do list[#list + 1] = rule end
  return list
end

local function result(share) return { share = share, share_of_optimum = share[#share] } end

-- Times of a class of neighbours, ascending, and their running sums: what the
-- expected gain over a time needs.
local function sums_of(W, members)
  local cache = W.sums
  if not cache then
    cache = {}
    W.sums = cache
  end
  if cache[members] then return cache[members] end
  local times, sum = {}, { [0] = 0 }
  for _, i in ipairs(members) do times[#times + 1] = W.rows[i].time_ns end
  table.sort(times)
  for j, t in ipairs(times) do sum[j] = sum[j - 1] + t end
  cache[members] = { times = times, sum = sum }
  return cache[members]
end

-- Mean of max(0, 1 - T(child) / best) over the neighbours of a class; the
-- parent, no faster than the best, adds nothing.
local function expected_gain(W, members, best_ns)
  local s = sums_of(W, members)
  local low, high = 0, #s.times
  while low < high do
    local middle = (low + high + 1) // 2
    if s.times[middle] < best_ns then low = middle else high = middle - 1 end
  end
  return (low - s.sum[low] / best_ns) / (#members - 1)
end

local function better(W, i, best)
  local row = W.rows[i]
  return row.verdict == "ok" and row.time_ns < W.rows[best].time_ns
end

local function best_pair(W, pool, best)
  local top, parent, strategy = -1, nil, nil
  for _, i in ipairs(pool) do
    for s = 1, #W.strategies do
      local members = W.class[s][i]
      if #members > 1 then
        local gain = expected_gain(W, members, W.rows[best].time_ns)
        if gain > top then top, parent, strategy = gain, i, s end
      end
    end
  end
  return parent, strategy
end

function baselines.oracle(W, options)
  local o = schema.options(options, rules { { "bound", "string", default = "pool",
                                              one_of = { "pool", "best" } } }, "oracle")
  local rng = core.rng(o.seed):split "oracle"
  local best = walk.start_of(W, o.seed)
  local pool, known, share = { best }, { [best] = true }, {}
  for n = 1, o.steps do
    local i, s = best_pair(W, o.bound == "best" and { best } or pool, best)
    local child = i and walk.draw(W, i, s, rng)
    if child and not known[child] and W.rows[child].verdict == "ok" then
      pool[#pool + 1], known[child] = child, true
      if better(W, child, best) then best = child end
    end
    share[n] = W.optimum_ns / W.rows[best].time_ns
  end
  return result(share)
end

function baselines.sample(W, options)
  local o = schema.options(options, rules(), "sample")
  local rng = core.rng(o.seed):split "sample"
  local best, share = walk.start_of(W, o.seed), {}
  for n = 1, o.steps do
    local i = 1 + rng:below(#W.rows)
    if better(W, i, best) then best = i end
    share[n] = W.optimum_ns / W.rows[best].time_ns
  end
  return result(share)
end

function baselines.arm(W, options)
  local o = schema.options(options, rules { { "strategy", "integer", at_least = 1,
                                              at_most = #W.strategies } }, "arm")
  local rng = core.rng(o.seed):split "arm"
  local best, share = walk.start_of(W, o.seed), {}
  for n = 1, o.steps do
    local child = walk.draw(W, best, o.strategy, rng)
    if child and better(W, child, best) then best = child end
    share[n] = W.optimum_ns / W.rows[best].time_ns
  end
  return result(share)
end

return baselines
