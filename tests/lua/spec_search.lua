-- This file tests lua/kernelband/search/search.lua and lua/kernelband/search/finish.lua. It checks
-- the steps of a pull, how the winner is confirmed, why a search ends, and the errors that bad
-- options, policies and workers cause.
package.path = "tests/lib/?.lua;" .. package.path
local t = require "harness"
local kb = require "kernelband"
local core = kb.core
local json = require "kernelband.base.json"
local worlds = require "worlds"

local first_open = worlds.file [[
return { name = "first", defaults = {}, new = function(params, ctx)
  local pool = {}
  return {
    admit = function(k) pool[#pool + 1] = k end,
    choose = function(pending)
      for n = #pool, 1, -1 do
        for i = 1, #ctx.strategies do
          if ctx.open(pool[n], i) then return pool[n], i, { mean = pending } end
        end
      end
    end,
    learn = function() end } end }]]

local function search(more)
  local options = { task = worlds.task {}, policy = first_open,
                    budget = { steps = 6 }, quiet = true }
  for k, v in pairs(more or {}) do options[k] = v end
  local r = kb.search(options)           -- a tail call would leave no line
  return r
end

t.test("a pull goes from choice to child, and the best is confirmed", function()
  local r = search {}
  t.equal(r.pulls, 6)
  t.equal(r.verdicts, { ok = 6 })
  t.equal(r.id, 7)
  t.equal(r.confirmed, true)
  t.near(r.speedup, 7)
  t.equal(r.rows[3].parent, 3)
  t.equal(r.rows[3].child, 4)
  t.equal(r.arms, { one = 6, two = 0 })
  t.near(r.rows[1].reward, 1 - 1 / 2)
end)

t.test("kernels carry what the evaluation said", function()
  local seen
  search { on_pull = function(p) seen = seen or p end }
  t.equal(seen.parent.id, 1)
  t.equal(seen.child.parent, 1)
  t.equal(seen.child.strategy, "one")
  t.equal(seen.child.depth, 1)
  t.equal(seen.child.phi[9], 0.5)
  t.equal(seen.child.h.dram, 50)
  t.near(seen.child.time_ns, 500)
end)

t.test("what an evaluation did not tell is 0 and marked as missing", function()
  local seen
  search { task = worlds.task { evidence = function() return {} end },
           policy = "policies/kernelband_v1.lua",
           on_pull = function(p) seen = p.parent end }
  t.equal(seen.phi, { 0, 0, 0, 0, 0, 0, 0, 0, 0 })
  t.equal(seen.rho_kind[6], "missing")
  t.equal(seen.h, {})
end)

t.test("a failed child is reported and does not join the pool", function()
  local r = search { task = worlds.task { fail = 2 } }
  t.equal(r.verdicts, { ok = 3, wrong = 3 })
  t.equal(r.rows[2].reward, -1)
  t.equal(r.rows[2].child, nil)
end)

t.test("a source already known is not measured again", function()
  local r = search { task = worlds.task { same = true } }
  t.equal(r.verdicts, { ok = 1, no_candidate = 5 })
  t.contains(r.rows[2].reason, "kernel 2 again")
end)

t.test("the search ends when the policy has nothing left, and says why", function()
  local out = worlds.folder()
  local r = search { task = worlds.task { last = 3 }, out = out }
  t.equal(r.pulls, 3)
  local why = "none of the 8 pairs of kernel and strategy is open: generator counting has no "
              .. "new child for any of them"
  t.equal({ r.state, r.reason }, { "done", why })
  t.equal(json.decode(core.system.read_file(out .. "/result.json")).reason, why)
  local db = assert(core.store(out .. "/run.db", "read"))
  t.equal(db:rows "SELECT text FROM events WHERE kind = 'done'", { { text = "3 pulls: " .. why } })
  db:close()
  t.equal(search {}.reason, nil)        -- its budget is spent
end)

t.test("a policy that stops though there is something left is named", function()
  local file = worlds.file [[return { name = "lazy", defaults = {}, new = function()
    return { admit = function() end, learn = function() end, choose = function() end } end }]]
  t.contains(search { policy = file }.reason, "policy lazy chose nothing, though")
end)

-- Of a task whose schedule has parameters a and b, by strategies that move some.
local function of_schedule(moves, budget)
  local dir = worlds.folder()
  assert(core.system.mkdir_p(dir))
  local function put(name, text) assert(core.system.write_file(dir .. "/" .. name, text)) end
  put("task.lua", [[return { name = "f", summary = "", args = { { "y", "f32", "out", { "n" } },
    { "n", "i32" } }, shapes = { smoke = { { n = 1 } }, timed = { { n = 2 } },
    held_out = { { n = 3 } } }, work = function() return { flops = 1, bytes = 1 } end,
    reference = { c = "r.c" }, baseline = { c = "b.c" }, schedule = "s.lua" }]])
  put("r.c", "") put("b.c", "0 0")
  put("s.lua", [[return { parameters = { { "a", { 0, 1, 2 } }, { "b", { 0, 1 } } },
    valid = function(p) return p.a + p.b < 3 end,
    emit = function(p) return p.a .. " " .. p.b end }]])
  local files = {}
  for i, list in ipairs(moves) do
    files[i] = worlds.file([[return { name = "s%d", target = "sm", summary = "", prompt = "",
      moves = { %s } }]], i, list)
  end
  local task, evaluator = kb.task(dir), worlds.task {}.environment().evaluator
  local fake = { name = "f", file = task.file, dir = task.dir, schedule = task.schedule,
    environment = function()
      return { strategies = {}, source = "0 0", evaluator = evaluator } end }
  return search { task = fake, strategies = files, generator = kb.generator.schedule {},
                  budget = { steps = budget } }
end

t.test("an exhausted space and parameters that no strategy moves are named", function()
  local r = of_schedule({ '"a"', '"b"' }, 50)
  t.equal(r.pulls, 4)
  t.contains(r.reason, "the space is exhausted: all 5 valid points of ")
  r = of_schedule({ '"a"' }, 50)
  t.equal(r.pulls, 2)
  t.contains(r.reason, "no strategy's moves own b of ")
  t.contains(r.reason, "/s.lua, and all that the others reach is known")
end)

t.test("up to `parallel` pulls are under way and the policy knows", function()
  local most = 0
  local r = search { parallel = 3, on_pull = function(p)
    most = math.max(most, p.terms.mean)
  end }
  t.equal(most, 2)
  t.equal(r.pulls, 6)
end)

t.test("a winner that does not stand gives way to the next", function()
  local r = search { task = worlds.task { refute = 7 } }
  t.equal(r.id, 6)
  t.equal(search { task = worlds.task { refute = 1 } }.id, 1)
end)

-- What a search that found nothing must say, with and without a folder.
local function nothing_won(more)
  local out = worlds.folder()
  more.out = out
  local r = search(more)
  t.equal({ r.id, r.gain, r.speedup, r.state }, { 1, false, 1, "done" })
  t.equal(r.source, "baseline")
  t.equal(core.system.read_file(out .. "/best.txt"), "baseline")
  local told = json.decode(core.system.read_file(out .. "/result.json"))
  t.equal({ told.id, told.gain, told.speedup }, { 1, false, 1 })
  local m = require("kernelband.report.model").load(out)
  t.equal({ m.winner.id, m.final.speedup }, { 1, 1 })
  return kb.metrics.row(out)
end

t.test("where all children are slower the result is the baseline, and says so", function()
  local function slower(n) return 0.408 + n / 100 end
  nothing_won { task = worlds.task { speedup = slower } }
  nothing_won { task = worlds.task { speedup = slower }, confirm = false }
end)

t.test("a gain that the second measurement does not confirm is none", function()
  local row = nothing_won { task = worlds.task { again = function() return 0.97 end } }
  t.equal({ row.verdict, row.speedup }, { "ok", 0.97 })
  local r = search { task = worlds.task { again = function(s) return s == 7 and 0.9 or s end } }
  t.equal({ r.id, r.gain, r.speedup }, { 6, true, 6 })
end)

t.test("of a run's confirmations the last that no later one takes back names the winner", function()
  local winner = require("kernelband.search.finish").last_gain
  local function look(kernel, speedup, verdict)
    return { kernel = kernel, evaluation = { verdict = verdict or "ok", speedup = speedup } }
  end
  t.equal(winner { look(2, 3), look(3, 2) }.kernel, 3)
  t.equal(winner { look(2, 3), look(3, 0.9) }.kernel, 2)
  t.equal(winner { look(2, 3), look(2, nil, "wrong") }, nil)
  t.equal(winner { { kernel = 2, evaluation = { verdict = "ok", speedup = "fast" } } }, nil)
end)

t.test("a child within a wide interval of the baseline's is not taken for the best", function()
  nothing_won { task = worlds.task { base_low = 0.9, speedup = function() return 0.95 end },
                confirm = false }
end)

t.test("the budget of money stops the search", function()
  t.equal(search { budget = { usd = 0.25 }, task = worlds.task { usd = 0.1 } }
          .pulls, 3)
end)

for _, case in ipairs {
  { { stepz = 1 }, "unknown option 'stepz'" },
  { { budget = { step = 1 } }, "'budget.step' (did you mean 'steps'?)" },
  { { budget = {} }, "needs steps, minutes, usd or tokens" },
  { { parallel = 0 }, "parallel: expected" },
  { { reward = 1 }, "reward: expected" },
} do
  t.test("an option is checked: " .. case[2], function()
    local why = t.raises(case[2], search, case[1])
    t.contains(why, "spec_search.lua:")
    t.equal(why.config, true)
  end)
end

for _, case in ipairs {
  { "return {}, 1", "choose must return" },
  { "return pool, 1", "choose must return" },
  { "return pool[1], 3", "choose must return" },
  { "return pool[1], 1.5", "choose must return" },
  { "return pool[1], 0", "choose must return" },
  { "return pool[1], 1, 2", "terms" },
  { "return pool[1], 1, { mean = 'a' }", "term 'mean' must be a number" },
  { "return pool[1], 1, { cluster = 1.5 }", "term 'cluster' must be an integer" },
  { "return pool[1], 1, { psi = 0 / 0 }", "term 'psi' must be a number" },
  { "ctx.open(pool[1], 9)", "ctx.open: expected a strategy index 1..2, got 9" },
  { "ctx.open({ id = 1 }, 1)", "ctx.open: expected an admitted kernel, got a table" },
  { "error 'no idea'", ":4: no idea" },
  { "while true do end", "budget" },
  { "os.exit()", "global 'os'" },
} do
  t.test("a policy that does `" .. case[1] .. "` stops the run", function()
    local file = worlds.file([[
return { name = "bad", defaults = {}, new = function(params, ctx)
  local pool, n = {}, 0
  local function choose()
%s
  end
  return { admit = function(k) pool[#pool + 1] = k end, learn = function() end,
    choose = function() n = n + 1
      if n < 4 then return pool[#pool], 1 end
      return choose() end } end }]], case[1])
    local out = worlds.folder()
    local why = t.raises(case[2], search, { policy = file, out = out })
    if not tostring(why):find "file%.lua:%d+: " then error("no line: " .. why) end
    local db = assert(core.store(out .. "/run.db"))
    t.equal(db:rows "SELECT count(*) AS n FROM pulls", { { n = 3 } })
    t.equal(db:rows "SELECT state FROM experiment", { { state = "failed" } })
    t.equal(#db:rows "SELECT * FROM events WHERE kind = 'failed'", 1)
    db:close()
  end)
end

t.test("a reward must be a number", function()
  t.raises("pull 1 (ok)", search, { reward = function() return 0 / 0 end })
  t.raises("pull 1 (ok)", search, { reward = function() return "x" end })
end)

t.test("a lost worker is an error, and a bad baseline too", function()
  t.raises("the worker is lost", search, { task = worlds.task { lost = 2 } })
  t.raises("baseline is wrong", search, { task = worlds.task { bad = true } })
end)

t.test("a worker's death that cost no candidate is reported and changes no pull", function()
  local out = worlds.folder()
  local r = search { task = worlds.task { died = "the worker died" }, budget = { steps = 1 },
                     out = out }
  t.equal(r.rows[1].verdict, "ok")
  local db = assert(core.store(out .. "/run.db", "read"))
  t.equal(db:rows "SELECT text FROM events WHERE kind = 'worker'",
          { { text = "pull 1 was evaluated once more: the worker died" } })
  db:close()
end)

t.test("what breaks a search off says how to go on", function()
  local out = worlds.folder()
  local function later(p) if p.n == 2 then error "enough" end end
  local e = t.raises("enough", search, { out = out, on_pull = later })
  t.contains(e, "2 pulls are kept; when this is mended, go on with: kernelband resume " .. out)
  t.equal(tostring(e):find("traceback", 1, true), nil)
end)

t.test("options that would fail later are refused at once", function()
  t.raises("out: expected the path of a folder", search, { out = "" })
  t.raises("'propose' is 1", search,
           { generator = { open = print, propose = 1, seen = print } })
  local file = worlds.file [[return { name = "x", target = "sm", summary = "", prompt = "",
    moves = { "tile_bows" } }]]
  t.raises("no strategy moves a parameter of", search,
           { task = kb.task "examples/tasks/transpose", strategies = { file } })
end)

t.test("the published rewards", function()
  local slow, fast = { time_ns = 100 }, { time_ns = 25 }
  t.equal(kb.reward.relative {}(slow, fast), 0.75)
  t.equal(kb.reward.relative {}(fast, slow), -1)
  t.equal(kb.reward.relative { clip = 5 }(fast, slow), -3)
  t.equal(kb.reward.relative {}(slow, nil, "wrong"), -1)
  t.equal(kb.reward.relative { failure = -0.1 }(slow, nil, "wrong"), -0.1)
  t.equal(kb.reward.improvement {}(slow, fast), 0.75)
  t.equal(kb.reward.improvement {}(fast, slow), 0)
  t.equal(kb.reward.improvement {}(slow, nil, "wrong"), 0)
end)

worlds.clean()
t.test("a search without a folder says that its generator declined everything", function()
  local refusing = { name = "no", open = function() return true end, seen = function() end,
                     propose = function() return nil, "it cannot help", "EDECLINED" end }
  local r = kb.search { task = kb.synthetic {}, generator = refusing, budget = { steps = 100 },
                        policy = "policies/random.lua" }
  t.equal(r.verdicts, { not_applicable = 12 })
  t.contains(r.reason, "NOT APPLICABLE twice")
end)

t.finish()
