local t = require "harness"
local kb = require "kernelband"

local function trace(seed, more)
  local options = { task = kb.synthetic { seed = seed }, budget = { steps = 25 },
                    policy = "policies/random.lua" }
  for k, v in pairs(more or {}) do options[k] = v end
  local r = kb.search(options)
  local out = {}
  for i, row in ipairs(r.rows) do
    out[i] = ("%d %s %s %.17g"):format(row.parent, row.strategy, row.verdict,
                                       row.reward)
  end
  return table.concat(out, "\n"), r
end

t.test("a search is a function of its seeds", function()
  t.equal((trace(3)), (trace(3)))
  assert(trace(3) ~= trace(4), "the task's seed matters")
  assert(trace(3) ~= trace(3, { seed = 2 }), "the search's seed matters")
end)

t.test("evaluations overlap without changing what they are", function()
  t.equal((trace(3, { parallel = 4 })), (trace(3, { parallel = 4 })))
end)

t.test("the share of the optimum is a share", function()
  for seed = 1, 10 do
    local _, r = trace(seed)
    assert(r.share_of_optimum > 0 and r.share_of_optimum <= 1)
    t.equal(r.pulls, 25)
  end
end)

t.test("failures come as often as asked", function()
  local failed = 0
  for seed = 1, 30 do
    local r = kb.search { task = kb.synthetic { seed = seed, fail = 0.4 },
                          budget = { steps = 20 }, policy = "policies/random.lua" }
    failed = failed + r.pulls - r.verdicts.ok
  end
  assert(failed > 0.25 * 600 and failed < 0.55 * 600, failed)
  local r = kb.search { task = kb.synthetic { fail = 0 }, budget = { steps = 20 } }
  t.equal(r.verdicts, { ok = 20 })
end)

t.test("two runs of the ablation are byte-identical", function()
  local function ablate()
    local pipe = assert(io.popen(kb.core.system.exe() .. " run examples/ablate.lua 3"))
    local text = pipe:read "a"
    pipe:close()
    return text
  end
  local first = ablate()
  t.equal(ablate(), first)
  local header, rows = first:match "^([^\n]*)", select(2, first:gsub("\n", ""))
  t.equal(header, "axis\tvalue\tseed\tsteps\tspeedup\ttiling\tvectorization\tfusion"
    .. "\tpipeline\treordering\taccess_layout")
  t.equal(rows, 1 + 11 * 16)
end)

t.test("options are checked", function()
  t.raises("unknown option 'sede' (did you mean 'seed'?)", kb.synthetic, { sede = 1 })
  t.raises("fail: expected a number 0..1", kb.synthetic, { fail = 2 })
  t.equal(#kb.synthetic { strategies = 9 }.environment().strategies, 9)
end)

t.finish()
