-- One CPU evaluation of a correct matmul candidate: compile, all checks, all
-- timing, nothing screened away. And the memory of the engine beside it.
--   kernelband run tests/bench/bench_evaluate.lua [candidates]
package.path = (arg[0]:match "^(.*)/bench/" or "tests") .. "/lib/?.lua;" .. package.path
local core   = require "kernelband.core"
local points = require "points"
local task   = require "kernelband.task"
local worker = require "kernelband.worker"

local n = tonumber(arg[1]) or 9
local t = task.load "examples/tasks/matmul"
local rng = core.rng(1)

-- A random valid point of the schedule that is not hopelessly slow.
local function point()
  local p
  repeat p = points.valid(t.schedule, rng) until p.vector >= 8
  return t.schedule.emit(p)
end

local start = core.system.now_ns()
local evaluator = worker.start { task = t, device = "cpu" }
assert(evaluator.baseline())
print(("worker and task ready      %.2f s"):format((core.system.now_ns() - start) / 1e9))

local parts = { build = {}, check = {}, time = {}, profile = {}, total = {} }
for i = 1, n do
  local out = assert(evaluator.evaluate({ source = point() }, {}))
  assert(out.verdict == "ok", out.reason)
  for name, list in pairs(parts) do list[i] = out.seconds[name] end
end
evaluator.close()

for _, name in ipairs { "build", "check", "time", "profile" } do
  print(("evaluation, %-7s        %.3f s"):format(name, core.stats.median(parts[name])))
end
print(("evaluation, whole (median of %d)  %.2f s  (target 1.5 s)")
      :format(n, core.stats.median(parts.total)))

local status = core.system.read_file "/proc/self/status"
print(("engine memory, peak        %.1f MiB  (target 64 MiB)")
      :format(tonumber(status:match "VmHWM:%s*(%d+)") / 1024))
