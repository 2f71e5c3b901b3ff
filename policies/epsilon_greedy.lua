-- Epsilon-greedy (Sutton and Barto, Reinforcement Learning, 2.2): the strategy
-- with the best mean reward, or, with chance epsilon, any of them; the parent is
-- the fastest kernel that has it open. Auer, Cesa-Bianchi and Fischer's
-- decreasing epsilon (2002) is epsilon = function(n) return math.min(1, 5 / n) end.
-- A pull under way counts as one that paid its strategy's mean: means stay as they are,
-- and of equal ones the one with fewer under way is taken.

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

  -- Of the arms the one with the highest mean; the first listed of equals.
  local function best(arms, pending)
    local under_way, top = {}, arms[1]
    for i = 1, n do under_way[i] = 0 end
    for _, pair in ipairs(pending or {}) do
      under_way[pair.strategy] = under_way[pair.strategy] + 1
    end
    for _, i in ipairs(arms) do
      local mean, most = stats:mean(i), stats:mean(top)
      if mean > most or mean == most and under_way[i] < under_way[top] then top = i end
    end
    return top
  end

  function policy.choose(_, pending)
    local parents, arms = {}, {}
    for i = 1, n do
      parents[i] = fastest(i) or false
      if parents[i] then arms[#arms + 1] = i end
    end
    if #arms == 0 then return nil end
    local i
    if rng:uniform() < params.epsilon then
      i = arms[1 + rng:below(#arms)]
    else
      i = best(arms, pending)
    end
    return parents[i], i, { mean = stats:mean(i) }
  end

  function policy.learn(pull) stats:update(pull.strategy, pull.reward) end

  return policy
end

return { name = "epsilon_greedy", summary = "best strategy so far, sometimes any",
         defaults = { epsilon = 0.1, start_mean = 0.5 }, new = new }
