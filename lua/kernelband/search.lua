-- search.lua - kb.search: the loop of the engine. One pull is
--   choose (policy) -> propose (generator) -> evaluate (evaluator)
--   -> reward -> record (run folder) -> learn and admit (policy)
-- Up to `parallel` pulls are under way; the policy is told how many and hears
-- of each as it lands.
--
-- Resuming is the same loop: choices are made anew and must agree with the
-- journal, results come from the journal while it lasts. So there is one path,
-- and a resumed run equals one that was never stopped.

local core   = require "kernelband.core"
local json   = require "kernelband.json"
local schema = require "kernelband.schema"
local setup  = require "kernelband.setup"
local simulate = require "kernelband.simulate"

local search = {}

local TICK_NS = 200 * 1000 * 1000
local CONFIRMED = 3                     -- kernels tried as winner at most

local interrupts = core.system.interrupts

-- Vectors of the evidence and their lengths; h has names instead.
local features = { { "phi", 9 }, { "rho", 6 }, { "signature", 5 } }

-- A kernel as policies see it. Its time is the baseline's over its speed-up,
-- both measured side by side, so a drift of the machine cancels.
local function new_kernel(S, parent, strategy, candidate, evaluation)
  local speedup = evaluation.speedup or 1
  local k = {
    id = #S.pool + 1, parent = parent and parent.id, strategy = strategy,
    source = candidate.source, params = candidate.params,
    depth = parent and parent.depth + 1 or 0,
    time_ns = S.baseline_ns / speedup, speedup = speedup,
    speedup_low = evaluation.speedup_low or speedup,
    speedup_high = evaluation.speedup_high or speedup, note = {},
  }
  local evidence = evaluation.evidence or {}
  k.h, k.h_kind = evidence.h or {}, evidence.h_kind or {}
  for _, f in ipairs(features) do
    local name, kind = f[1], f[1] .. "_kind"
    k[name], k[kind] = evidence[name], evidence[kind] or {}
    if not k[name] then
      k[name] = {}
      for i = 1, f[2] do k[name][i], k[kind][i] = 0, "missing" end
    end
  end
  return k
end

local function admit(S, kernel, evaluation)
  S.pool[kernel.id] = kernel
  S.in_pool[kernel] = true
  S.evaluation[kernel.id] = evaluation
  S.known[kernel.source] = kernel.id
end

-- The policy ---------------------------------------------------------------

local function choose(S)
  local parent, index, terms = S.brain.choose(S.pending)
  if parent == nil then return nil end
  if not S.in_pool[parent] then
    schema.raise("%s: choose must return a kernel of this search's pool, got %s",
                 S.policy.file, schema.show(parent))
  end
  return parent, index, terms
end

-- Landing ------------------------------------------------------------------

local function note_best(S, kernel)
  if S.best and kernel.speedup_low <= S.best.speedup_low then return false end
  S.best = kernel
  S.best_times_ns = {}
  for _, shape in ipairs(S.evaluation[kernel.id].shapes or {}) do
    if shape.role == "timed" then
      S.best_times_ns[#S.best_times_ns + 1] = shape.time_ns
    end
  end
  return true
end

local function status(S)
  local last = S.rows[#S.rows]
  return {
    name = S.task.name, done = #S.rows, steps = S.budget.steps,
    best = S.best.speedup, best_id = S.best.id,
    best_strategy = S.best.strategy, usd = S.usd, verdicts = S.verdicts,
    verdict = last and last.verdict, last = last and last.speedup,
    elapsed_s = S.elapsed_s(),
  }
end

local function reward_of(S, p)
  local r = S.reward(p.parent, p.child, p.verdict)
  if type(r) ~= "number" or r ~= r or math.abs(r) == math.huge then
    local info = debug.getinfo(S.reward, "S")
    schema.raise("%s:%d: the reward of pull %d (%s) must be a finite number, "
      .. "got %s", info.short_src, info.linedefined, p.n, p.verdict,
      schema.show(r))
  end
  return r
end

local function add_row(S, p)
  local name = p.strategy_name
  S.verdicts[p.verdict] = (S.verdicts[p.verdict] or 0) + 1
  S.arms[name] = S.arms[name] + 1
  S.usd = S.usd + p.cost.usd
  S.rows[#S.rows + 1] = {
    n = p.n, strategy = name, verdict = p.verdict, reason = p.reason,
    reward = p.reward, parent = p.parent.id, child = p.child and p.child.id,
    speedup = p.child and p.child.speedup, best_speedup = S.best.speedup,
    terms = p.terms,
  }
end

-- A pull has come to its end. evaluation is nil when there was no candidate;
-- text is its JSON where there is a folder to keep it in.
local function land(S, p, evaluation, text)
  local recorded = S.recorded[p.n]
  p.verdict = evaluation and evaluation.verdict or "no_candidate"
  p.reason = p.reason or evaluation and evaluation.reason
  local seconds = evaluation and evaluation.seconds
  p.cost = { seconds = seconds and seconds.total or 0,
             usd = p.candidate and p.candidate.usd or 0 }
  if p.verdict == "ok" then
    p.child = new_kernel(S, p.parent, p.strategy_name, p.candidate, evaluation)
  end
  p.reward = recorded and recorded.reward or reward_of(S, p)
  S.landed = S.landed + 1
  p.landed = S.landed
  if p.child then admit(S, p.child, evaluation) end
  local better = p.child and note_best(S, p.child)
  if not recorded then
    S.journal.pull(p, text)
    if better then S.journal.best(p.child.source) end
  end
  add_row(S, p)
  S.brain.learn {
    n = p.n, parent = p.parent, strategy = p.strategy, verdict = p.verdict,
    reason = p.reason, child = p.child, reward = p.reward, cost = p.cost,
    terms = p.terms, exhausted = p.verdict == "no_candidate",
  }
  if p.child then S.brain.admit(p.child) end
  if S.on_pull then S.on_pull(p) end
  if recorded then
    S.unlanded = S.unlanded - 1
  elseif not S.quiet then
    S.progress.pull(status(S))
  end
end

-- Starting a pull ------------------------------------------------------------

-- What the journal says this pull was; raises when the policy wants another.
local function agree(S, p, row)
  if row.parent ~= p.parent.id or row.strategy ~= p.strategy_name then
    schema.raise("%s: pull %d was %s on kernel %d and would now be %s on "
      .. "kernel %d: the policy or the strategies changed since. Put them back, "
      .. "or start a new run", S.journal.folder, p.n, row.strategy, row.parent,
      p.strategy_name, p.parent.id)
  end
  p.reason = row.reason
  if row.verdict == "no_candidate" then return end
  p.candidate = { source = row.source, params = row.params, usd = row.usd }
  S.generator.seen(p.candidate)
end

local function propose(S, p)
  if not S.open(p.parent, p.strategy, true) then
    p.reason = ("%s does not apply to kernel %d"):format(p.strategy_name,
                                                         p.parent.id)
    return
  end
  local rng = S.rng:split("propose " .. p.n)
  local candidate, reason = S.generator.propose(p.parent,
    S.strategies[p.strategy], rng, { pool = S.pool, best = S.best,
                                     task = S.task })
  local known = candidate and S.known[candidate.source]
  if known then
    candidate, reason = nil, ("the generator gave kernel %d again"):format(known)
  end
  p.candidate, p.reason = candidate, reason
end

-- Chooses and submits one pull; false when the policy has nothing left.
local function start(S)
  local parent, index, terms = choose(S)
  if not parent then return false end
  S.chosen = S.chosen + 1
  local p = { n = S.chosen, parent = parent, strategy = index, terms = terms,
              strategy_name = S.strategies[index].name }
  local row = S.recorded[p.n]
  if row then agree(S, p, row) else propose(S, p) end
  if not p.candidate then
    land(S, p, nil)
    return true
  end
  S.waiting[p.n], S.pending = p, S.pending + 1
  if not row then
    S.evaluator.submit(p.n, p.candidate, { best_times_ns = S.best_times_ns })
  end
  return true
end

local function may_start(S)
  if S.recorded[S.chosen + 1] then return true end
  local b = S.budget
  if S.unlanded > 0 then return not b.steps or S.chosen < b.steps end
  if interrupts() > 0 then
    S.interrupted = true
    return false
  end
  return (not b.steps or S.chosen < b.steps)
     and (not b.minutes or S.elapsed_s() < b.minutes * 60)
     and (not b.usd or S.usd < b.usd)
end

-- Results --------------------------------------------------------------------

-- The next result of the journal: pull, evaluation. Pulls without a candidate
-- landed when they were chosen.
local function next_recorded(S)
  while S.unlanded > 0 do
    S.replayed = S.replayed + 1
    local row = S.journal.past[S.replayed]
    if row.verdict ~= "no_candidate" then
      local p = S.waiting[row.n]
      if not p then
        schema.raise("%s: pull %d landed before it was chosen; the journal is "
          .. "damaged", S.journal.folder, row.n)
      end
      return p, row.evaluation
    end
  end
end

-- With a folder the policy sees what the journal will say: a resumed run then
-- computes with the very same numbers.
local function kept(S, evaluation)
  if not S.journal.folder then return evaluation end
  local text = json.encode(evaluation)
  return json.decode(text), text
end

local function tell_once(S, text)
  if not S.told then S.progress.note(text) end
  S.told = true
end

-- Waits for one result; nil when the user wants out at once.
local function next_result(S)
  local p, evaluation = next_recorded(S)
  if p then return p, evaluation end
  while true do
    if interrupts() > 1 then return nil end
    local ticket, result, code = S.evaluator.next(TICK_NS)
    if ticket then
      return S.waiting[ticket], kept(S, result)
    elseif code ~= "ETIME" and code ~= "EINTR" then
      error(("the worker is lost: %s"):format(tostring(result)), 0)
    end
    if interrupts() > 0 then
      tell_once(S, "finishing the evaluation in hand; Ctrl-C again stops now")
    end
    S.progress.tick(status(S))
  end
end

local function loop(S)
  while true do
    while S.pending < S.parallel and may_start(S) do
      if not start(S) then break end
    end
    if S.pending == 0 then return end
    local p, evaluation, text = next_result(S)
    if not p then
      S.interrupted = true
      return
    end
    S.waiting[p.n], S.pending = nil, S.pending - 1
    land(S, p, evaluation, text)
  end
end

-- The end ----------------------------------------------------------------------

-- Evaluates once more, with more timing blocks, what looks like the winner: the
-- fastest of many noisy figures flatters itself. Returns kernel, evaluation.
local function confirm(S)
  local ranked = table.move(S.pool, 2, #S.pool, 1, {})
  table.sort(ranked, function(a, b)
    if a.speedup_low ~= b.speedup_low then
      return a.speedup_low > b.speedup_low
    end
    return a.id < b.id
  end)
  for i = 1, math.min(CONFIRMED, #ranked) do
    local k = ranked[i]
    if k.speedup_low <= 1 and i > 1 then break end
    S.progress.note(("confirming kernel #%d"):format(k.id))
    S.evaluator.submit(0, { source = k.source, params = k.params },
                       { confirm = true })
    local ticket, evaluation, code
    repeat
      ticket, evaluation, code = S.evaluator.next(TICK_NS)
      if interrupts() > 1 then
        S.interrupted = true
        return
      elseif interrupts() > 0 then
        tell_once(S, "confirming to the end; Ctrl-C again stops now")
      end
    until ticket or (code ~= "ETIME" and code ~= "EINTR")
    if not ticket then
      error(("the worker is lost: %s"):format(tostring(evaluation)), 0)
    end
    S.journal.confirm(k, evaluation)
    if evaluation.verdict == "ok" then return k, evaluation end
    S.journal.event("refuted", ("kernel %d, looked at again: %s"):format(k.id,
      evaluation.verdict))
    S.progress.note(("kernel #%d did not stand: %s"):format(k.id,
      evaluation.reason or evaluation.verdict))
  end
  return S.pool[1], S.evaluation[1]
end

local function result_of(S, kernel, evaluation, confirmed)
  local r = {
    task = S.task.name, id = kernel.id, strategy = kernel.strategy,
    speedup = evaluation.speedup or 1,
    speedup_low = evaluation.speedup_low, speedup_high = evaluation.speedup_high,
    time_ns = evaluation.time_ns, baseline_ns = evaluation.baseline_ns,
    shapes = evaluation.shapes, params = kernel.params, confirmed = confirmed,
    pulls = #S.rows, verdicts = S.verdicts, arms = S.arms, seed = S.seed,
    policy = S.policy.name, interrupted = S.interrupted or false,
    source_path = S.journal.best_path, run = S.journal.folder, usd = S.usd,
    machine = S.evaluator.machine and S.evaluator.machine() or nil,
  }
  if S.journal.folder then
    S.journal.best(kernel.source)
    S.journal.finish(S.interrupted and "interrupted" or "done", r)
  end
  r.rows, r.source, r.strategies = S.rows, kernel.source, {}
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
    evaluation = kept(S, evaluation)
  end
  S.baseline_ns = evaluation.baseline_ns or evaluation.time_ns
  local kernel = new_kernel(S, nil, nil, { source = S.baseline_source,
    params = S.generator.first }, evaluation)
  admit(S, kernel, evaluation)
  note_best(S, kernel)
  if fresh then
    S.journal.baseline(kernel, evaluation)
    S.journal.best(kernel.source)
  end
  S.brain.admit(kernel)
end

local function body(S)
  if S.task.simulate and simulate.fits(S) then return result_of(S, simulate.run(S)) end
  if S.journal.resumed then
    S.progress.note(("%s: replaying %d pulls"):format(S.journal.folder,
                                                      #S.journal.past))
  end
  baseline(S)
  loop(S)
  local kernel, evaluation = S.best, S.evaluation[S.best.id]
  local confirmed = false
  if not S.interrupted and #S.pool > 1 and S.confirm then
    local k, e = confirm(S)
    if k then kernel, evaluation, confirmed = k, e, true end
  end
  local result = result_of(S, kernel, evaluation, confirmed)
  S.progress.close()
  if S.interrupted then
    local how = S.journal.folder
      and "go on with: kernelband resume " .. S.journal.folder
      or "nothing was saved: this search has no out"
    S.progress.note(("stopped after %d pulls; %s"):format(#S.rows, how))
  end
  return result
end

-- What is told when a search breaks off: why, and what of it is kept.
local function broken_off(S, why)
  local text = tostring(why)
  local folder = #S.rows > 0 and S.journal.folder
  if folder and not text:find("kernelband resume", 1, true) then
    text = ("%s\n%d pulls are kept; when this is mended, go on with: "
            .. "kernelband resume %s"):format(text, #S.rows, folder)
  end
  if schema.is_config_error(why) then schema.raise("%s", text) end
  schema.stop(text)
end

-- kb.search(options) -> result; setup.lua says what the options are.
function search.run(options)
  if interrupts() > 0 then
    schema.raise "kb.search: interrupted, so no further search is started"
  end
  local S = setup.search(options)
  local ok, result = xpcall(body, schema.trace_own, S)
  S.progress.close()
  S.evaluator.close()
  if not ok then
    S.journal.fail(interrupts() > 0 and "interrupted" or "failed",
                   tostring(result))
  end
  S.journal.close()
  if not ok then broken_off(S, result) end
  return result
end

return search
