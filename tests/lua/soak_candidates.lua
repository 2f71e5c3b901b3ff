-- Both suites of C candidates, twenty times each.
local core = require "kernelband.core"

local root = arg[0]:match "^(.*)/" or "."
local command = ("%s run %s/spec_candidates.lua 20"):format(assert(core.system.exe()), root)
assert(os.execute(command), "not every candidate got its verdict every time")
