-- What a report costs: median seconds for a journal of 2,000 pulls, of 9.
-- The aim: at most a second.
--   kernelband run tests/bench/bench_report.lua
package.path = (arg[0]:match "^(.*)/bench/" or "tests") .. "/lib/?.lua;" .. package.path
local core     = require "kernelband.core"
local report   = require "kernelband.report"
local journals = require "journals"
local worlds   = require "worlds"

local folder = worlds.folder()
journals.write(folder, { pulls = 2000 })
local times, bytes = {}, 0
for i = 1, 9 do
  local began = core.system.now_ns()
  bytes = #report.html { folder }
  times[i] = (core.system.now_ns() - began) / 1e9
end
worlds.clean()
table.sort(times)
print(("report of 2,000 pulls   %.3f s   %.2f MB"):format(times[5], bytes / 1e6))
