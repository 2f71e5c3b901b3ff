-- Where a policy loses to the oracle: the oracle, which knows every pair's true expected gain,
-- takes the first k pulls of a search and the policy the others, and the reverse. What the
-- first column gains as k grows is the price of what the policy could not know yet; what the
-- second loses against the oracle alone is what its early choices cost. Geometric means over
-- the spaces (spaces.lua) of the mean share of the optimum.
--   kernelband run tests/bench/knowledge.lua [seeds [steps [policy]]]
local kb        = require "kernelband"
local baselines = require "kernelband.trace.baselines"
local lists     = require "kernelband.base.lists"
local spaces    = require "spaces"

local seeds, steps = tonumber(arg[1]) or 50, tonumber(arg[2]) or 20
local given = kb.policy(arg[3] or "policies/kernelband.lua")

-- The policy, but pulls for which known(n) holds are the oracle's. It hears of all.
local function assisted(space, known)
  local policy, W = {}, space.world
  local place = lists.places(W.strategies)
  for key, v in pairs(given) do policy[key] = v end
  function policy.new(ctx)
    local inner, n, pool, kernel_of, best = given.new(ctx), 0, {}, {}, nil
    local outer = { learn = inner.learn, finish = inner.finish }
    function outer.admit(kernel)
      local i = W.row_of[kernel.source]
      pool[#pool + 1], kernel_of[i] = i, kernel
      if not best or W.time_ns[i] < W.time_ns[best] then best = i end
      inner.admit(kernel)
    end
    function outer.choose(...)
      n = n + 1
      if not known(n) then return inner.choose(...) end
      local i, s = baselines.best_pair(W, pool, best)
      return kernel_of[i], place[s]
    end
    return outer
  end
  return policy
end

local list = assert(spaces.all())

local function mean_share(known)
  local log = 0
  for _, space in ipairs(list) do
    local sum, policy = 0, assisted(space, known)
    for seed = 1, seeds do
      sum = sum + kb.search { task = space, policy = policy, seed = seed, confirm = false,
                              budget = { steps = steps } }.share_of_optimum
    end
    log = log + math.log(sum / seeds) / #list
  end
  return math.exp(log)
end

print(("%d pulls, %d seeds, %s; k first pulls by the oracle, or by the policy"):format(steps,
      seeds, given.name))
print("   k   oracle, then policy   policy, then oracle")
for part = 0, 4 do
  local k = part * steps // 4
  print(("%4d %15.3f %21.3f"):format(k, mean_share(function(n) return n <= k end),
                                      mean_share(function(n) return n > k end)))
  io.stdout:flush()
end
