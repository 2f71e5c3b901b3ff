-- (1+1) evolution (Rechenberg, 1973; Metal-Sci's loop for kernels): one kernel is
-- kept, a child takes its place when it is no slower, everything else is dropped.
-- The strategy is drawn evenly. When the kept kernel has nothing left to try,
-- the next fastest is kept instead. It has no statistics: pulls under way are nothing to
-- it, and many at once are as many children of one kernel, (1+n) evolution.

local function new(_, ctx)
  local n, open, rng = #ctx.strategies, ctx.open, ctx.rng
  local kernels, kept = {}, nil
  local policy = {}

  function policy.admit(kernel)
    kernels[#kernels + 1] = kernel
    if not kept or kernel.speedup >= kept.speedup then kept = kernel end
  end

  local function moves(kernel)
    local out = {}
    for i = 1, n do
      if open(kernel, i) then out[#out + 1] = i end
    end
    return out
  end

  function policy.choose()
    local list = moves(kept)
    if #list == 0 then
      kept = nil
      for _, kernel in ipairs(kernels) do
        if (not kept or kernel.speedup >= kept.speedup) and #moves(kernel) > 0 then
          kept = kernel
        end
      end
      kept = kept or kernels[1]
      list = moves(kept)
      if #list == 0 then return nil end
    end
    return kept, list[1 + rng:below(#list)]
  end

  function policy.learn() end

  return policy
end

return { name = "one_plus_one", summary = "keep one, replace it by a child no slower",
         defaults = {}, new = new }
