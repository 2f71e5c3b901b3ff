-- Do the profile head's weight and the number of clusters matter? One row a run:
--   kernelband run examples/ablate.lua [steps] [task folder] > ablate.tsv
-- One axis at a time around a stated centre; the same seeds in every cell, so
-- cells compare on the same tasks. Raw rows out, statistics elsewhere.
local kb = require "kernelband"

local steps  = math.tointeger(tonumber(arg[1] or 40))
local folder = arg[2]                           -- default: synthetic tasks
local seeds  = 16
local centre = { alpha = 0.5, clusters = 3 }
local axes   = {
  { "alpha",    { 0, 0.25, 0.5, 1, 2 } },
  { "clusters", { 1, 2, 3, 5, 8, "each" } },
}

local real = folder and kb.task(folder)
local strategies = folder and kb.strategies "strategies/c"

local function search(axis, value, seed)
  local params = { alpha = centre.alpha, clusters = centre.clusters }
  params[axis] = value
  return kb.search {
    task       = real or kb.synthetic { seed = seed },
    strategies = strategies,
    policy     = kb.policy("policies/kernelband.lua", params),
    budget     = { steps = steps },
    seed       = seed,
  }
end

local arms                                      -- names, in the set's order
for _, axis in ipairs(axes) do
  for _, value in ipairs(axis[2]) do
    for seed = 1, seeds do
      local best = search(axis[1], value, seed)
      if not arms then
        arms = best.strategies
        print("axis\tvalue\tseed\tsteps\tspeedup\t" .. table.concat(arms, "\t"))
      end
      local row = { axis[1], tostring(value), seed, steps,
                    ("%.4f"):format(best.speedup) }
      for _, name in ipairs(arms) do row[#row + 1] = best.arms[name] end
      print(table.concat(row, "\t"))
    end
  end
end
