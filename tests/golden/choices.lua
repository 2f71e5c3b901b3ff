-- What policies choose: every shipped one on every recorded space of examples/traces and on
-- kb.synthetic, three seeds, 40 pulls, one and four in flight. A row has a hash a seed of all its
-- pulls, and the sum of the speed-ups as a first hint of what a difference did.
local kb = require "kernelband"

local core = kb.core
local PULLS, SEEDS = 40, 3

local function spaces()
  local list = { { "synthetic", function(seed) return kb.synthetic { seed = seed } end } }
  for _, file in ipairs(assert(core.system.list "examples/traces")) do
    local task = kb.trace("examples/traces/" .. file)
    list[#list + 1] = { file:match "^[^.]+", function() return task end }
  end
  return list
end

local function number(x) return x and ("%.17g"):format(x) or "-" end

-- One search as text: its pulls; and, one in flight, what the short loop without a listener finds.
local function search(policy, task, seed, in_flight)
  local lines = {}
  local r = kb.search { task = task, policy = policy, seed = seed, budget = { steps = PULLS },
    parallel = in_flight, quiet = true, on_pull = function(p)
      lines[#lines + 1] = table.concat({ p.n, p.parent.id, p.strategy_name, p.verdict,
        p.child and p.child.id or "-", number(p.reward), number(p.child and p.child.speedup) }, " ")
    end }
  lines[#lines + 1] = number(r.speedup)
  if in_flight == 1 then
    lines[#lines + 1] = number(kb.search { task = task, policy = policy, seed = seed, quiet = true,
                                           budget = { steps = PULLS } }.speedup)
  end
  return table.concat(lines, "\n"), r.speedup
end

return function(golden)
  local tasks = spaces()
  for _, in_flight in ipairs { 1, 4 } do
    local rows = { "policy\tspace\tseed 1\tseed 2\tseed 3\tspeed-ups" }
    for _, file in ipairs(assert(core.system.list "policies")) do
      for _, task in ipairs(tasks) do
        local row, sum = { file:match "^[^.]+", task[1] }, 0
        for seed = 1, SEEDS do
          local text, speedup = search("policies/" .. file, task[2](seed), seed, in_flight)
          row[#row + 1], sum = core.system.hash(text):sub(1, 12), sum + speedup
        end
        row[#row + 1] = ("%.3f"):format(sum)
        rows[#rows + 1] = table.concat(row, "\t")
      end
    end
    golden.file(("choices/in_flight_%d.tsv"):format(in_flight), table.concat(rows, "\n") .. "\n")
  end
end
