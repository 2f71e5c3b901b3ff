-- The scripts of examples/lab run, each under a minute, and end in a sentence.
local t = require "harness"
local kb = require "kernelband"
local exe = kb.core.system.exe()

for _, name in ipairs { "alpha", "clusters", "counters", "halving", "policies", "rewards",
                        "transfer", "variance", "warm_start" } do
  t.test(name .. " prints its table and its sentence within a minute", function()
    local start = kb.core.system.now_ns()
    local pipe = assert(io.popen(("%s run examples/lab/%s.lua 2>&1"):format(exe, name)))
    local text = pipe:read "a"
    local ok = pipe:close()
    assert(ok, text)
    assert(text:match "([^\n]+)%s*$":find "[%.%w]$", text)
    local seconds = (kb.core.system.now_ns() - start) / 1e9
    assert(seconds < 60, seconds)
  end)
end

t.finish()
