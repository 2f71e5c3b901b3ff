-- Does a profile head trained on one device or task serve another? Heads are fitted on
-- pairs (phi, gained or not) of one space and asked about another: the chance that a
-- pair which gained ranks above one which did not (0.5 is a guess).
--   kernelband run examples/lab/transfer.lua [pairs]
local lab = require "lab"

local n = math.tointeger(tonumber(arg[1] or 1000))

local spaces, recorded = lab.spaces()
if not recorded then
  print "No recordings in examples/traces: nothing to transfer."
  return
end

local trained, asked = {}, {}
for i, task in ipairs(spaces) do
  trained[i], asked[i] = lab.heads(lab.pairs(task, n, 2 * i)), lab.pairs(task, n, 2 * i + 1)
end

local line = { ("%-24s"):format "trained on \\ asked about" }
for j in ipairs(spaces) do line[#line + 1] = ("%5d"):format(j) end
print(table.concat(line, " "))
local own, other, others, same, sames = 0, 0, 0, 0, 0
local function device(task) return task.name:match "%-(%w+)$" end
for i, task in ipairs(spaces) do
  line = { ("%2d %-21s"):format(i, task.name:sub(1, 21)) }
  for j, there in ipairs(spaces) do
    local auc = lab.auc(asked[j], trained[i]) or 0.5
    line[#line + 1] = ("%5.2f"):format(auc)
    if i == j then
      own = own + auc / #spaces
    elseif device(task) == device(there) then
      same, sames = same + auc, sames + 1
    else
      other, others = other + auc, others + 1
    end
  end
  print(table.concat(line, " "))
end
print(("\nA head foresees gains on its own space with %.2f, on another task of its device with %s, "
       .. "on another device with %s."):format(own, sames > 0 and ("%.2f"):format(same / sames)
       or "(none recorded)", others > 0 and ("%.2f"):format(other / others) or "(none recorded)"))
