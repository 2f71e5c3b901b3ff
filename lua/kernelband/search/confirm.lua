-- search/confirm.lua - the end of a search: what looks like the winner is evaluated once
-- more, with more timing blocks, as the fastest of many noisy figures flatters
-- itself.

local core = require "kernelband.core"
local status = require "kernelband.search.status"
local verdict = require "kernelband.evaluate.verdict"
local interrupts = core.system.interrupts

local confirm = {}

local CONFIRMED = 3                     -- kernels tried as winner at most

-- The fastest few, by the low end of their intervals, then by age: those whose
-- interval is above 1, and where none is, one that may still turn out to be faster.
function confirm.ranking(pool)
  local top = {}
  for i = 2, #pool do
    local k, at = pool[i], #top + 1
    while at > 1 and k.speedup_low > top[at - 1].speedup_low do at = at - 1 end
    table.insert(top, at, k)
    top[CONFIRMED + 1] = nil
  end
  while #top > 0 and top[#top].speedup_low <= 1 and (#top > 1 or top[1].speedup <= 1) do
    table.remove(top)
  end
  return top
end

-- Waits for one evaluation; nil when the user wants out at once.
local function again(S, k)
  local evaluation, failed, done
  S.confirming = k.id
  S.loop:spawn(function()
    local ok, e = pcall(S.evaluate, { source = k.source, params = k.params },
                        { confirm = true })
    if ok then evaluation = e else failed = e end
    done = true
    S.wake()
  end)
  local told
  while not done do
    if interrupts() > 1 then
      S.stopping = "interrupted"
      return nil
    elseif interrupts() > 0 and not told then
      told = true
      S.progress.note "confirming to the end; Ctrl-C again stops now"
    end
    S.wait()
    S.progress.tick(function() return status.of(S) end)
  end
  S.confirming = nil
  if failed then error(failed, 0) end
  return evaluation
end

local function tell_refuted(S, k, e)
  local what, why = e.verdict, e.reason or e.verdict
  if e.verdict == "ok" then
    what = ("not faster than the baseline (%.4g times)"):format(e.speedup)
    why = what
  end
  S.journal.event("refuted", ("kernel %d, looked at again: %s"):format(k.id, what))
  S.progress.note(("kernel #%d did not stand: %s"):format(k.id, why))
end

-- Returns kernel, evaluation: of the baseline, where no other is faster when it is
-- looked at again; nothing when interrupted. A run that was finished before and to
-- which nothing was added has its confirmations already.
function confirm.run(S)
  S.retimed = {}
  local recorded = S.journal.resumed and S.landed == #S.journal.order and S.journal.confirmed
  for _, k in ipairs(confirm.ranking(S.pool)) do
    local evaluation = recorded and recorded[k.id]
    if not evaluation then
      S.progress.note(("confirming kernel #%d"):format(k.id))
      evaluation = again(S, k)
      if not evaluation then return end
      S.journal.confirm(k, evaluation)
      if not verdict.gains(evaluation) then tell_refuted(S, k, evaluation) end
    end
    if evaluation.verdict == "ok" and k.params and evaluation.speedup then
      table.insert(S.retimed, { params = k.params, time_ns = S.baseline_ns / evaluation.speedup })
    end
    if verdict.gains(evaluation) then return k, evaluation end
  end
  return S.pool[1], S.baseline_evaluation
end

return confirm
