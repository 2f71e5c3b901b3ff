-- search/finish.lua - the end of a search: what looks like the winner is evaluated once more,
-- with more timing blocks, as the fastest of many noisy figures flatters itself; then the
-- result, and why the search ended.

local lists    = require "kernelband.base.lists"
local core     = require "kernelband.core"
local json     = require "kernelband.base.json"
local interrupts = core.system.interrupts

local finish = {}

local CONFIRMED = 3                     -- kernels tried as winner at most

-- What a gain is ---------------------------------------------------------------------

-- Whether an evaluation shows its kernel to be faster than the baseline. evaluate/win.lua decides
-- where times were measured; recorded times have an interval alone.
function finish.gains(e)
  local low = e.speedup_low or e.speedup
  return e.verdict == "ok" and e.win ~= false and type(low) == "number" and low > 1
end

-- looks: a run's evaluations of kind confirm, in their order. The last that shows its kernel to
-- be faster, and that no later one takes back; or nil.
function finish.last_gain(looks)
  local later = {}
  for i = #looks, 1, -1 do
    local look = looks[i]
    if look.kernel and not later[look.kernel] and finish.gains(look.evaluation or {}) then
      return look
    end
    later[look.kernel or 0] = true
  end
end

-- The winner of a run (its reader: store/run_reader.lua): { kernel, row, search_row, confirmed }.
-- row is the evaluation that its figures are from, search_row the one that the search made.
-- Confirmed kernels win over others; where kernels were measured again and none was faster, the
-- baseline does. nil: the baseline is not measured yet.
function finish.winner(reader)
  local looks = reader:evaluations "confirm"
  local look = finish.last_gain(looks)
  local best = look and { id = look.kernel } or #looks == 0 and reader:rows [[SELECT id
    FROM kernels WHERE speedup_low > 1 ORDER BY speedup_low DESC, id LIMIT 1]] [1] or { id = 1 }
  local kernels = reader:rows("SELECT * FROM kernels WHERE id IN (1, ?) ORDER BY id", best.id)
  if not kernels[1] or kernels[1].id ~= 1 then return nil end
  local kernel = kernels[#kernels]
  if look and kernel.id ~= look.kernel then look = nil end          -- lost with damage
  local search_row
  for _, row in ipairs(reader:evaluations(nil, kernel.id)) do
    if row.kind ~= "confirm" and row.kind ~= "verify" then search_row = search_row or row end
  end
  return { kernel = kernel, row = look or search_row, search_row = search_row,
           confirmed = #looks > 0 }
end

-- Confirmation -----------------------------------------------------------------------

-- The fastest few, by the low end of their intervals, then by age: those whose
-- interval is above 1, and where none is, one that may still turn out to be faster.
local function ranking(pool)
  local top = lists.sorted(table.move(pool, 2, #pool, 1, {}), function(k) return -k.speedup_low end)
  top = lists.collect(top, function(k, i) return i <= CONFIRMED and k end)
  while #top > 0 and top[#top].speedup_low <= 1 and (#top > 1 or top[1].speedup <= 1) do
    table.remove(top)
  end
  return top
end

-- Waits for one evaluation; nil when the user wants out at once.
local function evaluate_again(s, k)
  local evaluation, done, failed
  s.confirming = k.id
  s.loop:spawn(function()
    local ok, e, why, code = pcall(s.evaluate, { source = k.source, params = k.params },
                                   { confirm = true })
    if ok then evaluation = e else failed = e end
    if code == "ELOST" then failed = "the worker is lost: " .. why end
    done = true
    s.bell.ring()
  end)
  local told
  while not done do
    if interrupts() > 1 then
      s.stopping = "interrupted"
      return nil
    elseif interrupts() > 0 and not told then
      told = true
      s.view.note "confirming to the end; Ctrl-C again stops now"
    end
    s.bell.wait()
    s.view.tick(s.status)
  end
  s.confirming = nil
  if failed then error(failed, 0) end
  return evaluation
end

local function report_refuted(s, k, e)
  local what, why = e.verdict, e.reason or e.verdict
  if e.verdict == "ok" then
    what = ("not faster than the baseline (%.4g times)"):format(e.speedup)
    why = what
  end
  s.journal.event("refuted", ("kernel %d, looked at again: %s"):format(k.id, what))
  s.view.note(("kernel #%d did not stand: %s"):format(k.id, why))
end

-- Returns kernel, evaluation: of the baseline, where no other is faster when it is
-- looked at again; nothing when interrupted. A run that was finished before and to
-- which nothing was added has its confirmations already.
local function confirm(s)
  local pool, journal = s.pool, s.journal
  s.retimed = {}
  local recorded = journal.resumed and s.history.landed == #journal.order and journal.confirmed
  for _, k in ipairs(ranking(pool)) do
    local evaluation = recorded and recorded[k.id]
    if not evaluation then
      s.view.note(("confirming kernel #%d"):format(k.id))
      evaluation = evaluate_again(s, k)
      if not evaluation then return nil end
      journal.confirm(k, evaluation)
      if not finish.gains(evaluation) then report_refuted(s, k, evaluation) end
    end
    if evaluation.verdict == "ok" and k.params and evaluation.speedup then
      table.insert(s.retimed, { params = k.params,
                                time_ns = pool.baseline_ns / evaluation.speedup })
    end
    if finish.gains(evaluation) then return k, evaluation end
  end
  return pool[1], pool.baseline_evaluation
end

-- Why it ended -------------------------------------------------------------------------

-- Whether a pair of kernel and strategy is open to open(kernel, strategy index).
local function any_open(s, open)
  for _, kernel in ipairs(s.pool) do
    for i = 1, #s.strategies do
      if open(kernel, i) then return true end
    end
  end
  return false
end

-- The policy had nothing left to choose, and nothing was under way.
local function why_exhausted(s)
  if any_open(s, s.open) then
    return ("policy %s chose nothing, though a pair of kernel and strategy is open"):format(
      s.policy_name)
  end
  local function generator_open(kernel, i) return s.generator.open(kernel, s.strategies[i]) end
  if s.steering.narrows and any_open(s, generator_open) then
    return "steering (veto or pin) closes every pair of kernel and strategy that is left"
  end
  if s.declined.any and any_open(s, function(kernel, i)
    return s.steering.open(kernel, s.strategies[i].name) and generator_open(kernel, i)
  end) then
    return "the generator answered NOT APPLICABLE twice to every pair of kernel and strategy "
           .. "that is left"
  end
  local why = s.generator.ending and s.generator.ending(s.strategies)
  local who = s.generator.name and "generator " .. s.generator.name or "the generator"
  return why or ("none of the %d pairs of kernel and strategy is open: %s has no new child for "
                 .. "any of them"):format(#s.pool * #s.strategies, who)
end

-- In one sentence; nil when the budget was spent.
local function why_ended(s)
  if s.stopping == "paused" then return "the generator refused: " .. (s.retries.reason or "?") end
  if s.stopping == "interrupted" then return "it was interrupted" end
  if s.stopping == "steered" then return "kernelband steer stopped it" end
  return s.exhausted and why_exhausted(s) or nil
end

local function report_stop(s, result)
  local pulls = #s.history.rows
  if not result.gain then s.view.note "nothing faster than the baseline was found" end
  if not s.stopping then
    if result.reason then
      s.view.note(("ended after %d pulls, before its budget: %s"):format(pulls, result.reason))
    end
    return
  end
  local how = s.journal.folder
    and "go on with: kernelband resume " .. s.journal.folder
    or "nothing was saved: this search has no out"
  s.view.note(("%s after %d pulls; %s"):format(
    s.stopping == "paused" and "paused" or "stopped", pulls, how))
end

-- The result ---------------------------------------------------------------------------

-- An empty list that JSON has as one.
local function list(t) return t and #t == 0 and json.empty_list or t end

-- The state a run ends in, by why it stopped.
local states = { interrupted = "interrupted", steered = "interrupted", paused = "paused" }

-- What is not shown to be faster than the baseline is not returned in its place.
local function result_of(s, kernel, evaluation, confirmed)
  local budget, recorded, history = s.budget, s.budget.recorded, s.history
  local gain = kernel.id > 1 and finish.gains(evaluation)
  if not gain then kernel, evaluation = s.pool[1], s.pool.baseline_evaluation end
  local r = {
    task = s.task.name, id = kernel.id, strategy = kernel.strategy, gain = gain,
    speedup = gain and evaluation.speedup or 1,
    speedup_low = gain and evaluation.speedup_low or 1,
    speedup_high = gain and evaluation.speedup_high or 1,
    time_ns = evaluation.time_ns, baseline_ns = evaluation.baseline_ns,
    shapes = evaluation.shapes, params = kernel.params, confirmed = confirmed,
    pulls = #history.rows, verdicts = history.verdicts, arms = history.arms, seed = s.seed,
    policy = s.policy_name, interrupted = s.stopping ~= nil,
    state = states[s.stopping] or "done", reason = why_ended(s),
    source_path = s.journal.best_path, run = s.journal.folder, usd = budget.known_usd(),
    tokens = budget.tokens, tokens_unknown = budget.tokens_unknown,
    recorded = recorded and { answers = recorded.answers,
      usd = not recorded.unknown and recorded.usd or nil }, machine = s.machine(),
    checks = list(evaluation.checks), weakened = list(evaluation.weakened),
    quarantined = evaluation.quarantined,
  }
  if s.journal.folder then
    s.journal.best(kernel.source)
    s.journal.finish(r.state, r)
  end
  r.rows, r.source = history.rows, kernel.source
  r.strategies = lists.collect(s.strategies, "name")
  if s.task.share_of_optimum then
    r.share_of_optimum = s.task.share_of_optimum(kernel)
  end
  return r
end

-- The result of a search whose pulls are all recorded.
function finish.result(s)
  local kernel, evaluation, confirmed = s.pool.best, s.pool.best_evaluation, false
  if not s.stopping and #s.pool > 1 and s.confirm then
    local k, e = confirm(s)
    if k then kernel, evaluation, confirmed = k, e, true end
  end
  local result = result_of(s, kernel, evaluation, confirmed)
  s.view.close()
  report_stop(s, result)
  s.view.ended(result)
  return result
end

return finish
