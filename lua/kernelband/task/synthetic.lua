-- task/synthetic.lua - kb.synthetic: a task without a machine, for trying policies.
-- It has hidden truths a policy can find out, is a function of its seed, and a
-- pull costs microseconds.
--
-- A kernel keeps three resources busy. Resource r takes
--   t(r) = base(r) * product over the strategies i at work on r of
--          (1 - gain(i) * x(i))
-- and the kernel T = (sum of t(r)^4)^(1/4): what is not the bottleneck hardly
-- matters. x(i) in [0, 1] is how far strategy i has been carried; a child moves
-- one x, towards 1 (each time a part of what is left: diminishing returns) or,
-- when the attempt is a poor one, back. A strategy carries further once another,
-- hidden one has been applied. Some "use less" of a resource, others "use it
-- more": the former lower its traffic, the latter its idle time, and
-- utilisation h, phi, rho and signature follow from that.

local lists  = require "kernelband.base.lists"
local core   = require "kernelband.core"
local schema = require "kernelband.base.schema"

local synthetic = {}

local kinds = {                         -- name, resource, uses less of it
  { "tiling", "l2", true }, { "vectorization", "dram", false },
  { "fusion", "dram", true }, { "pipeline", "sm", false },
  { "reordering", "sm", false }, { "access_layout", "dram", false },
}
local resources = { "sm", "dram", "l2" }

local rules = schema.declare("kb.synthetic", {
  { "seed", "integer", default = 1, doc = "draws the landscape" },
  { "strategies", "integer", default = 6, at_least = 1, at_most = 64,
    doc = "how many strategies there are" },
  { "noise", "number", default = 0.01, at_least = 0, at_most = 1,
    doc = "relative standard deviation of a measured time" },
  { "fail", "number", default = 0.25, at_least = 0, at_most = 1,
    doc = "share of candidates that fail" },
})

-- The hidden truths, and the points where nothing and everything is done.
local function truths(options)
  local rng = core.rng(options.seed):split "synthetic"
  local truth = { list = {}, of = {}, base = {}, idle = {}, zero = {}, full = {} }
  for _, r in ipairs(resources) do
    truth.base[r] = 1e6 * math.exp(0.7 * rng:normal())
    truth.idle[r] = 0.2 + 0.7 * rng:uniform()
  end
  for i = 1, options.strategies do
    local kind, round = kinds[(i - 1) % #kinds + 1], (i - 1) // #kinds
    local s = {
      i = i, name = kind[1] .. (round > 0 and round + 1 or ""), target = kind[2],
      less = kind[3], gain = 0.2 + 0.7 * rng:uniform(),
      fail = math.min(1, 2 * options.fail * rng:uniform()),
      needs = 1 + rng:below(options.strategies), skill = 0.4 + 0.4 * rng:uniform(),
    }
    truth.list[i], truth.of[s.name], truth.zero[i], truth.full[i] = s, s, 0, 1
  end
  return truth
end

-- Times and utilisations of a point x.
local function physics(truth, x)
  local t, busy, sum = {}, {}, 0
  for _, r in ipairs(resources) do
    t[r], busy[r] = truth.base[r], truth.base[r] * (1 - truth.idle[r])
  end
  for i, s in ipairs(truth.list) do
    local cut = 1 - s.gain * x[i] * (s.needs == i and 1 or 0.5 + 0.5 * x[s.needs])
    t[s.target] = t[s.target] * cut
    if s.less then busy[s.target] = busy[s.target] * cut end
  end
  for _, r in ipairs(resources) do sum = sum + t[r] ^ 4 end
  local total = sum ^ 0.25
  for _, r in ipairs(resources) do busy[r] = math.min(1, busy[r] / total) end
  return total, busy
end

local nine = {}
for i = 1, 9 do nine[i] = "derived" end

local function evidence(x, total, first, busy)
  local function at(i) return x[i] or 0 end
  local occupancy, registers = 0.3 + 0.5 * at(4), 0.2 + 0.3 * at(1) + 0.3 * at(5)
  return {
    phi = { at(1), busy.dram, busy.sm, 0.4 + 0.6 * at(4), occupancy, registers,
            0.5 * (1 - at(6)), 0.3 + 0.7 * at(6), at(2) },
    rho = { math.log(total), 14 - at(3), busy.sm / (busy.dram + 0.01), 8 + 24 * at(1), 8,
            occupancy },
    h = { sm = 100 * busy.sm, dram = 100 * busy.dram, l2 = 100 * busy.l2 },
    h_kind = { sm = "derived", dram = "derived", l2 = "derived" },
    signature = { total / first, registers, 0.5 * at(1), 0.25 + 0.5 * at(1), occupancy },
    phi_kind = nine, rho_kind = nine, signature_kind = nine,
  }
end

local function source_of(x)
  return table.concat(lists.collect(x, function(v) return ("%.17g"):format(v) end), " ")
end

local function new_generator(truth)
  local function open(parent, strategy)
    return parent.params[truth.of[strategy.name].i] < 0.98
  end

  local function propose(parent, strategy, rng)
    if not open(parent, strategy) then return nil, "nothing left to gain" end
    local s = truth.of[strategy.name]
    local i = s.i
    local x = table.move(parent.params, 1, #parent.params, 1, {})
    local step = 0.2 + 0.6 * rng:uniform()
    if rng:uniform() < s.skill then
      x[i] = x[i] + (1 - x[i]) * step
    else
      x[i] = x[i] * (1 - step)
    end
    -- The sixth decimal tells apart children that did the same.
    x[i] = math.min(1, math.max(0, x[i] + 1e-6 * rng:uniform()))
    return { source = strategy.name .. " " .. source_of(x), params = x, origin = "synthetic" }
  end

  return { name = "synthetic", first = truth.zero, seen = function() end, open = open,
           propose = propose }
end

local function new_evaluator(truth, options)
  local root, first = core.rng(options.seed):split "evaluate", physics(truth, truth.zero)

  local function judge(source, x, how)
    local rng, s = root:split(source), truth.of[source:match "^%a[%w_]*"]
    if s and rng:uniform() < s.fail then
      return { verdict = rng:uniform() < 0.5 and "build_failed" or "wrong",
               reason = "synthetic failure" }
    end
    local total, busy = physics(truth, x)
    local noise = how and how.confirm and 0 or options.noise
    local speedup = first / total * math.exp(noise * rng:normal())
    return {
      verdict = "ok", time_ns = first / speedup, baseline_ns = first,
      speedup = speedup, speedup_low = speedup * (1 - 2 * noise),
      speedup_high = speedup * (1 + 2 * noise), shapes = {},
      evidence = evidence(x, total, first, busy),
    }
  end

  return {
    baseline = function() return judge(source_of(truth.zero), truth.zero, { confirm = true }) end,
    evaluate = function(candidate, how) return judge(candidate.source, candidate.params, how) end,
    close = function() end,
  }
end

-- kb.synthetic { seed = 1, strategies = 6, noise = 0.01, fail = 0.25 }: a task
-- for kb.search. noise is the deviation of a measured log time, fail the mean
-- share of children that fail.
function synthetic.new(options)
  options = schema.options(options, rules, "kb.synthetic")
  local truth = truths(options)
  local optimum = physics(truth, truth.full)
  local strategies = lists.collect(truth.list, function(s)
    return { name = s.name, target = s.target, prompt = "", moves = {}, summary = "synthetic",
             path = "synthetic" }
  end)
  return {
    name = ("synthetic-%d"):format(options.seed), optimum_ns = optimum,
    -- How near a kernel comes to the best point there is, 0 to 1.
    share_of_optimum = function(kernel)
      return optimum / (physics(truth, kernel.params or truth.zero))
    end,
    environment = function()
      return { strategies = strategies, generator = new_generator(truth),
               evaluator = new_evaluator(truth, options), source = source_of(truth.zero) }
    end,
  }
end

return synthetic
