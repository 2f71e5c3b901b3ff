-- This file tests policies/kernelband.lua, kernelband_v1.lua, kernelband_v2.lua, greedy.lua and
-- random.lua. It checks how each policy scores kernels and strategies, and which pair it chooses.
package.path = "tests/lib/?.lua;" .. package.path
local t = require "harness"
local kb = require "kernelband"
local worlds = require "worlds"

local targets = { "l2", "dram", "dram", "sm", "sm", "dram" }
local names = { "tiling", "vectorization", "fusion", "pipeline", "reordering",
                "access_layout" }

local function kernel(id, more)
  local k = { id = id, parent = id > 1 and id - 1 or nil, speedup = id + 0.0,
    speedup_low = id + 0.0, speedup_high = id + 0.0, time_ns = 1000 / id,
    phi = { 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5 },
    rho = { id, id * id, 1, 1, 1, 1 }, h = { sm = 10, dram = 10, l2 = 10 },
    signature = { 1 / id, 0, 0, 0, 0 } }
  for key, v in pairs(more or {}) do k[key] = v end
  return k
end

-- A running policy: brain, and pull(verdict, reward [, child]) which chooses,
-- learns, and returns kernel, index, terms.
local function start(name, params, seed, open)
  local strategies = {}
  for i, n in ipairs(names) do strategies[i] = { name = n, target = targets[i] } end
  local brain = kb.policy("policies/" .. name .. ".lua", params).new {
    strategies = strategies, rng = kb.core.rng(seed or 1), device = "cpu",
    open = open or function() return true end }
  local n = 0
  local function pull(outcome)
    local parent, i, terms = brain.choose(0)
    local verdict, reward = outcome(parent, i)
    n = n + 1
    brain.learn { n = n, parent = parent, strategy = i, verdict = verdict,
                  reward = reward, terms = terms, cost = {},
                  child = verdict == "ok" and kernel(99) or nil }
    return parent, i, terms
  end
  return brain, pull
end

-- Index of the greatest; the first of equals.
local function argmax(list)
  local best = 1
  for i = 2, #list do if list[i] > list[best] then best = i end end
  return best
end

local gains = { 0.1, 0.7, -0.2, 0.3, 0, 0.65 }
local function paid(_, i) return "ok", gains[i] end

t.test("v1: the score is mean + sqrt(2 ln t / n) + alpha psi", function()
  local brain, pull = start("kernelband_v1", { clusters = 1, warm_start = 0, alpha = 0 })
  brain.admit(kernel(1))
  local n, sum = { 0, 0, 0, 0, 0, 0 }, { 0, 0, 0, 0, 0, 0 }
  for step = 1, 80 do
    local want = step
    if step > 6 then
      local score = {}
      for i = 1, 6 do
        score[i] = sum[i] / n[i] + math.sqrt(2 * math.log(step - 1) / n[i])
      end
      want = argmax(score)
    end
    local _, i, terms = pull(paid)
    t.equal(i, want, "pull " .. step)
    if step > 6 then
      t.near(terms.mean, sum[i] / n[i], 1e-9)
      t.near(terms.exploration, math.sqrt(2 * math.log(step - 1) / n[i]), 1e-9)
    end
    n[i], sum[i] = n[i] + 1, sum[i] + gains[i]
  end
end)

t.test("v1: alpha weighs psi, and psi tells kernels of one cluster apart", function()
  local brain, pull = start("kernelband_v1", { clusters = 1, alpha = 0.5 })
  local far = { 0.9, 0.9, 0.9, 0.9, 0.9, 0.1, 0.0, 1.0, 0.9 }
  local near = { 0.1, 0.9, 0.1, 0.1, 0.1, 0.9, 1.0, 0.0, 0.1 }
  brain.admit(kernel(1, { phi = far }))
  brain.admit(kernel(2, { phi = near }))
  for _ = 1, 6 do
    local k, i, terms = pull(paid)
    if names[i] == "access_layout" then
      t.equal(k.id, 2)
      assert(terms.psi > 0.8, terms.psi)
    end
  end
end)

t.test("v1: warm-up pulls each (cluster, strategy) arm once", function()
  local brain, pull = start "kernelband_v1"
  for id = 1, 3 do brain.admit(kernel(id)) end
  local seen, count = {}, 0
  for _ = 1, 18 do
    local _, i, terms = pull(paid)
    local arm = terms.cluster .. "/" .. i
    if not seen[arm] then count = count + 1 end
    seen[arm] = true
  end
  t.equal(count, 18)
end)

t.test("v2: one always-good arm of six gets 5 of 20 pulls at c = 2", function()
  local function good(c)
    local brain, pull = start("kernelband_v2", { c = c, published_defects = true })
    brain.admit(kernel(1))
    local count = 0
    for _ = 1, 20 do
      local _, i = pull(function(_, s)
        if s == 3 then return "ok", 0.3 end
        return "wrong", 0
      end)
      if i == 3 then count = count + 1 end
    end
    return count
  end
  t.equal(good(2), 5)
  t.equal(good(0.25), 10)
end)

t.test("v2: the score starts at mean 0.5 and N = 1", function()
  local brain, pull = start("kernelband_v2", { clusters = 1, tau = 1000 })
  brain.admit(kernel(1))
  local n, sum = { 1, 1, 1, 1, 1, 1 }, { 0.5, 0.5, 0.5, 0.5, 0.5, 0.5 }
  for step = 0, 60 do
    local score = {}
    for i = 1, 6 do
      score[i] = sum[i] / n[i] + 2 * math.sqrt(math.log(math.max(step, 1)) / n[i])
    end
    local _, i = pull(function(_, s) return "ok", math.max(0, gains[s]) end)
    t.equal(i, argmax(score), "pull " .. step)
    n[i], sum[i] = n[i] + 1, sum[i] + math.max(0, gains[i])
  end
end)

t.test("v2: a failure is a reward of 0, or nothing as printed", function()
  local function after(update)
    local brain, pull = start("kernelband_v2", { published_defects = update })
    brain.admit(kernel(1))
    pull(function() return "wrong", 0 end)
    local _, i = brain.choose(0)
    return i
  end
  t.equal(after(true), 2)
  t.equal(after(false), 1)
end)

t.test("v2: the mask closes what the representative saturates", function()
  local brain, pull = start "kernelband_v2"
  brain.admit(kernel(1, { h = { sm = 10, dram = 76, l2 = 74 } }))
  local tried = {}
  for _ = 1, 30 do
    local _, i = pull(paid)
    tried[targets[i]] = true
  end
  t.equal(tried, { sm = true, l2 = true })
  brain = start("kernelband_v2", { theta_sat = { sm = 5, dram = 80, l2 = 5 } })
  brain.admit(kernel(1))
  local _, i = brain.choose(0)
  t.equal(targets[i], "dram")
end)

t.test("v2: when all is masked the arm with most headroom stays", function()
  local brain = start "kernelband_v2"
  brain.admit(kernel(1, { h = { sm = 99, dram = 98, l2 = 80 } }))
  local _, i = brain.choose(0)
  t.equal(targets[i], "l2")
end)

t.test("v2: the parent is drawn by exp(headroom in points)", function()
  local function share(apart, temperature)
    local slow = 0
    for seed = 1, 200 do
      local brain = start("kernelband_v2", { temperature = temperature }, seed)
      brain.admit(kernel(1, { h = { sm = 20, dram = 20, l2 = 20 } }))
      brain.admit(kernel(2, { h = { sm = 20 + apart, dram = 20 + apart, l2 = 20 + apart } }))
      if brain.choose(0).id == 1 then slow = slow + 1 end
    end
    return slow / 200
  end
  t.equal(share(10, 1), 1)              -- odds of 22,000 to 1
  t.near(share(0, 1), 0.5, 0.12)
  t.near(share(10, 10), 1 / (1 + math.exp(-1)), 0.1)
end)

t.test("v2: opening clusters costs a sweep over untouched arms", function()
  local brain, pull = start("kernelband_v2", { c = 0.25, tau = 10, published_defects = true })
  for id = 1, 6 do brain.admit(kernel(id, { signature = { id % 3, id, 0, 0, 0 } })) end
  local clusters = {}
  for step = 1, 10 do clusters[step] = select(3, pull(paid)).cluster end
  t.equal(clusters, { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 })
  local others = 0
  for _ = 1, 12 do
    if select(3, pull(function() return "wrong", 0 end)).cluster ~= 1 then
      others = others + 1
    end
  end
  t.equal(others, 12)
end)

t.test("v2: as printed, statistics go with the kernels when clusters are found anew", function()
  local brain, pull = start("kernelband_v2", { c = 0.01, tau = 6, clusters = 2 })
  for id = 1, 4 do brain.admit(kernel(id, { signature = { id % 2, id % 2, 0, 0, 0 } })) end
  local good = 0
  for step = 1, 60 do                   -- strategy 2 pays on odd kernels alone
    local k, i = pull(function(parent, s)
      return "ok", s == 2 and parent.id % 2 == 1 and 0.9 or 0
    end)
    if step > 30 and i == 2 and k.id % 2 == 1 then good = good + 1 end
  end
  t.equal(good > 24, true, "of 30 pulls " .. good)
end)

t.test("v2: a kernel without a profile has its representative's headroom, as printed", function()
  local function share(defects)
    local other = 0
    for seed = 1, 60 do
      local brain = start("kernelband_v2", { published_defects = defects }, seed)
      brain.admit(kernel(1, { h = { sm = 10, dram = 10, l2 = 10 } }))
      brain.admit(kernel(2, { h = {} }))
      if brain.choose(0).id == 2 then other = other + 1 end
    end
    return other / 60
  end
  t.equal(share(true), 0)
  t.near(share(false), 0.5, 0.2)
end)

t.test("greedy: the fastest open kernel, the best strategy so far", function()
  local brain, pull = start("greedy", nil, 1, function(k) return k.id ~= 3 end)
  for id = 1, 3 do brain.admit(kernel(id)) end
  for step = 1, 6 do
    local k, i = pull(paid)
    t.equal({ k.id, i }, { 2, step })
  end
  for _ = 1, 9 do t.equal(select(2, pull(paid)), 2) end
end)

t.test("random: what was closed is drawn like any other once it is open again", function()
  local pinned = true
  local brain = start("random", nil, 1, function(k) return not pinned or k.id == 1 end)
  for id = 1, 4 do brain.admit(kernel(id)) end
  for _ = 1, 50 do t.equal(brain.choose().id, 1) end
  pinned = false
  local count = { 0, 0, 0, 0 }
  for _ = 1, 400 do
    local id = brain.choose().id
    count[id] = count[id] + 1
  end
  for id = 1, 4 do assert(count[id] > 60 and count[id] < 140, count[id]) end
end)

t.test("random: every open pair, evenly", function()
  local brain, pull = start("random", nil, 1, function(k, i) return k.id + i > 3 end)
  brain.admit(kernel(1))
  brain.admit(kernel(2))
  local count = {}
  for _ = 1, 900 do
    local k, i = pull(paid)
    count[k.id .. i] = (count[k.id .. i] or 0) + 1
  end
  t.equal(count["11"], nil)
  for _, n in pairs(count) do assert(n > 70 and n < 130, n) end
end)

t.test("kernelband: no kernel far behind is a parent", function()
  local brain, pull = start "kernelband"
  for id = 1, 3 do brain.admit(kernel(id, { speedup = id ^ 2 })) end
  for _ = 1, 10 do t.equal(pull(paid).id, 3) end
end)

t.test("kernelband: a new cluster costs no sweep", function()
  local brain, pull = start "kernelband"
  brain.admit(kernel(1))
  local function second(_, i)
    if i == 2 then return "ok", 0.5 end
    return "wrong", -1
  end
  for _ = 1, 24 do pull(second) end
  brain.admit(kernel(9))
  local again = 0
  for _ = 1, 6 do
    local k, i = pull(second)
    if k.id == 9 and i == 2 then again = again + 1 end
  end
  assert(again >= 3, again)
end)

t.test("kernelband: a saturated resource forbids using it more, not less", function()
  local brain, pull = start "kernelband"
  brain.admit(kernel(1, { h = { sm = 99, dram = 99, l2 = 99 } }))
  local seen = {}
  for _ = 1, 60 do seen[names[select(2, pull(paid))]] = true end
  t.equal(seen, { tiling = true, fusion = true, reordering = true })
end)

t.test("kernelband: what is masked is pulled when nothing else is open", function()
  local brain = start("kernelband", nil, 1, function(_, i) return i == 2 end)
  brain.admit(kernel(1, { h = { sm = 99, dram = 99, l2 = 99 } }))
  t.equal(select(2, brain.choose(0)), 2)
end)

t.test("kernelband: a parameter of the version before does nothing and is no error", function()
  t.equal(kb.policy("policies/kernelband.lua", { keep = 0.5 }).params.keep, nil)
end)

for _, name in ipairs { "kernelband", "kernelband_v1", "kernelband_v2", "greedy", "random" } do
  t.test(name .. ": nothing open is the end", function()
    local brain = start(name, nil, 1, function() return false end)
    brain.admit(kernel(1))
    t.equal(brain.choose(0), nil)
  end)
end

for _, name in ipairs { "kernelband", "kernelband_v1", "kernelband_v2" } do
  for _, clusters in ipairs { 1, 3, 8, "each" } do
    t.test(("%s: clusters = %s"):format(name, clusters), function()
      local r = kb.search { task = kb.synthetic {}, budget = { steps = 30 },
        policy = kb.policy("policies/" .. name .. ".lua", { clusters = clusters }) }
      t.equal(r.pulls, 30)
    end)
  end
  t.test(name .. ": clusters must be a number or each", function()
    t.raises("clusters: expected an integer 1..64 or 'each'", start, name, { clusters = "some" })
  end)
end

t.test("our default beats random and both published rules", function()
  local function mean(name)
    local sum = 0
    for seed = 1, 30 do
      sum = sum + kb.search { task = kb.synthetic { seed = seed }, seed = seed,
        budget = { steps = 30 }, policy = "policies/" .. name .. ".lua" }.share_of_optimum
    end
    return sum / 30
  end
  local ours = mean "kernelband"
  for _, name in ipairs { "random", "kernelband_v1", "kernelband_v2" } do
    assert(ours > mean(name), name)
  end
end)

worlds.clean()
t.finish()
