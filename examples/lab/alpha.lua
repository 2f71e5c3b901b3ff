-- Does the profile head's weight matter? alpha in {0, .25, .5, .75, 1}, v1's score and
-- ours, on the recorded spaces of this repository.
--   kernelband run examples/lab/alpha.lua [seeds]
local lab = require "lab"

local spaces = lab.spaces()
local seeds = lab.seeds(arg[1], spaces)

for _, name in ipairs { "kernelband_v1", "kernelband" } do
  lab.show("alpha-" .. name, { spaces = spaces, seeds = seeds, steps = 60,
             policies = { "policies/" .. name .. ".lua" },
             grid = { alpha = { 0, 0.25, 0.5, 0.75, 1 } } })
  print ""
end
