-- UCB1 (Auer, Cesa-Bianchi and Fischer, Machine Learning 47, 2002): strategies
-- are the arms, mean(s) + c sqrt(ln t / n(s)) with c = sqrt 2, each tried once
-- first; the parent is the fastest kernel that has the strategy open. A pull
-- under way counts as one more that paid the arm's mean.

local function new(params, ctx)
  local n, arms = #ctx.strategies, ctx.core.ucb(#ctx.strategies, { c = 0 })
  local policy = {}

  function policy.choose()
    local log_t = math.log(math.max(1, arms:t() + ctx.pending()))
    local best, parent, index, terms = -math.huge, nil, nil, nil
    for i = 1, n do
      local kernel, pulls = ctx.fastest(i), arms:pulls(i) + ctx.pending(nil, i)
      local bonus = pulls > 0 and params.c * math.sqrt(log_t / pulls) or math.huge
      local value = arms:mean(i) + bonus
      if kernel and value > best then
        best, parent, index = value, kernel, i
        terms = { mean = arms:mean(i), exploration = pulls > 0 and bonus or nil }
      end
    end
    return parent, index, terms
  end

  function policy.learn(pull) arms:update(pull.strategy, pull.reward) end

  return policy
end

return { name = "ucb1", summary = "UCB1 over strategies, fastest parent",
         defaults = { c = 2 ^ 0.5 }, new = new }
