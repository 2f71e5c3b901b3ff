-- KernelBand (arXiv 2511.18868), the default. The arms of its bandit are pairs of a cluster
-- of kernels and a strategy. Of all open pairs of a kernel k and a strategy s it pulls the
-- one with the highest
--
--   score(k, s) = mean(C(k), s) + c sqrt(ln t / n(C(k), s)) + alpha psi(s, phi(k))
--               + trust ln worth(k, s)
--
-- As in the paper: C(k) is the cluster of k, by k-means++ on rho (core.cluster), made anew
-- every tau pulls; mean and n are of the rewards and pulls of the arm, t of all (core.ucb);
-- psi, one logistic head a strategy (core.logit), is the chance that s improves a kernel
-- with the profile phi; a resource that is busy to theta_sat per cent masks the strategies
-- that would use it more (`presses`): these are pulled when the 32 fastest kernels have no other
-- open pair, before pairs of slower kernels.
--
-- Beyond the paper:
--   worth      the expected improvement over the best kernel so far, in log time, so that what
--              may still be gained decides between parents. Where the generator lists its
--              moves, a surrogate says it of the best child of the pair, and ranks the
--              children of the chosen pair (prefer; policy/surrogate.lua: rate, fit, kin).
--              Else children gain what they gained so far, at first `gain`, give or take
--              `spread` (policy/surrogate.lua).
--   reward     g / (g + worth), g the improvement over the best when the pull was chosen: 0
--              for none or a failure, 1/2 for what was expected, so no scale is needed. The
--              reward of kb.search is recorded, and not learned from here.
--   shrinkage  an arm starts with `shrink` pulls at its strategy's mean, and that with as
--              many at the mean of all; n counts pulls of the strategy in other clusters for
--              `share`: a new cluster costs no sweep.
--   finish     once none of the pairs looked at is worth `enough`, listed children of the best
--              kernel that differ from it in one parameter are measured, whatever their worth.
--   delays     a pull under way counts in n and t (Joulani, Gyorgy and Szepesvari, 2013).

local most_parents, enough = 32, 0.003  -- the fastest kernels; log time

local function new(params, ctx)
  local core, n, open, log, sqrt = ctx.core, #ctx.strategies, ctx.open, math.log, math.sqrt
  local model = ctx.surrogate { rate = params.rate, fit = params.fit, kin = params.kin,
                                gain = params.gain, spread = params.spread }
  local kernels, cluster, past, psi, presses = ctx.pool, {}, {}, {}, {}
  local best, seed, near, ucb, clusters, c = 1, ctx.rng:below(1 << 31), nil, nil, nil, nil
  local all, by_strategy = { n = 0, sum = 0 }, {}
  local order, draw = {}, ctx.rng:split "order"     -- ties go by lot, not by name
  for i = 1, n do table.insert(order, draw:below(i) + 1, i) end
  for _, name in ipairs(params.presses) do presses[name] = true end
  for i, s in ipairs(ctx.strategies) do
    psi[i], by_strategy[i] = core.logit(9, { l2 = 1, buffer = 500 }), { n = 0, sum = 0 }
    presses[i] = presses[s.name] and s.target
  end

  local function arm(k, i) return (cluster[k] - 1) * n + i end

  -- Clusters and arms anew, from the kernels and the log.
  local function regroup()
    clusters, c = params.clusters, params.c
    local each, points = clusters == "each", {}
    local most = each and 65536 // n or clusters == "auto" and 1 + sqrt(#kernels) // 2 or clusters
    near = not each and core.cluster(math.min(64, most) // 1, 6, { seed = seed }) or nil
    ucb = core.ucb((most // 1) * n, { c = c, prior_mean = 0, prior_pulls = params.shrink })
    for j, k in ipairs(kernels) do points[j] = k.rho end
    local ids = near and near:fit(points)
    for j, k in ipairs(kernels) do cluster[k] = ids and ids[j] or math.min(k.id, most) end
    for _, e in ipairs(past) do ucb:update(arm(e[1], e[2]), e[3]) end
  end

  local function shrunk(s, mean) return (s.sum + params.shrink * mean) / (s.n + params.shrink) end

  local policy = { remember = model.remember, prefer = model.prefer }
  function policy.admit(kernel)
    model.admit(kernel)
    best = math.max(best, kernel.speedup)
    cluster[kernel] = near and near:assign(kernel.rho) or math.min(kernel.id, 65536 // n)
  end

  local function finish(k, pending)     -- a strategy
    for _, i in ipairs(order) do
      if open(k, i) and model.neighbour(k, i, pending) then return i end
    end
  end

  -- The best of the open pairs of the `most` fastest kernels, masked ones among them or not.
  local function pick(most, masked, pending)
    local list, arms, bias, waiting, mean, top = {}, {}, {}, {}, shrunk(all, 0.5), 0
    for at = 1, math.min(most, #kernels) do
      local k = kernels[at]
      for _, i in ipairs(order) do
        local full = presses[i] and (k.h[presses[i]] or 0) >= params.theta_sat
        if (masked or not full) and open(k, i) then
          local a, j, s = arm(k, i), #arms + 1, by_strategy[i]
          local own, p, worth = ucb:pulls(a), psi[i]:p(k.phi), model.worth(k, i, pending)
          local prior = params.shrink * shrunk(s, mean) / own
          top = math.max(top, worth)
          arms[j], waiting[a] = a, params.share * (s.n + params.shrink - own)
          bias[j] = prior + params.alpha * p + params.trust * log(worth + 1e-30)
          list[j] = { k, i, { mean = prior + ucb:mean(a), psi = p, worth = worth, best = best,
                              cluster = cluster[k] } }
        end
      end
    end
    for _, e in ipairs(pending) do
      local a = arm(e.parent, e.strategy)
      waiting[a] = waiting[a] and waiting[a] + 1
    end
    local j = ucb:select(arms, bias, waiting, #pending)
    if not j then return nil end
    local k, i, terms = table.unpack(list[j])
    local pulls = ucb:pulls(arms[j]) + waiting[arms[j]]
    terms.exploration = c * sqrt(log(math.max(1, ucb:t() + #pending)) / pulls)
    return k, i, terms, top
  end

  -- A parameter may be a function of the pulls so far: its value may be another than before.
  function policy.choose(_, pending)
    if params.clusters ~= clusters or params.c ~= c then regroup() end
    for step = 0, 3 do
      local k, i, terms, top = pick(step < 2 and most_parents or #kernels, step % 2 == 1, pending)
      local last = k and top < enough and finish(kernels[1], pending)
      if last then return kernels[1], last, { worth = enough, cluster = cluster[kernels[1]] } end
      if k then return k, i, terms end
    end
  end

  function policy.learn(pull)
    local k, i, child, terms = pull.parent, pull.strategy, pull.child, pull.terms or {}
    local over = child and math.max(0, log(child.speedup / (terms.best or best))) or 0
    local reward = over / (over + (terms.worth or params.gain) + 1e-9)
    for _, s in ipairs { all, by_strategy[i] } do s.n, s.sum = s.n + 1, s.sum + reward end
    past[#past + 1] = { k, i, reward }
    ucb:update(arm(k, i), reward)
    psi[i]:learn(k.phi, child ~= nil and child.speedup_low > k.speedup_high)
    psi[i]:fit()
    model.learn(pull)
    if #past % params.tau == 0 then regroup() end
  end

  regroup()
  return policy
end

return {
  name = "kernelband", reward = "relative", new = new,
  summary = "bandit over clusters and strategies; an arm is worth its best expected child",
  defaults = { alpha = 0.5, clusters = "auto", c = 1, tau = 10, theta_sat = 90, trust = 3,
    presses = { "vectorization", "pipeline", "access_layout" }, shrink = 4, share = 1,
    gain = 0.1, spread = 0.3, rate = 0.3, fit = 1.5, kin = 0.9, memory = "", remember = "" },
  accepts = { clusters = { "integer", "string" } },
  limits = { clusters = { 1, 64, "each", "auto" }, tau = { 1 }, shrink = { 1e-6 }, c = { 0 },
             share = { 0 }, spread = { 1e-6 }, rate = { 0, 1e6 }, fit = { 0, 2 }, kin = { 0, 1 } },
  removed = { masked = "the mask is hard, as in the paper", buffer = "psi keeps 500 pulls",
    fruitless = "it is a pull that gave nothing", flag = "it is a third of rate",
    scale = "fit finds it", keep = "it was 0", most = "the 32 fastest kernels are parents" },
}
