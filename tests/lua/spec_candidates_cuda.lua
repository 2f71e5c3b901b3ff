-- The CUDA candidates as far as a machine without a GPU can see them: what must
-- be refused before a launch is refused for the right reason, the rest compiles
-- and is admitted. Needs the toolkit's NVRTC.
--   kernelband run tests/lua/spec_candidates_cuda.lua [WORD]
package.path = "tests/lib/?.lua;" .. package.path
local t = require "harness"
local candidates = require "candidates"
local core = require "kernelband.core"

local compiler, why = core.nvrtc()
if not compiler then
  print("skipped: " .. why)
  print "0 passed, 0 failed"
  return
end

local word = arg[1] or ""
local root = "tests"
local early = { build_failed = true, cheated = true, launch_failed = true }

local function contains(list, v)
  for _, x in ipairs(list) do if x == v then return true end end
end

local all = candidates.list(root .. "/candidates/hostile_cuda", "cuda")
local hostile = #all
table.move(candidates.list(root .. "/candidates/honest_cuda", "cuda"), 1, 1000, #all + 1, all)
local refused = 0
for _, c in ipairs(all) do
  if c.name:find(word, 1, true) and not c.slow then
    t.test(c.name .. " compiles, or is refused as it should be", function()
      local got, text = candidates.before_launch(root, c, compiler)
      local late = not c.want[1] or not early[c.want[1]]
      if os.getenv "KERNELBAND_TRACE" then print(c.name, got, text) end
      if got ~= "ok" then
        t.equal(contains(c.want, got) or contains(c.want, "no_gain"), true,
                ("%s: %s, wanted %s"):format(got, text, table.concat(c.want, " or ")))
        refused = refused + 1
      elseif not late and #c.want == 1 and c.want[1] ~= "launch_failed" then
        error(("admitted, wanted %s"):format(c.want[1]), 0)
      end
    end)
  end
end
compiler:close()
print(("%d hostile, %d honest; %d refused before a launch"):format(hostile, #all - hostile,
      refused))
if word == "" then
  t.test("the suites are as large as they have to be", function()
    t.equal(hostile >= 50 and #all - hostile >= 30 and refused >= 15, true)
  end)
end
t.finish()
