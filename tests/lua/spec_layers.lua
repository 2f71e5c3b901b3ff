-- Every module and every file of core uses only its own layer and those below, without cycles.
-- Runs last in make check: the other specs record what they saw required, lazily too.
package.path = "tests/lib/?.lua;" .. package.path
local t = require "harness"
local graph = require "graph"
local core = require "kernelband.core"

local records = (os.getenv "KERNELBAND_REQUIRES" or ""):match "^(.*)/"

local function none(list) t.equal(table.concat(list, "\n"), "") end

t.test("no Lua module uses one of a layer above its own, and there is no cycle", function()
  none(graph.faults(graph.lua(records), graph.known))
end)

t.test("no file of core includes one of a folder above its own, and there is no cycle", function()
  none(graph.faults(graph.core(), {}))
end)

t.test("every module can be loaded by itself", function()
  local exe, root = assert(core.system.exe()), core.system.lib_dir()
  local script = t.folder() .. "/s.lua"
  assert(core.system.write_file(script, "for _, name in ipairs(arg) do require(name) end"))
  for _, name in ipairs(graph.sorted(graph.lua().uses)) do
    local long = name == "kernelband" and name or "kernelband." .. name
    local file = ("%s/lua/%s"):format(root, long:gsub("%.", "/"))
    if core.system.exists(file .. ".lua") then
      t.equal(os.execute(("%s run %s %s"):format(exe, script, long)), true, name)
    end
  end
end)

local function small(uses)
  local g = { layers = { "low", "high" }, of = {}, uses = uses, gone = {} }
  for name in pairs(uses) do g.of[name] = name:match "^%a+" end
  return g
end

t.test("a reference upwards, a cycle and what is known no more are each found", function()
  local up = { low1 = { high1 = "its text" }, high1 = {} }
  t.contains(graph.faults(small(up), {})[1], "low1 (low) uses high1 (high), a layer above it")
  none(graph.faults(small(up), { low1 = "high1" }))
  local round = { low1 = { low2 = "x" }, low2 = { low3 = "x" }, low3 = { low1 = "x" } }
  t.equal(graph.faults(small(round), {}), { "a cycle: low1 -> low2 -> low3 -> low1" })
  none(graph.faults(small(round), { low3 = "low1" }))
  t.contains(graph.faults(small { low1 = {}, high1 = {} }, { high1 = "low1" })[1],
             "high1 no longer uses low1")
  t.contains(graph.faults(small { other = {} }, {})[1], "other is in no layer")
end)

t.finish()
