-- Is an evaluation quick on any task? Its time beside what it may take: 2 s, 40 times what the
-- kernel takes at its timed shapes, and 6 times what filling the inputs of the largest timed
-- shape and running the reference on them takes. The baseline is the candidate.
--   kernelband run tests/bench/budget.lua [EVALUATIONS [TASK ..]]       5, all of soak-aa
package.path = (arg[0]:match "^(.*)/bench/" or "tests") .. "/lib/?.lua;" .. package.path
local check     = require "kernelband.evaluate.check"
local core      = require "kernelband.core"
local evaluate  = require "kernelband.evaluate"
local inputs    = require "kernelband.evaluate.inputs"
local strangers = require "strangers"
local task      = require "kernelband.task"

local count = math.tointeger(tonumber(arg[1] or 5))
local names = table.move(arg, 2, #arg, 1, {})
local dir = assert(core.system.temp_dir())
if #names == 0 then
  names = { "gelu_bias", "matmul", "reduce_sum", "rmsnorm", "softmax", "stencil2d", "transpose" }
  table.move(strangers.list, 1, #strangers.list, #names + 1, names)
end

local function folder_of(name)
  for _, stranger in ipairs(strangers.list) do
    if stranger == name then return strangers.write(dir, name) end
  end
  return core.system.lib_dir() .. "/examples/tasks/" .. name
end

local function seconds_of(f)
  local start = core.system.now_ns()
  f()
  return (core.system.now_ns() - start) / 1e9
end

-- Filling and referencing the largest timed shape, the median of three.
local function answer_s(s)
  local largest, most = nil, -1
  for _, room in ipairs(s.rooms) do
    local bytes = s.task.work(room.shape).bytes
    if room.role == "timed" and bytes > most then largest, most = room, bytes end
  end
  local took = {}
  for i = 1, 3 do
    took[i] = seconds_of(function()
      inputs.fill(s, largest, s.timed_kinds[1])
      check.expect(s, largest, 1)
    end)
  end
  return core.stats.median(took)
end

print(("%-16s %9s %9s %9s %9s %7s"):format("task", "seconds", "budget", "kernel", "answer",
      "within"))
local late = 0
for _, name in ipairs(names) do
  local s = evaluate.open(task.load(folder_of(name)), evaluate.device "cpu")
  local took, kernel = {}, 0
  for i = 1, count do
    local out = s:evaluate(task.source(s.task, "baseline"), {})
    assert(out.verdict == "ok", out.reason)
    took[i], kernel = out.seconds.total, 0
    for _, row in ipairs(out.shapes) do
      kernel = kernel + (row.role == "timed" and row.time_ns / 1e9 or 0)
    end
  end
  local answer, median = answer_s(s), core.stats.median(took)
  local budget = 2 + 40 * kernel + 6 * answer
  late = late + (median > budget and 1 or 0)
  print(("%-16s %9.2f %9.2f %9.4f %9.4f %7s"):format(name, median, budget, kernel, answer,
        median <= budget and "yes" or "no"))
  s:close()
end
print(("%d of %d within what they may take"):format(#names - late, #names))
os.execute("rm -rf '" .. dir .. "'")
