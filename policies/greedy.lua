-- Greedy: always the fastest kernel that has something open, under the strategy
-- with the best mean reward so far. A strategy not tried yet comes first; one
-- that is being tried no longer counts as such.

local function new(_, ctx)
  local score = ctx.core.ucb(#ctx.strategies, { c = 0 })
  local policy = {}

  function policy.choose()
    for _, kernel in ipairs(ctx.pool) do
      local best, most
      for _, i in ipairs(ctx.open_strategies(kernel)) do
        local fresh = score:pulls(i) == 0 and ctx.pending(nil, i) == 0
        local value = fresh and math.huge or score:mean(i)
        if not best or value > most then best, most = i, value end
      end
      if best then return kernel, best, { mean = score:mean(best) } end
    end
  end

  function policy.learn(pull) score:update(pull.strategy, pull.reward) end

  return policy
end

return { name = "greedy", summary = "best kernel, best strategy so far",
         defaults = {}, new = new }
