-- Which shape of reward teaches best? The published two, and four more.
--   kernelband run examples/lab/rewards.lua [seeds]
local kb  = require "kernelband"
local lab = require "lab"

local spaces = lab.spaces()
local seeds = lab.seeds(arg[1], spaces)

local shapes = {
  { "relative (v1)", kb.reward.relative {} },
  { "improvement (v2)", kb.reward.improvement {} },
  { "failure as bad as no gain", kb.reward.relative { failure = 0 } },
  { "log ratio", function(parent, child)
      if not child then return -0.5 end
      return math.max(-2, math.min(2, math.log(parent.time_ns / child.time_ns)))
    end },
  { "faster or not", function(parent, child)
      return child and child.time_ns < parent.time_ns and 1 or 0
    end },
  { "over the first kernel", function(_, child)       -- not the parent's merit
      return child and 1 - 1 / child.speedup or -1
    end },
}

for _, file in ipairs { "policies/kernelband_v1.lua", "policies/kernelband.lua" } do
  local policies = {}
  for _, shape in ipairs(shapes) do
    local name = file:match "([%w_]+)%.lua$" .. ", " .. shape[1]
    policies[#policies + 1] = { file = file, name = name, reward = shape[2] }
  end
  lab.show("rewards-" .. file:match "([%w_]+)%.lua$",
           { spaces = spaces, seeds = seeds, steps = 60, policies = policies })
  print ""
end
