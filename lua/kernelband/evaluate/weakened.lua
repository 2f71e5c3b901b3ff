-- evaluate/weakened.lua - whatever makes an "ok" worth less than it could be is said in
-- every evaluation, in sentences: what a task allows, what this machine lacks.
local core     = require "kernelband.core"
local task     = require "kernelband.task"
local template = require "kernelband.base.template"
local text     = require "kernelband.base.text"

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
  return template.fill("evaluate/sentences.atomics", { most = most })
end

-- A list of sentences about a task on a machine (device:describe()).
function weakened.of(t, machine)
  return text.lines(template.fill("evaluate/sentences.weakened", {
    task = t, most = flushed(t), machine = machine, host = core.system.host(),
    some = t.distributions and #t.distributions < #task.distributions }))
end

return weakened
