-- Softmax, or Boltzmann exploration (Sutton and Barto, Reinforcement Learning,
-- 1st ed. 2.3): a strategy is drawn with chance ~ exp(mean / temperature), then
-- its parent with chance ~ speedup^(1 / coolness): faster kernels more often,
-- slow ones hardly. Cooling down is temperature = function(n) return 1 / n end.
-- A pull under way counts as one that paid its strategy's mean, and a mean is all that
-- is drawn by: so it changes nothing, and draws keep many at once apart.

local most_parents = 200

local function new(params, ctx)
  local n, open = #ctx.strategies, ctx.open
  local kernels = {}
  local stats = ctx.core.ucb(n, { c = 0, prior_mean = params.start_mean, prior_pulls = 1 })
  local policy = {}

  -- A position of list, drawn with chance ~ exp(list[at]).
  local function draw(list)
    local top, weight = math.max(table.unpack(list)), {}
    for at, x in ipairs(list) do weight[at] = math.exp(x - top) end
    return ctx.draw(weight)
  end

  function policy.admit(kernel) kernels[#kernels + 1] = kernel end

  -- Parents that have strategy i open, the latest `most_parents` of them.
  local function parents(i)
    local out, heat = {}, {}
    for at = #kernels, 1, -1 do
      local kernel = kernels[at]
      if #out < most_parents and open(kernel, i) then
        out[#out + 1] = kernel
        heat[#heat + 1] = math.log(kernel.speedup) / params.coolness
      end
    end
    return out, heat
  end

  function policy.choose()
    local arms, lists, heats, value = {}, {}, {}, {}
    for i = 1, n do
      local list, heat = parents(i)
      if #list > 0 then
        local at = #arms + 1
        arms[at], lists[at], heats[at] = i, list, heat
        value[at] = stats:mean(i) / math.max(1e-6, params.temperature)
      end
    end
    if #arms == 0 then return nil end
    local at = draw(value)
    return lists[at][draw(heats[at])], arms[at], { mean = stats:mean(arms[at]) }
  end

  function policy.learn(pull) stats:update(pull.strategy, pull.reward) end

  return policy
end

return { name = "softmax", summary = "Boltzmann draws of strategy and parent",
         defaults = { temperature = 0.2, coolness = 0.2, start_mean = 0 },
         removed = { most = "the latest 200 kernels are parents" },
         new = new }
