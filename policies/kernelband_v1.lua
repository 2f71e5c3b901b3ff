-- KernelBand v1 (arXiv 2511.18868, November 2025): a score of three terms over
-- every kernel k of the pool and every strategy s,
--
--   mean(c(k), s) + c sqrt(ln t / n(c(k), s)) + alpha psi(s, phi(k))
--
-- with c = sqrt 2 (the paper writes sqrt(2 ln t / n)), reward statistics shared
-- inside a cluster of kernels that behave alike (k-means++ on rho), and one
-- logistic head psi a strategy, read from the profile phi and warmed up with
-- synthetic pairs. Every (cluster, strategy) arm is pulled once first. The ring
-- of `buffer` samples is one a head.
--
-- clusters: a number, or "each" for one cluster a kernel. warm_start: pairs.

-- How likely a strategy is to help, by roofline rules on phi: what it would
-- improve is low, or what it relieves is high. By name, else by target.
local l2_hit, mem_bw, sm_util, warp_eff, occupancy = 1, 2, 3, 4, 5
local registers, conflicts, coalesced, tensor = 6, 7, 8, 9

local rules = {
  tiling = function(p) return (1 - p[l2_hit]) * (0.5 + 0.5 * p[mem_bw]) end,
  fusion = function(p) return p[mem_bw] end,
  access_layout = function(p)
    return math.max(1 - p[coalesced], p[conflicts])
  end,
  vectorization = function(p)
    return 0.5 * p[sm_util] * (1 - p[tensor]) + 0.5 * (1 - p[coalesced])
  end,
  pipeline = function(p) return (1 - p[sm_util]) * (0.5 + 0.5 * p[mem_bw]) end,
  reordering = function(p) return 0.5 * (1 - p[l2_hit]) + 0.5 * (1 - p[warp_eff]) end,
  parallelism_occupancy = function(p)
    return (1 - p[occupancy]) * (0.5 + 0.5 * p[registers])
  end,
  compute_instruction = function(p) return p[sm_util] * (1 - p[tensor]) end,
}
rules.tiling_blocking, rules.operation_fusion = rules.tiling, rules.fusion
rules.memory_access = rules.access_layout
rules.memory_layout = rules.access_layout
rules.asynchrony_latency = rules.pipeline

local by_target = {
  sm   = function(p) return 1 - p[sm_util] end,
  dram = function(p) return math.max(p[mem_bw], 1 - p[coalesced]) end,
  l2   = function(p) return 1 - p[l2_hit] end,
}

local function warm_up(heads, pairs_wanted, ctx)
  local rng = ctx.core.rng(1):split "warm start"
  for n = 0, pairs_wanted - 1 do
    local i = n % #heads + 1
    local strategy, phi = ctx.strategies[i], {}
    for d = 1, 9 do phi[d] = rng:uniform() end
    local rule = rules[strategy.name] or by_target[strategy.target]
    heads[i]:learn(phi, rng:uniform() < rule(phi))
  end
  for _, head in ipairs(heads) do head:fit() end
end

-- Heads after the warm start, which is the same in every search of these
-- strategies: fitted once, copied afterwards.
local warmed = {}

local function new_heads(params, ctx)
  local words = { params.warm_start, params.l2, params.buffer }
  for _, s in ipairs(ctx.strategies) do words[#words + 1] = s.name .. ":" .. s.target end
  local key, heads = table.concat(words, " "), {}
  if not warmed[key] then
    for i in ipairs(ctx.strategies) do
      heads[i] = ctx.core.logit(9, { l2 = params.l2, buffer = params.buffer })
    end
    warm_up(heads, params.warm_start, ctx)
    warmed[key] = heads
  end
  local out = {}
  for i, head in ipairs(warmed[key]) do out[i] = head:copy() end
  return out
end

local function new(params, ctx)
  local core, n, open, alpha = ctx.core, #ctx.strategies, ctx.open, params.alpha
  local each = params.clusters == "each"
  assert(each or type(params.clusters) == "number",
         "clusters must be a number or \"each\"")
  local most = each and 65536 // n or params.clusters
  local near = not each and core.cluster(most, 6, { seed = ctx.rng:below(1 << 31) })
  local ucb, heads, cluster = core.ucb(most * n, { c = params.c }), new_heads(params, ctx), {}

  -- All (kernel, strategy) pairs, one after another; a pair's bias changes only
  -- when its strategy's head is fitted.
  local parents, arms, biases = {}, {}, {}
  local policy, open_arms, open_biases, place = {}, {}, {}, {}

  function policy.admit(kernel)
    local c = each and math.min(kernel.id, most) or near:assign(kernel.rho)
    cluster[kernel] = c
    for i = 1, n do
      local at = #parents + 1
      parents[at], arms[at] = kernel, (c - 1) * n + i
      biases[at] = alpha * heads[i]:p(kernel.phi)
    end
  end

  function policy.choose()
    local count, i = 0, 0
    for at, kernel in ipairs(parents) do
      i = i % n + 1
      if open(kernel, i) then
        count = count + 1
        open_arms[count], open_biases[count], place[count] = arms[at], biases[at], at
      end
    end
    if count == 0 then return nil end
    for at = #open_arms, count + 1, -1 do open_arms[at], open_biases[at] = nil, nil end
    local at = place[ucb:select(open_arms, open_biases)]
    local a, parent, strategy = arms[at], parents[at], (at - 1) % n + 1
    local tried = ucb:pulls(a) > 0
    return parent, strategy, {
      mean = ucb:mean(a), exploration = tried and ucb:score(a) - ucb:mean(a) or nil,
      psi = heads[strategy]:p(parent.phi), cluster = cluster[parent],
    }
  end

  function policy.learn(pull)
    local i = pull.strategy
    local head = heads[i]
    ucb:update((cluster[pull.parent] - 1) * n + i, pull.reward)
    head:learn(pull.parent.phi, pull.reward > 0)
    head:fit()
    for at = i, #parents, n do biases[at] = alpha * head:p(parents[at].phi) end
  end

  return policy
end

return {
  name = "kernelband_v1",
  summary = "three-term score over kernels and strategies, as published",
  reward = "relative", new = new,
  defaults = { alpha = 0.5, clusters = 3, c = 2 ^ 0.5, buffer = 500,
               warm_start = 1000, l2 = 1 },
  accepts = { clusters = { "number", "string" } },
}
