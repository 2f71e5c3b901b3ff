-- How many clusters? K in {1, 2, 3, 5, 8, "each", "auto"}; "auto" where the policy
-- knows it.
--   kernelband run examples/lab/clusters.lua [seeds]
local kb  = require "kernelband"
local lab = require "lab"

local spaces = lab.spaces()
local seeds = lab.seeds(arg[1], spaces)

for _, name in ipairs { "kernelband_v1", "kernelband_v2", "kernelband" } do
  local policies = {}
  for _, k in ipairs { 1, 2, 3, 5, 8, "each", "auto" } do
    local file = "policies/" .. name .. ".lua"
    local accepts = pcall(function()
      local policy = kb.policy(file, { clusters = k })
      kb.search { task = kb.synthetic {}, policy = policy, budget = { steps = 1 } }
    end)
    if accepts then
      policies[#policies + 1] = { file = file, params = { clusters = k } }
    else
      io.stderr:write(("%s takes no clusters = %s: left out\n"):format(name, k))
    end
  end
  lab.show("clusters-" .. name, { spaces = spaces, seeds = seeds, steps = 60, policies = policies })
  print ""
end
