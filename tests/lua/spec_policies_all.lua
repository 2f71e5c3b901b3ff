-- What every shipped policy owes the engine, whatever its method.
package.path = "tests/lib/?.lua;" .. package.path
local t = require "harness"
local kb = require "kernelband"

local files = {}
for _, file in ipairs(assert(kb.core.system.list "policies")) do
  files[#files + 1] = assert(file:match "^(.+)%.lua$", file)
end

local function kernel(id, speedup, parent, more)
  local k = { id = id, parent = parent, speedup = speedup, speedup_low = speedup * 0.99,
    speedup_high = speedup * 1.01, time_ns = 1e6 / speedup,
    phi = { id % 7 / 7, id % 5 / 5, id % 3 / 3, 0.5, id % 4 / 4, 0.5, 0.5, 0.5, 0.5 },
    rho = { math.log(1e6 / speedup), id, 1, 1, 1, 1 }, h = { sm = 10, dram = 10, l2 = 10 },
    signature = { 1 / speedup, 0, 0, 0, 0 } }
  for key, v in pairs(more or {}) do k[key] = v end
  return k
end

-- A world of n strategies in which a pair is good for `most` pulls. Runs a policy to
-- its end with `parallel` pulls under way; returns the choices and their kernels.
local function play(name, o)
  local strategies, targets = {}, { "sm", "dram", "l2" }
  for i = 1, o.strategies or 4 do
    strategies[i] = { name = "s" .. i, target = targets[i % 3 + 1] }
  end
  local left, rng = {}, kb.core.rng(o.seed or 1)
  local function open(k, i)
    return (left[k.id * 100 + i] or o.most or 3) > 0 and not (o.closed and o.closed(k, i))
  end
  local brain = kb.policy("policies/" .. name .. ".lua", o.params).new {
    strategies = strategies, rng = kb.core.rng(o.seed or 1), device = "cpu", open = open }
  local pool, under_way, log = { kernel(1, 1) }, {}, {}
  brain.admit(pool[1])
  local function land()
    local e = table.remove(under_way, 1)
    local u, child = rng:uniform(), nil
    if u < 0.6 and #pool < (o.pool or 1e9) then
      child = kernel(#pool + 1, e.parent.speedup * (0.7 + rng:uniform()), e.parent.id)
      pool[#pool + 1] = child
    end
    local verdict = child and "ok" or u < 0.8 and "wrong" or "no_candidate"
    brain.learn { n = e.n, parent = e.parent, strategy = e.strategy, verdict = verdict,
      child = child, reward = child and 1 - e.parent.speedup / child.speedup or -1,
      terms = e.terms, cost = {}, exhausted = verdict == "no_candidate" }
    if child then brain.admit(child) end
  end
  for n = 1, o.pulls or 100 do
    while #under_way >= (o.parallel or 1) do land() end
    local parent, i, terms = brain.choose(#under_way, under_way)
    if not parent then
      if #under_way == 0 then break end
      while #under_way > 0 do land() end
      parent, i, terms = brain.choose(0, {})
      if not parent then break end
    end
    t.equal(pool[parent.id] == parent, true, name .. ": a kernel of the pool")
    assert(open(parent, i), name .. ": a closed strategy was chosen")
    local key = parent.id * 100 + i
    left[key] = (left[key] or o.most or 3) - 1
    log[n] = parent.id .. "/" .. i
    under_way[#under_way + 1] = { n = n, parent = parent, strategy = i, terms = terms }
  end
  return log, pool, open, #strategies
end

for _, name in ipairs(files) do
  t.test(name .. ": chooses what is open, with seven under way too", function()
    for seed = 1, 3 do
      play(name, { seed = seed })
      play(name, { seed = seed, parallel = 7 })
    end
  end)

  t.test(name .. ": a strategy closed everywhere is never chosen", function()
    local log = play(name, { closed = function(_, i) return i == 2 end })
    for _, pair in ipairs(log) do assert(not pair:find "/2$", pair) end
  end)

  t.test(name .. ": same seed, same choices", function()
    t.equal(play(name, { seed = 5 }), play(name, { seed = 5 }))
    t.equal(play(name, { seed = 5, parallel = 3 }), play(name, { seed = 5, parallel = 3 }))
  end)

  t.test(name .. ": ends when, and only when, nothing is open", function()
    local log, pool, open, n = play(name, { most = 2, pool = 5, pulls = 1000 })
    assert(#log < 1000, "no end")
    for _, k in ipairs(pool) do
      for i = 1, n do t.equal(open(k, i), false, ("%d/%d"):format(k.id, i)) end
    end
  end)

  t.test(name .. ": one strategy, one kernel", function()
    t.equal(#play(name, { strategies = 1, most = 1, pool = 1, pulls = 9 }), 1)
  end)

  t.test(name .. ": is at most 150 lines", function()
    local n = 0
    for _ in io.lines("policies/" .. name .. ".lua") do n = n + 1 end
    assert(n <= 150, n)
  end)

  t.test(name .. ": searches a synthetic task", function()
    local r = kb.search { task = kb.synthetic { seed = 3 }, budget = { steps = 25 },
                          policy = "policies/" .. name .. ".lua" }
    t.equal(r.pulls, 25)
  end)
end

-- What is characteristic ---------------------------------------------------------

local function started(name, params, n, open)
  local strategies = {}
  for i = 1, n do strategies[i] = { name = "s" .. i, target = "sm" } end
  return kb.policy("policies/" .. name .. ".lua", params).new {
    strategies = strategies, rng = kb.core.rng(1), device = "cpu",
    open = open or function() return true end }
end

-- Pulls n times; reward_of(i, parent) says what a strategy pays. Returns the counts.
local function pulls(brain, n, reward_of)
  local count, parents = {}, {}
  for step = 1, n do
    local k, i, terms = brain.choose(0, {})
    count[i] = (count[i] or 0) + 1
    parents[step] = k.id
    brain.learn { n = step, parent = k, strategy = i, verdict = "wrong", terms = terms,
                  reward = reward_of(i, k), cost = {} }
  end
  return count, parents
end

local function second_pays(i) return i == 2 and 0.8 or 0 end

t.test("epsilon_greedy: of equal strategies the one with fewer under way is taken", function()
  local brain, pending, count = started("epsilon_greedy", { epsilon = 0 }, 3), {}, {}
  brain.admit(kernel(1, 1))
  for _ = 1, 6 do
    local k, i = brain.choose(#pending, pending)
    pending[#pending + 1], count[i] = { parent = k, strategy = i }, (count[i] or 0) + 1
  end
  t.equal(count, { 2, 2, 2 })
  brain.learn { n = 1, parent = pending[1].parent, strategy = 2, verdict = "wrong", reward = 0.9,
                cost = {} }
  t.equal(select(2, brain.choose(#pending, pending)), 2)
  t.equal(select(2, brain.choose(0, {})), 2)
end)

t.test("best_of_n: every child is the baseline's, strategies take turns", function()
  local brain = started("best_of_n", nil, 3)
  brain.admit(kernel(1, 1))
  brain.admit(kernel(2, 9, 1))
  local count, parents = pulls(brain, 9, second_pays)
  t.equal(count, { 3, 3, 3 })
  for _, id in ipairs(parents) do t.equal(id, 1) end
end)

t.test("ucb1: the arm that pays is pulled most, others now and then", function()
  local brain = started("ucb1", nil, 4)
  brain.admit(kernel(1, 1))
  local count = pulls(brain, 100, second_pays)
  assert(count[2] > 50 and count[1] >= 3, count[2])
end)

t.test("ucb1: an untried arm under way is not chosen again", function()
  local brain = started("ucb1", nil, 3)
  local k = kernel(1, 1)
  brain.admit(k)
  local list, seen = {}, {}
  for step = 1, 3 do
    local _, i = brain.choose(#list, list)
    seen[i], list[step] = true, { parent = k, strategy = i }
  end
  t.equal(seen, { true, true, true })
end)

t.test("kernelband_v2: arms under way count as pulled, so equal ones take turns", function()
  local brain = started("kernelband_v2", { published_defects = true }, 3)
  local k = kernel(1, 1)
  brain.admit(k)
  brain.learn { n = 1, parent = k, strategy = 1, verdict = "wrong", reward = 0.5, cost = {} }
  brain.learn { n = 2, parent = k, strategy = 2, verdict = "wrong", reward = 0.5, cost = {} }
  brain.learn { n = 3, parent = k, strategy = 3, verdict = "wrong", reward = 0.5, cost = {} }
  local list, seen = {}, {}
  for step = 1, 3 do
    local _, i = brain.choose(#list, list)
    seen[i], list[step] = true, { parent = k, strategy = i }
  end
  t.equal(seen, { true, true, true })
end)

t.test("epsilon_greedy: epsilon 0 is greedy, 1 is even; it may be annealed", function()
  local function count(epsilon)
    local brain = started("epsilon_greedy", { epsilon = epsilon, start_mean = 0 }, 4)
    brain.admit(kernel(1, 1))
    return pulls(brain, 200, function(i) return i == 1 and 0.8 or 0 end)
  end
  t.equal(count(0)[1], 200)
  assert(count(1)[1] < 80)
  assert(count(function(n) return n <= 20 and 1 or 0 end)[1] > 170)
end)

t.test("thompson and softmax: the arm that pays is preferred, none is dropped", function()
  for _, name in ipairs { "thompson", "softmax" } do
    local brain = started(name, nil, 4)
    brain.admit(kernel(1, 1))
    local count = pulls(brain, 200, second_pays)
    assert(count[2] > 80 and (count[1] or 0) > 0, name)
  end
end)

t.test("one_plus_one: only a child no slower takes the place", function()
  local brain = started("one_plus_one", nil, 2)
  for id, speedup in ipairs { 1, 2, 1.5, 2 } do brain.admit(kernel(id, speedup)) end
  t.equal(brain.choose(0, {}).id, 4)
end)

t.test("beam: the width fastest are tried, one after the other", function()
  local brain = started("beam", { width = 2, tries = 1 }, 3)
  for id, speedup in ipairs { 1, 3, 2 } do brain.admit(kernel(id, speedup)) end
  local _, parents = pulls(brain, 4, second_pays)
  t.equal(parents, { 2, 3, 2, 3 })
end)

t.test("map_elites: a slow kernel of a kind of its own stays a parent", function()
  local brain = started("map_elites", { exploit = 0 }, 2)
  local dull, rare = { 0, 0, 0, 0, 0 }, { 0, 0.9, 0.9, 0, 0.9 }
  brain.admit(kernel(1, 1, nil, { phi = dull }))
  brain.admit(kernel(2, 5, 1, { phi = dull }))
  brain.admit(kernel(3, 0.5, 1, { phi = rare }))
  local seen, _, parents = {}, pulls(brain, 60, second_pays)
  for _, id in ipairs(parents) do seen[id] = true end
  t.equal(seen, { [2] = true, [3] = true })
end)

t.test("islands: take turns, and the best settles next door", function()
  local brain = started("islands", { islands = 2, migrate = 4, pressure = 50 }, 2)
  brain.admit(kernel(1, 1))
  local k, i, terms = brain.choose(0, {})
  t.equal(terms.cluster, 1)
  local child = kernel(2, 4, 1)
  brain.learn { n = 1, parent = k, strategy = i, verdict = "ok", child = child, reward = 0.5,
                terms = terms, cost = {} }
  brain.admit(child)
  local _, parents = pulls(brain, 7, second_pays)
  t.equal(parents, { 1, 2, 1, 2, 2, 2, 2 })
end)

t.test("hybrid_vndx: of the children it measures the one whose neighbours were fast", function()
  local brain = started("hybrid_vndx", { k = 1, candidates = 4, recombined = 0 }, 1)
  local slow, fast = kernel(1, 1), kernel(2, 4)
  slow.params, fast.params = { a = 1, b = 1, c = 1 }, { a = 2, b = 2, c = 2 }
  brain.admit(slow)
  brain.admit(fast)
  t.equal(brain.prefer { { a = 1, b = 1, c = 3 }, { a = 2, b = 2, c = 3 },
                         { a = 1, b = 3, c = 1 } }, 2)
  t.equal(brain.prefer { { a = 1, b = 1, c = 1 }, { a = 1, b = 1, c = 4 } }, 2)
  t.equal(brain.prefer { { a = 1, b = 1, c = 1 } }, nil)
end)

t.test("mcts: goes down where children are fast", function()
  local brain = started("mcts", { c = 0.05 }, 2)
  brain.admit(kernel(1, 1))
  pulls(brain, 3, second_pays)
  brain.admit(kernel(2, 0.3, 1))
  brain.admit(kernel(3, 5, 1))
  local _, parents = pulls(brain, 12, second_pays)
  local seen = {}
  for _, id in ipairs(parents) do seen[id] = (seen[id] or 0) + 1 end
  assert((seen[3] or 0) > (seen[2] or 0), "the fast child")
end)

t.test("priority_epsilon_net: of kernels alike only the faster is queued", function()
  local brain = started("priority_epsilon_net", { c = 1 }, 2)
  local alike = { 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5 }
  for id, speedup in ipairs { 1, 1.2, 1.1 } do
    brain.admit(kernel(id, speedup, nil, { phi = alike }))
  end
  local _, parents = pulls(brain, 20, second_pays)
  for _, id in ipairs(parents) do t.equal(id, 2) end
end)

t.test("world_model: a leaf that stalls is left", function()
  local brain = started("world_model", { patience = 2 }, 1)
  brain.admit(kernel(1, 1))
  brain.admit(kernel(2, 3, 1))
  local _, parents = pulls(brain, 4, second_pays)
  t.equal(parents, { 2, 2, 1, 1 })
end)

t.test("gp_ucb: what paid on a kernel is expected of its like", function()
  local brain = started("gp_ucb", { beta = 0.01 }, 3)
  local k = kernel(1, 1)
  brain.admit(k)
  for step = 1, 9 do
    local i = (step - 1) % 3 + 1
    local child = i == 3 and kernel(50 + step, 1.6, 1) or nil
    brain.learn { n = step, parent = k, strategy = i, verdict = child and "ok" or "wrong",
                  child = child, reward = 0, cost = {} }
  end
  t.equal(select(2, brain.choose(0, {})), 3)
end)

-- Ours, where moves are known -------------------------------------------------------

t.test("kernelband: with moves listed it goes where fast ones are left", function()
  local points, lists = {}, {}
  for x = 1, 8 do
    for y = 1, 2 do points[#points + 1] = { x = 2 ^ x, y = y } end
  end
  local function moves(k, i)
    local key = i == 1 and "y" .. k.params.y or "x" .. k.params.x
    if not lists[key] then
      lists[key] = {}
      for _, p in ipairs(points) do
        local same = i == 1 and p.y == k.params.y or i == 2 and p.x == k.params.x
        if same then table.insert(lists[key], p) end
      end
    end
    return lists[key], true
  end
  local brain = kb.policy("policies/kernelband.lua").new {
    strategies = { { name = "a", target = "sm" }, { name = "b", target = "sm" } },
    rng = kb.core.rng(1), open = function() return true end, moves = moves }
  brain.admit(kernel(1, 1, nil, { params = { x = 2, y = 1 } }))
  brain.admit(kernel(2, 1.001, 1, { params = { x = 2, y = 2 } }))
  -- Both values of y are known at x = 2, so only x is left to move.
  t.equal(select(2, brain.choose(0, {})), 1)
end)

t.test("kernelband: of children that were drawn it prefers those like fast ones", function()
  local brain = kb.policy("policies/kernelband.lua").new {
    strategies = { { name = "a", target = "sm" } }, rng = kb.core.rng(1),
    open = function() return true end, moves = function() return {} end }
  local points = { { x = 8 }, { x = 512 }, { x = 4 } }
  t.equal(brain.prefer(points), nil, "nothing is known yet")
  for n = 1, 6 do
    brain.admit(kernel(n, 2 ^ (n - 3), n > 1 and 1 or nil, { params = { x = 2 ^ n } }))
  end
  t.equal(brain.prefer { { x = 3 }, { x = 100 }, { x = 5 } }, 2)
  t.equal(brain.prefer { { x = 64 }, { x = 3 } }, 2, "known ones are not asked for again")
  t.equal(brain.prefer { { x = 64 }, { x = 32 } }, nil)
  for n = 7, 9 do               -- another generator's: they say nothing of x
    brain.admit(kernel(n, 100, 1, { params = { BX = 64 } }))
  end
  t.equal(brain.prefer { { x = 3 }, { x = 100 }, { x = 5 } }, 2)
end)

t.test("surrogate: a child under way is not offered again, and leaves no trace once it landed",
       function()
  local surrogate = require "kernelband.policy.surrogate"
  local list = {}
  for n = 1, 12 do list[n] = { x = 2 ^ n, y = n % 3 } end
  local model = surrogate.new({}, function() return list, false end, nil, 1)
  local k = kernel(1, 1, nil, { params = list[1] })
  model.admit(k)
  model.admit(kernel(2, 3, 1, { params = list[6] }))
  local worth, best = model.worth(k, 1, {}), model.prefer(list)
  local pending, offered = {}, { [best] = true }
  for n = 1, 9 do                       -- ten in all are left to measure
    pending[n] = { parent = k, strategy = 1, params = list[n == 1 and best or model.prefer(list)] }
    assert(model.worth(k, 1, pending) <= worth)
    local other = model.prefer(list)
    assert(not offered[other] and other ~= 1 and other ~= 6, other)
    offered[other] = true
  end
  table.remove(pending, 4)
  model.worth(k, 1, pending)
  t.equal(model.worth(k, 1, {}), worth)
  t.equal(model.prefer(list), best)
end)

t.test("kernelband: many pulls in flight go to different children", function()
  local trace = kb.trace("examples/traces/softmax-h200.jsonl.gz", { draws = "all", anew = true })
  for _, row in ipairs(kb.search { task = trace, budget = { steps = 60 }, parallel = 16,
                                   confirm = false }.rows) do
    assert(row.verdict ~= "no_candidate", row.reason)
  end
end)

t.test("kernelband: what it is asked to prefer changes nothing of what it thinks later", function()
  local surrogate = require "kernelband.policy.surrogate"
  local function thinks(asked)
    local model = surrogate.new({}, function(k, i)
      return i == 2 and { k.params, { alg = k.params.alg, y = 64 } } or nil, false
    end, nil, 2)
    local function admit(id, speedup, alg, y)
      local k = kernel(id, speedup, id > 1 and 1 or nil, { params = { alg = alg, y = y } })
      model.admit(k)
      return k
    end
    admit(1, 1, "a", 2)
    -- What a pull of strategy 1 drew, whose moves are too many to be listed. The pull of a
    -- resumed search comes from the journal: nothing is drawn.
    local drawn = { { alg = "d", y = 2 }, { alg = "c", y = 2 }, { alg = "b", y = 2 } }
    if asked then model.prefer(drawn) end
    admit(2, 4, "b", 4)
    admit(3, 2, "c", 8)
    return model.worth(admit(4, 0.5, "d", 16), 2)
  end
  t.equal(thinks(true), thinks(false))
end)

t.test("searches that are over do not keep what their forecasts took", function()
  local alive, x, means = setmetatable({}, { __mode = "k" }), {}, {}
  for _ = 1, 12 do
    local gp = kb.core.gp({ 1 }, { capacity = 32 })     -- 8 MiB each, of which Lua sees nothing
    alive[gp] = true
    for i = 1, 32768 do
      x[1] = i / 32768
      gp:track(x)
      if i <= 32 then gp:learn(x, i) end
    end
    gp:means(means)
  end
  local n = 0
  for _ in pairs(alive) do n = n + 1 end
  assert(n <= 6, n .. " of 12 are alive")
end)

t.finish()
