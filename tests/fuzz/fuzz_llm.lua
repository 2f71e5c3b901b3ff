-- Mutated bodies of servers and answers of models. SECONDS and COUNT bound it.
package.path = "tests/lib/?.lua;" .. package.path
local bodies = require "llm_bodies"
local seconds = tonumber(os.getenv "SECONDS" or "") or 10
local count = tonumber(os.getenv "COUNT" or "") or 1000000
print("fuzz_llm: " .. bodies.run(count, 20261121, seconds))
