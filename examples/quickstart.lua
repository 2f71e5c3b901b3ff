-- A faster kernel, found on this machine: a matrix product on the CPU, a softmax
-- where there is a GPU.
--   kernelband run examples/quickstart.lua [steps] [task folder]
local kb  = require "kernelband"
local run = require "kernelband.store.run"

local steps = math.tointeger(tonumber(arg[1] or 48))
local task  = kb.task(arg[2] or kb.gpus() > 0 and "examples/tasks/softmax"
                      or "examples/tasks/matmul")

local best = kb.search {
  task       = task,
  device     = "auto",          -- and with it strategies/c or strategies/cuda
  policy     = kb.policy "policies/kernelband.lua",
  budget     = { steps = steps },
  seed       = 1,
  out        = run.fresh("runs/" .. task.name),
}

print(("%s: %d pulls, %d of them verified kernels"):format(task.name, best.pulls,
                                                        best.verdicts.ok or 0))
print("best source  " .. best.source_path)
print("run folder   " .. best.run)
