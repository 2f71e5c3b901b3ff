-- Epsilon-greedy (Sutton and Barto, Reinforcement Learning, 2.2): the strategy
-- with the best mean reward, or, with chance epsilon, any of them; the parent is
-- the fastest kernel that has it open. Auer, Cesa-Bianchi and Fischer's
-- decreasing epsilon (2002) is epsilon = function(n) return math.min(1, 5 / n) end.
-- A pull under way counts as one that paid its strategy's mean: means stay as they are,
-- and of equal ones the one with fewer under way is taken.

local function new(params, ctx)
  local n, rng = #ctx.strategies, ctx.rng
  local stats = ctx.core.ucb(n, { c = 0, prior_mean = params.start_mean, prior_pulls = 1 })
  local policy = {}

  -- Of the arms the one with the highest mean; the first listed of equals.
  local function best(arms)
    local top = arms[1]
    for _, i in ipairs(arms) do
      local mean, most = stats:mean(i), stats:mean(top)
      local fewer = ctx.pending(nil, i) < ctx.pending(nil, top)
      if mean > most or mean == most and fewer then top = i end
    end
    return top
  end

  function policy.choose()
    local arms = {}
    for i = 1, n do
      if ctx.fastest(i) then arms[#arms + 1] = i end
    end
    if #arms == 0 then return nil end
    local i = rng:uniform() < params.epsilon and arms[1 + rng:below(#arms)] or best(arms)
    return ctx.fastest(i), i, { mean = stats:mean(i) }
  end

  function policy.learn(pull) stats:update(pull.strategy, pull.reward) end

  return policy
end

return { name = "epsilon_greedy", summary = "best strategy so far, sometimes any",
         defaults = { epsilon = 0.1, start_mean = 0.5 }, new = new }
