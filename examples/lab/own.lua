-- One's own policy beside the shipped ones, on the recorded spaces of this repository: who is
-- better, and whether that is chance. What kernelband lab runs.
--   kernelband run examples/lab/own.lua POLICY.lua [seeds] [steps]
local kb   = require "kernelband"
local lab  = require "lab"
local path = require "kernelband.path"

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
local t = kb.compare.table(sweep.rows, { at = at })
print(kb.compare.text(t, true))

-- At the last number of pulls, by the interval of the difference over the seeds both have.
local better, worse, chance = {}, {}, {}
for _, c in ipairs(t.cells) do
  local d = c.against
  if c.name ~= t.reference then
    local into = not (d and d.sure) and chance or d.value < 0 and better or worse
    into[#into + 1] = c.name
  end
end
local function say(what, names)
  if #names > 0 then print(("%s %d: %s"):format(what, #names, table.concat(names, ", "))) end
end
print(("\nAfter %d pulls, 95 %% a comparison, %s is"):format(at[#at], own.name))
say("  better than", better)
say("  worse than", worse)
say("  within chance of", chance)
