-- Constants that a candidate declares, searched inside its own pull.
package.path = "tests/lib/?.lua;" .. package.path
local t = require "harness"
local kb = require "kernelband"
local run = require "kernelband.store.run"
local tuning = require "kernelband.search.tuning"
local worlds = require "worlds"

local source = "// kb: tune BX 64 128 256\n// kb: tune UNROLL 1 2 4\nvoid f(void) {}\n"

-- An attempt whose speed-up is what `speed` says of its values.
local function evaluator(speed)
  local tried = {}
  return function(candidate)
    local p = candidate.params
    tried[#tried + 1] = p.BX .. "," .. p.UNROLL
    local s = speed(p)
    local verdict = s and "ok" or "wrong"
    return { candidate = candidate,
             evaluation = { verdict = verdict, speedup = s, speedup_low = s } }
  end, tried
end

t.test("a line declares a constant and its values", function()
  t.equal(tuning.parse "// kb: tune BX 64 128 256\n  //kb:tune U 1, 2\r\nint x;\n",
          { { name = "BX", values = { 64, 128, 256 } }, { name = "U", values = { 1, 2 } } })
  t.equal(tuning.parse "int tune;\n// tune BX 1\n", {})
end)

t.test("it is defined in its place", function()
  local c = tuning.first { source = "// kb: tune BX 64 128\nint a[BX];" }
  t.equal(c.source, "#define BX 64\nint a[BX];")
  t.equal(c.params, { BX = 64 })
end)

t.test("values reach to where a threshold means never", function()
  t.equal(tuning.parse("// kb: tune A 0 2000000000 -1099511627776 1099511627776")[1].values,
          { 0, 2000000000, -1099511627776, 1099511627776 })
  t.equal(tuning.first({ source = "// kb: tune A 1099511627776" }).source,
          "#define A 1099511627776")
end)

t.test("a value said twice counts once", function()
  t.equal(tuning.parse("// kb: tune A 2 2 4")[1].values, { 2, 4 })
end)

for _, case in ipairs {
  { "// kb: tune", "names nothing" },
  { "// kb: tune 9x 1", "'9x' is no name" },
  { "// kb: tune A", "A has no value" },
  { "// kb: tune A 1 two", "'two' is no integer" },
  { "// kb: tune A 1.5", "'1.5' is no integer" },
  { "// kb: tune A 1099511627777", "is no integer within" },
  { "// kb: tune A 1\n// kb: tune A 2", "line 2: kb: tune: A is declared twice" },
  { "// kb: tune A" .. (" 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17"), "more than 16 values" },
  { (function() local s = {} for i = 1, 9 do s[i] = "// kb: tune A" .. i .. " 1" end
     return table.concat(s, "\n") end)(), "more than 8 names" },
  { "// kb: tune \1\2 1", "'??' is no name" },
  { "// kb: tune A(x) 1", "is no name" },
} do
  t.test("refused: " .. case[2], function()
    local got, why = tuning.parse(case[1])
    t.equal(got, nil)
    t.contains(why, case[2])
    local c = { source = case[1] }
    t.equal({ tuning.first(c) }, { c, why })
  end)
end

t.test("a candidate starts with the first value of each", function()
  local c = tuning.first { source = source, origin = "llm" }
  t.equal(c.params, { BX = 64, UNROLL = 1 })
  t.contains(c.source, "#define BX 64")
  t.contains(c.source, "#define UNROLL 1")
  local plain = { source = "void f(void) {}" }
  t.equal(tuning.first(plain) == plain, true)
end)

t.test("one constant at a time goes to what is faster, and never to what is wrong", function()
  local evaluate, tried = evaluator(function(p)
    if p.BX == 256 then return nil end
    return (p.BX == 128 and 2 or 1) * p.UNROLL
  end)
  local first = evaluate(tuning.first { source = source })
  local best = tuning.descend(first, 50, evaluate)
  t.equal(best.candidate.params, { BX = 128, UNROLL = 4 })
  t.equal(tried, { "64,1", "128,1", "256,1", "128,2", "128,4", "64,4", "256,4" })
end)

t.test("evaluations are bounded, and what is not faster beyond doubt is not taken", function()
  local evaluate, tried = evaluator(function(p) return p.BX * p.UNROLL end)
  local first = evaluate(tuning.first { source = source })
  t.equal(tuning.descend(first, 2, evaluate).candidate.params, { BX = 256, UNROLL = 1 })
  t.equal(#tried, 3)
  local same = evaluator(function() return 3 end)
  t.equal(tuning.descend(same(tuning.first { source = source }), 50, same).candidate.params,
          { BX = 64, UNROLL = 1 })
end)

t.test("a search tunes within the pull, and the journal says what was tried", function()
  local out = worlds.folder()
  local n = 0
  local options = { task = worlds.task { speedup = function(k) return k == 4 and 9 or 2 end },
    policy = "policies/random.lua", budget = { steps = 2 }, quiet = true, out = out,
    generator = { name = "g", open = function() return true end, seen = function() end,
      propose = function()
        n = n + 1
        return { source = ("%d one\n// kb: tune U %d 4 8\n"):format(n, n) }
      end } }
  -- worlds reads "N name" off the first line: here the number is the constant's.
  local inner = options.task.environment
  options.task.environment = function()
    local env = inner()
    local evaluate = env.evaluator.evaluate
    function env.evaluator.evaluate(candidate, how)
      local u = candidate.source:match "#define U (%d+)"
      return evaluate({ source = u and u .. " one" or candidate.source }, how)
    end
    return env
  end
  local r = kb.search(options)
  t.equal(r.pulls, 2)
  t.equal(r.params, { U = 4 })
  local reader = run.reader(out)
  local list = reader:evaluations "tune"
  assert(#list >= 2, #list)
  t.equal(list[1].params, { U = 4 })
  t.equal(list[1].kernel, 2)
  t.equal(reader:kernels()[2].params, { U = 4 })
  reader:close()
  run.resuming(out)
  options.budget.steps = 3
  local again = kb.search(options)
  t.equal(again.pulls, 3)
  t.equal(again.rows[1].speedup, 9)
  options.budget.steps, options.out, options.tune, n = 1, worlds.folder(), 0, 0
  kb.search(options)
  reader = run.reader(options.out)
  t.equal(#reader:evaluations "tune", 0)
  reader:close()
end)

t.test("the generator hears of a wrong declaration, and a repair may declare too", function()
  local asked = {}
  local options = { task = worlds.task {}, policy = "policies/random.lua", budget = { steps = 1 },
    quiet = true, out = worlds.folder(),
    generator = { name = "g", open = function() return true end, seen = function() end,
      propose = function() return { source = "2 one\n// kb: tune U 4 1099511627777\n" } end,
      repair = function(candidate, evaluation)
        asked[#asked + 1] = { candidate.source, evaluation.verdict, evaluation.reason }
        return { source = "3 one\n// kb: tune U 4 8\n" }
      end } }
  local r = kb.search(options)
  t.equal(asked, { { "2 one\n// kb: tune U 4 1099511627777\n", "build_failed",
    "line 2: kb: tune: U: '1099511627777' is no integer within 1099511627776" } })
  t.equal(r.rows[1].verdict, "ok")
  t.equal(r.params, { U = 4 })
  local reader = run.reader(options.out)
  t.equal(#reader:evaluations "tune", 1)
  reader:close()
end)

worlds.clean()
t.finish()
