-- search/simulate/init.lua - the loop of search/init.lua for recorded spaces, without what only
-- a machine needs: no queue, no journal, no progress, no second thoughts about
-- time. The rows are those kb.search gives (a test compares them); a pull costs
-- microseconds, so that a thousand searches are a matter of seconds.
local confirm = require "kernelband.search.confirm"
local core   = require "kernelband.core"
local features = require "kernelband.search.simulate.features"
local schema = require "kernelband.base.schema"
local space  = require "kernelband.search.simulate.space"
local judges = require "kernelband.evaluate.verdict"
local walk   = require "kernelband.search.simulate.walk"

local simulate = {}

local interrupts = core.system.interrupts

-- Whether a search that setup.search prepared may be run here.
function simulate.fits(S)
  return S.task.simulate and S.generator.world ~= nil and S.parallel == 1
         and not S.journal.folder and not S.on_pull and S.quiet
         and S.budget.steps ~= nil and not S.budget.minutes
end

local function new_kernel(W, id, parent, strategy, i, time_ns, first_ns)
  local speedup, spread = first_ns / time_ns, W.spread[i]
  local phi, rho, signature, h, kinds = features.of(W, i, time_ns, first_ns)
  return {
    id = id, parent = parent and parent.id, strategy = strategy, source = W.source[i],
    params = space.params(W, i), depth = parent and parent.depth + 1 or 0,
    time_ns = first_ns / speedup, speedup = speedup,
    speedup_low = speedup * (1 - 2 * spread), speedup_high = speedup * (1 + 2 * spread),
    note = {}, h = h, h_kind = kinds.h, phi = phi, phi_kind = kinds.phi, rho = rho,
    rho_kind = kinds.rho, signature = signature, signature_kind = kinds.signature,
  }
end

local function checked(S, r, n, verdict)
  if type(r) == "number" and r - r == 0 then return r end
  local info = debug.getinfo(S.reward, "S")
  schema.raise("%s:%d: the reward of pull %d (%s) must be a finite number, got %s",
               info.short_src, info.linedefined, n, verdict, schema.show(r))
end

-- Verdicts that a second attempt would not change, as in pull.lua.
local final = { build_failed = true, launch_failed = true, wrong = true, cheated = true }

-- One pull: verdict, reason, row of the child.
local function pull(S, W, state, parent, s, n)
  if not S.open(parent, s, true) then
    return "no_candidate", ("%s does not apply to kernel %d"):format(S.strategies[s].name,
                                                                    parent.id)
  end
  local class = state.class_of[s]
  local child = class and walk.propose(W, state.row[parent], class, S.rng:split("propose " .. n),
                                       S.brain.prefer)
  if not child then return "no_candidate", "no recorded neighbour" end
  local known, tried = state.known[child], state.tried[child]
  if known then return "no_candidate", ("the generator gave kernel %d again"):format(known) end
  if tried then
    return "no_candidate", ("the generator gave the candidate of pull %d again"):format(tried)
  end
  if final[W.verdict[child]] then state.tried[child] = n end
  return W.verdict[child], W.reason[child] or nil, child
end

local function record(S, n, parent, name, verdict, reason, reward, child, terms)
  S.verdicts[verdict] = (S.verdicts[verdict] or 0) + 1
  S.arms[name] = S.arms[name] + 1
  S.rows[n] = {
    n = n, strategy = name, verdict = verdict, reason = reason, reward = reward,
    parent = parent.id, child = child and child.id, speedup = child and child.speedup,
    best_speedup = S.best.speedup, terms = terms,
  }
end

local function admit(S, W, state, kernel, i)
  S.pool[kernel.id] = kernel
  state.row[kernel], state.known[i] = i, kernel.id
  if S.best and kernel.speedup_low <= math.max(1, S.best.speedup_low) then return end
  S.best = kernel
  S.trail[#S.trail + 1] = { #S.rows + 1, W.optimum_ns / W.time_ns[i] }
end

local none = {}

local function loop(S, W, state)
  local brain, first_ns, root = S.brain, state.first_ns, state.root
  for n = 1, S.budget.steps do
    if interrupts() > 0 then
      S.stopping = "interrupted"
      return
    end
    local parent, s, terms = brain.choose(0, none)
    if parent == nil then
      S.dry = true
      return
    end
    local name = S.strategies[s].name
    local verdict, reason, i = pull(S, W, state, parent, s, n)
    local child
    if verdict == "ok" then
      child = new_kernel(W, #S.pool + 1, parent, name, i, walk.measured(W, i, root), first_ns)
    end
    local reward = checked(S, S.reward(parent, child, verdict), n, verdict)
    if child then admit(S, W, state, child, i) end
    record(S, n, parent, name, verdict, reason, reward, child, terms)
    brain.learn { n = n, parent = parent, strategy = s, verdict = verdict, reason = reason,
                  child = child, reward = reward, terms = terms,
                  cost = { seconds = 0, usd = 0 },
                  params = child and child.params or i and space.params(W, i) or nil,
                  exhausted = verdict == "no_candidate" }
    if child then brain.admit(child) end
  end
end

-- What search/init.lua's confirmation comes to here: a recorded kernel has its true time.
local function confirmed(S, W, state)
  local function look(kernel, root)
    return kernel, walk.evaluation(W, state.row[kernel], state.first_ns, root)
  end
  if S.stopping or #S.pool < 2 or not S.confirm then
    return look(S.best, S.best.id > 1 and state.root or nil)
  end
  for _, kernel in ipairs(confirm.ranking(S.pool)) do
    local _, evaluation = look(kernel)
    if judges.gains(evaluation) then return kernel, evaluation, true end
  end
  return S.pool[1], S.baseline_evaluation, true
end

-- Runs what setup.search prepared; returns the kernel, its evaluation and
-- whether it was confirmed, as search/init.lua's own loop leaves them.
function simulate.run(S)
  local W = S.generator.world
  local start = W.row_of[S.baseline_source]
  local state = { row = {}, known = {}, tried = {}, class_of = {},
                  first_ns = W.time_ns[start], root = walk.noise_root(W, S.seed) }
  for i, s in ipairs(S.strategies) do state.class_of[i] = S.generator.index[s.name] end
  local first = new_kernel(W, 1, nil, nil, start, state.first_ns, state.first_ns)
  S.baseline_ns = state.first_ns
  S.baseline_evaluation = walk.evaluation(W, start, state.first_ns)
  S.trail = {}                          -- { pull, true share of the optimum } of each best
  admit(S, W, state, first, start)
  S.trail[1][1] = 0
  -- Nobody but the policy sees more of a kernel than its figures: it may have the rest.
  if S.brain.hand_over and not S.rewarded then S.brain.hand_over() end
  S.brain.admit(first)
  loop(S, W, state)
  local kernel, evaluation, sure = confirmed(S, W, state)
  kernel.params = space.params(W, state.row[kernel])
  return kernel, evaluation, sure or false
end

return simulate
