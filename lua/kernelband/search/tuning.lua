-- search/tuning.lua - constants that a candidate declares as tunable (tune.lua reads them,
-- `// kb: tune BX 64 128 256`), searched inside its own pull: one constant at a time
-- from its first values, each time to what is faster beyond doubt, until no single
-- change helps or the evaluations are spent.

local tuning = {}

local function tune() return require "kernelband.task.tune" end

-- Of a kernel's declaration to the values a candidate has.
local function with(candidate, values)
  local params = {}
  for name, v in pairs(values) do params[name] = v end
  return { source = tune().apply(candidate.declared, values), params = params,
           declared = candidate.declared, tunables = candidate.tunables,
           origin = candidate.origin, by = candidate.by }
end

-- The candidate as it is evaluated first: with the first value of each. And what is wrong with a
-- line that declares one: without its constants the source is another than was meant.
function tuning.first(candidate)
  local source = candidate.source
  if not source:find("tune", 1, true) or not source:find "kb:[ \t]*tune" then return candidate end
  local tunables, why = tune().parse(candidate.source)
  if not tunables or #tunables == 0 then return candidate, why end
  local values = {}
  for _, t in ipairs(tunables) do values[t.name] = t.values[1] end
  return with({ declared = candidate.source, tunables = tunables, origin = candidate.origin,
                by = candidate.by }, values)
end

-- attempt: the first, which is ok. evaluate(candidate) -> attempt, nil: enough.
function tuning.descend(attempt, limit, evaluate)
  local tunables, best, spent = attempt.candidate.tunables, attempt, 0
  if not tunables then return attempt end
  local done = {}                       -- sources evaluated
  done[attempt.candidate.source] = true
  local function try(name, value)
    local values = {}
    for k, v in pairs(best.candidate.params) do values[k] = v end
    values[name] = value
    local candidate = with(best.candidate, values)
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
