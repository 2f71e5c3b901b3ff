-- One search whose model is answered by files (exchange.sh), for trials of the question:
--   kernelband run tests/bench/trial/search.lua TASK OUT FOLDER [PULLS] [SEED]
-- TASK: a folder, such as examples/tasks/softmax or tests/bench/trial/conv2d. README.md says how an
-- old question and a new one are compared.
local kb = require "kernelband"

local task, out, folder = arg[1], arg[2], arg[3]
assert(folder, "usage: kernelband run tests/bench/trial/search.lua TASK OUT FOLDER [PULLS] [SEED]")
local here = arg[0]:match "^(.*)/[^/]*$" or "."

local best = kb.search {
  task = kb.task(task), device = "cpu", out = out, patience = 600,
  generator = kb.generator.command { "sh", here .. "/exchange.sh", folder, timeout_s = 36000,
                                     attempts = 1 },
  budget = { steps = math.tointeger(tonumber(arg[4] or 10)) },
  seed = math.tointeger(tonumber(arg[5] or 1)),
}
print(("%s: %.3fx (%.3f to %.3f), confirmed %s"):format(task, best.speedup, best.speedup_low,
      best.speedup_high, tostring(best.confirmed)))
