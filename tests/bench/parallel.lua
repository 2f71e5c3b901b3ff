-- What overlapping buys: pulls a second over a generator that takes 2 s to answer and
-- two workers that take 100 ms to evaluate, by how many pulls are in flight; and the
-- processor time of the engine a proposal.
--   kernelband run tests/bench/parallel.lua [seconds a run]
local kb = require "kernelband"
local core = kb.core

local seconds = tonumber(arg and arg[1]) or 24
local answer_ns, evaluation_ns, workers = 2 * 10 ^ 9 // 1, 100 * 10 ^ 6 // 1, 2

local function generator()
  local calls = 0
  local g = { name = "thinks", first = { 0, 0, 0, 0, 0, 0 }, seen = function() end,
              open = function() return true end }
  function g.propose(parent, strategy, rng, ctx)
    local ok, why, code = ctx.loop:sleep(answer_ns)
    if not ok then return nil, why, code end
    calls = calls + 1
    local params = {}
    for i, x in ipairs(parent.params) do params[i] = x + (1 - x) * 0.1 * rng:uniform() end
    return { source = ("%s %d"):format(strategy.name, calls), params = params, usd = 0.01,
             tokens = { input = 4000, output = 1500 } }
  end
  return g
end

-- A synthetic task behind so many workers, each busy for the time of an evaluation.
local function task()
  local world = kb.synthetic { seed = 3 }
  return { name = "parallel", environment = function()
    local env = world.environment()
    local inner, L, busy, queue = env.evaluator, nil, 0, {}
    local outer = { close = function() end, baseline = inner.baseline }
    function outer.attach(loop) L = loop end
    function outer.evaluate(candidate, how)
      while busy == workers do
        local p = L:promise()
        queue[#queue + 1] = p
        p:await()
      end
      busy = busy + 1
      L:sleep(evaluation_ns)
      busy = busy - 1
      if queue[1] then table.remove(queue, 1):resolve(true) end
      inner.submit(1, candidate, how)
      local _, evaluation = inner.next(0)
      return evaluation
    end
    env.evaluator = outer
    return env
  end }
end

local function rate(parallel, folder)
  local began, cpu = core.system.now_ns(), os.clock()
  local r = kb.search { task = task(), generator = generator(), parallel = parallel,
    policy = "policies/random.lua", quiet = true, confirm = false, out = folder,
    budget = { minutes = seconds / 60 } }
  local spent = (core.system.now_ns() - began) / 1e9
  return r.pulls / spent, 1e3 * (os.clock() - cpu) / r.pulls, r.pulls
end

local dir = ("%s/kb-bench-%s"):format(os.getenv "TMPDIR" or "/tmp", core.system.random_hex(6))
local one
for _, parallel in ipairs { 1, 16 } do
  local per_s, cpu_ms, n = rate(parallel, ("%s/%d"):format(dir, parallel))
  one = one or per_s
  print(("%2d in flight  %6.2f pulls/s  %5.1fx  %5.2f ms of the engine a proposal  (%d pulls)")
        :format(parallel, per_s, per_s / one, cpu_ms, n))
end
os.execute("rm -rf '" .. dir .. "'")
