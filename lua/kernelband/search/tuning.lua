-- search/tuning.lua - constants that a candidate declares as tunable (tune.lua reads them,
-- `// kb: tune BX 64 128 256`), searched inside its own pull: one constant at a time
-- from its first values, each time to what is faster beyond doubt, until no single
-- change helps or the evaluations are spent.

local lists = require "kernelband.base.lists"
local tune = require "kernelband.task.tune"

local tuning = {}

-- The candidate of a declaration that has these values. of: origin, by
local function with(declared, tunables, values, of)
  return { source = tune.apply(declared, values), params = values, declared = declared,
           tunables = tunables, origin = of.origin, by = of.by }
end

-- The candidate as it is evaluated first: with the first value of each. And what is wrong with a
-- line that declares one: without its constants the source is another than was meant.
function tuning.first(candidate)
  local tunables, why = tune.parse(candidate.source)
  if not tunables or #tunables == 0 then return candidate, why end
  return with(candidate.source, tunables, tune.point(tunables), candidate)
end

-- attempt: the first, which is ok. evaluate(candidate) -> attempt, nil: enough.
function tuning.descend(attempt, limit, evaluate)
  local tunables, best, spent = attempt.candidate.tunables, attempt, 0
  local done = {}                       -- sources evaluated
  done[attempt.candidate.source] = true
  local function try(name, value)
    local values = lists.with(best.candidate.params, { [name] = value })
    local candidate = with(best.candidate.declared, tunables, values, best.candidate)
    if done[candidate.source] then return true end
    if spent == limit then return false end
    spent, done[candidate.source] = spent + 1, true
    local a = evaluate(candidate)
    if not a then return false end
    local e, low = a.evaluation, best.evaluation.speedup_low or best.evaluation.speedup
    if e.verdict == "ok" and (e.speedup_low or e.speedup) > low then best = a end
    return true
  end
  local before
  repeat
    before = best
    for _, t in ipairs(tunables) do
      for _, value in ipairs(t.values) do
        if not try(t.name, value) then return best end
      end
    end
  until best == before
  return best
end

return tuning
