-- Share of the optimum of every policy on the three spaces of benchmark_hub, and what a
-- memory of the other two buys ours: geometric means over the spaces.
--   kernelband run tests/bench/policies.lua DATA [seeds]
local kb = require "kernelband"

local data, seeds = assert(arg[1], "a folder with the three files"), tonumber(arg[2]) or 200
local convolution = {
  { "block_size", "BLOCK_SIZE_X", "BLOCK_SIZE_Y" }, { "tile_size", "TILE_SIZE_X", "TILE_SIZE_Y" },
  { "read_only", "READ_ONLY" }, { "shared_padding", "PADDING" } }
local files = {
  { "ktt-convolution-rtx2080ti.json.gz", convolution },
  { "ktt-pnpoly-rtx2080ti.json.gz", {
    { "block_size", "BLOCK_SIZE_X" }, { "tile_size", "TILE_SIZE" },
    { "between_method", "BETWEEN_METHOD" }, { "use_method", "USE_METHOD" } } },
  { "t4-convolution-a4000.json.gz", {
    { "block_size", "block_size_x", "block_size_y" }, { "tile_size", "tile_size_x", "tile_size_y" },
    { "read_only", "read_only" }, { "shared_padding", "use_shmem", "use_padding" } } },
}

local spaces = {}
for n, f in ipairs(files) do
  local groups = {}
  for i, g in ipairs(f[2]) do
    groups[i] = { name = g[1], axes = table.move(g, 2, #g, 1, {}) }
  end
  spaces[n] = kb.trace(data .. "/" .. f[1], { strategies = groups })
end

-- policy_of(n): the policy for space n. Mean shares at T = 20 and 60, a space each.
local function row(name, policy_of)
  local shares, mean20, mean60 = {}, 1, 1
  for n, space in ipairs(spaces) do
    local at20, at60 = 0, 0
    for seed = 1, seeds do
      local r = kb.search { task = space, policy = policy_of(n), budget = { steps = 60 },
                            seed = seed, confirm = false }
      local last = r.rows[#r.rows].best_speedup
      at20 = at20 + r.share_of_optimum * r.rows[math.min(20, #r.rows)].best_speedup / last / seeds
      at60 = at60 + r.share_of_optimum / seeds
    end
    shares[n] = ("%.3f"):format(at20)
    mean20, mean60 = mean20 * at20 ^ (1 / #spaces), mean60 * at60 ^ (1 / #spaces)
  end
  print(("%-22s %s   %.3f %.3f"):format(name, table.concat(shares, " "), mean20, mean60))
end

print(("%-22s %s   %s"):format("policy", "T = 20, each space", "T=20  T=60"))
for _, name in ipairs { "random", "best_of_n", "greedy", "epsilon_greedy", "ucb1", "thompson",
    "softmax", "one_plus_one", "beam", "islands", "map_elites", "mcts", "priority_epsilon_net",
    "world_model", "gp_ucb", "kernelband_v1", "kernelband_v2", "kernelband" } do
  row(name, function() return "policies/" .. name .. ".lua" end)
end

-- A memory of ten searches on each of the other spaces, none of the space itself.
local left = {}
for n in ipairs(spaces) do
  left[n] = os.tmpname()
  os.remove(left[n])
  for other, space in ipairs(spaces) do
    for seed = 5001, other ~= n and 5010 or 5000 do
      kb.search { task = space, budget = { steps = 60 }, seed = seed, confirm = false,
                  policy = kb.policy("policies/kernelband.lua", { remember = left[n] }) }
    end
  end
end
row("kernelband, memory", function(n)
  return kb.policy("policies/kernelband.lua", { memory = left[n], scale = 0.6, kin = 0.9 })
end)
for _, file in ipairs(left) do os.remove(file) end
