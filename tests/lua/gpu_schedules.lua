-- Random points of every CUDA schedule, judged on the GPU as a search judges them, on the task's
-- own shapes: all ok. Run by make check-gpu.
--   kernelband run tests/lua/gpu_schedules.lua [POINTS [TASK ..]]
package.path = "tests/lib/?.lua;" .. package.path
local t          = require "harness"
local core       = require "kernelband.core"
local points     = require "points"
local task       = require "kernelband.task"
local worker     = require "kernelband.worker"

if core.gpus() == 0 then
  print "skipped: no NVIDIA GPU, or no driver, on this machine"
  print "0 passed, 0 failed"
  return
end

local count = math.tointeger(tonumber(arg[1])) or 8
local root = core.system.lib_dir() .. "/examples/tasks/"
local names = table.move(arg, 2, #arg, 1, {})
if #names == 0 then names = assert(core.system.list(root)) end

local function judged(own)
  local schedule, rng, wrong = own.schedule, core.rng(31):split(own.name), {}
  local evaluator = worker.start { task = own, device = "cuda:0" }
  local best = {}
  for i, shape in ipairs(evaluator.baseline().shapes) do best[i] = shape.time_ns end
  for _ = 1, count do
    local p = points.valid(schedule, rng)
    local out = assert(evaluator.evaluate({ source = schedule.emit(p) }, { best_times_ns = best }))
    if out.verdict ~= "ok" then
      wrong[#wrong + 1] = ("%s: %s\n    %s"):format(out.verdict, out.reason,
                                                  points.describe(schedule, p))
    end
  end
  evaluator.close()
  return wrong
end

for _, name in ipairs(names) do
  local own = task.for_language(task.load(root .. name), "cuda")
  if own.schedule then
    t.test(("%s: %d random points of its schedule are ok"):format(name, count), function()
      t.equal(table.concat(judged(own), "\n  "), "")
    end)
  end
end

t.finish()
