-- KernelBand: the default. From v1 and v2 it keeps clusters that share
-- statistics, optimism, a head that reads the profile, and a mask from hardware
-- limits. A (kernel k, strategy s) pair is scored by the improvement over the
-- best kernel so far that may be expected of it,
--   p w ln(1 + exp(m / w)),   m = lag + mean + exploration + psi
-- the mean excess over 0 of a logistic law centred at m, in units of log time:
--   lag          ln(speedup(k) / best speedup): parent and strategy are one choice
--   mean         gain of s on k, shrunk to that in its cluster, that to the
--                strategy's, that to the overall one: a new cluster costs no sweep
--   exploration  c spread sqrt(ln(1 + t) / n), spread that of the gains seen, n
--                counting other clusters' pulls of s in part (share)
--   psi          alpha spread (2 psi(s, phi(k)) - 1), fading in with samples
--   p            chance of a valid child, so failed and slower are told apart
-- Statistics are rebuilt from the log of pulls whenever kernels are regrouped. A
-- gain within the intervals of parent and child counts as none. theta_sat forbids
-- only what would use a saturated resource more (presses).

local function new(params, ctx)
  local core, n, open = ctx.core, #ctx.strategies, ctx.open
  local each = params.clusters == "each"
  assert(each or type(params.clusters) == "number", "clusters must be a number "
         .. "or \"each\"")
  local near = not each
    and core.cluster(params.clusters, 6, { seed = ctx.rng:below(1 << 31) })
  local kernels, cluster, log, heads, target = {}, {}, {}, {}, {}
  local best, waiting, squares = 1, {}, 0
  local all, by_strategy, by_cluster, by_kernel     -- cells of statistics
  local presses = {}
  for _, name in ipairs(params.presses) do presses[name] = true end
  for i = 1, n do
    heads[i] = core.logit(9, { l2 = 1, buffer = params.buffer })
    target[i], presses[i] = ctx.strategies[i].target, presses[ctx.strategies[i].name]
  end

  local function cell(cells, key)
    cells[key] = cells[key] or { n = 0, ok = 0, sum = 0 }
    return cells[key]
  end

  local function count(e)
    for _, s in ipairs { all, cell(by_strategy, e.i),
                         cell(by_cluster, cluster[e.kernel] * n + e.i),
                         cell(by_kernel, e.kernel.id * n + e.i) } do
      s.n = s.n + 1
      if e.gain then s.ok, s.sum = s.ok + 1, s.sum + e.gain end
    end
  end

  local function regroup()
    local points = {}
    for j, k in ipairs(kernels) do points[j] = k.rho end
    local ids = near and near:fit(points)
    for j, k in ipairs(kernels) do cluster[k] = ids and ids[j] or k.id end
    all, by_strategy, by_cluster, by_kernel = cell({}, 1), {}, {}, {}
    for _, e in ipairs(log) do count(e) end
  end

  -- Mean gain and chance of a child in a cell, shrunk to those one level up.
  local function shrunk(s, mean, ok)
    local w = params.shrink
    return (s.sum + w * mean) / (s.ok + w), (s.ok + w * ok) / (s.n + w)
  end

  local function score(k, i, spread, base)
    local own = cell(by_kernel, k.id * n + i)
    local group = cell(by_cluster, cluster[k] * n + i)
    local mean, ok = shrunk(own, shrunk(group, base[i].mean, base[i].ok))
    local ahead = waiting[k.id * n + i] or 0
    local tries = 1 + group.n + params.share * (base[i].n - group.n) + ahead
    local explore = params.c * spread * math.sqrt(math.log(1 + #log) / tries)
    local psi, seen = heads[i]:p(k.phi), #heads[i]
    local trust = params.alpha * seen / (seen + params.trust)
    local m = math.log(k.speedup / best) + mean + explore
              + trust * spread * (2 * psi - 1)
    local w = 0.55 * spread / math.sqrt(1 + own.n + ahead)
    local excess = m > 30 * w and m or w * math.log(1 + math.exp(m / w))
    return ok * excess, mean, explore, psi
  end

  -- The best pair, heeding the mask or not.
  local function pick(spread, base, heed)
    local top, parent, index, terms = -math.huge, nil, nil, nil
    for _, k in ipairs(kernels) do
      for i = 1, n do
        local full = heed and presses[i] and (k.h[target[i]] or 0) >= params.theta_sat
        if not full and open(k, i) then
          local value, mean, explore, psi = score(k, i, spread, base)
          if value > top then
            top, parent, index, terms = value, k, i, { mean = mean, psi = psi,
              exploration = explore, cluster = cluster[k] }
          end
        end
      end
    end
    return parent, index, terms
  end

  local policy = {}

  function policy.admit(kernel)
    kernels[#kernels + 1] = kernel
    best = math.max(best, kernel.speedup)
    cluster[kernel] = each and kernel.id or near:assign(kernel.rho)
  end

  function policy.choose()
    local w, base = params.shrink, {}
    local spread = math.sqrt((w * params.spread ^ 2 + squares) / (w + all.ok))
    local mean, ok = shrunk(all, params.gain, 0.7)
    for i = 1, n do
      local s = cell(by_strategy, i)
      local m, p = shrunk(s, mean, ok)
      base[i] = { n = s.n, mean = m, ok = p }
    end
    local parent, index, terms = pick(spread, base, true)
    if not parent then parent, index, terms = pick(spread, base, false) end
    local key = parent and parent.id * n + index
    if key then waiting[key] = (waiting[key] or 0) + 1 end
    return parent, index, terms
  end

  function policy.learn(pull)
    local parent, i, child = pull.parent, pull.strategy, pull.child
    waiting[parent.id * n + i] = waiting[parent.id * n + i] - 1
    if pull.verdict == "no_candidate" then return end
    local e = { kernel = parent, i = i }
    if child then
      local same = child.speedup_low <= parent.speedup_high
                   and child.speedup_high >= parent.speedup_low
      e.gain = same and 0 or -math.log(math.max(1 - pull.reward, 0.02))
    end
    log[#log + 1], squares = e, squares + (e.gain or 0) ^ 2
    count(e)
    heads[i]:learn(parent.phi, (e.gain or 0) > 0)
    heads[i]:fit()
    if #log % params.tau == 0 then regroup() end
  end

  regroup()
  return policy
end

return {
  name = "kernelband", reward = "relative", new = new,
  summary = "expected improvement over the best, shrunk statistics, profile head",
  defaults = { alpha = 0.5, clusters = 3, c = 1, tau = 10, theta_sat = 90,
    buffer = 500, gain = 0.1, spread = 0.3, shrink = 3, share = 0.5, trust = 10,
    presses = { "vectorization", "pipeline", "access_layout" } },
  accepts = { clusters = { "number", "string" } },
}
