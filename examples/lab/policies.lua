-- Which policy? All of policies/ on the recorded spaces of this repository, beside the
-- oracles: share of the optimum at T = 20 and 60. The default has to earn its place here.
--   kernelband run examples/lab/policies.lua [seeds]
local kb   = require "kernelband"
local lab  = require "lab"
local path = require "kernelband.base.path"

local spaces, recorded = lab.spaces()
local files = { "policies/kernelband.lua" }
for _, file in ipairs(assert(path.files(kb.core.system.lib_dir() .. "/policies", ".lua"))) do
  if not file:find "/kernelband%.lua$" then files[#files + 1] = file end
end

lab.show("policies", { spaces = spaces, seeds = lab.seeds(arg[1], spaces), steps = 60,
  policies = files, baselines = recorded and { "oracle", "oracle-best", "sample" } or nil })
