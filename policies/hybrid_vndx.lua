-- HybridVNDX (Willemsen, van Stein and van Werkhoven, arXiv 2510.17899, 2025; in Kernel Tuner
-- since 1.4): variable neighbourhood descent with a surrogate, recombination, a tabu list (here
-- without an end) and annealing, which a language model wrote. From the paper's description.
--
-- One kernel is current. A neighbourhood, here a strategy, is drawn by how many parameters it
-- owns times a weight that follows what it improved. Of some of its children the one is
-- measured that its k nearest measured points, by the number of parameters that differ, say is
-- fastest. It becomes current when it is faster, or else with the probability of annealing.
-- After a while without a new best the search goes on from an elite.
--
--   k            neighbours of a forecast
--   candidates   children that a forecast chooses from, where they are listed
--   near         share of them that differ least from the current kernel (the paper: a half)
--   recombined   share of them that differ least from a cross of two elites
--   elites       fastest kernels kept for that, and for going on from
--   patience     pulls without a new best before that (the paper: 100 of thousands)
--   temperature  of annealing at first, in units of 10 % of speed-up
--   cooling      what a pull leaves of it
--   adapt        how fast a neighbourhood's weight follows; none falls below a tenth

local log, max, min = math.log, math.max, math.min

local function new(params, ctx)
  local open, rng, all = ctx.open, ctx.rng, 0
  local policy, elites, current, since, heat = {}, ctx.pool, nil, 0, params.temperature
  local weight, owned, points, known, least, coded = {}, {}, {}, {}, 0, {}
  for _, s in ipairs(ctx.strategies) do all = all + #(s.moves or {}) end
  for i, s in ipairs(ctx.strategies) do
    weight[i], owned[i] = 1, max(1, s.moves and s.moves[1] == "*" and all or #(s.moves or {}))
  end

  -- The values in the order of their names, and all as one word.
  local function words(p)
    if coded[p] then return coded[p] end
    local list, names = {}, {}
    for name in pairs(p) do names[#names + 1] = name end
    table.sort(names)
    for d, name in ipairs(names) do list[d] = tostring(p[name]) end
    coded[p], list.key = list, table.concat(list, " ")
    return list
  end

  local function apart(p, q)
    local count = 0
    for d, word in ipairs(p) do count = count + (word == q[d] and 0 or 1) end
    return count
  end

  local function measured(p, value)     -- no value: a failure, as slow as the slowest
    if not p then return end
    p, least = words(p), min(least, value or 0)
    known[p.key], points[#points + 1] = true, { p, value }
  end

  local function forecast(p)
    local near, sum = {}, 0
    for n, point in ipairs(points) do near[n] = { apart(p, point[1]), n } end
    table.sort(near, function(a, b) return a[1] < b[1] or a[1] == b[1] and a[2] < b[2] end)
    for n = 1, min(params.k, #near) do sum = sum + (points[near[n][2]][2] or least) end
    return sum / max(1, min(params.k, #near))
  end

  function policy.admit(kernel)
    current = current or kernel
    measured(kernel.params, log(kernel.speedup))
  end

  local function elite() return elites[1 + rng:below(min(params.elites, #elites))] end

  local function cross(a, b)
    local p, q, child = words(a.params), words(b.params), {}
    for d in ipairs(p) do child[d] = (rng:below(2) == 0 and p or q)[d] end
    return child
  end

  -- Of these the ones with the fewest values that differ from p's.
  local function nearest(children, p)
    local near, least_far = {}, math.huge
    for _, child in ipairs(children) do
      local far = apart(child, p)
      if far < least_far then near, least_far = {}, far end
      if far == least_far then near[#near + 1] = child end
    end
    return near
  end

  function policy.prefer(children)
    local fresh, picked, top = {}, nil, -math.huge
    for j, p in ipairs(children) do
      local w = words(p)
      if not known[w.key] then fresh[#fresh + 1], w.number = w, j end
    end
    local near = nearest(fresh, words(current.params))
    for _ = 1, fresh[1] and params.candidates or 0 do
      local lot, from = rng:uniform() - params.near, fresh
      if lot < 0 then from = near
      elseif lot < params.recombined then from = nearest(fresh, cross(elite(), elite())) end
      local child = from[1 + rng:below(#from)]
      local value = forecast(child)
      if value > top then picked, top = child.number, value end
    end
    return picked
  end

  local function neighbourhood(kernel)
    local picked, total = nil, 0
    for i in ipairs(owned) do
      local w = open(kernel, i) and owned[i] * max(weight[i], 0.1) or 0
      total = total + w
      if rng:uniform() * total < w then picked = i end
    end
    return picked
  end

  function policy.choose()
    if since >= params.patience then current, since = elite(), 0 end
    local i = neighbourhood(current)
    for at = 1, i and 0 or #elites do   -- where nothing is left of it, of the fastest
      if not i then current, i = elites[at], neighbourhood(elites[at]) end
    end
    if i then return current, i end
  end

  function policy.learn(pull)
    local child, i = pull.child, pull.strategy
    if not child and pull.verdict ~= "no_candidate" then measured(pull.params) end
    local gain = child and log(child.speedup / current.speedup) or -1
    weight[i] = (1 - params.adapt) * weight[i] + params.adapt * (gain > 0 and 2 or 0)
    since, heat = since + 1, heat * params.cooling
    if child and child.speedup > elites[1].speedup then since = 0 end
    if child and (gain > 0 or rng:uniform() < math.exp(gain / max(0.1 * heat, 1e-9))) then
      current = child
    end
  end

  return policy
end

return {
  name = "hybrid_vndx", new = new,
  summary = "neighbourhoods by weight, a forecast, elites, annealing",
  defaults = { k = 5, candidates = 8, near = 0.25, recombined = 0.125, elites = 5, patience = 12,
    temperature = 1, cooling = 0.95, adapt = 0.2 },
  limits = { k = { 1, 64 }, candidates = { 1, 256 }, near = { 0, 1 }, recombined = { 0, 1 },
    elites = { 1, 64 }, patience = { 1 }, temperature = { 0 }, cooling = { 0, 1 },
    adapt = { 0, 1 } },
}
