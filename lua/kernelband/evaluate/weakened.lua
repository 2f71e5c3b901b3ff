-- evaluate/weakened.lua - whatever makes an "ok" worth less than it could be is said in
-- every evaluation, in sentences: what a task allows, what this machine lacks.
local core   = require "kernelband.core"
local inputs = require "kernelband.evaluate.inputs"
local task   = require "kernelband.task"

local weakened = {}

-- How many of the smallest normal numbers an element may be off, at the worst shape.
local function flushed(t, atomics)
  local most = 1
  task.each_shape(t.shapes, function(shape)
    most = math.max(most, task.bound(t, shape, atomics).underflow)
  end)
  return most
end

-- Said of a kernel that adds by atomics, where its bound is wider for that; else nil.
function weakened.by_atomics(t)
  local most = flushed(t, true)
  if t.exact or most == flushed(t) then return nil end
  return ("the kernel has atomic additions, which flush denormal numbers to 0: an error of %.0f "
          .. "of the smallest normal numbers is allowed besides rounding"):format(most)
end

-- A list of sentences about a task on a machine (device:describe()).
function weakened.of(t, machine)
  local out, most, host = {}, flushed(t), core.system.host()
  local function say(when, text, ...)
    if when then out[#out + 1] = text:format(...) end
  end
  say(t.tolerance, "the task allows an absolute error of %g besides rounding", t.tolerance)
  say(t.accumulate, "the task allows sums in %s", t.accumulate)
  say(most > 1, "the task allows an error of %.0f of the smallest normal numbers besides rounding",
      most)
  say(t.distributions and #t.distributions < #inputs.distributions,
      "inputs are %s and nothing else", table.concat(t.distributions or {}, ", "))
  say(#t.shapes.held_out == 0, "the task has no held-out shapes")
  if machine.language ~= "c" then return out end
  local abi = host.landlock_abi
  say(abi < 6, "Landlock here (ABI %d) does not cover %s: the filter of system calls does alone",
      abi, abi < 3 and "truncation of files, TCP and signals to others"
      or abi < 4 and "TCP and signals to others" or "signals to others")
  say(host.cores < 2, "there is one processor: what judges disturbs what is timed")
  return out
end

return weakened
