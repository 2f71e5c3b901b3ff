-- Successive halving: a stage of a sweep sees the rows before it. All policies and
-- settings with few seeds, the better half with twice as many, and so on: the same
-- answer for a fraction of the searches.
--   kernelband run examples/lab/halving.lua [first seeds] [rows.jsonl]
local kb  = require "kernelband"
local lab = require "lab"

local spaces = lab.spaces()
local first = math.tointeger(tonumber(arg[1])) or math.max(2, 16 // #spaces)

local entries = {
  "policies/random.lua", "policies/kernelband_v1.lua", "policies/kernelband_v2.lua",
  "policies/kernelband.lua",
  { file = "policies/kernelband_v1.lua", name = "v1, c = 0.1", params = { c = 0.1 } },
  { file = "policies/kernelband_v2.lua", name = "v2, c = 0.1", params = { c = 0.1 } },
  { file = "policies/kernelband_v2.lua", name = "v2, K = 1", params = { clusters = 1 } },
  { file = "policies/kernelband.lua", name = "ours, c = 0.3", params = { c = 0.3 } },
}
local by_name = {}
for _, entry in ipairs(entries) do
  local name = type(entry) == "table" and entry.name or entry:match "([%w_]+)%.lua$"
  by_name[name] = entry
end

-- The better half of what is still in: those with most seeds so far.
local function better_half(rows)
  local t, most, still = kb.compare.table(rows, { at = { 60 } }), 0, {}
  for _, c in ipairs(t.cells) do most = math.max(most, c.seeds) end
  for _, c in ipairs(t.cells) do
    if c.seeds == most then still[#still + 1] = c end
  end
  table.sort(still, function(a, b)
    if a.at[60].value ~= b.at[60].value then return a.at[60].value > b.at[60].value end
    return a.name < b.name
  end)
  local out = {}
  for i = 1, (#still + 1) // 2 do out[i] = by_name[still[i].name] end
  return #still > 1 and out or nil
end

local function halve(seeds)
  return function(rows)
    local list = better_half(rows)
    return list and { policies = list, seeds = seeds }
  end
end

local r = kb.sweep { spaces = spaces, steps = 60, out = arg[2],
  stages = { { policies = entries, seeds = first }, halve(2 * first), halve(4 * first),
             halve(8 * first) } }
lab.report("halving", r.rows, { at = { 20, 60 } })
print(("%d searches instead of %d"):format(#r.rows, 8 * first * #entries * #spaces))
