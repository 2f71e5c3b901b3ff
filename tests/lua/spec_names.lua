-- Old names of modules, from before there were folders, still work in scripts and schedules.
package.path = "tests/lib/?.lua;" .. package.path
local t = require "harness"
local core = require "kernelband.core"

local now = {
  emit_cuda = "emit.cuda", emit_rows = "emit.rows", emit_tile = "emit.tile", json = "base.json",
  loop = "base.loop", path = "base.path", progress = "search.progress", run = "store.run",
}

-- In a script that requires nothing else: any verb may load a schedule.
local function first(name)
  local script = t.folder() .. "/s.lua"
  assert(core.system.write_file(script, ("print(type(require %q))"):format(name)))
  local pipe = assert(io.popen(("%s run %s 2>&1"):format(core.system.exe(), script)))
  local text = pipe:read "a"
  pipe:close()
  return text
end

for _, old in ipairs { "emit_cuda", "emit_rows", "emit_tile", "json", "loop", "path", "progress",
                       "run" } do
  t.test(("kernelband.%s is kernelband.%s"):format(old, now[old]), function()
    t.equal(rawequal(require("kernelband." .. old), require("kernelband." .. now[old])), true)
    t.equal(first("kernelband." .. old), "table\n")
  end)
end

t.test("modules whose names did not change are there", function()
  for _, name in ipairs { "emit", "evaluate", "policy", "report", "search", "task", "trace",
                          "trace.features", "trace.walk", "worker" } do
    t.equal(type(require("kernelband." .. name)), "table", name)
  end
end)

t.test("a name that never existed is refused", function()
  t.raises("module 'kernelband.emit_nothing' not found", require, "kernelband.emit_nothing")
end)

t.finish()
