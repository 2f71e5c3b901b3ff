-- Greedy: always the fastest kernel that has something open, under the strategy
-- with the best mean reward so far. A strategy not tried yet comes first; one
-- that is being tried no longer counts as such.

local function new(_, ctx)
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

  function policy.choose(_, pending)
    local under_way = {}
    for _, pair in ipairs(pending or {}) do under_way[pair.strategy] = true end
    for _, kernel in ipairs(kernels) do
      local best, most
      for i = 1, n do
        if open(kernel, i) then
          local fresh = score:pulls(i) == 0 and not under_way[i]
          local value = fresh and math.huge or score:mean(i)
          if not best or value > most then best, most = i, value end
        end
      end
      if best then return kernel, best, { mean = score:mean(best) } end
    end
  end

  function policy.learn(pull) score:update(pull.strategy, pull.reward) end

  return policy
end

return { name = "greedy", summary = "best kernel, best strategy so far",
         defaults = {}, new = new }
