-- Epsilon-greedy (Sutton and Barto, Reinforcement Learning, 2.2): the strategy
-- with the best mean reward, or, with chance epsilon, any of them; the parent is
-- the fastest kernel that has it open. Auer, Cesa-Bianchi and Fischer's
-- decreasing epsilon (2002) is epsilon = function(n) return math.min(1, 5 / n) end.

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

  function policy.choose()
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
      i = arms[stats:select(arms)]
    end
    return parents[i], i, { mean = stats:mean(i) }
  end

  function policy.learn(pull) stats:update(pull.strategy, pull.reward) end

  return policy
end

return { name = "epsilon_greedy", summary = "best strategy so far, sometimes any",
         defaults = { epsilon = 0.1, start_mean = 0.5 }, new = new }
