-- What remains when counters are forbidden? The same spaces with and without what
-- was recorded beside the times.
--   kernelband run examples/lab/counters.lua [seeds]
local kb  = require "kernelband"
local lab = require "lab"
local files = { "policies/random.lua", "policies/kernelband_v1.lua",
                "policies/kernelband_v2.lua", "policies/kernelband.lua" }

local spaces, recorded = lab.spaces()
local seeds = lab.seeds(arg[1], spaces)
if not recorded then
  print "No recordings in examples/traces: synthetic tasks have no counters to forget."
  return
end

local rows = {}
for _, counters in ipairs { true, false } do
  local list = counters and spaces or lab.spaces { counters = false }
  local policies = {}
  for i, file in ipairs(files) do
    policies[i] = { file = file, name = file:match "([%w_]+)%.lua$"
                    .. (counters and "" or ", times only") }
  end
  local r = kb.sweep { spaces = list, seeds = seeds, steps = 60, policies = policies }
  table.move(r.rows, 1, #r.rows, #rows + 1, rows)
end

local t = lab.report("counters", rows, { at = { 20, 60 }, against = "kernelband" })
for _, c in ipairs(t.cells) do
  if c.name == "kernelband, times only" then
    local d = c.against
    print(c.same and "\nThe default policy chose the same with and without counters."
      or ("\nWithout counters the default policy's share at T = 60 changes by %+.3f [%+.3f %+.3f]: "
          .. "%s."):format(d.value, d.low, d.high, d.sure and "more than chance"
          or "no more than chance"))
  end
end
