-- search/pull.lua - the part of a pull between choice and record: propose -> evaluate ->
-- repair (when it failed and the generator can) -> tune (constants that the source itself
-- declares). `work` runs in a coroutine of the search's loop, so that many pulls may think or be
-- measured at once. It asks the policy through `prefer` alone, and changes no kernel of the pool.
--
-- A pull: n, parent, strategy (index), strategy_name, terms, started_s, params (of the candidate
-- under way), stage (proposing, waiting, evaluating, repairing, tuning), attempts (list of { kind,
-- candidate, evaluation, text }), kept (the one that counts), verdict, reason, row (what
-- the journal says of it), cancelled, lost (why it could not be evaluated), declined (the
-- generator says that the strategy cannot help this kernel).

local json   = require "kernelband.base.json"
local lists  = require "kernelband.base.lists"
local schema = require "kernelband.base.schema"

local pull = {}

-- Verdicts that a repair may change.
local mendable = { build_failed = true, launch_failed = true, wrong = true, crashed = true }

-- Cost ------------------------------------------------------------------------------------

local function count(v) return math.type(v) == "integer" and math.max(v, 0) or 0 end

-- said: { input, cached, output, reasoning }, as somebody else has counted them.
local function spend(s, p, usd, said, model)
  local c, tokens = p.cost, {}
  for name, v in pairs(said) do tokens[name] = count(v) end
  c.usd = usd and c.usd and c.usd + usd         -- nil: not known
  c.tokens_in = c.tokens_in + (tokens.input or 0)
  c.tokens_out = c.tokens_out + (tokens.output or 0)
  s.budget.spend(usd, tokens, model)
end

-- Journals a call of a model for this pull; ctx.call of generators.
local function call(s, p, r)
  r.pull, r.attempt = p.n, r.attempt or #p.attempts + 1
  r.started_s = r.started_s or math.max(0, s.journal.elapsed_s() - (r.total_s or 0))
  p.called = true
  s.journal.call(r)
  if r.usd_source == "recorded" then s.budget.recall(r.recorded_usd) end
  if not r.error and not r.tokens_out then s.budget.tokens_unknown = true end
  if r.usd or r.tokens_out or not r.error then
    spend(s, p, r.usd, { input = r.tokens_in, cached = r.tokens_cached, output = r.tokens_out,
                         reasoning = r.tokens_reasoning }, r.model)
  end
end

-- Asking the generator ----------------------------------------------------------------------

local function context(s, p)
  return lists.with(s.history, {
    pull = p.n, pool = s.pool, best = s.pool.best, task = s.task, loop = s.loop,
    hints = s.steering.hints, budget = s.budget.left, prefer = s.policy.prefer, note = s.note,
    history = s.history.of_parent[p.parent.id] or {}, call = function(r) call(s, p, r) end,
  })
end

-- Waits while the service refuses; true to try once more.
local function wait_for_turn(s, p)
  if s.stopping or p.cancelled then return false end
  p.stage = "waiting"
  return s.retries.await_turn() and not s.stopping and not p.cancelled
end

-- Checks what a generator made; one that journals no calls says itself what it cost.
local function accept(s, p, what, made)
  if type(made) ~= "table" or type(made.source) ~= "string" then
    schema.raise("generator '%s': %s must return { source = text } or nil and a reason, got %s",
                 s.generator.name, what, type(made) == "table" and "a table whose source is "
                 .. schema.show(made.source) or schema.show(made))
  end
  if not p.called and (made.usd or made.tokens) then
    spend(s, p, made.usd or 0, made.tokens or {})
  end
end

local stages = { propose = "proposing", repair = "repairing" }

local function ask(s, p, what, a, b)
  while not s.retries.reason or wait_for_turn(s, p) do
    p.stage = stages[what]
    local rng = s.rng:split(("%s %d"):format(what, p.n))
    local made, reason, code, wait_s = s.generator[what](a, b, rng, context(s, p))
    if code == "EPAUSE" or code == "ESTOP" then
      s.retries.refused(reason, code == "ESTOP" and math.huge or wait_s)
    else
      s.retries.answered()
      p.cancelled = p.cancelled or code == "ECANCELED"
      if made then accept(s, p, what, made) end
      return made, reason, code
    end
  end
  p.cancelled = true
end

-- From now on this candidate is under way: the generator is told, if it wants to know, and
-- the policy hears its parameters where the generator can list them.
local function hold(s, p, candidate)
  p.held, p.params = candidate, s.generator.moves and candidate.params
  if s.generator.pending then s.generator.pending(candidate, true) end
end

-- The steps ---------------------------------------------------------------------------------

local function propose(s, p)
  if not s.open_pairs.open(p.parent, p.strategy, true) then
    p.reason = ("%s does not apply to kernel %d"):format(p.strategy_name, p.parent.id)
    return nil
  end
  local candidate, reason, code = ask(s, p, "propose", p.parent, s.strategies[p.strategy])
  p.declined = code == "EDECLINED"
  if p.cancelled then return nil end
  if candidate then reason = s.pool:claim(p, candidate.source) end
  p.reason = reason
  if reason or not candidate then return nil end
  hold(s, p, candidate)
  return candidate
end

-- With a folder the policy sees what the journal will say: a resumed run then
-- computes with the very same numbers.
function pull.as_journaled(s, evaluation)
  if not s.journal.folder then return evaluation end
  local text = json.encode(evaluation)
  return json.decode(text), text
end

-- The evaluator's word on a candidate; nil: cancelled, or the worker was lost.
local function judged(s, p, candidate)
  local pool, best = s.pool, s.pool.best
  local result, why, code = s.evaluate(candidate, { best_times_ns = pool.best_times_ns,
    incumbent = best.id > 1 and best.source or nil, disassemble = s.generator.asks or nil })
  if not result then
    if code == "ELOST" then p.lost = why else p.cancelled = true end
    return nil
  end
  if result.against then result.against.kernel = best.id end
  if result.died then
    local text = ("pull %d was evaluated once more: %s"):format(p.n, result.died)
    s.journal.event("worker", text)
    s.note(text)
  end
  return result
end

-- unfit: why it is not worth a look. Returns the attempt; nil: there is no verdict.
local function evaluate(s, p, kind, candidate, unfit)
  if kind ~= "tune" then p.stage = "evaluating" end
  local result = unfit and { verdict = "build_failed", reason = unfit, shapes = {} }
                 or judged(s, p, candidate)
  if not result then return nil end
  if candidate.declared then result.declared = s.pool:hash(candidate.declared) end
  local attempt = { kind = kind, candidate = candidate }
  attempt.evaluation, attempt.text = pull.as_journaled(s, result)
  p.cost.seconds = p.cost.seconds + (result.seconds and result.seconds.total or 0)
  table.insert(p.attempts, attempt)
  return attempt
end

-- A candidate as it is evaluated first: with the first value of each constant that it declares
-- (tuning.lua), and what is wrong with such a declaration.
local function with_first_values(candidate)
  if not candidate.source:find "kb:[ \t]*tune" then return candidate end
  return require("kernelband.search.tuning").first(candidate)
end

-- The error of a failed candidate goes back to the generator, once or as often as
-- it says.
local function repair(s, p, attempt)
  local g = s.generator
  for _ = 1, g.repair and (g.repairs or 1) or 0 do
    if not mendable[attempt.evaluation.verdict] or s.stopping or s.budget.used_up() then break end
    local candidate = ask(s, p, "repair", attempt.candidate, attempt.evaluation)
    if p.cancelled or not candidate or s.pool:claim(p, candidate.source) then
      p.cancelled = false               -- the verdict before it stands
      break
    end
    local mended = evaluate(s, p, "repair", with_first_values(candidate))
    if not mended then return p.lost and attempt or nil end
    attempt = mended
  end
  return attempt
end

local function tune(s, p, attempt)
  local can = attempt.candidate.tunables and attempt.evaluation.verdict == "ok"
  if not can or s.tune == 0 then return attempt end
  p.stage = "tuning"
  return require("kernelband.search.tuning").descend(attempt, s.tune, function(candidate)
    if s.stopping or s.budget.used_up() then return nil end
    return evaluate(s, p, "tune", candidate)
  end)
end

-- From the policy's choice to what came of it: the attempt that counts, p.kept, or none.
local function work(s, p)
  local candidate = propose(s, p)
  local attempt = candidate and evaluate(s, p, "pull", with_first_values(candidate))
  attempt = attempt and repair(s, p, attempt)
  if attempt then p.kept, p.lost = tune(s, p, attempt), nil end
  local e = p.kept and p.kept.evaluation
  p.verdict = e and e.verdict or p.declined and "not_applicable" or "no_candidate"
  p.reason = p.reason or e and e.reason
end

-- What the journal says this pull was. With --force the journal's word stands where
-- policy or strategies would choose otherwise now.
local function replay(s, p, row)
  if row.parent ~= p.parent.id or row.strategy ~= p.strategy_name then
    if not s.journal.forced then
      schema.raise("%s: pull %d was %s on kernel %d and would now be %s on "
        .. "kernel %d: the policy or the strategies changed since. Put them back, "
        .. "start a new run, or go on all the same with --force", s.journal.folder, p.n,
        row.strategy, row.parent, p.strategy_name, p.parent.id)
    end
    p.parent, p.strategy_name = s.pool[row.parent] or p.parent, row.strategy
    p.strategy, p.terms, p.foreign = s.index[row.strategy], nil, true
  end
  p.row, p.attempts, p.cost = row, row.attempts, row       -- what it cost are columns of its row
  p.verdict, p.reason, p.reward, p.started_s = row.verdict, row.reason, row.reward, row.started_s
  for _, a in ipairs(row.attempts) do
    a.candidate = { source = a.source, params = a.params }
    s.generator.seen(a.candidate)
    if row.child and a.kernel == row.child or not row.child and a.kind ~= "tune" then p.kept = a end
  end
  if p.attempts[1] then hold(s, p, p.attempts[1].candidate) end
end

-- Starts a pull that the policy has chosen. At its end, which may be before this returns, s.ended
-- has it. What the journal knows of has its end when the journal says so.
function pull.start(s, p)
  p.attempts, p.hashes, p.started_s = {}, {}, s.journal.elapsed_s()
  p.cost = { seconds = 0, usd = 0, tokens_in = 0, tokens_out = 0 }
  p.lost = s.journal.lost_pulls[p.n]
  local row = s.journal.past(p.n)
  if row then replay(s, p, row) end
  if row or p.lost then return end
  p.handle = s.loop:spawn(function()
    local ok, why = xpcall(work, schema.trace_own, s, p)
    if not ok then p.error = why end
    table.insert(s.ended, p)
    s.bell.ring()
  end)
end

function pull.release(s, p)
  if p.held and s.generator.pending then s.generator.pending(p.held, false) end
  s.pool:release(p)
end

local talks = { proposing = true, waiting = true, repairing = true }

-- Cancels a pull that waits for its generator; what is being measured is measured to its end.
function pull.cancel(p)
  if not p.handle or p.handle:done() or not talks[p.stage] then return end
  p.cancelled = p.cancelled or p.stage ~= "repairing"
  p.handle:cancel()
end

return pull
