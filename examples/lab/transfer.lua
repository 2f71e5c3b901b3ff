-- Does a profile head trained on one device or task serve another? Heads are fitted on
-- pairs (phi, gained or not) of one space and asked about another: the chance that a
-- pair which gained ranks above one which did not (0.5 is a guess).
--   kernelband run examples/lab/transfer.lua [pairs]
local chart = require "kernelband.report.chart"
local lab   = require "lab"

local n = math.tointeger(tonumber(arg[1] or 1000))

local spaces, recorded = lab.spaces { all = true }
if not recorded then
  print "No recordings in examples/traces: nothing to transfer."
  return
end

local trained, asked, names, numbers = {}, {}, {}, {}
for i, task in ipairs(spaces) do
  trained[i], asked[i] = lab.heads(lab.pairs(task, n, 2 * i)), lab.pairs(task, n, 2 * i + 1)
  names[i], numbers[i] = ("%s %d"):format(task.name, i), tostring(i)
end

local function device(task) return task.name:match "%-(%w+)$" end
local all, cells = { own = {}, same = {}, other = {} }, {}
print(("%-24s %5s  %-18s %-18s"):format("asked about", "own", "same device", "another device"))
for j, there in ipairs(spaces) do
  local of = { own = {}, same = {}, other = {} }
  for i, task in ipairs(spaces) do
    local auc = lab.auc(asked[j], trained[i]) or 0.5
    local kind = i == j and "own" or device(task) == device(there) and "same" or "other"
    table.insert(of[kind], auc)
    table.insert(all[kind], auc)
    cells[i] = cells[i] or {}
    cells[i][j] = { value = 2 * auc - 1, lines = { ("%.2f"):format(auc) },
                    title = ("trained on %s, asked about %s"):format(task.name, there.name) }
  end
  print(("%-24s %5s  %-18s %-18s"):format(there.name:sub(1, 24), lab.figure(of.own),
        lab.figure(of.same), lab.figure(of.other)))
end
print(("\nA head foresees gains on its own space with %s, on another task of its device with %s, "
       .. "on another device with %s (0.5 is a guess)."):format(lab.figure(all.own),
       lab.figure(all.same), lab.figure(all.other)))
lab.draw("transfer", chart.heat { title = "How well a head trained on a row's space foresees gains "
  .. "on a column's", rows = names, columns = numbers, cells = cells, cell_width = 40,
  standalone = true })
