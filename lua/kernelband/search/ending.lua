-- search/ending.lua - why a search ended before its budget was spent, in one sentence.

local ending = {}

local stopped = { interrupted = "it was interrupted", steered = "kernelband steer stopped it" }

-- How many pairs of kernel and strategy there are, and whether one of them is open to
-- open(kernel, strategy index).
local function any_open(S, open)
  local pairs_in_all = #S.pool * #S.strategies
  for _, kernel in ipairs(S.pool) do
    for i = 1, #S.strategies do
      if open(kernel, i) then return true, pairs_in_all end
    end
  end
  return false, pairs_in_all
end

-- S.dry: the policy had nothing left to choose, and nothing was under way.
function ending.why(S)
  if S.stopping == "paused" then return "the generator refused: " .. (S.paused_for or "?") end
  if S.stopping or not S.dry then return stopped[S.stopping] end
  local open, n = any_open(S, S.open)
  if open then
    return ("policy %s chose nothing, though a pair of kernel and strategy is open"):format(
      S.policy.name)
  end
  if S.steer.narrows and any_open(S, function(kernel, i)
    return S.generator.open(kernel, S.strategies[i])
  end) then
    return "steering (veto or pin) closes every pair of kernel and strategy that is left"
  end
  if S.declined and any_open(S, function(kernel, i)
    return S.steer.open(kernel, S.strategies[i].name)
           and S.generator.open(kernel, S.strategies[i])
  end) then
    return "the generator answered NOT APPLICABLE twice to every pair of kernel and strategy "
           .. "that is left"
  end
  local why = S.generator.ending and S.generator.ending(S.strategies)
  return why or ("none of the %d pairs of kernel and strategy is open: %s has no new child for "
                 .. "any of them"):format(n, S.generator.name and "generator " .. S.generator.name
                                             or "the generator")
end

return ending
