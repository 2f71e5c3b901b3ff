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

local function warm_up(params, ctx)
  local rng, heads, n = ctx.core.rng(1):split "warm start", {}, #ctx.strategies
  for i = 1, n do heads[i] = ctx.core.logit(9, { l2 = params.l2, buffer = params.buffer }) end
  for j = 0, params.warm_start - 1 do
    local s, phi = ctx.strategies[j % n + 1], {}
    for d = 1, 9 do phi[d] = rng:uniform() end
    heads[j % n + 1]:learn(phi, rng:uniform() < (rules[s.name] or rules[s.target])(phi))
  end
  for _, head in ipairs(heads) do head:fit() end
  return heads
end

local warmed = {}       -- heads after the warm start by strategies: fitted once, then copied
local function new_heads(params, ctx)
  local key, heads = "", {}
  for _, s in ipairs(ctx.strategies) do key = key .. s.name .. " " .. s.target .. " " end
  warmed[key] = warmed[key] or warm_up(params, ctx)
  for i, head in ipairs(warmed[key]) do heads[i] = head:copy() end
  return heads
end

local function new(params, ctx)
  local core, n, open = ctx.core, #ctx.strategies, ctx.open
  local kernels, cluster, log, k, c, near, ucb = {}, {}, {}, nil, nil, nil, nil
  local seed, heads, phis = ctx.rng:below(1 << 31), new_heads(params, ctx), core.points(9)
  local psi, best, shut, found, arms, bias, policy = {}, {}, {}, {}, {}, {}, {}
  for i = 1, n do psi[i], best[i] = {}, {} end
  local function arm(at, i) return (cluster[at] - 1) * n + i end
  local function group(at)
    return near and near:assign(kernels[at].rho) or min(at, 65536 // n)
  end
  -- best[i][g]: of cluster g the kernel of highest psi, less those seen to be shut for i.
  local function rank(i, first)
    local row, top = psi[i], first and best[i] or {}
    best[i] = top
    for at = first or 1, #kernels do
      local g = cluster[at]
      if row[at] > (row[top[g]] or -1) and not shut[at * n + i] then top[g] = at end
    end
  end
  -- Everything anew for another number of clusters, from the kernels and the log.
  local function regroup()
    k, c = params.clusters, params.c
    near = k ~= "each" and core.cluster(k // 1, 6, { seed = seed }) or nil
    ucb = core.ucb((near and k // 1 or 65536 // n) * n, { c = c })
    for at = 1, #kernels do cluster[at] = group(at) end
    for i = 1, n do rank(i) end
    for _, e in ipairs(log) do ucb:update(arm(e[1], e[2]), e[3]) end
  end
  -- The best kernels by kernel, then strategy; their arms; what psi adds to each.
  local function candidates()
    local alpha, most, count = params.alpha, near and k or #kernels, 0
    for i = 1, n do
      local top = best[i]
      for g = 1, most do
        if top[g] then count, found[count + 1] = count + 1, top[g] * n + i - 1 end
      end
    end
    for j = #found, count + 1, -1 do found[j], arms[j], bias[j] = nil, nil, nil end
    sort(found)
    for j = 1, count do
      local at, i = found[j] // n, found[j] % n + 1
      arms[j], bias[j] = (cluster[at] - 1) * n + i, alpha * psi[i][at]
    end
  end
  function policy.admit(kernel)
    local at = phis:add(kernel.phi)
    kernels[at], kernel.note.at = kernel, at
    cluster[at] = group(at)
    for i = 1, n do
      psi[i][at] = heads[i]:p(kernel.phi)
      rank(i, at)
    end
  end
  function policy.choose(under_way, pending)
    if params.clusters ~= k or params.c ~= c then regroup() end
    local waiting, was = {}, shut
    for _, e in ipairs(pending or waiting) do   -- a pull under way counts as one more
      local a = arm(e.parent.note.at, e.strategy)
      waiting[a] = (waiting[a] or 0) + 1
    end
    shut = {}                                   -- it may be open again
    for pair in pairs(was) do rank((pair - 1) % n + 1) end
    while true do
      candidates()
      local j = ucb:select(arms, bias, waiting, under_way)
      if not j then return nil end
      local at, i, a = found[j] // n, found[j] % n + 1, arms[j]
      if open(kernels[at], i) then
        local pulls = ucb:pulls(a) + (waiting[a] or 0)
        local bonus = c * sqrt(ln(max(1, ucb:t() + (under_way or 0))) / pulls)
        return kernels[at], i, { mean = ucb:mean(a), exploration = pulls > 0 and bonus or nil,
                                 psi = psi[i][at], cluster = cluster[at] }
      end
      shut[at * n + i] = true
      rank(i)
    end
  end
  function policy.learn(pull)
    local at, i = pull.parent.note.at, pull.strategy
    ucb:update(arm(at, i), pull.reward)
    log[#log + 1] = { at, i, pull.reward }
    heads[i]:learn(pull.parent.phi, pull.reward > 0)
    heads[i]:fit()
    heads[i]:p(phis, psi[i])
    rank(i)
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
