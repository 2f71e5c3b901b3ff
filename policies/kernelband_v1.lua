-- KernelBand v1 (arXiv 2511.18868, November 2025): a score of three terms over
-- every kernel k of the pool and every strategy s,
--   mean(c(k), s) + c sqrt(ln t / n(c(k), s)) + alpha psi(s, phi(k))
-- with c = sqrt 2 (the paper writes sqrt(2 ln t / n)), reward statistics shared
-- inside a cluster of kernels that behave alike (k-means++ on rho), and one
-- logistic head psi a strategy, read from the profile phi and warmed up with
-- synthetic pairs. Every arm is pulled once first. A ring of `buffer` samples a
-- head. clusters: a number, or "each" for one a kernel. warm_start: pairs.
local max, huge = math.max, math.huge

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
  for d = 1, 9 do phi[d] = 0 end
  for i, s in ipairs(ctx.strategies) do
    heads[i] = ctx.core.logit(9, { l2 = params.l2, buffer = params.buffer })
    likely[i] = rules[s.name] or rules[s.target]
  end
  for j = 0, params.warm_start - 1 do
    local i = j % #heads + 1
    heads[i]:learn(rng:uniform(phi), rng:uniform() < likely[i](phi))
  end
  for _, head in ipairs(heads) do head:fit() end
  return heads
end

local function new(params, ctx)
  local core, n, open = ctx.core, #ctx.strategies, ctx.open
  local seed, heads = ctx.rng:below(1 << 31), new_heads(params, ctx)
  local kernels, log = {}, {}
  local first, groups = {}, {}            -- first[k] + i: the arm of k and i
  local near, ucb, clusters, c, alpha
  local policy = {}

  -- A group's kernels, psi[i][j] of its j-th, and top[i], the j of the highest
  -- alpha psi, where it is known.
  local function join(k, at)
    local g = near and near:assign(k.rho) or math.min(at, 65536 // n)
    local group = groups[g] or { psi = {} }
    group.top = {}
    first[k], groups[g], group[#group + 1] = (g - 1) * n, group, k
    for i, head in ipairs(heads) do
      group.psi[i] = group.psi[i] or {}
      group.psi[i][#group] = head:p(k.phi)
    end
  end

  -- Clusters and arms from the kernels and the pulls up to now.
  local function regroup()
    clusters, c, groups = params.clusters, params.c, {}
    local most = clusters == "each" and 65536 // n or clusters // 1
    near = clusters ~= "each" and core.cluster(most, 6, { seed = seed })
    ucb = core.ucb(most * n, { c = c })
    for at, k in ipairs(kernels) do join(k, at) end
    for _, pull in ipairs(log) do ucb:update(first[pull.parent] + pull.strategy, pull.reward) end
  end

  function policy.admit(k)
    kernels[#kernels + 1] = k
    join(k, #kernels)
  end

  -- Of a group's kernels the one of the highest alpha psi has the highest score with a strategy.
  -- Its place in the group; open_only: of those that may be pulled with it.
  local function highest(group, i, open_only)
    local most, top, psi = -huge, nil, group.psi[i]
    for j = 1, #psi do
      local value = alpha * psi[j]
      if value > most and (not open_only or open(group[j], i)) then most, top = value, j end
    end
    return top
  end

  function policy.choose(under_way, pending)
    if params.clusters ~= clusters or params.c ~= c then regroup() end
    local arms, bias, parent, waiting = {}, {}, {}, {}
    local anew = params.alpha ~= alpha
    alpha = params.alpha
    for g, group in ipairs(groups) do
      for i = 1, n do
        local top = not anew and group.top[i] or highest(group, i)
        group.top[i] = top
        if not open(group[top], i) then top = highest(group, i, true) end
        if top then
          local j = #arms + 1
          arms[j], bias[j], parent[j] = (g - 1) * n + i, alpha * group.psi[i][top], group[top]
        end
      end
    end
    for _, e in ipairs(pending or {}) do          -- a pull under way counts as one more
      local a = first[e.parent] + e.strategy
      waiting[a] = (waiting[a] or 0) + 1
    end
    local j = ucb:select(arms, bias, waiting, under_way)
    if not j then return nil end
    local a, k = arms[j], parent[j]
    local i, mean = (a - 1) % n + 1, ucb:mean(a)
    return k, i, { mean = mean, psi = heads[i]:p(k.phi), cluster = first[k] // n + 1,
                   exploration = ucb:pulls(a) > 0 and ucb:score(a) - mean or nil }
  end

  function policy.learn(pull)
    local i, head = pull.strategy, heads[pull.strategy]
    log[#log + 1] = pull
    ucb:update(first[pull.parent] + i, pull.reward)
    head:learn(pull.parent.phi, pull.reward > 0)
    head:fit()
    for _, group in ipairs(groups) do
      local psi = group.psi[i]
      for j = 1, #psi do psi[j] = head:p(group[j].phi) end
      group.top[i] = nil
    end
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
