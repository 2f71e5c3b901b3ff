-- Thompson sampling with Gaussian rewards (Agrawal and Goyal, 2013): a strategy
-- is worth a draw from its posterior, N(mean, spread^2 / (n + 1)), where the
-- mean has one imagined reward of start_mean in it; the largest draw wins. The
-- parent is the fastest kernel that has the strategy open. A pull under way
-- narrows the posterior as one that paid the mean would.

local function new(params, ctx)
  local n, open, rng = #ctx.strategies, ctx.open, ctx.rng
  local kernels = {}                    -- fastest first
  local stats = ctx.core.ucb(n, { c = 0, prior_mean = params.start_mean, prior_pulls = 1 })
  local policy = {}

  function policy.admit(kernel)
    local at = #kernels + 1
    while at > 1 and kernels[at - 1].speedup < kernel.speedup do at = at - 1 end
    table.insert(kernels, at, kernel)
  end

  local function fastest(i)
    for _, kernel in ipairs(kernels) do
      if open(kernel, i) then return kernel end
    end
  end

  function policy.choose(_, pending)
    local waiting = {}
    for _, pair in ipairs(pending or {}) do
      waiting[pair.strategy] = (waiting[pair.strategy] or 0) + 1
    end
    local best, parent, index = -math.huge, nil, nil
    for i = 1, n do
      local kernel = fastest(i)
      if kernel then
        local pulls = stats:pulls(i) + (waiting[i] or 0)
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
