-- The fuzzers of text, a second each; SECONDS=600 make fuzz runs them at length.
package.path = "tests/lib/?.lua;" .. package.path
local t = require "harness"
local core = require "kernelband.core"

local root = "tests"
for _, run in ipairs { { "fuzz_plan", 1 }, { "fuzz_task", 1 }, { "fuzz_evidence", 50 } } do
  t.test(run[1] .. " finds nothing", function()
    local pipe = assert(io.popen(("%s run %s/fuzz/%s.lua %d 2>&1"):format(
      assert(core.system.exe()), root, run[1], run[2])))
    local text = pipe:read "a"
    local ok = pipe:close()
    t.equal(ok, true, text)
    t.contains(text, run[1] .. ":")
  end)
end
t.finish()
