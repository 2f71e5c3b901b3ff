-- Is a reward more alike inside a cluster than between clusters? For every space the
-- share of a strategy's reward variance that its cluster explains (eta squared),
-- beside what clusters drawn by lot explain.
--   kernelband run examples/lab/variance.lua [K] [pairs]
local kb    = require "kernelband"
local chart = require "kernelband.report.chart"
local lab   = require "lab"
local keys  = require("kernelband.base.lists").keys

local k, n = math.tointeger(tonumber(arg[1] or 3)), math.tointeger(tonumber(arg[2] or 3000))
local lots = 200

-- Share of the variance of values that the groups explain, strategies apart.
local function explained(list, group)
  local all, by = {}, {}
  for i, p in ipairs(list) do
    local a = all[p.strategy] or { n = 0, sum = 0, squares = 0 }
    local key = p.strategy .. " " .. group[i]
    local b = by[key] or { n = 0, sum = 0, of = p.strategy }
    all[p.strategy], by[key] = a, b
    a.n, a.sum, a.squares = a.n + 1, a.sum + p.gain, a.squares + p.gain ^ 2
    b.n, b.sum = b.n + 1, b.sum + p.gain
  end
  local between, total = 0, 0
  for _, key in ipairs(keys(by)) do
    local b = by[key]
    between = between + b.n * (b.sum / b.n - all[b.of].sum / all[b.of].n) ^ 2
  end
  for _, name in ipairs(keys(all)) do
    local a = all[name]
    total = total + a.squares - a.sum ^ 2 / a.n
  end
  return between / total
end

local spaces, recorded = lab.spaces { all = true }
if not recorded then
  print "No recordings in examples/traces: nothing to look at."
  return
end

print(("%-28s %9s %9s %9s"):format("space", "clusters", "by lot", "95 % lot"))
local more, drawn, lot_lines = 0, {}, {}
for at, task in ipairs(spaces) do
  local list, points = lab.pairs(task, n, at), {}
  for i, p in ipairs(list) do points[i] = p.rho end
  local group = kb.core.cluster(k, 6, { seed = 1 }):fit(points)
  local found, rng, chance = explained(list, group), kb.core.rng(at), {}
  for lot = 1, lots do
    for i = #group, 2, -1 do
      local j = 1 + rng:below(i)
      group[i], group[j] = group[j], group[i]
    end
    chance[lot] = explained(list, group)
  end
  local high = kb.core.stats.quantile(chance, 0.95)
  if found > high then more = more + 1 end
  drawn[at] = { at, found, task.name }
  lot_lines[at] = { { at, kb.core.stats.quantile(chance, 0.025) },
                    { at, kb.core.stats.quantile(chance, 0.975) } }
  print(("%-28s %9.3f %9.3f %9.3f"):format(task.name, found, kb.core.stats.mean(chance), high))
end
print(("\nOn %d of %d spaces K = %d clusters of rho explain more of a strategy's reward "
       .. "variance than clusters drawn by lot; the rest is inside clusters."):format(more,
       #spaces, k))

local c = chart.new { title = "Share of a strategy's reward variance that clusters explain",
  width = 560, height = 300, x = { min = 0, max = #spaces + 1, names = {}, label = "spaces" },
  y = { label = "share of reward variance", min = 0 } }
for i, line in ipairs(lot_lines) do
  c:line(line, { series = 2, name = i == 1 and "clusters drawn by lot, 95 %" or nil })
end
c:points(drawn, { series = 1, name = "clusters of rho" })
lab.draw("variance", c:svg { standalone = true })
