-- MAP-Elites (Mouret and Clune, arXiv 1504.04909; for kernels KernelFoundry and
-- OpenEvolve): kernels are sorted into cells by how they behave, each cell keeps
-- its fastest, the elite. A parent is an elite, all alike, or, with chance
-- `exploit` (OpenEvolve's exploitation ratio), the fastest of all; the strategy
-- is drawn evenly. So slow kernels of a kind of their own stay in play.
--
-- The behaviour are the features of phi named by `axes`, each cut into `bins`;
-- features that are missing put everything in one cell. Cells have no statistics, so
-- pulls under way are nothing to it.

local function new(params, ctx)
  local rng, moves = ctx.rng, ctx.open_strategies
  local elite, cells = {}, {}                 -- by cell; cells in order of discovery
  local kernels = {}
  local policy = {}

  local function cell_of(kernel)
    local key = {}
    for d, axis in ipairs(params.axes) do
      local x = math.min(1, math.max(0, kernel.phi[axis] or 0))
      key[d] = math.min(params.bins - 1, x * params.bins // 1)
    end
    return table.concat(key, ",")
  end

  function policy.admit(kernel)
    local cell = cell_of(kernel)
    kernels[#kernels + 1] = kernel
    if not elite[cell] then cells[#cells + 1] = cell end
    if not elite[cell] or kernel.speedup > elite[cell].speedup then elite[cell] = kernel end
  end

  -- A kernel of the list with a move left, all alike; with its moves.
  local function any(list)
    local left = {}
    for _, kernel in ipairs(list) do
      local m = moves(kernel)
      if #m > 0 then left[#left + 1] = { kernel, m } end
    end
    if #left > 0 then return table.unpack(left[1 + rng:below(#left)]) end
  end

  function policy.choose()
    local list = {}
    for at, cell in ipairs(cells) do list[at] = elite[cell] end
    local parent, m
    if rng:uniform() < params.exploit then parent, m = any { ctx.pool[1] } end
    if not parent then parent, m = any(list) end
    if not parent then parent, m = any(kernels) end
    if parent then return parent, m[1 + rng:below(#m)] end
  end

  return policy
end

return { name = "map_elites", summary = "the fastest kernel of every kind of behaviour",
         defaults = { axes = { 2, 3, 5 }, bins = 4, exploit = 0.7 }, new = new }
