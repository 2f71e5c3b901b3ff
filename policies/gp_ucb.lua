-- GP-UCB (Srinivas, Krause, Kakade and Seeger, arXiv 0912.3995) with contexts
-- (Krause and Ong, 2011), for spaces of numbers: a Gaussian process over parent
-- and strategy together forecasts the log gain of a child, and the pair with the
-- highest mean + sqrt(beta) deviation is pulled, plus what the parent is ahead.
-- A parent enters by its features rho, whose logarithms are numbers for every
-- kernel, and its log speed-up; strategies are kin by a factor exp(-apart).
--
-- The process holds the last 128 pulls at most (it is made anew from half of them
-- when full), and only the `most` fastest kernels are parents,
-- so that a pull costs the same late as early. A pull under way counts as one
-- that paid its forecast.

local capacity = 128

local function new(params, ctx)
  local n, open = #ctx.strategies, ctx.open
  local gp, point, log = nil, nil, {}
  local rates = {}
  for d = 1, 7 + n do rates[d] = d <= 7 and params.rate or params.apart / 2 end

  local function fresh()
    gp = ctx.core.gp(rates, { signal = params.scale, level = params.scale,
      noise = params.noise, capacity = capacity })
    point = {}
  end

  local function features(kernel, i)
    local x = {}
    for d = 1, 6 do x[d] = math.max(-20, math.min(20, kernel.rho[d] or 0)) end
    x[7] = math.log(kernel.speedup)
    for s = 1, n do x[7 + s] = s == i and 1 or 0 end
    return x
  end

  local function forecast(kernel, i)
    local key = kernel.id * n + i
    point[key] = point[key] or gp:track(features(kernel, i))
    return gp:at(point[key])
  end

  local function learn(e)
    if #gp == capacity then
      log = table.move(log, #log - capacity // 2 + 1, #log, 1, {})
      fresh()
      for _, old in ipairs(log) do gp:learn(features(old[1], old[2]), old[3]) end
    end
    log[#log + 1] = e
    gp:learn(features(e[1], e[2]), e[3])
  end

  local policy = {}

  function policy.choose()
    local top, parent, index, terms, seen = -math.huge, nil, nil, nil, 0
    for _, kernel in ipairs(ctx.pool) do
      local any = false
      for i = 1, n do
        if open(kernel, i) then
          any = true
          local mean, deviation = forecast(kernel, i)
          local bonus = math.sqrt(params.beta / (1 + ctx.pending(kernel, i))) * deviation
          local value = math.log(kernel.speedup) + mean + bonus
          if value > top then
            top, parent, index = value, kernel, i
            terms = { mean = mean, exploration = bonus }
          end
        end
      end
      seen = seen + (any and 1 or 0)
      if seen == params.most then break end
    end
    return parent, index, terms
  end

  function policy.learn(pull)
    local gain = -params.failure
    if pull.child then
      gain = math.log(pull.child.speedup / pull.parent.speedup)
    end
    learn { pull.parent, pull.strategy, math.max(-2, math.min(2, gain)) }
  end

  fresh()
  return policy
end

return { name = "gp_ucb", summary = "Gaussian process over parent and strategy",
         defaults = { beta = 1, rate = 0.1, apart = 1, scale = 0.3, noise = 0.1,
                      failure = 0.3, most = 32 },
         limits = { rate = { 0, 1e6 }, apart = { 0, 1e6 }, scale = { 1e-6, 100 },
                    noise = { 0.01, 100 } },
         removed = { budget = "the process holds 128 pulls" }, new = new }
