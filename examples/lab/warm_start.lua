-- Are synthetic warm-start pairs as good as real ones? v1's own synthetic pairs, none,
-- and heads fitted on real pairs of the other spaces: how well psi foresees the gains
-- of the first 20 pulls, and what v1 reaches.
--   kernelband run examples/lab/warm_start.lua [seeds]
local kb  = require "kernelband"
local lab = require "lab"

local spaces, recorded = lab.spaces()
local seeds = lab.seeds(arg[1], spaces)
local v1 = "policies/kernelband_v1.lua"

-- What psi was and what came of it, over the first 20 pulls of searches.
local function foreseen(task, warm_start)
  local list, policy = {}, kb.policy(v1, { warm_start = warm_start })
  for seed = 1, seeds do
    local r = kb.search { task = task, policy = policy, seed = seed, budget = { steps = 20 } }
    for _, row in ipairs(r.rows) do
      list[#list + 1] = { gain = row.reward, psi = row.terms.psi }
    end
  end
  return lab.auc(list, function(p) return p.psi end) or 0.5
end

-- Heads fitted on the pairs of all spaces but one.
local function from_others(all, left_out)
  local list = {}
  for i, pairs_of in ipairs(all) do
    if i ~= left_out then table.move(pairs_of, 1, #pairs_of, #list + 1, list) end
  end
  return lab.heads(list)
end

-- The children that kb.sweep starts need the sweep only.
if recorded and not os.getenv "KERNELBAND_SWEEP" then
  local all, none, synthetic, real = {}, 0, 0, 0
  for i, task in ipairs(spaces) do all[i] = lab.pairs(task, 300, i) end
  print(("%-28s %8s %10s %16s"):format("space", "none", "synthetic", "real, of others"))
  for i, task in ipairs(spaces) do
    local a, b = foreseen(task, 0), foreseen(task, 1000)
    local c = lab.auc(all[i], from_others(all, i)) or 0.5
    none, synthetic, real = none + a, synthetic + b, real + c
    print(("%-28s %8.2f %10.2f %16.2f"):format(task.name, a, b, c))
  end
  print(("\nOver all spaces psi ranks a gain above no gain with %.2f without warm start, %.2f with "
    .. "synthetic pairs, and %.2f with real pairs of other spaces.\n"):format(none / #spaces,
    synthetic / #spaces, real / #spaces))
end

lab.show("warm_start", { spaces = spaces, seeds = seeds, steps = 60, policies = { v1 },
           grid = { warm_start = { 0, 100, 1000 } } })
