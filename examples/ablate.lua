-- What does a parameter of a policy change? Its values beside one another on the recorded
-- spaces of this repository: a table with 95 % intervals, what of it is chance, a drawing.
--   kernelband run examples/ablate.lua [NAME=VALUE,VALUE,..] [POLICY.lua] [seeds]
-- The others are held against the first value.
local lab = require "lab.lab"

local name, list = (arg[1] or "alpha=0,0.5,1,2"):match "^([%w_]+)=(.+)$"
assert(name, "expected NAME=VALUE,VALUE,.. such as alpha=0,2")
local values = {}
for word in list:gmatch "[^,]+" do
  values[#values + 1] = math.tointeger(tonumber(word)) or tonumber(word) or word
end
local spaces = lab.spaces()

lab.show("ablate-" .. name, { spaces = spaces, seeds = lab.seeds(arg[3], spaces), steps = 60,
  policies = { arg[2] or "policies/kernelband.lua" }, grid = { [name] = values } })
