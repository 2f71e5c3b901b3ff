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
  local search_row = lists.find(reader:evaluations(nil, kernel.id), function(row)
    return row.kind ~= "confirm" and row.kind ~= "verify"
  end)
  return { kernel = kernel, row = look or search_row, search_row = search_row,
           confirmed = #looks > 0 }
end

-- Confirmation -----------------------------------------------------------------------

-- The fastest few, by the low end of their intervals, then by age: those whose
-- interval is above 1, and where none is, one that may still turn out to be faster.
local function ranking(pool)
  local top = lists.sorted(table.move(pool, 2, #pool, 1, {}), function(k) return -k.speedup_low end)
  local sure = lists.collect(top, function(k, i)
    return i <= CONFIRMED and k.speedup_low > 1 and k
  end)
  if not sure[1] and top[1] and top[1].speedup > 1 then return { top[1] } end
  return sure
end

-- Waits for one evaluation; nil when the user wants out at once.
local function evaluate_again(s, k)
  local job, told
  s.note(("confirming kernel #%d"):format(k.id))
  s.confirming = k.id
  s.loop:spawn(function()
    local candidate = { source = k.source, params = k.params }
    job = table.pack(pcall(s.evaluate, candidate, { confirm = true }))
    s.bell.ring()
  end)
  while not job do
    if interrupts() > 1 then
      s.stopping = "interrupted"
      return nil
    elseif interrupts() > 0 and not told then
      told = true
      s.note "confirming to the end; Ctrl-C again stops now"
    end
    s.bell.wait()
    s.view.tick(s.status)
  end
  s.confirming = nil
  local ok, evaluation, why, code = table.unpack(job, 1, 4)
  if not ok then error(evaluation, 0) end
  if code == "ELOST" then error("the worker is lost: " .. why, 0) end
  return evaluation
end

local function report_refuted(s, k, e)
  local slower = e.verdict == "ok"
                 and ("not faster than the baseline beyond doubt (%.4g times, at least %.4g)")
                   :format(e.speedup, e.speedup_low or e.speedup)
  s.journal.event("refuted", ("kernel %d, looked at again: %s"):format(k.id, slower or e.verdict))
  s.note(("kernel #%d did not stand: %s"):format(k.id, slower or e.reason or e.verdict))
end

-- Returns kernel, evaluation: of the baseline, where no other is faster when it is
-- looked at again; nothing when interrupted. A run that was finished before and to
-- which nothing was added has its confirmations already.
local function confirm(s)
  local pool, journal = s.pool, s.journal
  local recorded = journal.resumed and s.history.landed == #journal.order and journal.confirmed
  s.retimed = {}
  for _, k in ipairs(ranking(pool)) do
    local e = recorded and recorded[k.id]
    if not e then
      e = evaluate_again(s, k)
      if not e then return nil end
      journal.confirm(k, e)
      if not finish.gains(e) then report_refuted(s, k, e) end
    end
    if e.verdict == "ok" and k.params and e.speedup then
      table.insert(s.retimed, { params = k.params, time_ns = pool.baseline_ns / e.speedup })
    end
    if finish.gains(e) then return k, e end
  end
  return pool[1], pool.baseline_evaluation
end

-- Why it ended -------------------------------------------------------------------------

-- The policy had nothing left to choose, and nothing was under way.
local function why_exhausted(s)
  -- Whether a pair of kernel and strategy is open to open(kernel, strategy index).
  local function any(open)
    for _, kernel in ipairs(s.pool) do
      for i = 1, #s.strategies do if open(kernel, i) then return true end end
    end
  end
  local function generator_open(kernel, i) return s.generator.open(kernel, s.strategies[i]) end
  if any(s.open_pairs.open) then
    return ("policy %s chose nothing, though a pair of kernel and strategy is open"):format(
      s.policy.name)
  end
  local closed = s.steering.narrows() and "steering (veto or pin) closes every pair"
    or s.open_pairs.declined and "the generator answered NOT APPLICABLE twice to every pair"
  if closed and any(generator_open) then return closed .. " of kernel and strategy that is left" end
  return s.generator.ending and s.generator.ending(s.strategies)
    or ("none of the %d pairs of kernel and strategy is open: %s has no new child for any of them")
       :format(#s.pool * #s.strategies,
               s.generator.name and "generator " .. s.generator.name or "the generator")
end

-- Why a search was stopped, in one sentence, and the state its run is left in.
local stops = {
  paused = { "the generator refused: %s", "paused" },
  interrupted = { "it was interrupted", "interrupted" },
  steered = { "kernelband steer stopped it", "interrupted" },
}

-- The sentence, nil when the budget was spent; and the state.
local function why_ended(s)
  local stopped = stops[s.stopping]
  if not stopped then return s.exhausted and why_exhausted(s) or nil, "done" end
  return stopped[1]:format(s.retries.reason or "?"), stopped[2]
end

local function report_stop(s, result)
  local pulls, folder = #s.history.rows, s.journal.folder
  local how = folder and "go on with: kernelband resume " .. folder
              or "nothing was saved: this search has no out"
  if not result.gain then s.note "nothing faster than the baseline was found" end
  if s.stopping then
    local word = s.stopping == "paused" and "paused" or "stopped"
    s.note(("%s after %d pulls; %s"):format(word, pulls, how))
  elseif result.reason then
    s.note(("ended after %d pulls, before its budget: %s"):format(pulls, result.reason))
  end
end

-- The result ---------------------------------------------------------------------------

-- An empty list that JSON has as one.
local function list(t) return t and #t == 0 and json.empty_list or t end

-- What is not shown to be faster than the baseline is not returned in its place.
local function result_of(s, kernel, evaluation, confirmed)
  local budget, recorded, history = s.budget, s.budget.recorded, s.history
  local gain = kernel.id > 1 and finish.gains(evaluation)
  if not gain then kernel, evaluation = s.pool[1], s.pool.baseline_evaluation end
  local function gained(name) return gain and evaluation[name] or 1 end
  local why, state = why_ended(s)
  local r = {
    task = s.task.name, id = kernel.id, strategy = kernel.strategy, gain = gain,
    speedup = gained "speedup", speedup_low = gained "speedup_low",
    speedup_high = gained "speedup_high", time_ns = evaluation.time_ns,
    baseline_ns = evaluation.baseline_ns, shapes = evaluation.shapes, params = kernel.params,
    confirmed = confirmed, pulls = #history.rows, verdicts = history.verdicts,
    arms = history.arms, seed = s.seed, policy = s.policy.name, interrupted = s.stopping ~= nil,
    state = state, reason = why, source_path = s.journal.best_path, run = s.journal.folder,
    usd = not budget.unknown and budget.usd or nil, tokens = budget.tokens,
    tokens_unknown = budget.tokens_unknown,
    recorded = recorded and { answers = recorded.answers,
      usd = not recorded.unknown and recorded.usd or nil }, machine = s.machine(),
    checks = list(evaluation.checks), weakened = list(evaluation.weakened),
    quarantined = evaluation.quarantined,
  }
  s.journal.best(kernel.source)
  s.journal.finish(state, r)
  r.rows, r.source, r.strategies = history.rows, kernel.source, lists.collect(s.strategies, "name")
  r.share_of_optimum = s.task.share_of_optimum and s.task.share_of_optimum(kernel)
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
