-- Which policy? All of policies/ on the recorded spaces of this repository, beside the
-- oracles: share of the optimum at T = 20 and 60. The default has to earn its place here.
--   kernelband run examples/lab/policies.lua [seeds]
local lab = require "lab"

local spaces, recorded = lab.spaces()
local names = { "kernelband", "kernelband_v1", "kernelband_v2", "random", "best_of_n", "greedy",
  "epsilon_greedy", "ucb1", "thompson", "softmax", "one_plus_one", "beam", "islands",
  "map_elites", "mcts", "priority_epsilon_net", "world_model", "gp_ucb" }
local files = {}
for i, name in ipairs(names) do files[i] = "policies/" .. name .. ".lua" end

lab.show { spaces = spaces, seeds = lab.seeds(arg[1], spaces), steps = 60, policies = files,
           baselines = recorded and { "oracle", "oracle-best", "sample" } or nil }
