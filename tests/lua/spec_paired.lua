-- Order, looks and stopping rule of a measurement, on recorded sample times and with no clock: a
-- kernel beside itself shows no gain, and rules that once showed one are found out.
package.path = "tests/lib/?.lua;" .. package.path
local t = require "harness"
local core = require "kernelband.core"
local lists = require "kernelband.base.lists"
local paired = require "kernelband.evaluate.paired"
local times = require "times"
local win = require "kernelband.evaluate.win"

-- Draws of a mean or a share. Many where its bound is within four standard errors; with the
-- fewer of the others it still is five of them away and more.
local many, some, few = 2000, 800, 400
local kernels = { "gemv_4m", "chase", "small_products" }

-- A machine that replays a kernel's times from a random place on. The first sample of new
-- processes, and the first after a look, is slower, as on a real one; what a warm-up leaves of
-- that is for the order of the samples to make harmless.
-- effect: how much longer A takes, as a log.
local function machine(name, rng, effect)
  local list, m = times[name], { looks = 0, samples = 0, log = {} }
  local at, cold = rng:below(#list), 1
  local function one(who)
    at = at % #list + 1
    local ns = list[at] * cold * (who == "A" and math.exp(effect or 0) or 1)
    cold = 1
    m.samples = m.samples + 1
    m.log[#m.log + 1] = who
    return ns
  end
  function m.cool(least, most) cold = least + (most - least) * rng:uniform() end
  function m.warm() cold = 1 + (cold - 1) / 5 end
  function m.sample(who) return one(who) end
  return m
end

-- The rig that kernelband.rig makes of it. share: of the samples that may be looked at.
local function rig_on(m, rng, share)
  local function look()
    if rng:uniform() >= share then return nil end
    m.looks = m.looks + 1
    m.log[#m.log + 1] = "look"
    m.cool(1, 1.2)
  end
  return { sample = function(_, who) return m.sample(who) end, look = look, finish = function() end,
           begin = function()
             m.log[#m.log + 1] = "begin"
             m.cool(1.03, 1.16)
             m.warm()
           end }
end

local function rule_of(rng, more)
  local rule = { rounds = 8, pairs = 8, most = 32, width = 0.02, slower = math.log(0.97),
                 coin = function() return rng:below(2) == 0 end }
  for k, v in pairs(more or {}) do rule[k] = v end
  return rule
end

-- At one shape.
local function measure(rig, rule) return paired.measure({ { rig = rig, rule = rule } }, rule)[1] end

local function estimate(logs) return core.stats.paired(logs, 0.95) end

-- Mean estimate of many measurements, the share whose interval holds 0, and of those above it.
local function over(draws, name, how, effect)
  local rng, sum, covered, above = core.rng(7):split(name), 0, 0, 0
  for _ = 1, draws do
    local r = estimate(how(rng, machine(name, rng, effect)))
    sum = sum + r.estimate / draws
    covered = covered + (r.low <= 0 and 0 <= r.high and 1 or 0) / draws
    above = above + (r.low > 0 and 1 or 0) / draws
  end
  return sum, covered, above
end

local function ours(rng, m) return measure(rig_on(m, rng, 0.3), rule_of(rng)).logs end

-- A block of four samples, looked at in the middle and not warmed up after.
local function looks_inside(rng, m)
  local logs = {}
  for i = 1, 16 do
    local sum = { A = 0, B = 0 }
    m.cool(1.03, 1.16)
    for who in (rng:below(2) == 0 and "ABBA" or "BAAB"):gmatch "." do
      sum[who] = sum[who] + m.sample(who)
      if who == "B" and rng:uniform() < 0.3 then m.cool(1.1, 1.7) end
    end
    logs[i] = math.log(sum.A / sum.B)
  end
  return logs
end

-- More rounds while the estimate is high, and only then.
local function asks_for_gains(_, m)
  local logs, goal = {}, 8
  while #logs < goal do
    local a, b = m.sample "A", m.sample "B"
    logs[#logs + 1] = math.log(a / b)
    if #logs == goal and estimate(logs).estimate > 0 then goal = math.min(2 * goal, 64) end
  end
  return logs
end

for _, name in ipairs(kernels) do
  t.test(name .. " beside itself shows neither gain nor loss, and its intervals know", function()
    local bias, covered = over(many, name, ours)
    t.equal(math.abs(bias) <= 0.001, true, bias)
    t.equal(covered >= 0.93, true, covered)
  end)

  t.test(name .. " is told from itself 5 percent slower", function()
    local _, _, above = over(few, name, ours, math.log(1.05))
    t.equal(above >= 0.9, true, above)
  end)

  t.test(name .. " shows a gain when looks fall between samples", function()
    local bias = over(some, name, looks_inside)
    t.equal(bias > 0.005, true, bias)
  end)

  t.test(name .. " shows a loss when only gains are measured again", function()
    local bias = over(some, name, asks_for_gains)
    t.equal(bias < -0.001, true, bias)
  end)
end

t.test("only what B wrote as the second of a pair is looked at", function()
  local rng = core.rng(3)
  local m = machine("chase", rng)
  measure(rig_on(m, rng, 1), rule_of(rng, { most = 8 }))
  t.equal(m.looks > 16, true, m.looks)
  for i, word in ipairs(m.log) do
    if word == "look" then t.equal({ m.log[i - 2], m.log[i - 1] }, { "A", "B" }) end
  end
end)

t.test("a slow baseline runs once beside several runs of the other, first or last", function()
  local rng = core.rng(4)
  local m = machine("chase", rng)
  measure(rig_on(m, rng, 0), rule_of(rng, { rounds = 6, most = 6, pairs = 1, repeats = 3 }))
  local orders = {}
  for round in table.concat(m.log, " "):gmatch "begin ([AB ]+)" do
    orders[(round:gsub(" ", ""))] = true
  end
  t.equal(orders, { ABBB = true, BBBA = true })
end)

t.test("times of a slow baseline that are known take the place of its samples", function()
  local rng = core.rng(9)
  local m = machine("chase", rng)
  local out = measure(rig_on(m, rng, 1), rule_of(rng, { rounds = 3, most = 3, pairs = 1,
                                                         repeats = 2, known = { 5, 7 } }))
  t.equal({ out.a[1], out.a[2] }, { 5, 7 })
  t.equal(math.abs(out.logs[2] - math.log(7 / out.b[2])) < 1e-12, true)
  local text = table.concat(m.log, " ")
  t.equal(select(2, text:gsub("A", "")), 1)             -- the third round's
  t.equal(text:find("begin B B look begin B B look begin", 1, true), 1)
end)

t.test("shapes take turns, and all of them have as many rounds", function()
  local rng = core.rng(10)
  local order, list = {}, {}
  for i, name in ipairs { "x", "y" } do
    local rig = rig_on(machine("gemv_4m", rng), rng, 0)
    local begin = rig.begin
    function rig.begin() order[#order + 1] = name return begin() end
    list[i] = { rig = rig, rule = rule_of(rng) }
  end
  local results, all = paired.measure(list, rule_of(rng, { rounds = 3, most = 3 }))
  t.equal(table.concat(order), "xyxyxy")
  for i = 1, 3 do
    t.near(all[i], (results[1].logs[i] + results[2].logs[i]) / 2)
  end
  t.equal({ #all, #results[1].logs, #results[2].logs }, { 3, 3, 3 })
end)

t.test("the interval of several shapes is as wide as their errors together, no wider", function()
  local rng, covered, narrower, n = core.rng(11), 0, 0, 500
  for _ = 1, n do
    local list = {}
    for i, name in ipairs(kernels) do
      list[i] = { rig = rig_on(machine(name, rng), rng, 0.3), rule = rule_of(rng, { pairs = 2 }) }
    end
    local results, all = paired.measure(list, rule_of(rng, { rounds = 12, most = 12 }))
    local out = win.overall {
      logs = all, shapes = lists.collect(results, function(m)
        return { speedup = math.exp(estimate(m.logs).estimate), time_ns = 1, baseline_ns = 1 }
      end) }
    covered = covered + (out.speedup_low <= 1 and 1 <= out.speedup_high and 1 or 0) / n
    local mean = 0
    for _, m in ipairs(results) do
      local e = estimate(m.logs)
      mean = mean + (e.high - e.low) / #results
    end
    narrower = narrower + (math.log(out.speedup_high / out.speedup_low) < mean and 1 or 0) / n
  end
  t.equal(covered >= 0.93 and covered <= 0.985, true, covered)
  t.equal(narrower >= 0.9, true, narrower)
end)

t.test("rounds double while the interval is wide and there is time, and no longer", function()
  local rng = core.rng(5)
  local function rounds(more)
    return #measure(rig_on(machine("gemv_4m", rng), rng, 0), rule_of(rng, more)).logs
  end
  t.equal(rounds { width = 1 }, 8)
  t.equal(rounds { width = 0 }, 32)
  t.equal(rounds { width = 0, late = function() return true end }, 8)
end)

t.test("a round that takes long has fewer pairs, and never none", function()
  local rng = core.rng(9)
  local function samples(pressed)
    local r, n = rig_on(machine("gemv_4m", rng), rng, 0), 0
    local sample = r.sample
    function r:sample(who) n = n + 1; return sample(self, who) end
    measure(r, rule_of(rng, { width = 1, pressed = pressed }))
    return n / 2
  end
  local pairs_run = 0
  t.equal(samples(function() return false end), 8 * 8)
  t.equal(samples(function() return true end), 8)
  t.equal(samples(function() pairs_run = pairs_run + 1; return pairs_run % 3 == 0 end), 8 * 3)
end)

t.test("what is slower for certain ends after five rounds, what is faster does not", function()
  local rng = core.rng(6)
  local function rounds(effect)
    local m = machine("chase", rng, effect)
    return #measure(rig_on(m, rng, 0), rule_of(rng, { width = 1 })).logs
  end
  t.equal(rounds(-1), 5)
  t.equal(rounds(1), 8)
end)

t.test("whoever ends a measurement is heard", function()
  local rng = core.rng(8)
  for _, part in ipairs { "begin", "sample", "look", "finish" } do
    local r = rig_on(machine("chase", rng), rng, 1)
    local bad = { verdict = "crashed" }
    r[part] = function() error(bad, 0) end
    t.equal({ pcall(measure, r, rule_of(rng)) }, { false, bad }, part)
  end
end)

t.finish()
