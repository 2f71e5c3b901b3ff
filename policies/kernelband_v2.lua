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

local function new(params, ctx)
  local core, n, open, rng = ctx.core, #ctx.strategies, ctx.open, ctx.rng
  local each = params.clusters == "each"
  local most = each and 65536 // n or params.clusters
  local function new_ucb()
    return core.ucb(most * n, { c = params.c, prior_mean = params.start_mean,
                                prior_pulls = params.start_pulls })
  end
  local ucb = new_ucb()
  local kernels, cluster, by_id, pulls = {}, {}, {}, 0
  local groups, reps = {}, {}           -- members of a cluster; their representative
  local signatures, numbers, at = core.points(5), {}, {}    -- numbers: of a cluster's members
  local defects, log, near = params.published_defects, {}, nil
  local target, theta, sat = {}, {}, params.theta_sat
  for i = 1, n do
    target[i] = ctx.strategies[i].target
    theta[i] = type(sat) == "number" and sat or sat[target[i]] or 75
  end
  for c = 1, each and 0 or most do groups[c], numbers[c] = {}, {} end

  local function join(kernel, c)
    local list, its = groups[c] or {}, numbers[c] or {}
    cluster[kernel], groups[c], numbers[c], reps[c] = c, list, its, nil
    list[#list + 1], its[#its + 1] = kernel, at[kernel]
  end

  local function regroup()
    local points = {}
    for j, k in ipairs(kernels) do points[j] = k.signature end
    local found = core.cluster(most, #points[1], { seed = rng:below(1 << 31) })
    local ids, renamed = found:fit(points), defects and permutation(most, rng)
    for c = 1, most do groups[c], numbers[c], reps[c] = {}, {}, nil end
    for j, k in ipairs(kernels) do join(k, renamed and renamed[ids[j]] or ids[j]) end
    if defects then return end
    near, ucb = found, new_ucb()        -- the table anew, from the log of pulls
    for _, e in ipairs(log) do ucb:update((cluster[e[1]] - 1) * n + e[2], e[3]) end
  end

  -- Whether strategy i has anything left to propose in a cluster.
  local function any_open(list, i)
    for _, k in ipairs(list) do if open(k, i) then return true end end
  end

  -- Open strategies of a cluster, less masked ones; of all masked the roomiest stays.
  local function unmasked(c, list)
    local out, spare, most_room = {}, nil, -huge
    for i = 1, n do
      if any_open(list, i) then
        local rep = reps[c] or list[signatures:central(numbers[c], not defects)]
        reps[c] = rep
        local room = theta[i] - (rep.h[target[i]] or 0)
        if room > 0 then out[#out + 1] = i end
        if room > most_room then spare, most_room = i, room end
      end
    end
    if #out == 0 then out[1] = spare end
    return out
  end

  local function draw_parent(c, i)
    local list, rep = groups[c], not defects and reps[c] or nil
    local candidates, weight, top, total, name = {}, {}, -huge, 0, target[i]
    for _, k in ipairs(list) do
      if open(k, i) then
        local h, j = k.h[name] or rep and rep.h[name], #candidates + 1
        candidates[j], weight[j] = k, h and (theta[i] - h) / params.temperature or 0
        if weight[j] > top then top = weight[j] end
      end
    end
    for j, w in ipairs(weight) do
      weight[j] = exp(w - top)
      total = total + weight[j]
    end
    local left, j = rng:uniform() * total, 1
    while j < #candidates and left >= weight[j] do left, j = left - weight[j], j + 1 end
    return candidates[j]
  end

  local policy = {}

  function policy.admit(kernel)
    kernels[#kernels + 1], by_id[kernel.id] = kernel, kernel
    at[kernel] = signatures:add(kernel.signature)
    local parent = by_id[kernel.parent or 0]
    join(kernel, each and math.min(kernel.id, most)
                 or near and near:assign(kernel.signature) or parent and cluster[parent] or 1)
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
