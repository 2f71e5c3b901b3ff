-- What the engine costs: median microseconds a pull of kb.search beside its
-- generator and worker, over a synthetic task that answers at once. The
-- synthetic task's own share is printed first and is part of the other figures.
--   kernelband run tests/bench/bench_engine.lua
local kb = require "kernelband"
local core = kb.core

local pulls, runs = 60, 15

local function median(list)
  table.sort(list)
  return list[(#list + 1) // 2]
end

local function world()
  local env = kb.synthetic { seed = 3 }.environment()
  local parent = { id = 1, params = env.generator.first }
  local times = {}
  for n = 1, pulls * runs do
    local began = core.system.now_ns()
    local c = env.generator.propose(parent, env.strategies[1 + n % 6], core.rng(n))
    env.evaluator.evaluate(c, {})
    times[n] = (core.system.now_ns() - began) / 1e3
  end
  return median(times)
end

local function engine(policy, folder)
  local times = {}
  for n = 1, runs do
    local last
    kb.search {
      task = kb.synthetic { seed = 3 }, budget = { steps = pulls }, seed = n,
      policy = "policies/" .. policy .. ".lua", confirm = false,
      out = folder and folder .. "/" .. policy .. n,
      on_pull = function()
        local now = core.system.now_ns()
        if last then times[#times + 1] = (now - last) / 1e3 end
        last = now
      end }
  end
  return median(times)
end

local dir = ("%s/kb-bench-%s"):format(os.getenv "TMPDIR" or "/tmp", core.system.random_hex(6))
print(("%-28s %8.1f us"):format("synthetic task alone", world()))
for _, policy in ipairs { "random", "greedy", "kernelband_v1", "kernelband_v2", "kernelband" } do
  print(("%-16s in memory   %8.1f us a pull"):format(policy, engine(policy)))
  print(("%-16s with run.db %8.1f us a pull"):format(policy, engine(policy, dir)))
end
os.execute("rm -rf '" .. dir .. "'")
