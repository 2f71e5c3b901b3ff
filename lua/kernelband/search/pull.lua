-- search/pull.lua - one pull, from choice to what it came to. It runs in a coroutine of the
-- search's loop, so that many may think or be measured at once:
--   propose -> evaluate -> repair (when it failed and the generator can)
--           -> tune (constants the source itself declares) -> arrived
-- search/init.lua lands what arrived, one at a time. Nothing here touches the pool or
-- the policy.
--
-- A pull: n, parent, strategy (index), strategy_name, terms, started_s, stage
-- (proposing, waiting, evaluating, repairing, tuning), attempts (list of { kind,
-- candidate, evaluation, text }), kept (the one that counts), reason, row (what
-- the journal says of it), cancelled, declined (the generator says that the strategy
-- cannot help this kernel).

local core   = require "kernelband.core"
local json   = require "kernelband.base.json"
local schema = require "kernelband.base.schema"
local tuning = require "kernelband.search.tuning"
local normal = require "kernelband.base.source".normal

local pull = {}

-- Verdicts another word with the generator may mend.
local mendable = { build_failed = true, launch_failed = true, wrong = true, crashed = true }
-- ... and those a source would get again.
local final = { build_failed = true, launch_failed = true, wrong = true, cheated = true }

-- Sources --------------------------------------------------------------------------

function pull.hash(S, source)
  return core.system.hash(S.task.environment and source or normal(source))
end

local function known(S, p, source)
  local hash = pull.hash(S, source)
  local id, n = S.known[hash], S.tried[hash]
  if id then return ("the generator gave kernel %d again"):format(id) end
  if n and n ~= p.n then
    return ("the generator gave the candidate of pull %d again"):format(n)
  end
  S.tried[hash] = p.n
  p.hashes[#p.hashes + 1] = hash
end

-- Tells the generator, if it asks, that a candidate is under way from now on; and what its
-- parameters are where it can list them: it then proposes at once, before the next choice.
local function hold(S, p, candidate)
  if S.generator.moves then p.child_params = candidate.params end
  if not S.generator.pending then return end
  p.held = candidate
  S.generator.pending(candidate, true)
end

-- The hash of what a candidate was before its open constants had values; the journal has
-- it in the evaluation.
local function declared_of(S, a)
  if a.evaluation then return a.evaluation.declared end
  return a.params and S.journal.json(a.id):match '"declared":"(%x+)"'
end

-- Once a pull has landed: its sources are free again, but for those that failed
-- for what they are.
function pull.release(S, p)
  if p.held then S.generator.pending(p.held, false) end
  for _, hash in ipairs(p.hashes) do S.tried[hash] = nil end
  for _, a in ipairs(p.attempts) do
    local verdict = a.evaluation and a.evaluation.verdict or a.verdict
    if final[verdict] then
      S.tried[pull.hash(S, a.candidate.source)] = p.n
      local declared = a.kind ~= "tune" and declared_of(S, a)
      if declared then S.tried[declared] = p.n end
    end
  end
end

-- Money ------------------------------------------------------------------------------

local function count(v) return math.type(v) == "integer" and math.max(v, 0) or 0 end

local function spend(S, p, usd, tokens, model)
  for name, v in pairs(tokens) do tokens[name] = count(v) end
  local c = p.cost
  c.unknown = c.unknown or not usd
  c.usd, c.tokens_in = c.usd + (usd or 0), c.tokens_in + (tokens.input or 0)
  c.tokens_out = c.tokens_out + (tokens.output or 0)
  S.money.spend(usd, tokens, model)
end

-- Journals a call of a model for this pull; ctx.call of generators.
local function caller(S, p)
  return function(r)
    r.pull, r.attempt = p.n, r.attempt or #p.attempts + 1
    r.started_s = r.started_s or math.max(0, S.elapsed_s() - (r.total_s or 0))
    p.called = true
    local id = S.journal.call(r)
    if r.usd_source == "recorded" then S.money.recall(r.recorded_usd) end
    if not r.error and not r.tokens_out then S.money.uncounted() end
    if r.usd or r.tokens_out or not r.error then
      spend(S, p, r.usd, { input = r.tokens_in, cached = r.tokens_cached,
                           output = r.tokens_out, reasoning = r.tokens_reasoning }, r.model)
    end
    return id
  end
end

-- What a candidate says it cost, of generators that journal no calls.
local function charge(S, p, candidate)
  if p.called then return end
  local t = candidate.tokens or {}
  spend(S, p, candidate.usd or 0, { input = t.input, cached = t.cached, output = t.output,
                                    reasoning = t.reasoning })
end

-- Steps --------------------------------------------------------------------------------

local function context(S, p)
  if not p.context then
    p.context = {
      pull = p.n, pool = S.pool, best = S.best, task = S.task, loop = S.loop,
      hints = S.steer.hints, history = S.history[p.parent.id] or {},
      rows = S.rows, made = S.made, measured = S.measured,
      call = caller(S, p), budget = S.money.left, prefer = S.brain.prefer,
      note = function(text) S.progress.note(text) end,
    }
  end
  p.context.best = S.best
  return p.context
end

-- Waits while the world refuses; true to try once more.
local function wait_out(S, p)
  if S.stopping or p.cancelled then return false end
  local stage = p.stage
  p.stage = "waiting"
  local ok = S.await_world()
  p.stage = stage
  return ok and not S.stopping and not p.cancelled
end

local function check_candidate(S, what, made)
  if type(made) ~= "table" or type(made.source) ~= "string" then
    schema.raise("generator '%s': %s must return { source = text } or nil and a reason, got %s",
                 S.generator.name, what, type(made) == "table" and "a table whose source is "
                 .. schema.show(made.source) or schema.show(made))
  end
end

local function ask(S, p, what, a, b)
  while not S.paused_for or wait_out(S, p) do
    local rng = S.rng:split(("%s %d"):format(what, p.n))
    local made, reason, code, wait_s = S.generator[what](a, b, rng, context(S, p))
    if code == "EPAUSE" or code == "ESTOP" then
      S.pause(reason, code == "ESTOP" and math.huge or wait_s)
    else
      S.unpause()
      p.cancelled = p.cancelled or code == "ECANCELED"
      if made then
        check_candidate(S, what, made)
        charge(S, p, made)
      end
      return made, reason, code
    end
  end
  p.cancelled = true
end

local function propose(S, p)
  p.stage = "proposing"
  if not S.open(p.parent, p.strategy, true) then
    p.reason = ("%s does not apply to kernel %d"):format(p.strategy_name, p.parent.id)
    return
  end
  local candidate, reason, code = ask(S, p, "propose", p.parent, S.strategies[p.strategy])
  p.declined = code == "EDECLINED"
  if p.cancelled then return end
  if candidate then reason = known(S, p, candidate.source) end
  p.reason = reason
  if reason or not candidate then return nil end
  hold(S, p, candidate)
  return candidate
end

-- With a folder the policy sees what the journal will say: a resumed run then
-- computes with the very same numbers.
function pull.kept(S, evaluation)
  if not S.journal.folder then return evaluation end
  local text = json.encode(evaluation)
  return json.decode(text), text
end

-- unfit: why it is not worth a look.
local function evaluate(S, p, kind, candidate, unfit)
  local stage = p.stage
  if kind ~= "tune" then p.stage = "evaluating" end
  local best, result, why = S.best
  if unfit then
    result = { verdict = "build_failed", reason = unfit, shapes = {} }
  else
    result, why = S.evaluate(candidate, { best_times_ns = S.best_times_ns,
      incumbent = best.id > 1 and best.source or nil, disassemble = S.generator.asks or nil })
  end
  if result and result.against then result.against.kernel = best.id end
  p.stage = stage
  if not result then
    p.cancelled = true
    return nil, why
  end
  if result.died then
    local text = ("pull %d was evaluated once more: %s"):format(p.n, result.died)
    S.journal.event("worker", text)
    S.progress.note(text)
  end
  if candidate.declared then result.declared = pull.hash(S, candidate.declared) end
  local attempt = { kind = kind, candidate = candidate }
  attempt.evaluation, attempt.text = pull.kept(S, result)
  p.attempts[#p.attempts + 1] = attempt
  return attempt
end

-- The error of a failed candidate goes back to the generator, once or as often as
-- it says.
local function repaired(S, p, attempt)
  local g = S.generator
  for _ = 1, g.repair and (g.repairs or 1) or 0 do
    if not mendable[attempt.evaluation.verdict] or S.stopping or S.money.over() then break end
    p.stage = "repairing"
    local candidate = ask(S, p, "repair", attempt.candidate, attempt.evaluation)
    if p.cancelled then
      p.cancelled = false               -- what is known of it is known
      break
    end
    if not candidate or known(S, p, candidate.source) then break end
    local next_attempt = evaluate(S, p, "repair", tuning.first(candidate))
    if not next_attempt then return nil end
    attempt = next_attempt
  end
  return attempt
end

local function tuned(S, p, attempt)
  local can = attempt.candidate.tunables and attempt.evaluation.verdict == "ok"
  if not can or S.tune == 0 then return attempt end
  p.stage = "tuning"
  return tuning.descend(attempt, S.tune, function(candidate)
    if S.stopping or S.money.over() then return nil end
    return evaluate(S, p, "tune", candidate)
  end)
end

local function work(S, p)
  local candidate = propose(S, p)
  if p.cancelled or not candidate then return end
  local attempt = evaluate(S, p, "pull", tuning.first(candidate))
  attempt = attempt and repaired(S, p, attempt)
  if attempt then p.kept = tuned(S, p, attempt) end
end

-- What the journal says this pull was. With --force the journal's word stands where
-- policy or strategies would choose otherwise now.
local function agree(S, p, row)
  if row.parent ~= p.parent.id or row.strategy ~= p.strategy_name then
    if not S.journal.forced then
      schema.raise("%s: pull %d was %s on kernel %d and would now be %s on "
        .. "kernel %d: the policy or the strategies changed since. Put them back, "
        .. "start a new run, or go on all the same with --force", S.journal.folder, p.n,
        row.strategy, row.parent, p.strategy_name, p.parent.id)
    end
    p.parent, p.strategy_name = S.pool[row.parent] or p.parent, row.strategy
    p.strategy, p.terms, p.foreign = S.index[row.strategy], nil, true
  end
  p.row, p.reason = row, row.reason
  for _, a in ipairs(row.attempts) do
    a.candidate = { source = a.source, params = a.params }
    S.generator.seen(a.candidate)
    if not row.child or a.kernel == row.child then
      if row.child or a.kind ~= "tune" then p.kept = a end
    end
  end
  p.attempts = row.attempts
  if p.attempts[1] then hold(S, p, p.attempts[1].candidate) end
end

-- Starts a pull that the policy has chosen. It may have arrived when this returns.
function pull.start(S, p)
  p.attempts, p.hashes, p.started_s = {}, {}, S.elapsed_s()
  p.cost = { seconds = 0, usd = 0, tokens_in = 0, tokens_out = 0 }
  local row = S.journal.past(p.n)
  if row then
    agree(S, p, row)
    return
  end
  p.handle = S.loop:spawn(function()
    local ok, why = xpcall(work, schema.trace_own, S, p)
    if not ok then p.error = why end
    S.arrive(p)
  end)
end

-- Ends what only talks; what is being measured is measured to its end.
function pull.cancel(p)
  if not p.handle or p.handle:done() then return end
  if p.stage == "proposing" or p.stage == "waiting" or p.stage == "repairing" then
    if p.stage ~= "repairing" then p.cancelled = true end
    p.handle:cancel()
  end
end

return pull
