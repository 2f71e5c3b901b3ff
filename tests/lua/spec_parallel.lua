-- Many pulls at once: proposals that wait, repairs, tuning, budgets in mid-flight.
package.path = "tests/lib/?.lua;" .. package.path
local t = require "harness"
local kb = require "kernelband"
local core = kb.core
local json = require "kernelband.base.json"
local worlds = require "worlds"

local ms = 10 ^ 6 // 1

-- Any open pair, the newest kernel first; waits for nothing.
local newest = worlds.file [[
return { name = "newest", defaults = {}, new = function(params, ctx)
  local pool = {}
  return {
    admit = function(k) pool[#pool + 1] = k end,
    choose = function(pending, list)
      local listed = ""
      for _, e in ipairs(list) do listed = listed .. e.parent.id .. ":" .. e.strategy .. " " end
      pool[1].note.listed = (pool[1].note.listed or "") .. pending .. "=" .. #list .. ";"
      pool[1].note.last = listed
      return pool[#pool], 1 + #list % #ctx.strategies
    end,
    learn = function() end } end }]]

-- A generator whose answers take a while. options: ms (a number or function of the
-- call's number), then(call number, ctx) -> what propose returns.
local function slow(options)
  local calls = 0
  local g = { name = "slow", open = function() return true end, seen = function() end,
              now = 0, most = 0 }
  local function thinks(more)
    for _, count in ipairs { g, options.all } do
      count.now = count.now + more
      count.most = math.max(count.most, count.now)
    end
  end
  function g.start() return g end
  function g.propose(_, strategy, _, ctx)
    calls = calls + 1
    local call = calls
    thinks(1)
    local wait = options.ms
    if type(wait) == "function" then wait = wait(call) end
    local slept, why, code = ctx.loop:sleep((wait or 1) * ms)
    thinks(-1)
    if not slept then return nil, why, code end
    if options.answer then return options.answer(call, ctx) end
    return { source = ("%d %s"):format(call, strategy.name) }
  end
  g.repair = options.repair
  return g
end

local function search(more)
  local options = { task = worlds.task {}, policy = newest, budget = { steps = 12 },
                    quiet = true, parallel = 4 }
  for k, v in pairs(more or {}) do options[k] = v end
  local r = kb.search(options)
  return r
end

t.test("one pull at a time is the sequential loop, byte for byte", function()
  local policy = worlds.file [[
return { name = "arms", defaults = {}, new = function(params, ctx)
  local n, pool, u = #ctx.strategies, {}, ctx.core.ucb(#ctx.strategies, { c = 1.5 })
  return {
    admit = function(k) pool[#pool + 1] = k end,
    choose = function(pending)
      local arms = {}
      for i = 1, n do arms[i] = i end
      local i = u:select(arms)
      for _ = 1, 20 do
        local k = pool[1 + ctx.rng:below(#pool)]
        if ctx.open(k, i) then return k, i, { mean = u:mean(i), cluster = k.id % 3 } end
      end
      return pool[1], i, { psi = pending }
    end,
    learn = function(p) u:update(p.strategy, p.reward + p.cost.usd) end } end }]]
  local lines = {}
  for seed = 1, 6 do
    local r = kb.search { task = kb.synthetic { seed = seed, fail = 0.4 }, seed = seed,
                          policy = policy, budget = { steps = 50 } }
    for _, w in ipairs(r.rows) do
      lines[#lines + 1] = json.encode(w)
    end
    lines[#lines + 1] = json.encode { r.speedup, r.id, r.arms, r.verdicts }
  end
  t.equal(#lines, 306)
  -- What the sequential loop wrote before there was any other.
  t.equal(core.system.hash(table.concat(lines, "\n")), "0275db23c298a5ee")
end)

t.test("as many proposals as allowed think at once, and all pulls land", function()
  local g = slow { ms = 5 }
  local r = search { generator = g }
  t.equal(r.pulls, 12)
  t.equal(r.verdicts, { ok = 12 })
  t.equal(g.most, 4)
end)

t.test("results are learned as they land, not as they were asked for", function()
  local order = {}
  search { generator = slow { ms = function(n) return n == 1 and 60 or 4 end },
           budget = { steps = 6 }, on_pull = function(p) order[#order + 1] = p.n end }
  t.equal(order[#order], 1)
  t.equal(#order, 6)
end)

t.test("the policy is told which pairs are under way", function()
  local first
  search { generator = slow { ms = 3 }, on_pull = function(p)
    first = first or p.parent
    if first.id ~= 1 then first = nil end
  end }
  t.contains(first.note.listed, "0=0;1=1;2=2;3=3;3=3;")
  t.equal(select(2, first.note.last:gsub(":", "")), 3)
end)

t.test("an answer without a candidate is a pull; its slot is used again", function()
  local r = search { generator = slow { ms = 2, answer = function(n)
    if n % 3 == 0 then return nil, "no idea" end
    return { source = n .. " one" }
  end } }
  t.equal(r.verdicts, { ok = 8, no_candidate = 4 })
end)

t.test("two models that give one source at once are measured once", function()
  local r = search { budget = { steps = 4 }, generator = slow { ms = 5, answer = function()
    return { source = "1 one" }
  end } }
  t.equal(r.verdicts, { ok = 1, no_candidate = 3 })
  t.contains(r.rows[1].reason or r.rows[2].reason, "gave the candidate of pull")
end)

t.test("a source that differs in blanks and remarks only is the same one", function()
  local pool = require("kernelband.search.state").pool(true)
  local a = pool:hash("// kb: launch f\nint f(void) { return 1; } // fast\n/* x */")
  t.equal(pool:hash("// kb: launch f\n int f(void) {\n  return 1; }\n// slow \n"), a)
  assert(pool:hash("// kb: launch g\nint f(void) { return 1; }") ~= a)
end)

t.test("a failed candidate goes back to the generator once, with what it failed of", function()
  local told = {}
  local r = search { task = worlds.task { fail = 2 }, budget = { steps = 4 }, parallel = 2,
    generator = slow { ms = 1, repair = function(candidate, evaluation, _, ctx)
      told[#told + 1] = evaluation.reason .. " " .. candidate.source .. " " .. ctx.pull
      return { source = (101 + 100 * #told) .. " two" }
    end } }
  t.equal(#told, 2)
  t.contains(told[1], "as asked 2 ")
  t.equal(r.verdicts, { ok = 4 })
end)

t.test("a repair that fails too is the end of the pull", function()
  local out = worlds.folder()
  local r = search { task = worlds.task { fail = 2 }, budget = { steps = 3 }, parallel = 1,
    out = out, generator = slow { repair = function(candidate)
      return { source = candidate.source:gsub("^%d+", function(n) return n * 100 end) }
    end } }
  t.equal(r.verdicts, { ok = 2, wrong = 1 })
  local reader = require("kernelband.store.run").reader(out)
  t.equal(#reader:evaluations "repair", 1)
  t.equal(#reader:evaluations "pull", 3)
  t.equal(reader:evaluations("repair")[1].pull, 2)
  reader:close()
end)

-- Money -----------------------------------------------------------------------------

local function paid(usd, more)
  return slow { ms = 3, answer = function(n, ctx)
    local record = { kind = "propose", provider = "p", model = "m", tokens_in = 100,
                     tokens_out = 10, tokens_reasoning = 4, usd = usd, request = "ask",
                     answer = "answer " .. n }
    for k, v in pairs(more or {}) do record[k] = v end
    ctx.call(record)
    return { source = n .. " one" }
  end }
end

t.test("calls are journaled with their pull, texts once, and summed up", function()
  local out = worlds.folder()
  local r = search { generator = paid(0.25), out = out, budget = { steps = 5 } }
  t.near(r.usd, 1.25)
  t.equal(r.tokens, { input = 500, cached = 0, output = 50, reasoning = 20 })
  local reader = require("kernelband.store.run").reader(out)
  local calls = reader:calls()
  t.equal(#calls, 5)
  t.equal(reader:blob(calls[3].request), "ask")
  t.equal(#reader:rows "SELECT * FROM blobs", 6)
  local row = reader:rows("SELECT usd, tokens_in, tokens_out FROM pulls WHERE n = 2")[1]
  t.equal(row, { usd = 0.25, tokens_in = 100, tokens_out = 10 })
  reader:close()
end)

t.test("what was paid for pulls that never landed counts in a resumed run", function()
  local out, landed = worlds.folder(), 0
  local options = { generator = paid(0.25), out = out, budget = { steps = 8 }, parallel = 4,
    on_pull = function()
      landed = landed + 1
      if landed == 3 then error "enough" end
    end }
  t.raises("enough", search, options)
  local run = require "kernelband.store.run"
  local function sums()
    local reader = run.reader(out)
    local row = reader:rows [[SELECT (SELECT count(*) FROM calls) AS calls,
      (SELECT count(*) FROM calls WHERE pull IS NULL) AS lost,
      (SELECT count(*) FROM pulls) AS pulls]]
    reader:close()
    return row[1]
  end
  local before = sums()
  assert(before.calls > before.pulls, "none was in flight")
  run.resuming(out)
  options.on_pull, options.generator = nil, paid(0.25)
  for _ = 1, 2 do                       -- it still counts when it is resumed again
    local r = search(options)
    t.near(r.usd, 0.25 * (8 + before.calls - before.pulls))
  end
  t.equal(sums().lost, before.calls - before.pulls)
end)

t.test("a budget of dollars stops in mid-flight and loses nothing that was paid", function()
  local r = search { generator = paid(0.25), budget = { usd = 1 }, parallel = 4 }
  assert(r.pulls >= 4 and r.pulls <= 7, r.pulls)
  t.near(r.usd, 0.25 * r.pulls)
end)

t.test("a budget of tokens stops the search", function()
  t.equal(search { generator = paid(0), budget = { tokens = 330 }, parallel = 1 }.pulls, 3)
end)

t.test("an unknown price is unknown: a budget of dollars says what to do", function()
  local out = worlds.folder()
  local why = t.raises("price of model m is not known", search,
                       { generator = paid(nil), budget = { usd = 1 }, out = out })
  t.contains(why, "budget.tokens")
  local r = search { generator = paid(nil), budget = { steps = 3 } }
  t.equal(r.usd, nil)
  t.equal(r.tokens.input, 300)
  local g = paid(1)
  g.priced = false
  t.raises("budget.usd cannot be kept", search, { generator = g, budget = { usd = 1 } })
end)

t.test("when minutes are over models are hung up on", function()
  local began = core.system.now_ns()
  local r = search { generator = slow { ms = function(n) return n < 3 and 5 or 60000 end },
                     budget = { minutes = 0.005 } }
  assert((core.system.now_ns() - began) / 1e9 < 50)
  t.equal(r.pulls, 2)
  t.equal(r.state, "done")
end)

-- Pauses ------------------------------------------------------------------------------

t.test("a world that refuses is no pull: the run pauses and goes on later", function()
  local out = worlds.folder()
  local options = { out = out, budget = { steps = 5 }, patience = 0.0005, parallel = 2,
    generator = slow { answer = function(n)
      if n > 3 then return nil, "no credit left at p", "EPAUSE" end
      return { source = n .. " one" }
    end } }
  local r = search(options)
  t.equal(r.pulls, 3)
  t.equal(r.state, "paused")
  local reader = require("kernelband.store.run").reader(out)
  t.equal(reader:experiment().state, "paused")
  t.contains(reader:rows("SELECT text FROM events WHERE kind = 'paused'")[1].text,
             "no credit left")
  reader:close()
  local run = require "kernelband.store.run"
  run.resuming(out)
  options.generator = slow { answer = function(n) return { source = n + 10 .. " one" } end }
  r = search(options)
  t.equal(r.pulls, 5)
  t.equal(r.state, "done")
end)

t.test("a refusal that passes is waited for", function()
  local calls = 0
  local r = search { budget = { steps = 2 }, parallel = 1, generator = { name = "g",
    open = function() return true end, seen = function() end,
    propose = function(_, _, rng)
      calls = calls + 1
      if calls == 1 then
        rng:uniform()
        return nil, "too many requests", "EPAUSE"
      end
      return { source = calls .. " one" }
    end }, retry = 0.01 }
  t.equal(r.pulls, 2)
  t.equal(calls, 3)
end)

t.test("an error in a generator ends the search with its line", function()
  local why = t.raises("spec_parallel.lua:", search, { generator = slow {
    answer = function() error "no such thing" end } })
  t.contains(why, "no such thing")
end)

-- Many searches -------------------------------------------------------------------------

t.test("many searches share one loop, and one that fails takes no other down", function()
  local results
  local list, all = { quiet = true }, { now = 0, most = 0 }
  for i = 1, 4 do
    list[i] = { task = worlds.task { bad = i == 2 }, policy = newest, parallel = 2,
                budget = { steps = 4 }, quiet = true, generator = slow { ms = 50, all = all } }
  end
  local stderr = io.stderr
  io.stderr = { write = function() end }  -- luacheck: ignore
  local ok, why = pcall(function() results = kb.search_all(list) end)
  io.stderr = stderr                      -- luacheck: ignore
  assert(ok, why)
  t.equal(#results, 4)
  t.contains(results[2].error, "baseline is wrong")
  for _, i in ipairs { 1, 3, 4 } do t.equal(results[i].pulls, 4) end
  assert(all.most > 2, all.most)        -- one after the other: 2 at a time
end)

t.test("a worker lost in one of many searches is that one's end", function()
  local list, stderr = { quiet = true }, io.stderr
  for i = 1, 3 do
    list[i] = { task = worlds.task { lost = i == 1 and 3 or nil }, policy = newest,
                budget = { steps = 6 }, quiet = true }
  end
  io.stderr = { write = function() end }  -- luacheck: ignore
  local ok, results = pcall(kb.search_all, list)
  io.stderr = stderr                      -- luacheck: ignore
  assert(ok, results)
  t.contains(results[1].error, "the worker is lost: it died")
  t.equal({ results[2].pulls, results[3].pulls }, { 6, 6 })
end)

t.test("of many searches one that finds nothing faster or ends early says so", function()
  local list, said, stderr = {}, {}, io.stderr
  for i, options in ipairs { { fail = 1 }, { last = 1 } } do
    list[i] = { task = worlds.task(options), policy = "policies/random.lua",
                budget = { steps = 3 } }
  end
  local function write(_, words) said[#said + 1] = words end
  io.stderr = { write = write }           -- luacheck: ignore
  local ok, why = pcall(kb.search_all, list)
  io.stderr = stderr                      -- luacheck: ignore
  assert(ok, why)
  t.contains(table.concat(said), "nothing faster than the baseline was found")
  t.contains(table.concat(said), "ended after 1 pulls, before its budget: ")
end)

t.test("searches side by side give what each gives alone", function()
  local function options(seed)
    return { task = kb.synthetic { seed = seed }, seed = seed, budget = { steps = 30 },
             policy = "policies/random.lua" }
  end
  local results = kb.search_all { options(1), options(2), options(3), quiet = true }
  for seed = 1, 3 do
    local alone = kb.search(options(seed))
    t.equal(results[seed].rows, alone.rows)
    t.equal(results[seed].speedup, alone.speedup)
  end
end)

t.test("kb.search_all checks what it is given", function()
  t.raises("expected a list of searches", kb.search_all, { task = 1 })
  t.raises("unknown option 'workerz'", kb.search_all, { {}, workerz = 1 })
end)

worlds.clean()
t.finish()
