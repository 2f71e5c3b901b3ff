-- HybridVNDX (Willemsen, van Stein and van Werkhoven, arXiv 2510.17899, 2025; in Kernel Tuner
-- since 1.4): variable neighbourhood descent with a surrogate, recombination, a tabu list and
-- annealing, an optimiser that a language model wrote. From the paper's description.
--
-- One kernel is current. A neighbourhood, here a strategy, is drawn by weights that follow
-- what each improved. Of its children some are drawn, others recombine the current kernel
-- with one of the elites; the one that the k nearest measured points, by the number of
-- parameters that differ, forecast to be fastest is measured. It becomes current when it is
-- faster, or else with the probability of annealing. After a while without a new best the
-- search goes on from an elite.
--
--   k            neighbours of a forecast
--   candidates   children that a forecast chooses from; where the generator draws or asks a
--                model, one comes and nothing is forecast
--   recombined   share of them made with an elite
--   elites       fastest kernels kept for that, and for going on from
--   patience     pulls without a new best before that (the paper: 100 of thousands)
--   temperature  of annealing at first, in units of 10 % of speed-up
--   cooling      what a pull leaves of it
--   adapt        how fast a neighbourhood's weight follows; none falls below a tenth
-- A known child is never measured again: the paper's tabu list, without an end.

local exp, log, max, min = math.exp, math.log, math.max, math.min

local function new(params, ctx)
  local n, open, rng = #ctx.strategies, ctx.open, ctx.rng
  local elites, current, best, since, heat = {}, nil, 1, 0, params.temperature
  local weight, points, known, least = {}, {}, {}, 0
  local names                           -- of parameters, sorted
  for i = 1, n do weight[i] = 1 end

  local function key_of(p)
    local key, list = "", {}
    for name in pairs(names and {} or p) do list[#list + 1] = name end
    table.sort(list)
    names = names or list
    for _, name in ipairs(names) do key = key .. tostring(p[name]) .. " " end
    return key
  end

  local function apart(p, q)
    local count = 0
    for _, name in ipairs(names) do if p[name] ~= q[name] then count = count + 1 end end
    return count
  end

  -- A failure is as slow as the slowest kernel.
  local function measured(p, value)
    if not p then return end
    least = min(least, value or 0)
    known[key_of(p)] = true
    points[#points + 1] = { p, value }
  end

  local function forecast(p)
    local near = {}                     -- the k nearest so far, nearest first
    for _, point in ipairs(points) do
      local far, at = apart(p, point[1]), #near + 1
      while at > 1 and near[at - 1][1] > far do at = at - 1 end
      if at <= params.k then
        table.insert(near, at, { far, point[2] or least })
        near[params.k + 1] = nil
      end
    end
    local sum, weights = 0, 0
    for _, e in ipairs(near) do
      sum, weights = sum + e[2] / (1 + e[1]), weights + 1 / (1 + e[1])
    end
    return weights > 0 and sum / weights or 0
  end

  local policy = {}

  function policy.admit(kernel)
    current = current or kernel
    measured(kernel.params, log(kernel.speedup))
    local at = #elites + 1
    while at > 1 and elites[at - 1].speedup < kernel.speedup do at = at - 1 end
    table.insert(elites, at, kernel)    -- all of them, the fastest first
  end

  local function elite() return elites[1 + rng:below(min(params.elites, #elites))] end

  function policy.prefer(children)
    local fresh, pool, best_child, top = {}, {}, nil, -math.huge
    for j, p in ipairs(children) do
      if not known[key_of(p)] then fresh[#fresh + 1] = j end
    end
    for _ = 1, min(params.candidates, #fresh) do
      local pick = 1 + rng:below(#fresh)
      if rng:uniform() < params.recombined then    -- the one most like an elite
        local like = elite().params
        for m, j in ipairs(fresh) do
          if apart(children[j], like) < apart(children[fresh[pick]], like) then pick = m end
        end
      end
      pool[#pool + 1] = table.remove(fresh, pick)
    end
    for _, j in ipairs(pool) do
      local value = forecast(children[j])
      if value > top then best_child, top = j, value end
    end
    return best_child
  end

  local function neighbourhood(kernel)
    local list, total = {}, 0
    for i = 1, n do
      if open(kernel, i) then list[#list + 1], total = i, total + max(weight[i], 0.1) end
    end
    local left = rng:uniform() * total
    for at, i in ipairs(list) do
      left = left - max(weight[i], 0.1)
      if left < 0 or at == #list then return i end
    end
  end

  function policy.choose()
    if since >= params.patience then current, since = elite(), 0 end
    local i = neighbourhood(current)
    for at = 1, #elites do              -- where nothing is left of it, of the fastest
      if i then break end
      current, i = elites[at], neighbourhood(elites[at])
    end
    if i then return current, i end
  end

  function policy.learn(pull)
    local child, i = pull.child, pull.strategy
    if not child and pull.verdict ~= "no_candidate" then measured(pull.params) end
    local gain = child and log(child.speedup / current.speedup) or -1
    weight[i] = (1 - params.adapt) * weight[i] + params.adapt * (gain > 0 and 2 or 0)
    since, heat = since + 1, heat * params.cooling
    if child and child.speedup > best then best, since = child.speedup, 0 end
    if child and (gain > 0 or rng:uniform() < exp(gain / max(0.1 * heat, 1e-9))) then
      current = child
    end
  end

  return policy
end

return {
  name = "hybrid_vndx", summary = "neighbourhoods by weight, a forecast, elites, annealing",
  new = new,
  defaults = { k = 5, candidates = 8, recombined = 0.25, elites = 5, patience = 12,
               temperature = 1, cooling = 0.95, adapt = 0.2 },
  limits = { k = { 1, 64 }, candidates = { 1, 256 }, recombined = { 0, 1 }, elites = { 1, 64 },
             patience = { 1 }, temperature = { 0 }, cooling = { 0, 1 }, adapt = { 0, 1 } },
}
