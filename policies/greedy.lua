-- Greedy: always the fastest kernel that has something open, under the strategy
-- with the best mean reward so far. A strategy not tried yet comes first; with
-- chance epsilon the strategy is drawn instead.

local function new(params, ctx)
  local n, open = #ctx.strategies, ctx.open
  local kernels = {}
  local score = ctx.core.ucb(n, { c = 0 })
  local policy = {}

  -- Kept fastest first; equals in the order they came.
  function policy.admit(kernel)
    local at = #kernels + 1
    while at > 1 and kernels[at - 1].speedup < kernel.speedup do at = at - 1 end
    table.insert(kernels, at, kernel)
  end

  function policy.choose()
    for _, kernel in ipairs(kernels) do
      local arms = {}
      for i = 1, n do
        if open(kernel, i) then arms[#arms + 1] = i end
      end
      if #arms > 0 then
        if params.epsilon > 0 and ctx.rng:uniform() < params.epsilon then
          return kernel, arms[1 + ctx.rng:below(#arms)]
        end
        local i = arms[score:select(arms)]
        return kernel, i, { mean = score:mean(i) }
      end
    end
  end

  function policy.learn(pull) score:update(pull.strategy, pull.reward) end

  return policy
end

return { name = "greedy", summary = "best kernel, best strategy so far",
         defaults = { epsilon = 0 }, new = new }
