-- KernelBand: the default. From v1 and v2 it keeps clusters that share
-- statistics, optimism, a head that reads the profile, and a mask from hardware
-- limits. Every (kernel k, strategy s) pair is scored by the improvement over
-- the best kernel so far that it may be expected to bring,
--
--   p(s) w ln(1 + exp(m / w)),   m = lag(k) + mean + exploration + psi
--
-- the mean excess over 0 of a logistic law centred at m, where all of m is in
-- units of log time:
--   lag          ln(speedup(k) / best speedup), so the choice of parent and of
--                strategy is one choice
--   mean         gain of s seen on k, shrunk to that of its cluster, that to the
--                strategy's, that to the overall one: a new cluster or kernel
--                costs no sweep over its arms
--   exploration  c spread sqrt(ln(1 + t) / n), spread being that of the gains
--                seen, n counting other clusters' pulls of s in part
--   psi          alpha spread (2 psi(s, phi(k)) - 1), fading in as the head of s
--                sees samples
--   p            chance of a valid child: failed, wrong and slower are told apart
-- Statistics are rebuilt from the log of pulls whenever kernels are regrouped.
-- A gain within the intervals of parent and child counts as none.
--
-- theta_sat forbids only what would use a saturated resource more (`presses`).

local function new(params, ctx)
  local core, n, open = ctx.core, #ctx.strategies, ctx.open
  local each = params.clusters == "each"
  assert(each or type(params.clusters) == "number",
         "clusters must be a number or \"each\"")
  local near = not each
    and core.cluster(params.clusters, 6, { seed = ctx.rng:below(1 << 31) })
  local kernels, cluster, log, heads = {}, {}, {}, {}
  local stats, pending, best = {}, {}, 1
  local presses = {}
  for _, name in ipairs(params.presses) do presses[name] = true end
  for i = 1, n do heads[i] = core.logit(9, { l2 = 1, buffer = params.buffer }) end

  -- One cell of statistics; made when first asked for.
  local function cell(level, id, i)
    local key = level .. id .. "/" .. i
    local s = stats[key]
    if not s then
      s = { n = 0, ok = 0, sum = 0 }
      stats[key] = s
    end
    return s
  end

  local function count(e)
    for _, s in ipairs { cell("all", 0, 0), cell("strategy", 0, e.i),
                         cell("cluster", cluster[e.kernel], e.i),
                         cell("kernel", e.kernel.id, e.i) } do
      s.n = s.n + 1
      if e.gain then s.ok, s.sum = s.ok + 1, s.sum + e.gain end
    end
  end

  local function regroup()
    local points = {}
    for j, k in ipairs(kernels) do points[j] = k.rho end
    local ids = near:fit(points)
    for j, k in ipairs(kernels) do cluster[k] = ids[j] end
    stats = {}
    for _, e in ipairs(log) do count(e) end
  end

  local function spread()
    local sum, m = params.spread ^ 2 * params.shrink, params.shrink
    for _, e in ipairs(log) do
      if e.gain then sum, m = sum + e.gain ^ 2, m + 1 end
    end
    return math.max(1e-3, math.sqrt(sum / m))
  end

  -- What a cell says, shrunk to what its parent says.
  local function shrunk(s, mean, ok)
    local w = params.shrink
    return (s.sum + w * mean) / (s.ok + w), (s.ok + w * ok) / (s.n + w)
  end

  local function masked(kernel, i)
    local s = ctx.strategies[i]
    local used = kernel.h[s.target]
    return used and used >= params.theta_sat and presses[s.name]
  end

  local function score(kernel, i, wide, base)
    local own, group = cell("kernel", kernel.id, i), cell("cluster", cluster[kernel], i)
    local mean, ok = shrunk(group, base[i].mean, base[i].ok)
    mean, ok = shrunk(own, mean, ok)
    local waiting = pending[kernel.id .. "/" .. i] or 0
    local tries = 1 + group.n + params.share * (base[i].n - group.n) + waiting
    local explore = params.c * wide * math.sqrt(math.log(1 + #log) / tries)
    local trust = #heads[i] / (#heads[i] + params.trust)
    local psi = heads[i]:p(kernel.phi)
    local lag = math.log(kernel.speedup / best)
    local m = lag + mean + explore + params.alpha * trust * wide * (2 * psi - 1)
    local w = 0.55 * wide / (1 + own.n + waiting) ^ 0.5
    local z = m / w
    local excess = z > 30 and m or w * math.log(1 + math.exp(z))
    return ok * excess, { mean = mean, exploration = explore, psi = psi,
                          cluster = cluster[kernel] }
  end

  local policy = {}

  function policy.admit(kernel)
    kernels[#kernels + 1] = kernel
    best = math.max(best, kernel.speedup)
    cluster[kernel] = each and kernel.id or near:assign(kernel.rho)
  end

  function policy.choose()
    local wide, base = spread(), {}
    local mean, ok = shrunk(cell("all", 0, 0), params.gain, 0.7)
    for i = 1, n do
      local s = cell("strategy", 0, i)
      local m, p = shrunk(s, mean, ok)
      base[i] = { n = s.n, mean = m, ok = p }
    end
    local top, parent, index, terms = -math.huge, nil, nil, nil
    for _, mask in ipairs { true, false } do
      for _, kernel in ipairs(kernels) do
        for i = 1, n do
          if open(kernel, i) and not (mask and masked(kernel, i)) then
            local value, why = score(kernel, i, wide, base)
            if value > top then
              top, parent, index, terms = value, kernel, i, why
            end
          end
        end
      end
      if parent then break end
    end
    if not parent then return nil end
    local key = parent.id .. "/" .. index
    pending[key] = (pending[key] or 0) + 1
    return parent, index, terms
  end

  function policy.learn(pull)
    local key = pull.parent.id .. "/" .. pull.strategy
    pending[key] = pending[key] > 1 and pending[key] - 1 or nil
    if pull.verdict == "no_candidate" then return end
    local e = { kernel = pull.parent, i = pull.strategy }
    local child = pull.child
    if child then
      e.gain = -math.log(math.max(1 - pull.reward, 0.02))
      if child.speedup_low <= pull.parent.speedup_high
         and child.speedup_high >= pull.parent.speedup_low then e.gain = 0 end
    end
    log[#log + 1] = e
    count(e)
    local head = heads[pull.strategy]
    head:learn(pull.parent.phi, (e.gain or 0) > 0)
    head:fit()
    if not each and #log % params.tau == 0 then regroup() end
  end

  return policy
end

return {
  name = "kernelband",
  summary = "expected improvement over the best, shrunk statistics, profile head",
  reward = "relative", new = new,
  defaults = { alpha = 0.5, clusters = 3, c = 0.3, tau = 10, theta_sat = 90,
               buffer = 500, gain = 0.1, spread = 0.3, shrink = 2, share = 0.5,
               trust = 10,
               presses = { "vectorization", "pipeline", "access_layout" } },
  accepts = { clusters = { "number", "string" } },
}
