-- report/features.lua - what the features of a kernel are called, on a CPU and on a GPU.
local features = {}

-- phi, in its order: shares from 0 to 1.
features.cpu = { "cache hits", "bandwidth of the level its data fit in", "flops of one core",
  "SIMD lanes in use", "instructions a cycle, of 4", "vector registers, of 32",
  "spills among memory accesses", "contiguous vector accesses", "multiply-adds among flops" }
features.gpu = { "L2 hits", "DRAM bandwidth", "SM, its busiest pipe", "active threads, of 32",
  "occupancy", "registers, of 255", "bank conflicts in shared memory",
  "bytes used of those moved", "tensor pipe" }

-- rho, in its order.
function features.behaviour(gpu)
  return { "log time", "log footprint", "intensity", gpu and "block x" or "lanes",
           gpu and "block y" or "unrolling", "occupancy" }
end

local resources = { sm = { "arithmetic", "SM" }, dram = { "memory", "DRAM" },
                    l2 = { "L1 loads", "L2" } }

-- The resource that a strategy's target or a utilisation is of.
function features.resource(gpu, name)
  local both = resources[name]
  return both and both[gpu and 2 or 1] or name
end

return features
