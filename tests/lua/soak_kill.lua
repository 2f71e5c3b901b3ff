-- 200 kills of a running search at random moments.
package.path = "tests/lib/?.lua;" .. package.path
local core = require "kernelband.core"
local kills = require "kills"

local dir = ("%s/kb-soak-%s"):format(os.getenv "TMPDIR" or "/tmp", core.system.random_hex(6))
assert(core.system.mkdir_p(dir))
local times = tonumber(arg[1]) or 200
local n = kills.run { kills = times, dir = dir, seed = 11, most_ms = 600,
                      exe = core.system.exe() }
os.execute("rm -rf '" .. dir .. "'")
print(("%d kills: %d pulls, none lost but those in flight"):format(times, n))
