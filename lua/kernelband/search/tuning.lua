-- search/tuning.lua - constants that a candidate declares as tunable (tune.lua reads them,
-- `// kb: tune BX 64 128 256`), searched inside its own pull: one constant at a time
-- from its first values, each time to what is faster beyond doubt, until no single
-- change helps or the evaluations are spent.

local lists = require "kernelband.base.lists"
local tune = require "kernelband.task.tune"

local tuning = {}

-- A candidate that declares constants, with these values of them.
local function with(candidate, values)
  return lists.with(candidate, { source = tune.apply(candidate.declared, values), params = values })
end

-- The candidate as it is evaluated first: with the first value of each. And what is wrong with a
-- line that declares one: without its constants the source is another than was meant.
function tuning.first(candidate)
  local tunables, why = tune.parse(candidate.source)
  if not tunables or #tunables == 0 then return candidate, why end
  return with({ declared = candidate.source, tunables = tunables, origin = candidate.origin,
                by = candidate.by }, tune.point(tunables))
end

local function low(attempt) return attempt.evaluation.speedup_low or attempt.evaluation.speedup end

-- first: an attempt that is ok. evaluate(candidate) -> attempt, nil: enough.
function tuning.descend(first, limit, evaluate)
  local best, done = first, { [first.candidate.source] = true }
  repeat
    local before = best
    for _, t in ipairs(first.candidate.tunables) do
      for _, value in ipairs(t.values) do
        local values = lists.with(best.candidate.params, { [t.name] = value })
        local candidate = with(best.candidate, values)
        if not done[candidate.source] then
          local a = limit > 0 and evaluate(candidate)
          if not a then return best end
          limit, done[candidate.source] = limit - 1, true
          if a.evaluation.verdict == "ok" and low(a) > low(best) then best = a end
        end
      end
    end
  until best == before
  return best
end

return tuning
