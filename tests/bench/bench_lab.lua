-- How fast the policy lab is: 1,000 searches of 60 pulls on a recorded space of 6,768
-- configurations. Issue's measure: at most 3 s on one core for each policy. The public
-- space where KERNELBAND_SPACES names it, else a made-up one of that size.
--   kernelband run tests/bench/bench_lab.lua [searches]
local kb     = require "kernelband"
local json   = require "kernelband.base.json"
local spaces = require "spaces"

local searches, steps = math.tointeger(tonumber(arg[1] or 1000)), 60

-- 12 x 12 x 47 configurations, a fifth of them failing.
local function made_up()
  local rng, file = kb.core.rng(1), os.tmpname()
  local lines = { json.encode { kernelband = "trace", version = 1, axes = { "a", "b", "c", "d" },
    strategies = { { name = "tiling", axes = { "a", "b" }, target = "l2" },
                   { name = "pipeline", axes = { "c" }, target = "sm" },
                   { name = "fusion", axes = { "d" }, target = "dram" } } } }
  for a = 1, 12 do
    for b = 1, 12 do
      for c = 1, 47 do
        local fails = rng:uniform() < 0.22
        local far = (a - 4) ^ 2 + (b - 9) ^ 2 + (c - 20) ^ 2 / 9
        lines[#lines + 1] = fails and json.encode { c = { a, b, c, 1 + c % 2 }, v = "wrong" }
          or json.encode { c = { a, b, c, 1 + c % 2 }, v = "ok", t = 1000 + 30 * far,
                           phi = { 0.5, a / 12, b / 12, 1, c / 47, 0.2, 0, 0.5, 0 },
                           pk = "mmmmmmmmm", rho = { 1, 2, 3, a, b, c / 47 }, rk = "mmmmmm" }
      end
    end
  end
  assert(kb.core.system.write_file(file, table.concat(lines, "\n") .. "\n"))
  local task = kb.trace(file, { strategies = { tiling = { "a", "b" }, pipeline = { "c", "d" } } })
  os.remove(file)
  return task
end

local public = spaces.public()
local task = public and public[1] or made_up()
print(("%s: %d configurations, %d searches of %d pulls; processor seconds"):format(
      task.name, task.rows, searches, steps))
for _, name in ipairs { "kernelband_v1", "kernelband_v2", "kernelband" } do
  local policy, sum, start = kb.policy("policies/" .. name .. ".lua"), 0, os.clock()
  for seed = 1, searches do
    sum = sum + kb.search { task = task, policy = policy, seed = seed,
                            budget = { steps = steps } }.share_of_optimum
  end
  local seconds = os.clock() - start
  print(("  %-14s %6.2f s  %5.1f us a pull  share %.3f"):format(name, seconds,
        seconds / searches / steps * 1e6, sum / searches))
end
