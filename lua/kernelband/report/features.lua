-- report/features.lua - what the features of a kernel are called, on a CPU and on a GPU.
local lines = require("kernelband.report.html").lines

-- phi, in its order: shares from 0 to 1.
local features = { cpu = lines "words.phi_cpu", gpu = lines "words.phi_gpu" }

local resources = { sm = { "arithmetic", "SM" }, dram = { "memory", "DRAM" },
                    l2 = { "L1 loads", "L2" } }

-- The resource that a strategy's target or a utilisation is of.
function features.resource(gpu, name)
  local both = resources[name]
  return both and both[gpu and 2 or 1] or name
end

return features
