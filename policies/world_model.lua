-- Utility tree, after K-Search (arXiv 2602.19128), without the model: there a
-- language model keeps a tree of what might be done next to each kernel, with an
-- estimate of its worth, and rewrites both as results come in. Here a leaf is an
-- open (kernel, strategy) pair and its utility is
--
--   ln(speedup of the kernel) + expected gain of the strategy
--
-- the gain being the mean log gain seen with the strategy, shrunk to `hope`. The
-- leaf of highest utility is worked on until `patience` tries in a row brought
-- nothing better than the kernel; then it is closed, and comes back only when
-- every leaf is closed. A try under way counts as one that brought nothing.

local function new(params, ctx)
  local n, open, idle = #ctx.strategies, ctx.open, {}
  local gains = ctx.core.ucb(n, { c = 0, prior_mean = params.hope, prior_pulls = params.trust })
  local policy = {}

  -- Tries of a kernel that brought nothing, by strategy.
  local function idle_of(kernel)
    idle[kernel] = idle[kernel] or {}
    return idle[kernel]
  end

  -- The best leaf among those with fewer than `limit` idle tries.
  local function leaf(limit)
    local parent, index, top = nil, nil, -math.huge
    for _, kernel in ipairs(ctx.pool) do
      local base, own = math.log(kernel.speedup), idle_of(kernel)
      for i = 1, n do
        local value = base + gains:mean(i)
        if value > top and (own[i] or 0) < limit and open(kernel, i) then
          parent, index, top = kernel, i, value
        end
      end
    end
    return parent, index
  end

  function policy.choose()
    local parent, i = leaf(params.patience)
    local limit = params.patience
    while not parent and limit < 64 * params.patience do
      limit = 2 * limit
      parent, i = leaf(limit)
    end
    if not parent then parent, i = leaf(math.huge) end
    if not parent then return nil end
    local own = idle_of(parent)
    own[i] = (own[i] or 0) + 1
    return parent, i, { mean = gains:mean(i) }
  end

  function policy.learn(pull)
    local parent, i, child = pull.parent, pull.strategy, pull.child
    local g = child and math.log(child.speedup / parent.speedup) or -params.hope
    gains:update(i, math.max(-1, g))
    if child and child.speedup_low > parent.speedup_high then idle_of(parent)[i] = 0 end
  end

  return policy
end

return { name = "world_model", summary = "the pair of highest utility until it stalls",
         defaults = { hope = 0.2, trust = 2, patience = 3 }, limits = { trust = { 0 } },
         new = new }
