-- trace/baselines.lua - what policies are compared with in a recorded space:
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
local lists  = require "kernelband.base.lists"
local schema = require "kernelband.base.schema"
local walk   = require "kernelband.trace.walk"

local baselines = {}

-- draw(best, rng, o) gives the row that a pull tries, or nil; best is the fastest row found.
local function played(W, name, options, rule, draw)
  local o = schema.options(options, { { "steps", "integer", at_least = 1 },
                                      { "seed", "integer", default = 1 }, rule }, name)
  local rng, start = core.rng(o.seed):split(name), walk.start_of(W, o.seed)
  local best, share = start, {}
  for n = 1, o.steps do
    local row = draw(best, rng, o)
    if row and W.verdict[row] == "ok" and W.time_ns[row] < W.time_ns[best] then best = row end
    share[n] = W.optimum_ns / W.time_ns[best]
  end
  return { share = share, share_of_optimum = share[#share],
           start = W.optimum_ns / W.time_ns[start] }
end

-- Times of the valid rows that row i's class under strategy s has, ascending,
-- and their running sums: what the expected gain over a time needs.
local function sums_of(W, i, s)
  local first = s.first[i]
  if s.gains[first] then return s.gains[first] end
  local class, sum = table.move(s.order, first, s.last[i], 1, {}), { [0] = 0 }
  local times = lists.collect(class, function(row)
    return W.verdict[row] == "ok" and W.time_ns[row]
  end)
  table.sort(times)
  for j, t in ipairs(times) do sum[j] = sum[j - 1] + t end
  s.gains[first] = { times = times, sum = sum }
  return s.gains[first]
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
  return (low - c.sum[low] / best_ns) / (s.last[i] - s.first[i])
end

-- best: the fastest row found, pool: where a move may start.
function baselines.best_pair(W, pool, best)
  local top, parent, strategy = -1, nil, nil
  for _, i in ipairs(pool) do
    for _, s in ipairs(W.strategies) do
      if walk.open(i, s) then
        local gain = expected_gain(W, i, s, W.time_ns[best])
        if gain > top then top, parent, strategy = gain, i, s end
      end
    end
  end
  return parent, strategy
end

function baselines.oracle(W, options)
  local pool, known = {}, {}
  local function add(row)
    if known[row] then return end
    pool[#pool + 1], known[row] = row, true
  end
  return played(W, "oracle", options, { "bound", "string", default = "pool",
                                        one_of = { "pool", "best" } }, function(best, rng, o)
    if #pool == 0 then add(best) end
    local i, s = baselines.best_pair(W, o.bound == "best" and { best } or pool, best)
    local child = i and walk.draw(i, s, rng)
    if child and W.verdict[child] == "ok" then add(child) end
    return child
  end)
end

function baselines.sample(W, options)
  return played(W, "sample", options, nil, function(_, rng) return 1 + rng:below(W.n) end)
end

function baselines.arm(W, options)
  return played(W, "arm", options, { "strategy", "integer", at_least = 1, at_most = #W.strategies },
                function(best, rng, o) return walk.draw(best, W.strategies[o.strategy], rng) end)
end

return baselines
