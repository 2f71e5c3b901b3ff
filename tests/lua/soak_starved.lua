-- A kernel's process that is kept from its processor before a launch is waited for longer than
-- one that sleeps or works.
package.path = "tests/lib/?.lua;" .. package.path
local t = require "harness"
local core = require "kernelband.core"

local second_ns = 10 ^ 9 // 1
local device <close> = assert(core.device "cpu")
local args = { { mode = "out", dtype = "f32", count = 1 } }

local function child()
  local f <close> = assert(io.open "/proc/thread-self/children")
  return f:read "a":match "%d+"
end

local function stop_for(pid, seconds)
  os.execute(("kill -STOP %s; (sleep %g; kill -CONT %s) &"):format(pid, seconds, pid))
end

t.test("a process is waited for while it is kept from its processor", function()
  local object = assert(device:build { source = "void one(float *y) { *y = 1; }", entry = "one",
                                       timeout_ns = 60 * second_ns, args = args })
  local buffers = assert(device:buffers(args, 1))
  local program = assert(device:load(object, buffers))
  stop_for(child(), 6)                          -- which is to make a copy
  assert(program:launch(1, second_ns))
end)
t.finish()
