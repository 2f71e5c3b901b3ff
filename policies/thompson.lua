-- Thompson sampling with Gaussian rewards (Agrawal and Goyal, 2013): a strategy
-- is worth a draw from its posterior, N(mean, spread^2 / (n + 1)), where the
-- mean has one imagined reward of start_mean in it; the largest draw wins. The
-- parent is the fastest kernel that has the strategy open. A pull under way
-- narrows the posterior as one that paid the mean would.

local function new(params, ctx)
  local n, rng = #ctx.strategies, ctx.rng
  local stats = ctx.core.ucb(n, { c = 0, prior_mean = params.start_mean, prior_pulls = 1 })
  local policy = {}

  function policy.choose()
    local best, parent, index = -math.huge, nil, nil
    for i = 1, n do
      local kernel = ctx.fastest(i)
      if kernel then
        local pulls = stats:pulls(i) + ctx.pending(nil, i)
        local draw = stats:mean(i) + params.spread / math.sqrt(pulls) * rng:normal()
        if draw > best then best, parent, index = draw, kernel, i end
      end
    end
    return parent, index, parent and { mean = stats:mean(index) }
  end

  function policy.learn(pull) stats:update(pull.strategy, pull.reward) end

  return policy
end

return { name = "thompson", summary = "posterior draws over strategies, fastest parent",
         defaults = { spread = 0.5, start_mean = 0 }, new = new }
