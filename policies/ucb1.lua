-- UCB1 (Auer, Cesa-Bianchi and Fischer, Machine Learning 47, 2002): strategies
-- are the arms, mean(s) + c sqrt(ln t / n(s)) with c = sqrt 2, each tried once
-- first; the parent is the fastest kernel that has the strategy open. A pull
-- under way counts as one more that paid the arm's mean.

local function new(params, ctx)
  local n, open = #ctx.strategies, ctx.open
  local kernels = {}                    -- fastest first
  local arms = ctx.core.ucb(n, { c = 0 })
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

  function policy.choose(under_way, pending)
    local waiting = {}
    for _, pair in ipairs(pending or {}) do
      waiting[pair.strategy] = (waiting[pair.strategy] or 0) + 1
    end
    local log_t = math.log(math.max(1, arms:t() + (under_way or 0)))
    local best, parent, index, terms = -math.huge, nil, nil, nil
    for i = 1, n do
      local kernel = fastest(i)
      if kernel then
        local pulls = arms:pulls(i) + (waiting[i] or 0)
        local bonus = pulls > 0 and params.c * math.sqrt(log_t / pulls) or math.huge
        local value = arms:mean(i) + bonus
        if value > best then
          best, parent, index = value, kernel, i
          terms = { mean = arms:mean(i), exploration = pulls > 0 and bonus or nil }
        end
      end
    end
    return parent, index, terms
  end

  function policy.learn(pull) arms:update(pull.strategy, pull.reward) end

  return policy
end

return { name = "ucb1", summary = "UCB1 over strategies, fastest parent",
         defaults = { c = 2 ^ 0.5 }, new = new }
