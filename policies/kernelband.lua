-- KernelBand: the default. The (kernel k, strategy s) pair is chosen of which most improvement
-- over the best kernel so far is expected. Where the generator can list its moves, ctx.landscape
-- says how much: a Gaussian process over parameters measured here and, with a memory, in earlier
-- searches; how much each matters is fitted as points come in. Else (a model writes the kernels)
-- it is the mean excess over 0 of a logistic law, p w ln(1 + exp(m / w)), in units of log time,
-- centred at m = lag + mean + exploration + psi:
--   lag          ln(speedup(k) / best speedup): parent and strategy are one choice
--   mean         gain of s on k, shrunk to that in its cluster, to its strategy's,
--                to the overall one; a gain within both intervals is none
--   exploration  c spread sqrt(ln(1 + t) / n), n counting other clusters in part
--   psi          alpha spread (2 psi(s, phi(k)) - 1), fading in with samples
--   p            chance of a valid child, times fruitless ^ (pulls that gave nothing)
-- What would use a resource more (presses) over theta_sat busy counts for `masked` of that.

local function new(params, ctx)
  local core, n, open, log, sqrt = ctx.core, #ctx.strategies, ctx.open, math.log, math.sqrt
  local each, auto = params.clusters == "each", params.clusters == "auto"
  local land = ctx.landscape { scale = params.scale, rate = params.rate, flag = params.flag,
                               keep = params.keep, fit = params.fit, kin = params.kin }
  local kernels, cluster, past, heads, target, idle, presses = {}, {}, {}, {}, {}, {}, {}
  local seed, best, waiting, squares, chance = ctx.rng:below(1 << 31), 1, {}, 0, {}
  local shrink, near, all, by_strategy, by_cluster, by_kernel = params.shrink
  for _, name in ipairs(params.presses) do presses[name] = true end
  for i, s in ipairs(ctx.strategies) do
    target[i], presses[i] = s.target, presses[s.name]
    heads[i], chance[i] = core.logit(9, { l2 = 1, buffer = params.buffer }), {}
  end

  local function cell(cells, key)
    cells[key] = cells[key] or { n = 0, ok = 0, sum = 0 }
    return cells[key]
  end

  local function count(e, i, k)
    for _, s in ipairs { all, cell(by_strategy, i), cell(by_cluster, cluster[k] * n + i),
                         cell(by_kernel, k.id * n + i) } do
      s.n = s.n + 1
      if e.gain then s.ok, s.sum = s.ok + 1, s.sum + e.gain end
    end
  end

  local function regroup()              -- and rebuilds the statistics from the log
    local points, most = {}, auto and 1 + sqrt(#kernels / 4) // 1 or params.clusters
    for j, k in ipairs(kernels) do points[j] = k.rho end
    near = not each and core.cluster(math.min(64, most) // 1, 6, { seed = seed })
    local ids = near and near:fit(points)
    for j, k in ipairs(kernels) do cluster[k] = ids and ids[j] or k.id end
    all, by_strategy, by_cluster, by_kernel = cell({}, 1), {}, {}, {}
    for _, e in ipairs(past) do count(e, e.i, e.kernel) end
  end

  -- Mean gain and chance of a child in a cell, shrunk to those one level up.
  local function shrunk(s, mean, ok)
    return (s.sum + shrink * mean) / (s.ok + shrink), (s.ok + shrink * ok) / (s.n + shrink)
  end

  local function score(k, i, b)         -- b: what the pairs of a strategy share in a choice
    local key, psis = k.id * n + i, chance[i]
    local ahead, excess = waiting[key] or 0, land.excess(k, i, b.most)
    if excess then return excess / (1 + ahead) end
    local own, group = cell(by_kernel, key), cell(by_cluster, cluster[k] * n + i)
    local mean, ok = shrunk(own, shrunk(group, b.mean, b.ok))
    local tries = 1 + group.n + params.share * (b.n - group.n) + ahead
    local explore, psi = b.reach * sqrt(b.calls / tries), psis[k] or heads[i]:p(k.phi)
    psis[k] = psi                       -- until this head learns
    local m = log(k.speedup / best) + mean + explore + b.weight * (2 * psi - 1)
    local w = 0.55 * b.spread / sqrt(1 + own.n + ahead)
    excess = m > 30 * w and m or w * log(1 + math.exp(m / w))
    return ok * excess * params.fruitless ^ (idle[key] or 0), mean, explore, psi
  end

  -- The best pair of the `most` fastest kernels.
  local function pick(base, most)
    local top, pair = -math.huge, nil
    for at = 1, math.min(#kernels, most) do
      local k = kernels[at]
      for i = 1, n do
        if open(k, i) then
          local value, mean, explore, psi = score(k, i, base[i])
          local full = presses[i] and (k.h[target[i]] or 0) >= params.theta_sat
          if full and mean then value = value * params.masked end
          if value > top then
            top, pair = value, { k, i, { mean = mean, exploration = explore, psi = psi,
                                         cluster = cluster[k] } }
          end
        end
      end
    end
    return pair
  end

  local policy = { remember = land.remember, prefer = land.prefer }

  function policy.admit(kernel)
    local at = #kernels + 1
    while at > 1 and kernels[at - 1].speedup < kernel.speedup do at = at - 1 end
    table.insert(kernels, at, kernel)
    land.admit(kernel)
    best = math.max(best, kernel.speedup)
    cluster[kernel] = each and kernel.id or near:assign(kernel.rho)
  end

  function policy.choose(_, pending)
    waiting = {}                        -- a pull under way counts as one
    for _, e in ipairs(pending or {}) do
      local key = e.parent.id * n + e.strategy
      waiting[key] = (waiting[key] or 0) + 1
    end
    local spread = sqrt((shrink * params.spread ^ 2 + squares) / (shrink + all.ok))
    local base, mean, ok = {}, shrunk(all, params.gain, 0.7)
    for i = 1, n do
      local seen, c = #heads[i], cell(by_strategy, i)
      base[i] = { n = c.n, most = log(best), calls = log(1 + #past), reach = params.c * spread,
        spread = spread, weight = params.alpha * seen / (seen + params.trust) * spread }
      base[i].mean, base[i].ok = shrunk(c, mean, ok)
    end
    return table.unpack(pick(base, params.most) or pick(base, #kernels) or {})
  end

  function policy.learn(pull)
    local parent, i, child = pull.parent, pull.strategy, pull.child
    local key, e = parent.id * n + i, { kernel = parent, i = i }
    land.learn(pull)
    if pull.verdict == "no_candidate" then idle[key] = (idle[key] or 0) + 1 return end
    if pull.verdict == "not_applicable" then idle[key], e.gain = (idle[key] or 0) + 1, 0 end
    if child then
      local far = child.speedup_low > parent.speedup_high or child.speedup_high < parent.speedup_low
      e.gain = far and log(child.speedup / parent.speedup) or 0
    end
    past[#past + 1], squares, chance[i] = e, squares + (e.gain or 0) ^ 2, {}
    count(e, i, parent)
    heads[i]:learn(parent.phi, (e.gain or 0) > 0)
    heads[i]:fit()
    if #past % params.tau == 0 then regroup() end
  end

  regroup()
  return policy
end

return {
  name = "kernelband", reward = "relative", new = new,
  summary = "expected improvement over the best, by landscape or shrunk statistics",
  defaults = { alpha = 0.5, clusters = "auto", c = 1, tau = 10, theta_sat = 90, masked = 0.75,
    buffer = 500, gain = 0.1, spread = 0.3, shrink = 20, share = 0.5, trust = 10, fruitless = 0.3,
    most = 32, scale = 2, rate = 0.3, flag = 0.1, keep = 0, fit = 1.5, kin = 0.9, memory = "",
    remember = "", presses = { "vectorization", "pipeline", "access_layout" } },
  accepts = { clusters = { "integer", "string" }, buffer = "integer" },
  limits = { clusters = { 1, 64, "each", "auto" }, buffer = { 1, 65536 }, tau = { 1 } },
}
