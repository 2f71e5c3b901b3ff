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

local function of_task(t, say)
  if t.tolerance then
    say("the task allows an absolute error of %g besides rounding", t.tolerance)
  end
  if t.accumulate then say("the task allows sums in %s", t.accumulate) end
  local most = flushed(t)
  if most > 1 then
    say("the task allows an error of %.0f of the smallest normal numbers besides rounding", most)
  end
  if t.distributions and #t.distributions < #inputs.distributions then
    say("inputs are %s and nothing else", table.concat(t.distributions, ", "))
  end
  if #t.shapes.held_out == 0 then say "the task has no held-out shapes" end
end

local function of_machine(machine, say)
  local host = core.system.host()
  if machine.language == "c" then
    local lacks = host.landlock_abi < 3 and "truncation of files, TCP and signals to others"
                  or host.landlock_abi < 4 and "TCP and signals to others"
                  or host.landlock_abi < 6 and "signals to others" or nil
    if lacks then
      say("Landlock here (ABI %d) does not cover %s: the filter of system calls does alone",
          host.landlock_abi, lacks)
    end
    if host.cores < 2 then
      say "there is one processor: what judges disturbs what is timed"
    end
  end
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
  local out = {}
  local function say(text, ...)
    out[#out + 1] = select("#", ...) > 0 and text:format(...) or text
  end
  of_task(t, say)
  of_machine(machine, say)
  return out
end

return weakened
