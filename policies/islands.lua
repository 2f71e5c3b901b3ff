-- Islands (evolution with migration, as Kernel-Smith, arXiv 2603.28342, and
-- ShinkaEvolve run it): `islands` populations take turns and breed apart; a child
-- lives where its parent does. Every `migrate` pulls the fastest of each island
-- also settles on the next one, in a ring. A parent is drawn from its island by
-- rank, with chance ~ 1 / rank^pressure; the strategy is drawn evenly.

local function new(params, ctx)
  local rng = ctx.rng
  local island, home, pulls = {}, {}, 0
  for at = 1, params.islands do island[at] = {} end   -- each fastest first
  local policy = {}

  local function settle(kernel, where)
    local list = island[where]
    for _, known in ipairs(list) do
      if known == kernel then return end
    end
    local at = #list + 1
    while at > 1 and list[at - 1].speedup < kernel.speedup do at = at - 1 end
    table.insert(list, at, kernel)
  end

  -- The baseline is everyone's ancestor.
  function policy.admit(kernel)
    if not kernel.parent then
      for at = 1, #island do settle(kernel, at) end
      home[kernel.id] = 1
    else
      home[kernel.id] = home[kernel.id] or home[kernel.parent] or 1
      settle(kernel, home[kernel.id])
    end
  end

  -- A kernel of the list, drawn by rank among those with a move left; with its moves.
  local function parent_on(list)
    local left, weight = {}, {}
    for _, kernel in ipairs(list) do
      local moves = ctx.open_strategies(kernel)
      if moves[1] then
        left[#left + 1] = { kernel, moves }
        weight[#left] = (#left) ^ -params.pressure
      end
    end
    if left[1] then return table.unpack(left[ctx.draw(weight)]) end
  end

  function policy.choose()
    local turn = pulls + ctx.pending()
    for step = 0, #island - 1 do
      local where = (turn + step) % #island + 1
      local kernel, m = parent_on(island[where])
      if kernel then
        return kernel, m[1 + rng:below(#m)], { cluster = where }
      end
    end
  end

  local function migration()
    local best = {}
    for at, list in ipairs(island) do best[at] = list[1] end
    for at, kernel in ipairs(best) do settle(kernel, at % #island + 1) end
  end

  function policy.learn(pull)
    pulls = pulls + 1
    if pull.child and pull.terms then home[pull.child.id] = pull.terms.cluster end
    if pulls % params.migrate == 0 then migration() end
  end

  return policy
end

return { name = "islands", summary = "populations apart, with migration",
         defaults = { islands = 3, migrate = 10, pressure = 1 },
         limits = { migrate = { 1 } }, new = new }
