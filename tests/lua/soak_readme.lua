-- Every shell block of README.md, as written, one after another in an empty
-- folder that holds what a clone's top level has.
package.path = "tests/lib/?.lua;" .. package.path
local t = require "harness"
local core = require "kernelband.core"
local system = core.system

local root = assert(system.lib_dir())
local dir = t.folder()
local text = assert(system.read_file(root .. "/README.md"))

local blocks = {}
for block in text:gmatch "\n```sh\n(.-)\n```" do blocks[#blocks + 1] = block end

local function sh(script, log)
  return os.execute(("cd %s && PATH=%s:$PATH KERNELBAND_LIB=%s sh -e %s >%s 2>&1")
    :format(dir, system.exe():match "^(.*)/", root, script, log))
end

t.test("README shows each of these by commands that run here", function()
  for _, title in ipairs { "Two commands", "An experiment", "A task", "A policy", "An ablation" } do
    local section = text:match("\n## " .. title .. "\n(.-)\n## ")
    t.equal(section and section:find("\n```sh\n", 1, true) ~= nil, true, title)
  end
  t.contains(text, "kernelband run examples/llm.lua\n")
end)
for _, name in ipairs { "examples", "policies", "strategies", "README.md" } do
  assert(os.execute(("cp -R %s/%s %s/%s"):format(root, name, dir, name)))
end
for i, block in ipairs(blocks) do
  local first = block:match "[^\n]*"
  t.test(("block %d (%s) runs"):format(i, first), function()
    assert(system.write_file(dir .. "/block.sh", (block:gsub("export PATH=[^\n]*\n", "")) .. "\n"))
    local ok = sh("block.sh", "log")
    if not ok then error(system.read_file(dir .. "/log")) end
  end)
end
t.finish()
