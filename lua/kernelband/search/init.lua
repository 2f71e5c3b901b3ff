-- search/init.lua - kb.search: the loop of the engine. One pull is
--   choose (policy) -> propose (generator) -> evaluate (evaluator)   pull.lua
--   -> reward -> record (run folder) -> learn and admit (policy)     landing.lua
-- Up to `parallel` pulls are under way; the policy is told which and hears of
-- each as it lands. Always: choose until as many are under way, land one, choose.
--
-- Resuming is the same loop: choices are made anew and must agree with the
-- journal, results come from the journal while it lasts, in the order in which
-- they landed. So there is one path, and a resumed run equals one that was never
-- stopped.

local core    = require "kernelband.core"
local confirm = require "kernelband.search.confirm"
local ending  = require "kernelband.search.ending"
local json    = require "kernelband.base.json"
local landing = require "kernelband.search.landing"
local pulls   = require "kernelband.search.pull"
local schema  = require "kernelband.base.schema"
local setup   = require "kernelband.search.setup"
local simulate = require "kernelband.search.simulate"
local status  = require "kernelband.search.status"
local verdict = require "kernelband.evaluate.verdict"
local waiting = require "kernelband.search.waiting"

local search = {}

local LOOK_NS = 200 * 10 ^ 6 // 1        -- between two looks at what steering says

local interrupts = core.system.interrupts

-- Stopping -------------------------------------------------------------------------

local function hang_up(S)
  for n = S.oldest, S.chosen do
    local p = S.flying[n]
    if p then pulls.cancel(p) end
  end
end

-- how: interrupted, steered, paused. What is being measured is measured to its end.
local function stop(S, how)
  if S.stopping then return end
  S.stopping = how
  if how == "paused" then waiting.refused = true end
  hang_up(S)
end

local function heed(S)
  S.money.check()
  if S.replaying() then return end
  if interrupts() > 0 and not S.stopping then
    stop(S, "interrupted")
    if S.pending > 0 then
      S.progress.note "finishing the evaluations in hand; Ctrl-C again stops now"
    end
  end
  if S.out_of_patience() then stop(S, "paused") end
  if not S.hung_up and S.money.over() == "minutes" then
    S.hung_up = true
    hang_up(S)
  end
end

-- Choosing -------------------------------------------------------------------------

local nobody = {}

-- The pairs under way, in the order in which they were chosen.
local function pending(S)
  if S.pending == 0 then return nobody end
  local list = {}
  for n = S.oldest, S.chosen do
    local p = S.flying[n]
    if p and p.strategy then
      list[#list + 1] = { parent = p.parent, strategy = p.strategy, n = n,
                          params = p.child_params }
    end
  end
  return list
end

-- Chooses and starts one pull; false when the policy has nothing left.
local function start(S)
  local parent, index, terms = S.brain.choose(S.pending, pending(S))
  if parent == nil then
    local row = S.journal.forced and S.journal.past(S.chosen + 1)
    if not row then
      S.dry = S.pending == 0
      return false
    end
    parent, index = S.pool[1], 1        -- the journal knows which it was
  end
  if S.pool[type(parent) == "table" and parent.id] ~= parent then
    schema.raise("%s: choose must return a kernel of this search's pool, got %s",
                 S.policy.file, schema.show(parent))
  end
  S.chosen = S.chosen + 1
  local p = { n = S.chosen, parent = parent, strategy = index, terms = terms,
              strategy_name = S.strategies[index].name }
  if S.pending == 0 then S.oldest = p.n end
  S.flying[p.n], S.pending = p, S.pending + 1
  pulls.start(S, p)
  return true
end

local function may_start(S)
  if S.stopping or S.steer.paused then return false end
  if S.chosen < S.journal.last then return true end
  local steps = S.budget.steps
  if steps and S.chosen >= steps then return false end
  return S.replaying() or interrupts() == 0 and not S.money.over()
end

-- Results --------------------------------------------------------------------------

local function take_off(S, p)
  S.flying[p.n], S.pending = nil, S.pending - 1
  while S.pending > 0 and not S.flying[S.oldest] do S.oldest = S.oldest + 1 end
end

-- The next to land: as the journal says while it lasts, then as they arrive. nil
-- when there is none yet.
local function arrived(S)
  if S.replaying() then
    S.replayed = S.replayed + 1
    local n = S.journal.order[S.replayed]
    local p = S.flying[n]
    if not p then
      schema.raise("%s: pull %d landed before it was chosen; the journal is damaged",
                   S.journal.folder, n)
    end
    return p
  end
  local p = S.hand[S.hand.first]
  if p then
    S.hand[S.hand.first], S.hand.first = nil, S.hand.first + 1
    if p.error then error(p.error, 0) end
  end
  return p
end

local function land(S, p)
  take_off(S, p)
  S.money.check()
  if p.cancelled then
    pulls.release(S, p)
    heed(S)
    return
  end
  landing.land(S, p)
  if not p.row and not S.quiet then S.progress.pull(function() return status.of(S) end) end
end

-- Until something arrives or may be started; false when the user wants out at once.
local function wait(S)
  local paused, look_ns = S.steer.paused, 0
  while not S.hand[S.hand.first] and paused == S.steer.paused do
    if interrupts() > 1 then return false end
    S.wait()
    heed(S)
    S.progress.tick(function() return status.of(S) end)
    local now = core.system.now_ns()
    if now >= look_ns then              -- a stream wakes it a hundred times a second
      look_ns = now + LOOK_NS
      if S.steer.look() then stop(S, "steered") end
    end
  end
  return true
end

-- While steering holds the search; its folder says so to others.
local function rest(S)
  S.journal.state "paused"
  S.progress.note "paused; kernelband steer .. continue goes on, stop ends it"
  while S.steer.paused and not S.stopping and interrupts() == 0 do
    S.wait()
    if S.steer.look() then stop(S, "steered") end
  end
  S.journal.state "running"
  heed(S)
end

-- With --force fewer may be under way now than when the journal was written: what
-- landed next may not have been chosen yet.
local function behind(S)
  return S.journal.forced and S.replaying() and S.chosen < S.journal.order[S.replayed + 1]
end

local function loop(S)
  while true do
    if S.steer.look() then stop(S, "steered") end
    if not S.replaying() then S.steer.free() end
    while (S.pending < S.parallel or behind(S)) and may_start(S) do
      if not start(S) then break end
    end
    local p = S.pending > 0 and arrived(S)
    if p then
      land(S, p)
    elseif S.pending > 0 then
      heed(S)
      if not wait(S) then
        S.stopping = "interrupted"
        return
      end
    elseif S.steer.paused and not S.stopping then
      rest(S)
    else
      heed(S)
      return
    end
  end
end

-- The whole ------------------------------------------------------------------------

-- An empty list that JSON has as one.
local function list(t) return t and #t == 0 and json.empty_list or t end

-- What is not shown to be faster than the baseline is not returned in its place.
local function result_of(S, kernel, evaluation, confirmed)
  local money, recorded = S.money, S.money.recorded
  local gain = kernel.id > 1 and verdict.gains(evaluation)
  if not gain then kernel, evaluation = S.pool[1], S.baseline_evaluation end
  local r = {
    task = S.task.name, id = kernel.id, strategy = kernel.strategy, gain = gain,
    speedup = gain and evaluation.speedup or 1,
    speedup_low = gain and evaluation.speedup_low or 1,
    speedup_high = gain and evaluation.speedup_high or 1,
    time_ns = evaluation.time_ns, baseline_ns = evaluation.baseline_ns,
    shapes = evaluation.shapes, params = kernel.params, confirmed = confirmed,
    pulls = #S.rows, verdicts = S.verdicts, arms = S.arms, seed = S.seed,
    policy = S.policy.name, interrupted = S.stopping ~= nil,
    state = status.ends[S.stopping] or "done", reason = ending.why(S),
    source_path = S.journal.best_path, run = S.journal.folder, usd = money.known(),
    tokens = money.tokens, tokens_unknown = money.tokens_unknown,
    recorded = recorded and { answers = recorded.answers,
      usd = not recorded.unknown and recorded.usd or nil }, machine = S.machine,
    checks = list(evaluation.checks), weakened = list(evaluation.weakened),
    quarantined = evaluation.quarantined,
  }
  if S.journal.folder then
    S.journal.best(kernel.source)
    S.journal.finish(r.state, r)
  end
  r.rows, r.source, r.strategies, r.trail = S.rows, kernel.source, {}, S.trail
  for i, s in ipairs(S.strategies) do r.strategies[i] = s.name end
  if S.task.share_of_optimum then
    r.share_of_optimum = S.task.share_of_optimum(kernel)
  end
  return r
end

local function baseline(S)
  local evaluation = S.journal.recorded_baseline
  local fresh = not evaluation
  if fresh then
    local why
    evaluation, why = S.evaluator.baseline()
    if not evaluation then
      error(("the baseline of task %s cannot be measured: %s"):format(
        S.task.name, tostring(why)), 0)
    end
    if evaluation.verdict ~= "ok" then
      schema.raise("task %s: its own baseline is %s: %s", S.task.name,
                   evaluation.verdict, evaluation.reason or "no reason given")
    end
    evaluation = pulls.kept(S, evaluation)
  end
  S.machine = S.evaluator.machine and S.evaluator.machine() or nil
  S.baseline_evaluation = evaluation
  S.baseline_ns = evaluation.baseline_ns or evaluation.time_ns
  local kernel = landing.kernel(S, nil, nil, { source = S.baseline_source,
    params = S.generator.first }, evaluation)
  landing.admit(S, kernel, evaluation)
  landing.note_best(S, kernel, evaluation)
  if fresh then
    S.journal.baseline(kernel, evaluation)
    if S.machine then S.journal.machine(S.machine) end
    S.journal.best(kernel.source)
  end
  S.brain.admit(kernel)
end

local function farewell(S, result)
  if not result.gain then S.progress.note "nothing faster than the baseline was found" end
  if not S.stopping then
    if result.reason then
      S.progress.note(("ended after %d pulls, before its budget: %s"):format(#S.rows,
                                                                            result.reason))
    end
    return
  end
  local how = S.journal.folder
    and "go on with: kernelband resume " .. S.journal.folder
    or "nothing was saved: this search has no out"
  S.progress.note(("%s after %d pulls; %s"):format(
    S.stopping == "paused" and "paused" or "stopped", #S.rows, how))
end

-- Up to the baseline; kb.search_all has several of these before it goes on.
function search.begin(S)
  S.begun = true
  for _, note in ipairs(S.journal.notes or {}) do S.progress.note(note[1] .. ": " .. note[2]) end
  if S.journal.resumed then
    S.progress.note(("%s: replaying %d pulls"):format(S.journal.folder, #S.journal.order))
  end
  baseline(S)
end

local function body(S)
  if not S.begun then
    if S.task.simulate and simulate.fits(S) then return result_of(S, simulate.run(S)) end
    search.begin(S)
  end
  loop(S)
  local kernel, evaluation = S.best, S.best_evaluation
  local confirmed = false
  if not S.stopping and #S.pool > 1 and S.confirm then
    local k, e = confirm.run(S)
    if k then kernel, evaluation, confirmed = k, e, true end
  end
  local result = result_of(S, kernel, evaluation, confirmed)
  S.progress.close()
  farewell(S, result)
  S.progress.ended(result)
  return result
end

-- What is told when a search breaks off: why, and what of it is kept.
local function broken_off(S, why)
  local text = tostring(why)
  local folder = #S.rows > 0 and S.journal.folder
  if folder and not text:find("kernelband resume", 1, true) then
    local mark = text:find("\n", 1, true) and "\n" or "; "
    text = ("%s%s%d pulls are kept; when this is mended, go on with: "
            .. "kernelband resume %s"):format(text, mark, #S.rows, folder)
  end
  if schema.is_config_error(why) then schema.raise("%s", text) end
  schema.stop(text)
end

-- Runs a search that setup made to its end, whatever happens; raises its error.
function search.finish(S)
  local ok, result = xpcall(body, schema.trace_own, S)
  S.progress.close()
  hang_up(S)
  S.closed = true
  S.evaluator.close()
  if not ok then
    S.journal.fail(interrupts() > 0 and "interrupted" or "failed",
                   tostring(result))
  end
  S.journal.close()
  if ok and not S.stopping then
    local kept, why = S.brain.finish(S.retimed)
    if not kept then
      io.stderr:write("kernelband: what was learned is not kept: ", tostring(why), "\n")
    end
  end
  if not ok then broken_off(S, result) end
  return result
end

-- kb.search(options) -> result; setup.lua says what the options are.
function search.run(options)
  if interrupts() > 0 then
    schema.raise "kb.search: interrupted, so no further search is started"
  end
  local S = setup.search(options)
  local result = search.finish(S)
  return result
end

return search
