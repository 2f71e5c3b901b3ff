-- evaluate/paired.lua - two kernels side by side: in which order they run, when their outputs are
-- looked at, and when that is enough. It has no clock and no device: those are the rig's.
--
-- A round starts new processes on new inputs and has pairs of samples, one of the baseline (A)
-- and one of the candidate (B); a coin decides which comes first. The value of a round is the
-- Hodges-Lehmann estimate of its pairs' log ratios, and the result that of the rounds' values,
-- with an exact Wilcoxon interval. So what belongs to one pair of processes (where their pages
-- lie, how old they are) counts as noise, and the interval knows of it: repeat at the highest
-- level that varies (Kalibera & Jones, "Rigorous benchmarking in reasonable time", ISMM 2013).
--
-- Outputs are looked at when a pair is complete and B was its second; then both sides run untimed
-- before the next pair. While outputs are compared the kernels' processor idles and its caches are
-- filled by others: the sample that follows is up to 1.7 times slower. Were it timed, it would
-- be A's more often than B's, because only what B has written is looked at.
--
-- How wide the interval is, and nothing else, decides whether there are more rounds. To ask for
-- more where a gain seems possible would measure highs again and keep lows.
local core = require "kernelband.core"

local paired = {}

local relative_width = 0.1      -- of a large effect: 30 times needs no per mille
local hopeless_after = 5        -- rounds

-- Is it slower for certain? Then no more rounds are spent on it.
local function hopeless(logs, slower)
  return slower and #logs >= hopeless_after and core.stats.paired(logs, 0.99).high < slower
end

-- Is the interval as narrow as was asked?
local function narrow(logs, width)
  local p = core.stats.paired(logs, 0.95)
  return (p.high - p.low) / 2 <= math.max(width, relative_width * math.abs(p.estimate))
end

-- One pair: a baseline's time and a candidate's, and whether B was its second.
local function one_pair(rig, repeats, first)
  local b, a, bad = {}
  if first == "A" then
    a, bad = rig.sample "A"
    if not a then return nil, bad end
  end
  for i = 1, repeats do
    b[i], bad = rig.sample "B"
    if not b[i] then return nil, bad end
  end
  if first == "B" then
    a, bad = rig.sample "A"
    if not a then return nil, bad end
  end
  return a, core.stats.median(b)
end

-- The medians of both sides' times and the estimate of the log ratio, or nil and what ended it.
local function one_round(rig, rule)
  local a, b, logs = {}, {}, {}
  local bad = rig.begin()
  if bad then return nil, bad end
  for i = 1, rule.pairs do
    local first = rule.coin() and "A" or "B"
    local base, mine = one_pair(rig, rule.repeats or 1, first)
    if not base then return nil, mine end
    a[i], b[i], logs[i] = base, mine, math.log(base / mine)
    bad = first == "A" and rig.look(i == rule.pairs)
    if bad then return nil, bad end
  end
  return core.stats.median(a), core.stats.median(b), core.stats.paired(logs, 0.5).estimate
end

-- rig.begin()        new inputs, new processes, and what warms them up
-- rig.sample(who)    -> ns a call of "A" or "B"
-- rig.look(last)     what B has just written; last: no pair of this round follows
-- rig.finish()       after the last round
--   Each of these returns an evaluation instead of a time, or at all, to end the measurement.
-- rule.coin()        -> boolean, true as often as false
-- rule.rounds, rule.pairs, rule.repeats   rounds, pairs in each, samples of B in a pair
-- rule.most          rounds at most; they double while the interval is wide
-- rule.width         half of the interval's width that is asked for, as a log
-- rule.late()        -> true when there is no time for more rounds; optional
-- rule.slower        a log; optional: ends when the candidate is below that for certain
-- Returns { a =, b =, logs = }, an entry a round; or nil, evaluation.
function paired.measure(rig, rule)
  local out = { a = {}, b = {}, logs = {} }
  local goal = rule.rounds
  while #out.logs < goal do
    local a, b, log = one_round(rig, rule)
    if not a then return nil, b end
    local i = #out.logs + 1
    out.a[i], out.b[i], out.logs[i] = a, b, log
    if hopeless(out.logs, rule.slower) then break end
    if i == goal and not narrow(out.logs, rule.width) and not (rule.late and rule.late()) then
      goal = math.min(2 * goal, rule.most)
    end
  end
  local bad = rig.finish()
  if bad then return nil, bad end
  return out
end

return paired
