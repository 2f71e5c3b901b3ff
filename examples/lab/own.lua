-- One's own policy beside the shipped ones, on the recorded spaces of this repository: who is
-- better, and whether that is chance. What kernelband lab runs.
--   kernelband run examples/lab/own.lua POLICY.lua [seeds] [steps]
local kb   = require "kernelband"
local lab  = require "lab"
local path = require "kernelband.base.path"

local own   = kb.policy(arg[1] or error "which policy?")
local steps = math.tointeger(tonumber(arg[3] or 60))
local spaces = lab.spaces()
local list = { { file = own.file, name = "own " .. own.name } }
for _, file in ipairs(assert(path.files(kb.core.system.lib_dir() .. "/policies", ".lua"))) do
  if kb.core.system.realpath(file) ~= own.file then list[#list + 1] = file end
end

local at = steps > 20 and { 20, steps } or { steps }
local sweep = kb.sweep { spaces = spaces, seeds = lab.seeds(arg[2], spaces), steps = steps,
                         policies = list, baselines = nil }
lab.report("own", sweep.rows, { at = at })
