-- KernelBand v1 (arXiv 2511.18868, November 2025): a score of three terms over
-- every kernel k of the pool and every strategy s,
--   mean(c(k), s) + c sqrt(ln t / n(c(k), s)) + alpha psi(s, phi(k))
-- with c = sqrt 2 (the paper writes sqrt(2 ln t / n)), reward statistics shared
-- inside a cluster of kernels that behave alike (k-means++ on rho), and one
-- logistic head psi a strategy, read from the profile phi and warmed up with
-- synthetic pairs. Every arm is pulled once first. A ring of `buffer` samples a
-- head. clusters: a number, or "each" for one a kernel. warm_start: pairs.
local max = math.max
local first = 1e6                       -- of an arm never pulled: every one is, once

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
  local rng, heads, likely, phi = ctx.core.rng(1):split "warm start", {}, {}, {}
  for i, s in ipairs(ctx.strategies) do
    heads[i] = ctx.core.logit(9, { l2 = params.l2, buffer = params.buffer })
    likely[i] = rules[s.name] or rules[s.target]
  end
  for j = 0, params.warm_start - 1 do
    local i = j % #heads + 1
    for d = 1, 9 do phi[d] = rng:uniform() end
    heads[i]:learn(phi, rng:uniform() < likely[i](phi))
  end
  for _, head in ipairs(heads) do head:fit() end
  return heads
end

local function new(params, ctx)
  local core, strategies, open = ctx.core, #ctx.strategies, ctx.open
  local seed, heads = ctx.rng:below(1 << 31), new_heads(params, ctx)
  local kernels, psi, log = {}, {}, {}          -- psi[i][k]: strategy i, kernel k
  for i = 1, strategies do psi[i] = {} end
  local policy = {}

  function policy.admit(kernel)
    kernel.note.at = #kernels + 1
    kernels[kernel.note.at] = kernel
  end

  function policy.choose(under_way, pending)
    local clusters, ln_t = params.clusters, math.log(max(1, #log + (under_way or 0)))
    local near = clusters ~= "each" and core.cluster(clusters // 1, 6, { seed = seed })
    local cluster, n, sum, waiting, value = {}, {}, {}, {}, {}  -- the last four by arm
    for k, kernel in ipairs(kernels) do cluster[k] = near and near:assign(kernel.rho) or k end
    for i, head in ipairs(heads) do
      for k, kernel in ipairs(kernels) do psi[i][k] = head:p(kernel.phi) end
    end
    for _, e in ipairs(log) do
      local a = cluster[e.k] * strategies + e.i
      n[a], sum[a] = (n[a] or 0) + 1, (sum[a] or 0) + e.reward
    end
    for _, e in ipairs(pending or {}) do        -- a pull under way counts as one more
      local a = cluster[e.parent.note.at] * strategies + e.strategy
      waiting[a] = (waiting[a] or 0) + 1
    end

    local function mean(a) return n[a] and sum[a] / n[a] or 0 end
    local function exploration(a)
      local pulls = (n[a] or 0) + (waiting[a] or 0)
      return pulls > 0 and params.c * (ln_t / pulls) ^ 0.5 or nil
    end

    local best, k, i = -math.huge, nil, nil
    for at = 1, #kernels do
      for s = 1, strategies do
        local a = cluster[at] * strategies + s
        value[a] = value[a] or mean(a) + (exploration(a) or first)
        local score = value[a] + params.alpha * psi[s][at]
        if score > best and open(kernels[at], s) then best, k, i = score, at, s end
      end
    end
    if not k then return nil end
    local a = cluster[k] * strategies + i
    return kernels[k], i, { mean = mean(a), exploration = exploration(a), psi = psi[i][k],
                            cluster = cluster[k] }
  end

  function policy.learn(pull)
    log[#log + 1] = { k = pull.parent.note.at, i = pull.strategy, reward = pull.reward }
    heads[pull.strategy]:learn(pull.parent.phi, pull.reward > 0)
    heads[pull.strategy]:fit()
  end

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
