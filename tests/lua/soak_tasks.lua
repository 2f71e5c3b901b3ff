-- Thirty random points of every C schedule, judged as kernelband eval judges: all ok.
--   kernelband run tests/lua/soak_tasks.lua [points] [task ..]
package.path = "tests/lib/?.lua;" .. package.path
local t = require "harness"
local core = require "kernelband.core"
local evaluate = require "kernelband.evaluate"
local points = require "points"
local task = require "kernelband.task"

local count = math.tointeger(tonumber(arg[1])) or 30
local names = table.move(arg, 2, #arg, 1, {})
if #names == 0 then
  names = { "gelu_bias", "matmul", "reduce_sum", "rmsnorm", "softmax", "stencil2d", "transpose" }
end

local root = core.system.lib_dir() .. "/examples/tasks/"

-- The task with its smallest timed shape alone: what is asked here is what is right.
local function small(name)
  local own, least = task.load(root .. name), nil
  for _, shape in ipairs(own.shapes.timed) do
    if not least or own.work(shape).bytes < own.work(least).bytes then least = shape end
  end
  own.shapes.timed = { least }
  return own
end

for _, name in ipairs(names) do
  t.test(("%s: %d random points of its schedule are ok"):format(name, count), function()
    local own, rng = small(name), core.rng(30):split(name)
    local s = evaluate.open(own, evaluate.device "cpu")
    for i = 1, count do
      local source = own.schedule.emit(points.valid(own.schedule, rng))
      local got = s:evaluate(source)
      if got.verdict ~= "ok" then
        error(("point %d is %s: %s\n%s"):format(i, got.verdict, got.reason, source))
      end
    end
    s:close()
  end)
end

t.finish()
