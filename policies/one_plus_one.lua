-- (1+1) evolution (Rechenberg, 1973; Metal-Sci's loop for kernels): one kernel is
-- kept, a child takes its place when it is no slower, everything else is dropped.
-- The strategy is drawn evenly. When the kept kernel has nothing left to try,
-- the next fastest is kept instead. It has no statistics: pulls under way are nothing to
-- it, and many at once are as many children of one kernel, (1+n) evolution.

local function new(_, ctx)
  local policy = {}

  function policy.choose()
    local kept, list
    for _, kernel in ipairs(ctx.pool) do        -- of equals the latest
      if kept and kernel.speedup < kept.speedup then break end
      local moves = ctx.open_strategies(kernel)
      if moves[1] then kept, list = kernel, moves end
    end
    if kept then return kept, list[1 + ctx.rng:below(#list)] end
  end

  return policy
end

return { name = "one_plus_one", summary = "keep one, replace it by a child no slower",
         defaults = {}, new = new }
