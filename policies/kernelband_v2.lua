-- KernelBand v2 (arXiv 2511.18868, February 2026) as published, its weak points
-- included, to compare against. An arm is a (cluster, strategy) pair,
--
--   mean(i, s) + c sqrt(ln t / N(i, s)),   mean 0.5 and N 1 to start with,
--
-- masked where the cluster's representative already saturates the resource the
-- strategy is aimed at: M(i, s) = 1 when h(rep)[target(s)] < theta_sat. The
-- parent is drawn inside the cluster with P(k) ~ exp((theta - h(k)) / temperature).
--
-- Kept from the published code, on purpose: clusters are found anew every tau
-- pulls and their ids permuted, while means stay with the id; a child takes its
-- parent's id; the representative is nearest by unscaled distance; headroom is
-- in percent points; an unprofiled kernel counts as headroom 0.
-- clusters: a number, or "each" for one a kernel. theta_sat: a number, or
-- { sm =, dram =, l2 = }. update_on_failure: as the code does (true), or only
-- after a verified child, as the printed algorithm does.

-- The member nearest the plain mean of the members.
local function representative(members)
  local mean, best, least = {}, nil, math.huge
  for _, k in ipairs(members) do
    for d, x in ipairs(k.signature) do mean[d] = (mean[d] or 0) + x / #members end
  end
  for _, k in ipairs(members) do
    local far = 0
    for d, x in ipairs(k.signature) do far = far + (x - mean[d]) ^ 2 end
    if far < least then best, least = k, far end
  end
  return best
end

-- 1 .. n in a random order.
local function permutation(n, rng)
  local p = {}
  for i = 1, n do table.insert(p, 1 + rng:below(i), i) end
  return p
end

local function new(params, ctx)
  local core, n, open, rng = ctx.core, #ctx.strategies, ctx.open, ctx.rng
  local each = params.clusters == "each"
  assert(each or type(params.clusters) == "number", "clusters must be a number "
         .. "or \"each\"")
  local most = each and 65536 // n or params.clusters
  local ucb = core.ucb(most * n, { c = params.c, prior_mean = params.start_mean,
                                   prior_pulls = params.start_pulls })
  local kernels, cluster, target, pulls = {}, {}, {}, 0
  for i = 1, n do target[i] = ctx.strategies[i].target end

  local sat = params.theta_sat
  local function theta(i) return type(sat) == "number" and sat or sat[target[i]] or 75 end

  local function members()
    local out = {}
    for c = 1, each and #kernels or most do out[c] = {} end
    for _, k in ipairs(kernels) do table.insert(out[cluster[k]], k) end
    return out
  end

  local function regroup()
    local points = {}
    for j, k in ipairs(kernels) do points[j] = k.signature end
    local groups = core.cluster(most, #points[1], { seed = rng:below(1 << 31) })
    local ids, renamed = groups:fit(points), permutation(most, rng)
    for j, k in ipairs(kernels) do cluster[k] = renamed[ids[j]] end
  end

  -- Open strategies of a cluster: those with anything left to propose, masked
  -- by the representative; when all are, the one with most headroom stays.
  local function unmasked(list)
    local out, rep, spare, most_room = {}, representative(list), nil, -math.huge
    for i = 1, n do
      local any = false
      for _, k in ipairs(list) do any = any or open(k, i) end
      if any then
        local room = theta(i) - (rep.h[target[i]] or 0)
        if room > 0 then out[#out + 1] = i end
        if room > most_room then spare, most_room = i, room end
      end
    end
    if #out == 0 then out[1] = spare end
    return out
  end

  local function draw_parent(list, i)
    local candidates, weight, top, total = {}, {}, -math.huge, 0
    for _, k in ipairs(list) do
      if open(k, i) then
        local h = k.h[target[i]]
        candidates[#candidates + 1] = k
        weight[#candidates] = h and (theta(i) - h) / params.temperature or 0
        top = math.max(top, weight[#candidates])
      end
    end
    for j, w in ipairs(weight) do
      weight[j] = math.exp(w - top)
      total = total + weight[j]
    end
    local at = rng:uniform() * total
    local j = 1
    while j < #candidates and at >= weight[j] do at, j = at - weight[j], j + 1 end
    return candidates[j]
  end

  local policy = {}

  function policy.admit(kernel)
    kernels[#kernels + 1] = kernel
    cluster[kernel] = each and math.min(kernel.id, most) or 1
    for _, k in ipairs(kernels) do
      if not each and k.id == kernel.parent then cluster[kernel] = cluster[k] end
    end
  end

  function policy.choose()
    local groups, arms = members(), {}
    for c, list in ipairs(groups) do
      for _, i in ipairs(unmasked(list)) do arms[#arms + 1] = (c - 1) * n + i end
    end
    if #arms == 0 then return nil end
    local arm = arms[ucb:select(arms)]
    local c, i = (arm - 1) // n + 1, (arm - 1) % n + 1
    return draw_parent(groups[c], i), i, { mean = ucb:mean(arm), cluster = c,
      exploration = ucb:score(arm) - ucb:mean(arm) }
  end

  function policy.learn(pull)
    local c = pull.terms and pull.terms.cluster or cluster[pull.parent]
    if pull.verdict == "ok" or params.update_on_failure then
      ucb:update((c - 1) * n + pull.strategy, pull.reward)
    end
    pulls = pulls + 1
    if not each and pulls % params.tau == 0 and #kernels >= 2 * most then
      regroup()
    end
  end

  return policy
end

return {
  name = "kernelband_v2",
  summary = "masked score over clusters and strategies, as published",
  reward = "improvement", new = new,
  defaults = { c = 2, clusters = 3, tau = 10, theta_sat = 75, temperature = 1,
               start_mean = 0.5, start_pulls = 1, update_on_failure = true },
  accepts = { clusters = { "number", "string" },
              theta_sat = { "number", "table" } },
}
