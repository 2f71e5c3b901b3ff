-- examples/ablate.lua and the scripts of examples/lab run, each under a minute, and draw.
package.path = "tests/lib/?.lua;" .. package.path
local t = require "harness"
local kb = require "kernelband"
local exe = kb.core.system.exe()

for _, name in ipairs { "ablate", "lab/alpha", "lab/clusters", "lab/counters", "lab/halving",
                        "lab/policies", "lab/rewards", "lab/transfer", "lab/variance",
                        "lab/warm_start" } do
  t.test(name .. " prints its table, its sentence and a drawing within a minute", function()
    local start = kb.core.system.now_ns()
    local pipe = assert(io.popen(("%s run examples/%s.lua 2>&1"):format(exe, name)))
    local text = pipe:read "a"
    local ok = pipe:close()
    assert(ok, text)
    local svg = assert(text:match "\ndrawn in (%S+)", text)
    t.contains(kb.core.system.read_file(svg), "</svg>")
    local seconds = (kb.core.system.now_ns() - start) / 1e9
    assert(seconds < 60, seconds)
  end)
end

t.finish()
