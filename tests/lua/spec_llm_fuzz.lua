-- A short run of tests/fuzz/fuzz_llm.lua.
package.path = "tests/lib/?.lua;" .. package.path
local t = require "harness"
local bodies = require "llm_bodies"

t.test("2,000 mutated bodies and answers are read or refused", function()
  bodies.run(2000, 7)
end)

t.finish()
