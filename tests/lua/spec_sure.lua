-- How sure a time is, measured with all rounds (tests/lib/check.sh gives other specs few): results
-- too good are taken twice, noise is measured, a confirmation has a process of its own.
package.path = "tests/lib/?.lua;" .. package.path
local t = require "harness"
local candidates = require "candidates"
local core = require "kernelband.core"
local evaluate = require "kernelband.evaluate"
local task = require "kernelband.task"
local worker = require "kernelband.worker"

local axpy = task.load "tests/lib/tasks/axpy"
local slow = task.load "tests/lib/tasks/slow_axpy"
local good = assert(core.system.read_file "tests/candidates/honest/uses_vectors.c")
local device = evaluate.device "cpu"

t.test("more than ten times the baseline is measured twice, and stands when it is so", function()
  local s = evaluate.open(slow, device)
  local out = s:evaluate(good)
  t.equal(out.verdict, "ok", out.reason)
  t.equal(out.speedup > 10, true)
  t.contains(out.quarantined, "; measured again")
  t.equal(out.shapes[1].first.speedup > 5, true)
  t.equal(out.win, true)
  local known = s:evaluate(good, { best_times_ns = { out.time_ns / 1000 } })
  t.equal(known.quarantined, nil)       -- no news: the best is as fast
end)

t.test("the noise of this machine is measured in every session, by shape, and shown", function()
  local s = evaluate.open(axpy, device)
  local out = s:evaluate(assert(core.system.read_file "tests/lib/tasks/axpy/baseline.c"))
  t.equal(#out.noise.shapes, #s.timed)
  t.equal(out.noise.least >= math.log(1.01), true)
  t.equal(out.noise.shapes[1].rounds >= 4, true)
  local other = evaluate.open(axpy, device, s.baseline)         -- another worker of the run
  t.equal(other.noise, s.noise)
end)

device = nil
collectgarbage()

t.test("a confirmation comes from a process that no candidate was in", function()
  local e = worker.start { task = axpy, device = "cpu" }
  e.baseline()
  local function judge(options)
    return e.evaluate({ source = good }, options), candidates.worker_pid()
  end
  local _, first = judge {}
  local _, second = judge {}
  local out, third = judge { confirm = true }
  t.equal(second, first)
  t.equal(out.verdict, "ok", out.reason)
  t.equal(first == nil or third ~= first, true)
  t.equal(out.shapes[1].blocks >= 8, true)
  e.close()
end)

t.finish()
