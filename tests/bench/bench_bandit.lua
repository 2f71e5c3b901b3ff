-- What a choice costs as policies pay it, the way through the binding included:
--   kernelband run tests/bench/bench_bandit.lua
-- One line a measure: the median over many batches of the time of one call.

local core = require "kernelband.core"

local rng = core.rng(1)

local function vector(n)
  local x = {}
  for i = 1, n do x[i] = rng:uniform() end
  return x
end

local function vectors(count, n)
  local list = {}
  for i = 1, count do list[i] = vector(n) end
  return list
end

-- `prepare`, when given, runs before each batch, untimed.
local function report(name, target_us, batches, calls, batch, prepare)
  local us = {}
  batch(calls)                                  -- warms the caches
  for i = 1, batches do
    if prepare then prepare() end
    local start_s = os.clock()
    batch(calls)
    us[i] = (os.clock() - start_s) / calls * 1e6
  end
  table.sort(us)
  print(("%-38s Lua %8.3f us  (target %g us)")
        :format(name, us[(batches + 1) // 2], target_us))
end

local arms, bias = {}, {}
for i = 1, 18 do arms[i], bias[i] = i, i % 5 * 0.1 end
local u = core.ucb(#arms)
report("ucb select+update 3x6 arms", 2, 201, 1000, function(calls)
  for i = 1, calls do
    u:update(arms[u:select(arms, bias)], i % 7 * 0.1)
  end
end)

local points = vectors(256, 6)
local near = core.cluster(3, 6, { seed = 1 })
report("cluster assign K=3 6 dims", 2, 201, 1000, function(calls)
  for i = 1, calls do near:assign(points[i % 256 + 1]) end
end)

local cloud = vectors(2000, 5)
local groups = core.cluster(3, 5, { seed = 1 })
report("cluster fit 2000x5 K=3, one cloud", 2000, 31, 1, function()
  groups:fit(cloud)
end)

local head = core.logit(9)
local function learn_one()
  local x = vector(9)
  head:learn(x, x[1] - x[2] + rng:normal() > 0)
end
for _ = 1, 500 do learn_one() end
report("logit refit 500x9 warm, 1 new", 160, 201, 1, function() head:fit() end,
       learn_one)

local features = vectors(256, 9)
report("logit p 9 dims", 1, 201, 1000, function(calls)
  for i = 1, calls do head:p(features[i % 256 + 1]) end
end)
