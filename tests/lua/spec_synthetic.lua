-- This file tests lua/kernelband/task/synthetic.lua. It checks that equal seeds give equal
-- searches, how often pulls fail, and the options. It also tests examples/ablate.lua.
package.path = "tests/lib/?.lua;" .. package.path
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

t.test("an ablation shows what alpha changes, and the same twice", function()
  local command = "cd '%s' && ln -sfn '%s/examples' examples && ln -sfn '%s/policies' "
    .. "policies && %s run examples/ablate.lua alpha=0,2 policies/kernelband_v1.lua 2 2>&1"
  local here, folder = kb.core.system.lib_dir(), t.folder()
  local function ablate()
    local pipe = assert(io.popen(command:format(folder, here, here, kb.core.system.exe())))
    local text = pipe:read "a"
    assert(pipe:close(), text)
    return text
  end
  local first = ablate()
  t.equal(ablate(), first)
  local figures = {}
  for alpha, rest in first:gmatch "\nkernelband_v1 alpha=(%d)%s+2%s+([^\n]*%])" do
    figures[tonumber(alpha)] = rest
  end
  assert(figures[0] and figures[2] and figures[0] ~= figures[2], first)
  t.contains(first, "drawn in runs/lab/ablate-alpha.svg")
  t.contains(kb.core.system.read_file(folder .. "/runs/lab/ablate-alpha.svg"), "</svg>")
end)

t.test("a parameter without effect is said to have none", function()
  local pipe = assert(io.popen(kb.core.system.exe()
    .. " run examples/ablate.lua buffer=500,600 policies/kernelband_v1.lua 2 2>&1"))
  t.contains(pipe:read "a", "no effect, the very same choices")
  pipe:close()
end)

t.test("options are checked", function()
  t.raises("unknown option 'sede' (did you mean 'seed'?)", kb.synthetic, { sede = 1 })
  t.raises("fail: expected a number 0..1", kb.synthetic, { fail = 2 })
  t.equal(#kb.synthetic { strategies = 9 }.environment().strategies, 9)
end)

t.finish()
