-- Random: any open (kernel, strategy) pair, all alike. What every other policy
-- must beat. It has no statistics, so pulls under way are nothing to it.

local TRIES <const> = 8

local function new(_, ctx)
  local n, open, rng = #ctx.strategies, ctx.open, ctx.rng
  local kernels = {}
  local policy = {}

  function policy.admit(kernel) kernels[#kernels + 1] = kernel end

  function policy.choose()
    for _ = 1, #kernels > 0 and TRIES or 0 do   -- most are open most of the time
      local at = rng:below(#kernels * n)
      local kernel, i = kernels[at // n + 1], at % n + 1
      if open(kernel, i) then return kernel, i end
    end
    local parent, index = {}, {}
    for _, kernel in ipairs(kernels) do
      for _, i in ipairs(ctx.open_strategies(kernel)) do
        parent[#parent + 1], index[#index + 1] = kernel, i
      end
    end
    if #parent == 0 then return nil end
    local at = 1 + rng:below(#parent)
    return parent[at], index[at]
  end

  return policy
end

return { name = "random", summary = "any open pair, all alike", defaults = {}, new = new }
