-- KernelBand v2 (arXiv 2511.18868, February 2026): masked UCB over (cluster, strategy),
--
--   mean(i, s) + c sqrt(ln t / N(i, s)),   mean 0.5 and N 1 to start with,
--
-- masked where the cluster's representative saturates the strategy's resource: M(i, s)
-- = 1 when h(rep)[target(s)] < theta_sat. The parent is drawn inside the cluster with
-- P(k) ~ exp((theta - h(k)) / temperature). Clusters are found anew every tau pulls.
-- published_defects: false is the algorithm as printed; true the published code, with which
-- older runs go on: ids of new clusters are permuted while means stay with the id, a child
-- takes its parent's id, the representative is nearest by unscaled distance, an
-- unprofiled kernel counts as headroom 0, and a failure is a reward of 0.
-- clusters: or "each", one a kernel. theta_sat: a number, or { sm =, dram =, l2 = }.

local exp, huge, insert = math.exp, math.huge, table.insert

-- 1 .. n in a random order.
local function permutation(n, rng)
  local p = {}
  for i = 1, n do insert(p, 1 + rng:below(i), i) end
  return p
end

-- The member of list with the signature nearest their mean, the first of several; scaled:
-- by the variance over all kernels.
local function central(list, kernels, scaled)
  local far, best = {}, 1
  for d = 1, 5 do
    local mean, all, squares = 0, 0, 0
    for _, k in ipairs(list) do mean = mean + k.signature[d] / #list end
    for _, k in ipairs(kernels) do all = all + k.signature[d] / #kernels end
    for _, k in ipairs(kernels) do squares = squares + (k.signature[d] - all) ^ 2 end
    local weight = not scaled and 1 or squares > 0 and #kernels / squares or 0
    for j, k in ipairs(list) do far[j] = (far[j] or 0) + weight * (k.signature[d] - mean) ^ 2 end
  end
  for j, f in ipairs(far) do best = f < far[best] and j or best end
  return list[best]
end

local function new(params, ctx)
  local core, n, open, rng = ctx.core, #ctx.strategies, ctx.open, ctx.rng
  local each = params.clusters == "each"
  local most = each and 65536 // n or params.clusters
  local prior = { c = params.c, prior_mean = params.start_mean, prior_pulls = params.start_pulls }
  local ucb = core.ucb(most * n, prior)
  local kernels, cluster, by_id, pulls = {}, {}, {}, 0
  local groups, reps, log, near = {}, {}, {}, nil   -- members of a cluster; their representative
  local target, theta, sat, defects = {}, {}, params.theta_sat, params.published_defects
  for i = 1, n do
    target[i] = ctx.strategies[i].target
    theta[i] = type(sat) == "number" and sat or sat[target[i]] or 75
  end

  local function join(kernel, c)
    groups[c], cluster[kernel], reps[c] = groups[c] or {}, c, nil
    insert(groups[c], kernel)
  end

  local function regroup()
    local points = {}
    for j, k in ipairs(kernels) do points[j] = k.signature end
    local found = core.cluster(most, #points[1], { seed = rng:below(1 << 31) })
    local ids, renamed = found:fit(points), defects and permutation(most, rng)
    for c = 1, most do groups[c], reps[c] = {}, nil end
    for j, k in ipairs(kernels) do join(k, renamed and renamed[ids[j]] or ids[j]) end
    if defects then return end
    near, ucb = found, core.ucb(most * n, prior)  -- the table anew, from the log of pulls
    for _, e in ipairs(log) do ucb:update((cluster[e[1]] - 1) * n + e[2], e[3]) end
  end

  -- Open strategies of a cluster, less masked ones; of all masked the roomiest stays.
  local function unmasked(c, list)
    local out, spare, most_room = {}, nil, -huge
    for i = 1, n do
      local any = false                 -- is anything left to propose?
      for _, k in ipairs(list) do any = any or open(k, i) end
      if any then
        reps[c] = reps[c] or central(list, kernels, not defects)
        local room = theta[i] - (reps[c].h[target[i]] or 0)
        if room > 0 then out[#out + 1] = i end
        if room > most_room then spare, most_room = i, room end
      end
    end
    return #out > 0 and out or { spare }
  end

  local function draw_parent(c, i)
    local list, rep = groups[c], not defects and reps[c] or nil
    local candidates, weight, top, name = {}, {}, -huge, target[i]
    for _, k in ipairs(list) do
      if open(k, i) then
        local h, j = k.h[name] or rep and rep.h[name], #candidates + 1
        candidates[j], weight[j] = k, h and (theta[i] - h) / params.temperature or 0
        if weight[j] > top then top = weight[j] end
      end
    end
    for j, w in ipairs(weight) do weight[j] = exp(w - top) end
    return candidates[ctx.draw(weight)]
  end

  local policy = {}

  function policy.admit(kernel)
    kernels[#kernels + 1], by_id[kernel.id] = kernel, kernel
    join(kernel, each and math.min(kernel.id, most)
         or near and near:assign(kernel.signature) or cluster[by_id[kernel.parent]] or 1)
  end

  function policy.choose(under_way, pending)
    local arms, waiting = {}, {}
    for _, e in ipairs(pending or {}) do  -- a pull under way counts as one more
      local arm = ((cluster[e.parent] or 1) - 1) * n + e.strategy
      waiting[arm] = (waiting[arm] or 0) + 1
    end
    for c, list in ipairs(groups) do
      for _, i in ipairs(unmasked(c, list)) do arms[#arms + 1] = (c - 1) * n + i end
    end
    if #arms == 0 then return nil end
    local arm = arms[ucb:select(arms, nil, waiting, under_way)]
    local c, i = (arm - 1) // n + 1, (arm - 1) % n + 1
    return draw_parent(c, i), i, { mean = ucb:mean(arm), cluster = c,
      exploration = ucb:score(arm) - ucb:mean(arm) }
  end

  function policy.learn(pull)
    local parent, i, verdict = pull.parent, pull.strategy, pull.verdict
    local c = defects and pull.terms and pull.terms.cluster or cluster[parent]
    if verdict == "ok" or verdict == "not_applicable" or defects then
      ucb:update((c - 1) * n + i, pull.reward)
      log[#log + 1] = { parent, i, pull.reward }
    end
    pulls = pulls + 1
    if not each and pulls % params.tau == 0 and #kernels >= 2 * most then regroup() end
  end

  return policy
end

return {
  name = "kernelband_v2",
  summary = "masked score over clusters and strategies, as printed or as published",
  reward = "improvement", new = new,
  defaults = { c = 2, clusters = 3, tau = 10, theta_sat = 75, temperature = 1,
               start_mean = 0.5, start_pulls = 1, published_defects = false },
  removed = { update_on_failure = "published_defects = true updates on failures" },
  limits = { clusters = { 1, 64, "each" }, c = { 0 }, tau = { 1 }, start_pulls = { 0 } },
  accepts = { clusters = { "integer", "string" }, theta_sat = { "number", "table" } },
}
