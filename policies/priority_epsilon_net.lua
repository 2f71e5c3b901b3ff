-- Priority queue with an epsilon-net, after POLCA (arXiv 2603.14769): the kernel
-- of highest priority is worked on, its priority being how fast it is plus an
-- exploration bonus that shrinks with every try on it; and of kernels closer than
-- epsilon to each other, by features, only the faster is kept in the queue. The
-- strategy is the one with the best mean reward there and elsewhere, the untried
-- first. POLCA measures distance on embeddings of the text; here it is that of
-- phi, divided by sqrt of its length. What its summariser reads into history is
-- the model's part and not here.

local function new(params, ctx)
  local n = #ctx.strategies
  local queue = {}
  local tries, total = {}, 0
  local stats = ctx.core.ucb(n, { c = 0, prior_mean = params.start_mean, prior_pulls = 1 })
  local policy = {}

  local function distance(a, b)
    local sum = 0
    for d = 1, #a.phi do sum = sum + (a.phi[d] - b.phi[d]) ^ 2 end
    return math.sqrt(sum / math.max(1, #a.phi))
  end

  -- The net: a newcomer drops slower neighbours, or is dropped by a faster one.
  function policy.admit(kernel)
    tries[kernel] = {}
    local kept = {}
    for _, other in ipairs(queue) do
      local near = distance(kernel, other) < params.epsilon
      if near and other.speedup >= kernel.speedup then return end
      if not near then kept[#kept + 1] = other end
    end
    kept[#kept + 1] = kernel
    queue = kept
  end

  local function count(kernel)
    local sum = 0
    for i = 1, n do sum = sum + (tries[kernel][i] or 0) end
    return sum
  end

  local function strategy_of(kernel)
    local best, most
    for _, i in ipairs(ctx.open_strategies(kernel)) do
      local value = stats:mean(i) - (tries[kernel][i] or 0)
      if not best or value > most then best, most = i, value end
    end
    return best
  end

  local function first(list)
    local parent, index, top
    for _, kernel in ipairs(list) do
      local bonus = params.c * math.sqrt(math.log(1 + total) / (1 + count(kernel)))
      local value = math.log(kernel.speedup) + bonus
      if not top or value > top then
        local i = strategy_of(kernel)
        if i then parent, index, top = kernel, i, value end
      end
    end
    return parent, index
  end

  -- The try is counted when it starts, so pulls under way are in the bonus.
  function policy.choose()
    local parent, i = first(queue)
    if not parent then parent, i = first(ctx.pool) end
    if not parent then return nil end
    tries[parent][i], total = (tries[parent][i] or 0) + 1, total + 1
    return parent, i, { mean = stats:mean(i) }
  end

  function policy.learn(pull) stats:update(pull.strategy, pull.reward) end

  return policy
end

return { name = "priority_epsilon_net", summary = "priority queue over kernels that differ",
         defaults = { epsilon = 0.02, c = 0.3, start_mean = 0 }, new = new }
