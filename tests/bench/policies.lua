-- Share of the optimum of every policy on the three spaces of benchmark_hub, of the
-- oracles beside them, and what a memory of the other two buys ours: a column a space at
-- T = 20, then geometric means over the spaces with 95 % bootstrap intervals over seeds.
--   kernelband run tests/bench/policies.lua DATA [seeds [policy ...]]
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

local spaces, wide = {}, {}             -- wide: as the built-in generator draws
for n, f in ipairs(files) do
  local groups = {}
  for i, g in ipairs(f[2]) do
    groups[i] = { name = g[1], axes = table.move(g, 2, #g, 1, {}) }
  end
  spaces[n] = kb.trace(data .. "/" .. f[1], { strategies = groups })
  wide[n] = kb.trace(data .. "/" .. f[1], { strategies = groups, draws = 4 })
end

-- Geometric mean over the spaces of the means of table[space][seed], and its interval.
local function summary(table_)
  local rng, draws, value = kb.core.rng(1), {}, 1
  local function mean(list, pick)
    local sum = 0
    for at = 1, seeds do sum = sum + list[pick and 1 + rng:below(seeds) or at] end
    return (sum / seeds) ^ (1 / #spaces)
  end
  for d = 0, 1000 do
    local product = 1
    for _, list in ipairs(table_) do product = product * mean(list, d > 0) end
    if d == 0 then value = product else draws[d] = product end
  end
  table.sort(draws)
  return ("%.3f [%.3f %.3f]"):format(value, draws[25], draws[976])
end

-- share_of(space, n, seed) -> shares at T = 20 and at T = 60.
local function line(name, share_of)
  local at20, at60, shares = {}, {}, {}
  for n, space in ipairs(spaces) do
    local sum = 0
    at20[n], at60[n] = {}, {}
    for seed = 1, seeds do
      at20[n][seed], at60[n][seed] = share_of(space, n, seed)
      sum = sum + at20[n][seed]
    end
    shares[n] = ("%.3f"):format(sum / seeds)
  end
  print(("%-22s %s   %s  %s"):format(name, table.concat(shares, " "), summary(at20),
                                      summary(at60)))
  io.stdout:flush()
end

-- policy_of(n): the policy for space n.
local function row(name, policy_of, others)
  line(name, function(space, n, seed)
    local r = kb.search { task = others and others[n] or space, policy = policy_of(n),
                          budget = { steps = 60 }, seed = seed, confirm = false }
    local last = r.rows[#r.rows].best_speedup
    return r.share_of_optimum * r.rows[math.min(20, #r.rows)].best_speedup / last,
           r.share_of_optimum
  end)
end

print(("%-22s %s   %s"):format("policy", "T = 20, each space", "T = 20               T = 60"))
for _, bound in ipairs { "pool", "best" } do
  line("oracle, any " .. bound, function(space, _, seed)
    local share = space.oracle { steps = 60, seed = seed, bound = bound }.share
    return share[20], share[60]
  end)
end
line("whole-space sampling", function(space, _, seed)
  local share = space.sample { steps = 60, seed = seed }.share
  return share[20], share[60]
end)
local only = #arg > 2 and {} or nil
for i = 3, #arg do only[arg[i]] = true end
for _, name in ipairs { "random", "best_of_n", "greedy", "epsilon_greedy", "ucb1", "thompson",
    "softmax", "one_plus_one", "beam", "islands", "map_elites", "mcts", "priority_epsilon_net",
    "world_model", "gp_ucb", "kernelband_v1", "kernelband_v2", "kernelband" } do
  if not only or only[name] then
    row(name, function() return "policies/" .. name .. ".lua" end)
  end
end

row("kernelband, 4 draws", function() return "policies/kernelband.lua" end, wide)

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
  return kb.policy("policies/kernelband.lua", { memory = left[n] })
end)
for _, file in ipairs(left) do os.remove(file) end
