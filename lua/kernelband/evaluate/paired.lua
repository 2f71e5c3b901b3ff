-- evaluate/paired.lua - two kernels side by side, at one shape or several: in which order they
-- run, when their outputs are looked at, and when that is enough. It has no clock and no device:
-- those are the rigs'.
--
-- A round starts new processes and has pairs of samples, one of the baseline (A)
-- and one of the candidate (B); a coin decides which comes first. The value of a round is the
-- Hodges-Lehmann estimate of its pairs' log ratios, and the result that of the rounds' values,
-- with an exact Wilcoxon interval. So what belongs to one pair of processes (where their pages
-- lie, how old they are) counts as noise, and the interval knows of it: repeat at the highest
-- level that varies (Kalibera & Jones, "Rigorous benchmarking in reasonable time", ISMM 2013).
-- The shapes take turns, a round each, so that each one's rounds are spread over the whole
-- measurement: what slows a machine for a second and not for the next (another guest on the same
-- core) differs between the rounds of a shape, and its interval knows of that, too. What is said
-- of all shapes together comes from the means over the shapes of each round, so its interval knows
-- how far their errors go together.
--
-- Outputs are looked at when a pair is complete and B was its second, as only what B has written
-- is compared. That fills the caches, so the next sample may be slower (by up to 4 per cent for
-- most kernels, by 14 for random reads of 8 MB): the coin gives it to A as often as to B.
--
-- How wide the interval is and how long it took, and nothing else, decide whether there are more
-- rounds, and time alone whether a round has more pairs. To ask for more where a gain seems
-- possible would measure highs again and keep lows.
local collect = require("kernelband.base.lists").collect
local core    = require "kernelband.core"

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

-- One pair: a baseline's time and a candidate's. known: the baseline's, where it need not run.
local function one_pair(rig, repeats, base_first, known)
  local a, b = known or base_first and rig:sample "A", {}
  for i = 1, repeats do b[i] = rig:sample "B" end
  return a or rig:sample "A", core.stats.median(b)
end

-- The medians of both sides' times and the estimate of the log ratio.
local function one_round(rig, rule, known)
  local a, b, logs = {}, {}, {}
  rig:begin()
  for i = 1, rule.pairs do
    local base_first = rule.coin()
    a[i], b[i] = one_pair(rig, rule.repeats or 1, base_first, known)
    logs[i] = math.log(a[i] / b[i])
    if base_first or known then rig:look() end
    if rule.pressed and rule.pressed() then break end
  end
  return core.stats.median(a), core.stats.median(b), core.stats.paired(logs, 0.5).estimate
end

-- A round of each shape, the nth. Returns the mean of their values.
local function cycle(list, results, n)
  local sum = 0
  for i, one in ipairs(list) do
    local rule, out = one.rule, results[i]
    out.a[n], out.b[n], out.logs[n] = one_round(one.rig, rule, rule.known and rule.known[n])
    sum = sum + out.logs[n]
  end
  return sum / #list
end

-- list: { rig =, rule = }, one a shape.
-- rig:begin()        new processes, and what warms them up
-- rig:sample(who)    -> ns a call of "A" or "B"
-- rig:look()         what B has just written
-- rig:finish()       after the last round
--   Each of these may raise, to end the measurement.
-- The rule of a shape:
-- coin()             -> boolean, true as often as false
-- pairs, repeats     pairs in a round, at most; samples of B in a pair
-- pressed()          -> true when there is no time for more pairs in this round; optional
-- known              times of A, optional: taken for its samples in the first rounds
-- and that of all shapes together, whole:
-- rounds, most       at first and at most; they double while the interval is wide
-- width              half of the interval's width that is asked for, as a log
-- late()             -> true when there is no time for more than the first rounds; optional
-- slower             a log; optional: ends when the candidate is below that for certain
-- Returns of each { a =, b =, logs = }, an entry a round, and the logs of all: of each round the
-- mean over the shapes.
function paired.measure(list, whole)
  local results = collect(list, function() return { a = {}, b = {}, logs = {} } end)
  local all, goal = {}, whole.rounds
  repeat
    local n = #all + 1
    all[n] = cycle(list, results, n)
    if n == goal and not narrow(all, whole.width) then goal = math.min(2 * goal, whole.most) end
  until n == goal or hopeless(all, whole.slower)
        or n >= whole.rounds and whole.late and whole.late()
  for _, one in ipairs(list) do one.rig:finish() end
  return results, all
end

return paired
