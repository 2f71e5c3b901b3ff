-- KernelBand v1 (arXiv 2511.18868, November 2025): a score of three terms over
-- every kernel k of the pool and every strategy s,
--   mean(c(k), s) + c sqrt(ln t / n(c(k), s)) + alpha psi(s, phi(k))
-- with c = sqrt 2 (the paper writes sqrt(2 ln t / n)), reward statistics shared
-- inside a cluster of kernels that behave alike (k-means++ on rho), and one
-- logistic head psi a strategy, read from the profile phi and warmed up with
-- synthetic pairs. Every arm is pulled once first. A ring of `buffer` samples a
-- head. clusters: a number, or "each" for one a kernel. warm_start: pairs.
local ln, max, min, sqrt, sort = math.log, math.max, math.min, math.sqrt, table.sort

-- How likely a strategy is to help, by roofline rules on phi: what it would
-- improve is low, or what it relieves is high. By name, else by target.
local l2_hit, mem_bw, sm_util, warp_eff, occupancy = 1, 2, 3, 4, 5
local registers, conflicts, coalesced, tensor = 6, 7, 8, 9

local rules = {
  tiling = function(p) return (1 - p[l2_hit]) * (0.5 + 0.5 * p[mem_bw]) end,
  fusion = function(p) return p[mem_bw] end,
  access_layout = function(p) return max(1 - p[coalesced], p[conflicts]) end,
  vectorization = function(p) return (p[sm_util] * (1 - p[tensor]) + 1 - p[coalesced]) / 2 end,
  pipeline = function(p) return (1 - p[sm_util]) * (0.5 + 0.5 * p[mem_bw]) end,
  reordering = function(p) return 0.5 * (1 - p[l2_hit]) + 0.5 * (1 - p[warp_eff]) end,
  parallelism_occupancy = function(p) return (1 - p[occupancy]) * (0.5 + 0.5 * p[registers]) end,
  compute_instruction = function(p) return p[sm_util] * (1 - p[tensor]) end,
  sm = function(p) return 1 - p[sm_util] end, l2 = function(p) return 1 - p[l2_hit] end,
  dram = function(p) return max(p[mem_bw], 1 - p[coalesced]) end,
}
rules.tiling_blocking, rules.operation_fusion = rules.tiling, rules.fusion
rules.memory_access, rules.memory_layout = rules.access_layout, rules.access_layout
rules.asynchrony_latency = rules.pipeline

-- One head a strategy, warmed up with pairs that the rules label.
local function new_heads(params, ctx)
  local rng, heads, phi, n = ctx.core.rng(1):split "warm start", {}, {}, #ctx.strategies
  for i = 1, n do heads[i] = ctx.core.logit(9, { l2 = params.l2, buffer = params.buffer }) end
  for j = 0, params.warm_start - 1 do
    local s = ctx.strategies[j % n + 1]
    for d = 1, 9 do phi[d] = rng:uniform() end
    heads[j % n + 1]:learn(phi, rng:uniform() < (rules[s.name] or rules[s.target])(phi))
  end
  for _, head in ipairs(heads) do head:fit() end
  return heads
end

local function new(params, ctx)
  local core, n, open = ctx.core, #ctx.strategies, ctx.open
  local seed, heads, phis = ctx.rng:below(1 << 31), new_heads(params, ctx), core.points(9)
  local kernels, cluster, log, psi, near, ucb, clusters, c = {}, {}, {}, {}, nil, nil, nil, nil
  for i = 1, n do psi[i] = {} end       -- psi[i][k]: of strategy i and kernel k

  local function arm(k, i) return (cluster[k] - 1) * n + i end
  local function group(k) return near and near:assign(kernels[k].rho) or min(k, 65536 // n) end

  -- Clusters and statistics from the kernels and the log: at the start, and when c or
  -- clusters is a function of the pull.
  local function regroup()
    clusters, c = params.clusters, params.c
    near = clusters ~= "each" and core.cluster(clusters // 1, 6, { seed = seed }) or nil
    ucb = core.ucb((near and clusters // 1 or 65536 // n) * n, { c = c })
    for k = 1, #kernels do cluster[k] = group(k) end
    for _, e in ipairs(log) do ucb:update(arm(e[1], e[2]), e[3]) end
  end

  local policy = {}

  function policy.admit(kernel)
    local k = phis:add(kernel.phi)
    kernels[k], kernel.note.at = kernel, k
    cluster[k] = group(k)
    for i = 1, n do psi[i][k] = heads[i]:p(kernel.phi) end
  end

  function policy.choose(under_way, pending)
    if params.clusters ~= clusters or params.c ~= c then regroup() end
    local best, found, arms, bias, waiting = {}, {}, {}, {}, {}
    for i = 1, n do                     -- of an arm's kernels the one with the highest psi
      local row = psi[i]
      for k = 1, #kernels do
        local a = (cluster[k] - 1) * n + i
        if row[k] > (row[best[a]] or -1) and open(kernels[k], i) then best[a] = k end
      end
    end
    for a, k in pairs(best) do found[#found + 1] = k * n + (a - 1) % n end
    sort(found)                         -- ties: the oldest kernel, then the first strategy
    for j, pair in ipairs(found) do
      local k, i = pair // n, pair % n + 1
      arms[j], bias[j] = arm(k, i), params.alpha * psi[i][k]
    end
    for _, e in ipairs(pending or {}) do        -- a pull under way counts as one more
      local a = arm(e.parent.note.at, e.strategy)
      waiting[a] = (waiting[a] or 0) + 1
    end
    local j = ucb:select(arms, bias, waiting, under_way)
    if not j then return nil end
    local k, i, a = found[j] // n, found[j] % n + 1, arms[j]
    local pulls = ucb:pulls(a) + (waiting[a] or 0)
    local bonus = c * sqrt(ln(max(1, ucb:t() + (under_way or 0))) / pulls)
    return kernels[k], i, { mean = ucb:mean(a), exploration = pulls > 0 and bonus or nil,
                            psi = psi[i][k], cluster = cluster[k] }
  end

  function policy.learn(pull)
    local k, i = pull.parent.note.at, pull.strategy
    ucb:update(arm(k, i), pull.reward)
    log[#log + 1] = { k, i, pull.reward }
    heads[i]:learn(pull.parent.phi, pull.reward > 0)
    heads[i]:fit()
    heads[i]:p(phis, psi[i])
  end

  regroup()
  return policy
end

return {
  name = "kernelband_v1", reward = "relative", new = new,
  summary = "three-term score over kernels and strategies, as published",
  defaults = { alpha = 0.5, clusters = 3, c = 2 ^ 0.5, buffer = 500, warm_start = 1000, l2 = 1 },
  accepts = { clusters = { "integer", "string" }, buffer = "integer" },
  limits = { clusters = { 1, 64, "each" }, buffer = { 1, 65536 }, c = { 0 },
             l2 = { 1e-6, 1e12 }, warm_start = { 0, 10000 } },
}
