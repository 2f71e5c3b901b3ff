-- KernelBand v1 (arXiv 2511.18868, November 2025): a score of three terms over
-- every kernel k of the pool and every strategy s,
--   mean(c(k), s) + c sqrt(ln t / n(c(k), s)) + alpha psi(s, phi(k))
-- with c = sqrt 2 (the paper writes sqrt(2 ln t / n)), reward statistics shared
-- inside a cluster of kernels that behave alike (k-means++ on rho), and one
-- logistic head psi a strategy, read from the profile phi and warmed up with
-- synthetic pairs. Every arm is pulled once first. A ring of `buffer` samples a
-- head. clusters: a number, or "each" for one a kernel. warm_start: pairs.

-- How likely a strategy is to help, by roofline rules on phi: what it would
-- improve is low, or what it relieves is high. By name, else by target.
local l2_hit, mem_bw, sm_util, warp_eff, occupancy = 1, 2, 3, 4, 5
local registers, conflicts, coalesced, tensor = 6, 7, 8, 9

local rules = {
  tiling = function(p) return (1 - p[l2_hit]) * (0.5 + 0.5 * p[mem_bw]) end,
  fusion = function(p) return p[mem_bw] end,
  access_layout = function(p) return math.max(1 - p[coalesced], p[conflicts]) end,
  vectorization = function(p) return (p[sm_util] * (1 - p[tensor]) + 1 - p[coalesced]) / 2 end,
  pipeline = function(p) return (1 - p[sm_util]) * (0.5 + 0.5 * p[mem_bw]) end,
  reordering = function(p) return 0.5 * (1 - p[l2_hit]) + 0.5 * (1 - p[warp_eff]) end,
  parallelism_occupancy = function(p) return (1 - p[occupancy]) * (0.5 + 0.5 * p[registers]) end,
  compute_instruction = function(p) return p[sm_util] * (1 - p[tensor]) end,
}
rules.tiling_blocking, rules.operation_fusion = rules.tiling, rules.fusion
rules.memory_access, rules.memory_layout = rules.access_layout, rules.access_layout
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

local warmed = {}       -- heads after the warm start by strategies: fitted once, then copied
local function new_heads(params, ctx)
  local key, heads, out = "", {}, {}
  for i, s in ipairs(ctx.strategies) do
    key, heads[i] = key .. s.name .. " " .. s.target .. " ", ctx.core.logit(9,
      { l2 = params.l2, buffer = params.buffer })
  end
  if not warmed[key] then warm_up(heads, params.warm_start, ctx) end
  warmed[key] = warmed[key] or heads
  for i, head in ipairs(warmed[key]) do out[i] = head:copy() end
  return out
end

local function new(params, ctx)
  local core, n, open = ctx.core, #ctx.strategies, ctx.open
  assert(params.clusters == "each" or type(params.clusters) == "number",
         "clusters must be a number or \"each\"")
  local kernels, cluster, log, psi, k, near, ucb = {}, {}, {}, {}, nil, nil, nil
  local seed, heads = ctx.rng:below(1 << 31), new_heads(params, ctx)
  for i = 1, n do psi[i] = {} end
  local function arm(at, i) return (cluster[at] - 1) * n + i end
  local function assign(at, kernel)
    return near and near:assign(kernel.rho) or math.min(at, 65536 // n)
  end
  -- Everything anew for another number of clusters, from the kernels and the log.
  local function regroup()
    k = params.clusters
    near = k ~= "each" and core.cluster(k // 1, 6, { seed = seed }) or nil
    ucb = core.ucb((near and k // 1 or 65536 // n) * n, { c = params.c })
    for at, kernel in ipairs(kernels) do cluster[at] = assign(at, kernel) end
    for _, e in ipairs(log) do ucb:update(arm(e[1], e[2]), e[3]) end
  end
  -- Of every arm the open kernel of highest psi, by kernel, then strategy.
  local function candidates(closed)
    local best, list = {}, {}
    for i = 1, n do
      local row = psi[i]
      for at = 1, #kernels do
        local a = arm(at, i)
        local other = best[a]
        if (not other or row[at] > row[other]) and not closed[at * n + i] then
          best[a] = at
          if not other then list[#list + 1] = a end
        end
      end
    end
    table.sort(list, function(x, y) return best[x] < best[y] or best[x] == best[y] and x < y end)
    return list, best
  end
  local policy = {}
  function policy.admit(kernel)
    local at = #kernels + 1
    kernels[at], kernel.note.at = kernel, at
    for i = 1, n do psi[i][at] = heads[i]:p(kernel.phi) end
    cluster[at] = assign(at, kernel)
  end
  function policy.choose(under_way, pending)
    if params.clusters ~= k then regroup() end
    local waiting, closed = {}, {}      -- a pull under way counts as one more
    for _, e in ipairs(pending or {}) do
      local a = arm(e.parent.note.at, e.strategy)
      waiting[a] = (waiting[a] or 0) + 1
    end
    local log_t = math.log(math.max(1, ucb:t() + (under_way or 0)))
    while true do
      local list, best = candidates(closed)
      local top, pick, terms, fresh = -math.huge, nil, nil, false
      for _, a in ipairs(list) do
        local i, pulls = (a - 1) % n + 1, ucb:pulls(a) + (waiting[a] or 0)
        local bonus = pulls > 0 and params.c * math.sqrt(log_t / pulls) or nil
        local value = params.alpha * psi[i][best[a]] + (bonus and ucb:mean(a) + bonus or 0)
        if not bonus and not fresh or (not bonus) == fresh and value > top then
          top, pick, fresh = value, a, not bonus
          terms = { mean = ucb:mean(a), exploration = bonus, psi = psi[i][best[a]] }
        end
      end
      if not pick then return nil end
      local at, i = best[pick], (pick - 1) % n + 1
      terms.cluster = cluster[at]
      if open(kernels[at], i) then return kernels[at], i, terms end
      closed[at * n + i] = true
    end
  end

  function policy.learn(pull)
    local at, i = pull.parent.note.at, pull.strategy
    ucb:update(arm(at, i), pull.reward)
    log[#log + 1] = { at, i, pull.reward }
    heads[i]:learn(pull.parent.phi, pull.reward > 0)
    heads[i]:fit()
    for j, kernel in ipairs(kernels) do psi[i][j] = heads[i]:p(kernel.phi) end
  end

  regroup()
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
