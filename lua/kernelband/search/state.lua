-- search/state.lua - the values that a search holds:
--   pool      the verified kernels, the best of them, the sources that need no second evaluation
--   budget    what it may spend and has spent: minutes, dollars, tokens
--   retries   how long it waits for a generator whose service refuses
--   open_pairs   which pairs of kernel and strategy are left
--   bell      what it waits on

local lists  = require "kernelband.base.lists"
local core   = require "kernelband.core"
local normal = require "kernelband.base.source".normal
local schema = require "kernelband.base.schema"

local state = {}

local TICK_NS = 200 * 10 ^ 6 // 1        -- the longest wait without a look around
local now_ns  = core.system.now_ns

-- The pool ------------------------------------------------------------------------------

local pool = {}
pool.__index = pool

-- Vectors of the evidence and their lengths; h has names instead.
local features = { { "phi", 9 }, { "rho", 6 }, { "signature", 5 } }

-- Verdicts that a source would get again.
local final = { build_failed = true, launch_failed = true, wrong = true, cheated = true }

-- of_task: sources of a task of ours differ where their code does. Returns the pool:
--   pool[id]              a kernel as policies see it, 1 is the baseline's
--   pool.best, pool.best_evaluation, pool.best_times_ns (of its timed shapes)
--   pool.baseline_ns, pool.baseline_evaluation
function state.pool(of_task)
  return setmetatable({ of_task = of_task, known = {}, tried = {} }, pool)
end

-- Its time is the baseline's over its speed-up, both measured side by side, so that a drift
-- of the machine cancels.
function pool:new_kernel(parent, strategy, candidate, evaluation)
  local speedup, evidence = evaluation.speedup or 1, evaluation.evidence or {}
  local k = { id = #self + 1, parent = parent and parent.id, strategy = strategy,
    source = candidate.source, params = candidate.params, depth = parent and parent.depth + 1 or 0,
    time_ns = self.baseline_ns / speedup, speedup = speedup,
    speedup_low = evaluation.speedup_low or speedup,
    speedup_high = evaluation.speedup_high or speedup, note = {}, profile = evaluation.profile,
    h = evidence.h or {}, h_kind = evidence.h_kind or {} }
  for _, f in ipairs(features) do
    local name, values, kinds = f[1], evidence[f[1]], evidence[f[1] .. "_kind"] or {}
    if not values then
      values, kinds = {}, {}
      for i = 1, f[2] do values[i], kinds[i] = 0, "missing" end
    end
    k[name], k[name .. "_kind"] = values, kinds
  end
  return k
end

-- What was timed side by side with the best so far is judged by that; else both by
-- their gains over the baseline. What is slower than the baseline is never the best.
local function better(self, kernel, evaluation)
  local best, pair = self.best, evaluation.against
  if not best then return true end
  if kernel.speedup_low <= 1 then return false end
  if pair and pair.kernel == best.id then return pair.low > 1 end
  return kernel.speedup_low > best.speedup_low
end

-- Returns true when the kernel is the best so far.
function pool:add(kernel, evaluation)
  self[kernel.id] = kernel
  kernel.hash = self:hash(kernel.source)
  self.known[kernel.hash] = kernel.id
  if evaluation.declared then self.known[evaluation.declared] = kernel.id end
  if not better(self, kernel, evaluation) then return false end
  self.best, self.best_evaluation = kernel, evaluation
  self.best_times_ns = lists.collect(evaluation.shapes or {}, function(shape)
    return shape.role == "timed" and shape.time_ns
  end)
  return true
end

-- A long search may have more sources than memory: once source_of(id) has a kernel's, it is
-- read back when somebody asks for it.
function pool:forget_source(kernel, source_of)
  self.lazy = self.lazy or { __index = function(k, key)
    return key == "source" and source_of(k.id) or nil
  end }
  kernel.source = nil
  setmetatable(kernel, self.lazy)
end

function pool:hash(source) return core.system.hash(self.of_task and normal(source) or source) end

-- Takes a source for pull p; or says who has it.
function pool:claim(p, source)
  local hash = self:hash(source)
  local id, n = self.known[hash], self.tried[hash]
  if id then return ("the generator gave kernel %d again"):format(id) end
  if n and n ~= p.n then return ("the generator gave the candidate of pull %d again"):format(n) end
  self.tried[hash] = p.n
  p.hashes[#p.hashes + 1] = hash
end

-- Pull p is over: its sources are free again, but for those that failed for what they are.
-- declared: the hash of what a candidate was before its constants had values.
function pool:release(p)
  for _, hash in ipairs(p.hashes) do self.tried[hash] = nil end
  for _, a in ipairs(p.attempts) do
    if final[a.evaluation.verdict] then
      self.tried[self:hash(a.candidate.source)] = p.n
      local before = a.kind ~= "tune" and a.evaluation.declared
      if before then self.tried[before] = p.n end
    end
  end
end

-- The budget ----------------------------------------------------------------------------

-- Money counts when it is spent, not when the pull it was for is recorded. A price nobody
-- knows is unknown and not 0: with a budget of dollars it stops the search.
--
-- limits: { steps, minutes, usd, tokens }. elapsed_s: function. Returns the budget:
--   limits, usd, tokens    the sums of what is known
--   spend(usd, tokens [, model])  usd nil: unknown; tokens: { input, cached, output,
--                 reasoning } of numbers, all optional
--   check()       raises when a budget cannot be kept
--   used_up()     which is used up: "usd", "tokens", "minutes"; nil
--   left()        { usd_left, tokens_left, seconds_left }: what has no limit is absent
--   unknown                whether any part of the sum in dollars is
--   tokens_unknown         true: an answer came without its tokens
--   recall(usd)   an answer was a recorded one, which once cost that; nil: unknown
--   recorded      { answers, usd, unknown } of those, nil: there were none
function state.budget(limits, elapsed_s)
  local b = { limits = limits, usd = 0, unknown = false,
              tokens = { input = 0, cached = 0, output = 0, reasoning = 0 } }

  function b.spend(usd, tokens, model)
    b.usd = b.usd + (usd or 0)
    for name, sum in pairs(b.tokens) do b.tokens[name] = sum + (tokens[name] or 0) end
    if usd then return end
    b.unknown = true
    if limits.usd then
      b.refused = ("budget.usd = %g cannot be kept: the price%s is not known. Give it in the "
        .. "generator's prices = { .. }, or use budget.tokens or budget.steps in its place")
        :format(limits.usd, model and " of model " .. tostring(model) or "")
    end
  end

  function b.recall(usd)
    local r = b.recorded or { answers = 0, usd = 0 }
    b.recorded, r.answers, r.usd = r, r.answers + 1, r.usd + (usd or 0)
    r.unknown = r.unknown or not usd
  end

  -- Not raised by spend: that is called in the midst of a generator's work.
  function b.check()
    if b.refused then schema.raise("%s", b.refused) end
  end

  function b.used_up()
    if limits.minutes and elapsed_s() >= limits.minutes * 60 then return "minutes" end
    if limits.usd and b.usd >= limits.usd then return "usd" end
    if limits.tokens and b.tokens.input + b.tokens.output >= limits.tokens then return "tokens" end
  end

  function b.left()
    local function left(limit, used) return limit and math.max(0, limit - used) end
    return {
      usd_left = left(limits.usd, b.usd),
      tokens_left = left(limits.tokens, b.tokens.input + b.tokens.output),
      seconds_left = limits.minutes and left(limits.minutes * 60, elapsed_s()),
    }
  end

  return b
end

-- A generator whose service refuses ------------------------------------------------------

local LONGEST_PAUSE_NS = 60 * 10 ^ 9 // 1       -- between two tries

-- A generator returns EPAUSE when its service refuses for a while (quota, network), ESTOP when
-- waiting cannot help (key, model). That is no pull. The search waits for patience_s seconds
-- and then stops, to be resumed later; it stops at once where it would have to wait longer.
-- Meanwhile one pull at a time asks again, each time after twice as long as before.
--   r.reason                 why it waits; nil: it does not
--   r.refused(text, wait_s)  wait_s: how long the refusal will last, if that is known
--   r.answered()             the service no longer refuses
--   r.await_turn()           in the coroutine of a pull: true when it may ask again
--   r.expired()              whether the search should stop waiting
function state.retries(s, patience_s, first_pause_ns)
  local r, since_ns, next_ns, delay_ns, hopeless = {}, nil, nil, nil, nil

  function r.refused(reason, wait_s)
    local now, most_ns = now_ns(), math.max(first_pause_ns, LONGEST_PAUSE_NS)
    delay_ns = since_ns and math.min(2 * delay_ns, most_ns) or first_pause_ns
    next_ns = now + math.max(delay_ns, math.min(wait_s or 0, 1e6) * 1e9 // 1 | 0)
    if not since_ns then
      since_ns, r.reason = now, tostring(reason)
      s.journal.event("paused", r.reason)
      s.note(wait_s == math.huge and r.reason
        or ("waiting: %s (tried again for %g minutes, then the run pauses)"):format(
           r.reason, patience_s / 60))
    end
    hopeless = wait_s and next_ns > since_ns + patience_s * 1e9
    s.bell.ring()
  end

  function r.await_turn()
    while since_ns and now_ns() < next_ns do
      if not s.loop:sleep(math.min(next_ns - now_ns(), TICK_NS)) then return false end
    end
    if since_ns then next_ns = math.maxinteger end      -- the others wait for what comes of it
    return true
  end

  function r.answered()
    if not since_ns then return end
    since_ns, r.reason, hopeless = nil, nil, nil
    s.note "going on"
  end

  function r.expired() return since_ns and (hopeless or now_ns() - since_ns >= patience_s * 1e9) end

  return r
end

-- Pairs of kernel and strategy ------------------------------------------------------------

local most_declined <const> = 2         -- NOT APPLICABLE answers, then a pair is closed

-- Which pairs are left:
--   open(kernel, i, without_generator)   whether strategy i has something left for a kernel:
--                         steering's word for it, the generator's answers so far, the strategy's
--                         own word, asked once a kernel, and the generator's
--   decline(kernel, name) the generator answered NOT APPLICABLE
--   declined              whether it ever did
function state.open_pairs(s)
  local open_pairs, applies, declined = { declined = false }, {}, {}   -- by strategy, kernel
  for _, one in ipairs(s.strategies) do applies[one], declined[one.name] = {}, {} end

  function open_pairs.decline(kernel, name)
    local answers = declined[name] or {}                -- of a strategy that is there no more
    open_pairs.declined, answers[kernel] = true, (answers[kernel] or 0) + 1
  end

  function open_pairs.open(kernel, i, without_generator)
    local one = s.strategies[i]
    if not s.steering.open(kernel, one.name) then return false end
    if (declined[one.name][kernel] or 0) >= most_declined then return false end
    if one.applies then
      local known = applies[one]
      if known[kernel] == nil then known[kernel] = one.applies(kernel) and true or false end
      if not known[kernel] then return false end
    end
    return without_generator or s.generator.open(kernel, one)
  end

  return open_pairs
end

-- Time ----------------------------------------------------------------------------------

-- One turn of a loop, which lasts even where nothing is there to wait for.
function state.turn(L)
  local _, _, code = L:turn(TICK_NS)
  if code == "EEMPTY" then core.system.sleep_ns(TICK_NS) end
end

-- wait(): until somebody rings or a moment has passed. In a coroutine of its own
-- (kb.search_all) a search waits there, and who runs the coroutines turns the loop.
function state.bell(L)
  local bell, rung = {}, nil

  function bell.ring()
    if rung then rung:resolve(true) end
  end

  function bell.wait()
    if not L:inside() then return state.turn(L) end
    rung = L:promise()
    local timer = L:at(now_ns() + TICK_NS, bell.ring)
    rung:await()
    L:drop(timer)
    rung = nil
  end

  return bell
end

return state
