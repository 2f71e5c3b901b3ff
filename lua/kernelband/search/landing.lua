-- search/landing.lua - what becomes of a pull that has come to its end: a kernel, a reward,
-- a row of the journal, a lesson for the policy.

local schema = require "kernelband.base.schema"
local json   = require "kernelband.base.json"
local pulls  = require "kernelband.search.pull"
local told   = require "kernelband.generator.told"

local landing = {}

-- Vectors of the evidence and their lengths; h has names instead.
local features = { { "phi", 9 }, { "rho", 6 }, { "signature", 5 } }

-- Most kernels share what kinds of evidence they have: it is kept once.
local function shared(S, kinds, key)
  key = key or table.concat(kinds, ",")
  local same = S.kinds[key]
  if not same then
    same = kinds
    S.kinds[key] = kinds
  end
  return same
end

-- The key of a (kernel, strategy) pair.
function landing.pair(kernel, strategy_name) return kernel.id .. " " .. strategy_name end

-- A kernel as policies see it. Its time is the baseline's over its speed-up,
-- both measured side by side, so a drift of the machine cancels.
function landing.kernel(S, parent, strategy, candidate, evaluation)
  local speedup = evaluation.speedup or 1
  local k = {
    id = #S.pool + 1, parent = parent and parent.id, strategy = strategy,
    source = candidate.source, params = candidate.params,
    depth = parent and parent.depth + 1 or 0,
    time_ns = S.baseline_ns / speedup, speedup = speedup,
    speedup_low = evaluation.speedup_low or speedup,
    speedup_high = evaluation.speedup_high or speedup, note = {},
    profile = evaluation.profile,
  }
  local evidence = evaluation.evidence or {}
  k.h, k.h_kind = evidence.h or {}, evidence.h_kind or {}
  k.h_kind = shared(S, k.h_kind, ("%s;%s;%s"):format(k.h_kind.sm, k.h_kind.dram, k.h_kind.l2))
  for _, f in ipairs(features) do
    local name, kind = f[1], f[1] .. "_kind"
    k[name], k[kind] = evidence[name], evidence[kind] or {}
    if not k[name] then
      k[name] = {}
      for i = 1, f[2] do k[name][i], k[kind][i] = 0, "missing" end
    end
    k[kind] = shared(S, k[kind])
  end
  return k
end

function landing.admit(S, kernel, evaluation)
  S.pool[kernel.id] = kernel
  if S.generator.asks then S.measured[kernel.id] = told.measured(evaluation) end
  kernel.hash = pulls.hash(S, kernel.source)
  S.known[kernel.hash] = kernel.id
end

-- A kernel's source stays in the journal, once that has it: a long search may have
-- more of them than memory. Whoever asks for k.source gets it all the same.
local function leave_source(S, k)
  local source = S.journal.source
  if not source then return end
  S.lazy = S.lazy or { __index = function(kernel, key)
    return key == "source" and source(kernel.id) or nil
  end }
  k.source = nil
  setmetatable(k, S.lazy)
end

-- What was timed side by side with the best so far is judged by that; else both by
-- their gains over the baseline. What is slower than the baseline is never the best.
local function better(S, kernel, evaluation)
  local best, pair = S.best, evaluation.against
  if not best then return true end
  if kernel.speedup_low <= 1 then return false end
  if pair and pair.kernel == best.id then return pair.low > 1 end
  return kernel.speedup_low > best.speedup_low
end

function landing.note_best(S, kernel, evaluation)
  if not better(S, kernel, evaluation) then return false end
  S.best, S.best_evaluation = kernel, evaluation
  S.best_times_ns = {}
  for _, shape in ipairs(evaluation.shapes or {}) do
    if shape.role == "timed" then
      S.best_times_ns[#S.best_times_ns + 1] = shape.time_ns
    end
  end
  return true
end

local function reward_of(S, p)
  if p.verdict == "not_applicable" then return 0 end
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
  S.arms[name] = (S.arms[name] or 0) + 1
  local row = {
    n = p.n, strategy = name, verdict = p.verdict, reason = p.reason,
    reward = p.reward, parent = p.parent.id, child = p.child and p.child.id,
    speedup = p.child and p.child.speedup, best_speedup = S.best.speedup,
    terms = p.terms,
  }
  if S.generator.asks then
    told.row(row, p, function(a)
      return a.evaluation or json.decode(S.journal.json(a.id))
    end)
    if row.child then S.made[row.child] = row end
  end
  S.rows[#S.rows + 1] = row
  local history = S.history[row.parent] or {}
  S.history[row.parent], history[#history + 1] = history, row
end

-- What the journal says of a pull that landed before.
local function recall(S, p)
  local row = p.row
  p.verdict, p.reason, p.reward, p.started_s = row.verdict, row.reason, row.reward, row.started_s
  p.cost = { seconds = row.seconds, usd = row.usd, tokens_in = row.tokens_in,
             tokens_out = row.tokens_out }
  S.money.spend(row.usd, { input = row.tokens_in, output = row.tokens_out })
  p.evaluation = row.child and json.decode(S.journal.json(p.kept.id)) or nil
end

local function conclude(p)
  local e = p.kept and p.kept.evaluation
  p.evaluation = e
  p.verdict = e and e.verdict or p.declined and "not_applicable" or "no_candidate"
  p.reason = p.reason or e and e.reason
  for _, a in ipairs(p.attempts) do
    local seconds = a.evaluation.seconds
    p.cost.seconds = p.cost.seconds + (seconds and seconds.total or 0)
  end
  if p.cost.unknown then p.cost.usd = nil end
end

-- Two such answers to the same question close the pair (setup.lua, opener).
local function decline(S, p)
  local key = landing.pair(p.parent, p.strategy_name)
  S.declined = S.declined or {}
  S.declined[key] = (S.declined[key] or 0) + 1
end

-- A pull the policy did not choose (--force) may be more than it can take.
local function teach(S, p)
  local lesson = {
    n = p.n, parent = p.parent, strategy = p.strategy, verdict = p.verdict,
    reason = p.reason, child = p.child, reward = p.reward,
    cost = { seconds = p.cost.seconds, usd = p.cost.usd }, terms = p.terms,
    exhausted = p.verdict == "no_candidate",
    params = p.kept and p.kept.candidate and p.kept.candidate.params or nil,
  }
  if not p.foreign then
    S.brain.learn(lesson)
  elseif p.strategy then
    pcall(S.brain.learn, lesson)
  end
  if p.child then S.brain.admit(p.child) end
end

-- p has arrived, or the journal says that it landed next. Returns true when it is
-- the best so far.
function landing.land(S, p)
  if p.row then recall(S, p) else conclude(p) end
  p.candidate = p.kept and p.kept.candidate
  if p.verdict == "ok" then
    p.child = landing.kernel(S, p.parent, p.strategy_name, p.kept.candidate, p.evaluation)
  end
  if p.verdict == "not_applicable" then decline(S, p) end
  p.reward = p.reward or reward_of(S, p)
  S.landed = S.landed + 1
  p.landed = S.landed
  if p.child then
    landing.admit(S, p.child, p.evaluation)
    if p.evaluation.declared then S.known[p.evaluation.declared] = p.child.id end
  end
  local best = p.child and landing.note_best(S, p.child, p.evaluation)
  if not p.row then
    S.journal.pull(p, p.attempts)
    if best then S.journal.best(p.child.source) end
  end
  if p.child then leave_source(S, p.child) end
  pulls.release(S, p)
  add_row(S, p)
  teach(S, p)
  if S.on_pull then
    S.progress.hide()
    S.on_pull(p)
  end
  return best
end

return landing
