-- trace/baselines.lua - what to hold a policy against in a recorded space:
--
--   oracle  knows the true expected gain of every (parent, strategy) pair and
--           takes the largest; bound = "best": on the best kernel only
--   sample  draws whole configurations from all recorded ones: no bandit and
--           no parent, free to jump anywhere
--   arm     one fixed strategy, always on the best kernel that it can move
--
--   best_pair  the oracle's choice among the rows of a pool
--
-- The first three are f(W, { steps =, seed = , ... }) -> { share_of_optimum =, share = { after
-- pull 1, 2, ... } }, by true times, from the start a search of that seed has.
local core   = require "kernelband.core"
local schema = require "kernelband.base.schema"
local walk   = require "kernelband.trace.walk"

local baselines = {}

local function rules(more)
  local list = { { "steps", "integer", at_least = 1 }, { "seed", "integer", default = 1 } }
  for _, rule in ipairs(more or {}) do list[#list + 1] = rule end
  return list
end

local function result(W, start, share)
  return { share = share, share_of_optimum = share[#share],
           start = W.optimum_ns / W.time_ns[start] }
end

-- Times of the valid rows that row i's class under strategy s has, ascending,
-- and their running sums: what the expected gain over a time needs.
local function sums_of(W, i, s)
  W.sums = W.sums or {}
  W.sums[s] = W.sums[s] or {}
  local cache, from = W.sums[s], W.first[s][i]
  if cache[from] then return cache[from] end
  local times, sum = {}, { [0] = 0 }
  for at = from, W.last[s][i] do
    local member = W.order[s][at]
    if W.verdict[member] == "ok" then times[#times + 1] = W.time_ns[member] end
  end
  table.sort(times)
  for j, t in ipairs(times) do sum[j] = sum[j - 1] + t end
  cache[from] = { times = times, sum = sum }
  return cache[from]
end

-- Mean of max(0, 1 - T(child) / best) over the neighbours of row i; the row
-- itself, no faster than the best, adds nothing.
local function expected_gain(W, i, s, best_ns)
  local c = sums_of(W, i, s)
  local low, high = 0, #c.times
  while low < high do
    local middle = (low + high + 1) // 2
    if c.times[middle] < best_ns then low = middle else high = middle - 1 end
  end
  return (low - c.sum[low] / best_ns) / (W.last[s][i] - W.first[s][i])
end

local function better(W, i, best)
  return W.verdict[i] == "ok" and W.time_ns[i] < W.time_ns[best]
end

-- best: the fastest row found, pool: where a move may start.
function baselines.best_pair(W, pool, best)
  local top, parent, strategy = -1, nil, nil
  for _, i in ipairs(pool) do
    for s = 1, #W.strategies do
      if walk.open(W, i, s) then
        local gain = expected_gain(W, i, s, W.time_ns[best])
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
    local i, s = baselines.best_pair(W, o.bound == "best" and { best } or pool, best)
    local child = i and walk.draw(W, i, s, rng)
    if child and not known[child] and W.verdict[child] == "ok" then
      pool[#pool + 1], known[child] = child, true
      if better(W, child, best) then best = child end
    end
    share[n] = W.optimum_ns / W.time_ns[best]
  end
  return result(W, walk.start_of(W, o.seed), share)
end

function baselines.sample(W, options)
  local o = schema.options(options, rules(), "sample")
  local rng = core.rng(o.seed):split "sample"
  local best, share = walk.start_of(W, o.seed), {}
  for n = 1, o.steps do
    local i = 1 + rng:below(W.n)
    if better(W, i, best) then best = i end
    share[n] = W.optimum_ns / W.time_ns[best]
  end
  return result(W, walk.start_of(W, o.seed), share)
end

function baselines.arm(W, options)
  local o = schema.options(options, rules { { "strategy", "integer", at_least = 1,
                                              at_most = #W.strategies } }, "arm")
  local rng = core.rng(o.seed):split "arm"
  local best, share = walk.start_of(W, o.seed), {}
  for n = 1, o.steps do
    local child = walk.draw(W, best, o.strategy, rng)
    if child and better(W, child, best) then best = child end
    share[n] = W.optimum_ns / W.time_ns[best]
  end
  return result(W, walk.start_of(W, o.seed), share)
end

return baselines
