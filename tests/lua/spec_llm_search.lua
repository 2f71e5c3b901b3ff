-- Whole searches whose kernels come from answers: recorded ones, and a server's. The
-- evaluator judges by words in the source, so a search takes no time.
package.path = "tests/lib/?.lua;" .. package.path
local t = require "harness"
local kb = require "kernelband"
local server = require "server"
local worlds = require "worlds"
local core = kb.core
local json = require "kernelband.base.json"

local function verdict(source)
  if source:find "BROKEN" then
    return { verdict = "build_failed", reason = "error: BROKEN", log = "k.c:1: error: BROKEN" }
  elseif source:find "WRONG" then
    return { verdict = "wrong", reason = "c[0] is 1, not 2" }
  end
  local speed = tonumber(source:match "SPEED (%d+)") or 1
  local block = tonumber(source:match "#define BLOCK (%d+)")
  if block then speed = speed + 10 - math.abs(block - 32) / 8 end
  return { verdict = "ok", time_ns = 1000 / speed, baseline_ns = 1000, speedup = speed,
           speedup_low = speed, speedup_high = speed, shapes = {}, evidence = {} }
end

local measured

local function task()
  measured = 0
  local evaluator = { close = function() end }
  function evaluator.baseline() return verdict "" end
  function evaluator.evaluate(candidate)
    measured = measured + 1
    return verdict(candidate.source)
  end
  local strategies = { { name = "tiling", target = "sm", summary = "", prompt = "Tile it.",
                         moves = {}, path = "tiling" } }
  return { name = "toy", summary = "a toy", environment = function()
    return { strategies = strategies, evaluator = evaluator, source = "void toy(void) { }\n",
             generator = { name = "none", open = function() return false end, seen = function() end,
                           propose = function() end } }
  end }
end

local function said(body)
  return "Try:\n```c\nvoid toy(void)\n{\n    " .. body .. ";\n}\n```\n"
end

local function folder(files)
  local dir = worlds.folder()
  assert(core.system.mkdir_p(dir))
  for name, text in pairs(files) do assert(core.system.write_file(dir .. "/" .. name, text)) end
  return dir
end

local answers = folder {
  ["1.md"] = said "SPEED 2", ["2.md"] = said "BROKEN 2", ["2b-repair.md"] = said "SPEED 4",
  ["3.md"] = "I would rather not.", ["4.md"] = said "SPEED 2",
  ["5.md"] = said "WRONG 5", ["6.md"] = "```c\n// kb: tune BLOCK 8 16 32 64\nvoid toy(void)\n"
    .. "{\n    SPEED 3;\n}\n```\n",
}

local function search(more)
  local options = { task = task(), policy = "policies/random.lua", budget = { steps = 6 },
                    quiet = true, confirm = false, generator = kb.generator.replay { answers } }
  for k, v in pairs(more or {}) do options[k] = v end
  local r = kb.search(options)
  return r
end

local function rows(r)
  local out = {}
  for i, row in ipairs(r.rows) do out[i] = ("%s %g"):format(row.verdict, row.speedup or 0) end
  return out
end

local expected = { "ok 2", "ok 4", "no_candidate 0", "no_candidate 0", "wrong 0", "ok 13" }

t.test("recorded answers make a search: repaired, refused, known, tuned", function()
  local r = search {}
  t.equal(rows(r), expected)
  t.contains(r.rows[3].reason, "no code block")
  t.contains(r.rows[4].reason, "kernel 2 again")
  t.equal(r.rows[5].reason, "c[0] is 1, not 2")
  t.near(r.speedup, 13)
  t.contains(r.source, "#define BLOCK 32")
end)

t.test("a duplicate is not measured again", function()
  search { budget = { steps = 4 } }
  t.equal(measured, 3)
end)

t.test("an answer with open constants is not measured again, nor after a resume", function()
  local open = "// kb: tune BLOCK 8 16 32 64\nvoid toy(void)\n{\n    %s;\n}\n"
  local tuned, wrong = "```c\n" .. open:format "SPEED 3" .. "```\n", "```c\n"
    .. open:format "WRONG" .. "```\n"
  local again = folder { ["1.md"] = tuned, ["2.md"] = wrong, ["3.md"] = tuned, ["4.md"] = wrong }
  local function run(out, steps)
    return search { generator = kb.generator.replay { again }, budget = { steps = steps },
                    out = out }
  end
  local r = run(nil, 4)
  t.equal(rows(r), { "ok 13", "wrong 0", "no_candidate 0", "no_candidate 0" })
  t.equal(measured, 5)
  t.contains(r.rows[3].reason, "kernel 2 again")
  t.contains(r.rows[4].reason, "pull 2 again")
  local out, resume = worlds.folder(), require "kernelband.store.run"
  run(out, 2)
  resume.resuming(out)
  r = run(out, 4)
  resume.resuming(nil)
  t.equal(rows(r), { "ok 13", "wrong 0", "no_candidate 0", "no_candidate 0" })
  t.equal(measured, 0)
end)

-- Answers that decline a strategy ----------------------------------------------

local no = "NOT APPLICABLE: nothing is read twice.\n"

t.test("a declined strategy is a pull with reward 0 and no repair, two close the pair", function()
  local refusing = folder { ["1.md"] = no, ["2.md"] = no, ["3.md"] = said "SPEED 2" }
  local out = worlds.folder()
  local heard = {}
  local function run(steps)
    heard = {}
    return search { generator = kb.generator.replay { refusing }, budget = { steps = steps },
                    out = out, on_pull = function(p) heard[#heard + 1] = p.reward end }
  end
  local r = run(3)
  t.equal(rows(r), { "not_applicable 0", "not_applicable 0" })
  t.equal(r.rows[1].reason, "nothing is read twice.")
  t.equal(heard, { 0, 0 })
  t.equal(measured, 0)
  t.contains(r.reason, "NOT APPLICABLE twice")
  local resume = require "kernelband.store.run"
  resume.resuming(out)
  r = run(3)
  resume.resuming(nil)
  t.equal(rows(r), { "not_applicable 0", "not_applicable 0" })
  t.equal(r.verdicts, { not_applicable = 2 })
  local db = core.store(out .. "/run.db")
  local row = db:rows "SELECT verdict, reward, child FROM pulls WHERE n = 2"
  db:close()
  t.equal(row[1], { verdict = "not_applicable", reward = 0.0 })
end)

t.test("a repair that is declined leaves the verdict as it was", function()
  local r = search { generator = kb.generator.replay { folder { ["1.md"] = said "BROKEN",
    ["1b-repair.md"] = no } }, budget = { steps = 1 } }
  t.equal(rows(r), { "build_failed 0" })
end)

t.test("every exchange is in the run folder, and the run is a recording", function()
  local out = worlds.folder()
  local r = search { out = out }
  local db = core.store(out .. "/run.db")
  local calls = db:rows "SELECT * FROM calls ORDER BY id"
  db:close()
  local kinds = {}
  for i, c in ipairs(calls) do kinds[i] = c.pull .. c.kind end
  t.equal(kinds, { "1propose", "2propose", "2repair", "3propose", "4propose", "5propose",
                   "5repair", "6propose" })
  t.equal(#calls[1].request, #core.system.hash "")
  local how, store = {}, core.store
  core.store = function(path, mode)
    how[#how + 1] = path == out .. "/run.db" and (mode or "write") or nil
    return store(path, mode)
  end
  local made, generator = pcall(kb.generator.replay, out)
  core.store = store
  t.equal({ made, how }, { true, { "read" } })     -- of what somebody may be writing to
  local again = search { generator = generator }
  t.equal(rows(again), rows(r))
  t.equal(again.source, r.source)
end)

t.test("a search over a recording that was broken off goes on as if it had not been", function()
  local run = require "kernelband.store.run"
  local whole_run, out = search {}, worlds.folder()
  search { out = out, budget = { steps = 4 } }
  run.resuming(out)
  local r = search { out = out, budget = { steps = 20 } }
  run.resuming(nil)
  t.equal(rows(r), rows(whole_run))
  t.equal(r.source, whole_run.source)
end)

t.test("many at once land the same answers", function()
  local r = search { parallel = 6 }
  local count = 0
  for _, row in ipairs(r.rows) do count = count + (row.verdict == "ok" and 1 or 0) end
  t.equal(#r.rows, 6)
  t.equal(count >= 3, true)
end)

t.test("a list of generators is a mixture", function()
  local mine = { name = "mine", start = function()
    return { name = "mine", open = function() return true end, seen = function() end,
             propose = function() return { source = "void toy(void) { SPEED 7; }" } end }
  end }
  local r = search { generator = { { mine, share = 1e9 }, kb.generator.replay { answers } },
                     budget = { steps = 1 } }
  t.near(r.speedup, 7)
end)

-- With a server ---------------------------------------------------------------------------

local whole = json.encode { model = "m-1", choices = { { message = { content = said "SPEED 3" },
  finish_reason = "stop" } }, usage = { prompt_tokens = 100, completion_tokens = 20 } }

local function live(scenario, more)
  local s = server.start(scenario)
  local options = { generator = kb.generator.llm { model = more.model or "m", base_url = s.url,
    attempts = 2, retry_s = 0.01, prices = more.prices }, patience = 0 }
  more.prices, more.model = nil, nil
  for k, v in pairs(more) do options[k] = v end
  local ok, r = pcall(search, options)
  local n = #s:requests()
  s:stop()
  if not ok then error(r, 0) end
  return r, n
end

local always = "on POST *\n head 200\n json " .. whole .. "\n"

t.test("tokens and money are summed, with a table's prices", function()
  local r = live(always, { budget = { steps = 3 }, prices = { m = { input = 1, output = 10 } } })
  t.equal(r.tokens.input, 300)
  t.equal(r.tokens.output, 60)
  t.near(r.usd, 3 * 300 / 1e6, 1e-12)
end)

-- What a report says of the money of a run.
local function told(out)
  local html = require("kernelband.report").html { out }
  return html:match "[^>]*</div><div>spent on models</div>.-</div>",
         html:match "Model calls.-</table>"
end

t.test("a recorded answer costs nothing now, and its former cost is shown beside", function()
  local first, second, third = worlds.folder(), worlds.folder(), worlds.folder()
  live(always, { budget = { steps = 3 }, prices = { m = { input = 1, output = 10 } },
                 out = first })
  local function replay(from, out, more)
    local options = { generator = kb.generator.replay(from), out = out,
                      budget = { usd = 0.00001 } }
    for k, v in pairs(more or {}) do options[k] = v end
    return search(options)
  end
  local r = replay(first, second)
  t.equal({ r.pulls, r.usd, r.recorded.answers }, { 3, 0, 3 })
  t.near(r.recorded.usd, 0.0009, 1e-12)
  local written = json.decode(core.system.read_file(second .. "/result.json"))
  t.equal({ written.usd, written.recorded.answers }, { 0, 3 })
  t.near(written.recorded.usd, 0.0009, 1e-12)
  local spent, calls = told(second)
  t.contains(spent, "$0.00")
  t.contains(spent, "3 recorded answers, which cost $0.0009 then")
  t.contains(calls, "$0.00; $0.0009 when recorded")
  -- A recording of a recording still knows, and so does a run that is gone on with.
  local run = require "kernelband.store.run"
  replay(second, third, { budget = { steps = 2 } })
  run.resuming(third)
  r = replay(second, third, { budget = { steps = 3 } })
  run.resuming(nil)
  t.equal({ r.pulls, r.usd, r.recorded.answers }, { 3, 0, 3 })
  t.near(r.recorded.usd, 0.0009, 1e-12)
end)

t.test("a recorded answer of unknown price costs nothing either", function()
  local out = worlds.folder()
  local r = search { out = out, budget = { usd = 1 } }
  t.equal({ r.usd, r.recorded.usd }, { 0, nil })
  local spent, calls = told(out)
  t.contains(spent, "$0.00")
  t.contains(spent, "recorded answers, whose price is not known")
  t.contains(calls, "$0.00; unknown when recorded")
end)

t.test("an unknown price makes the sum unknown, and keeps no budget", function()
  local r = live(always, { budget = { steps = 2 } })
  t.equal(r.usd, nil)
  t.raises("prices", live, always, { budget = { steps = 2, usd = 1 } })
end)

t.test("a budget of money or tokens stops the search", function()
  local r = live(always, { budget = { usd = 0.0005 }, prices = { m = { input = 1, output = 10 } } })
  t.equal(r.pulls, 2)
  r = live(always, { budget = { tokens = 200 } })
  t.equal(r.pulls, 2)
end)

t.test("a budget reached in mid-flight lets what is under way land", function()
  local r, n = live("on POST *\n wait 50ms\n head 200\n json " .. whole .. "\n",
    { budget = { tokens = 200 }, parallel = 4 })
  t.equal(r.pulls, n)
  assert(n == 4 or n == 5, n)             -- the first to land leaves room for one
end)

t.test("a spent quota pauses the run, and is no pull", function()
  local out = worlds.folder()
  local r = live("on POST *\n times 1\n head 200\n json " .. whole .. "\non POST *\n"
    .. " head 429\n json "
    .. json.encode { error = { type = "insufficient_quota", message = "no more" } } .. "\n",
    { out = out })
  t.equal(r.state, "paused")
  t.equal(r.pulls, 1)
end)

t.test("after a resume every question says what the machine is", function()
  local out, resume, asked = worlds.folder(), require "kernelband.store.run", folder {}
  local function pulls(n)
    local toy, ready = task(), n == 1   -- a resumed search asks before its worker is ready
    local environment = toy.environment
    function toy.environment()
      local env = environment()
      local judge = env.evaluator.evaluate
      function env.evaluator.evaluate(...)
        ready = true
        return judge(...)
      end
      function env.evaluator.machine() return ready and { name = "ENGINE " .. n } or nil end
      return env
    end
    local r = search { task = toy, out = out, budget = { steps = n }, generator =
      kb.generator.command { "sh", "-c", ([[cat > %s/$(ls %s | wc -l)
        printf '```c\nvoid toy(void) { int SPEED_%%d; }\n```\n' $$]]):format(asked, asked) } }
    t.equal(r.machine.name, "ENGINE " .. n)
  end
  pulls(1)
  resume.resuming(out)
  pulls(3)
  resume.resuming(nil)
  for n = 0, 2 do
    t.contains(core.system.read_file(asked .. "/" .. n), "# Machine\n\n- ENGINE 1\n")
  end
end)

t.test("a run goes on with its model at another address, not with another model", function()
  local out, resume = worlds.folder(), require "kernelband.store.run"
  t.equal(live(always, { out = out, budget = { steps = 1 } }).pulls, 1)
  resume.resuming(out)
  t.equal(live(always, { out = out, budget = { steps = 2 } }).pulls, 2)
  local db = core.store(out .. "/run.db")       -- as runs were written that named it
  local identity = db:rows "SELECT identity FROM experiment"[1].identity
  assert(not identity:find "127.0.0.1", identity)
  local old = json.decode(identity)
  old.generator = old.generator:gsub("^{", '{"base":"http://127.0.0.1:9/v1",')
  assert(db:exec("UPDATE experiment SET identity = ?", json.encode(old)))
  db:close()
  t.equal(live(always, { out = out, budget = { steps = 3 } }).pulls, 3)
  t.raises("recorded with generator", live, always,
           { out = out, budget = { steps = 4 }, model = "other" })
  resume.resuming(nil)
end)

t.test("a refused key stops the run at once, and is no pull", function()
  local out = worlds.folder()
  local r, n = live("on POST *\n head 401\n json "
    .. json.encode { error = { message = "Incorrect API key" } } .. "\n",
    { out = out, patience = 5, retry = 0.01, parallel = 4 })
  t.equal({ r.state, r.pulls }, { "paused", 0 })
  assert(n <= 4, n)
end)

t.test("while a quota is spent one pull asks, each time after twice as long", function()
  local r, n = live("on POST *\n times 4\n wait 1ms\n head 429\n json "
    .. json.encode { error = { type = "insufficient_quota", message = "no more" } }
    .. "\non POST *\n times 5\n head 429\n json "
    .. json.encode { error = { type = "insufficient_quota", message = "no more" } } .. "\n"
    .. always, { patience = 1, retry = 0.004, parallel = 4, budget = { steps = 4 } })
  t.equal({ r.state, r.pulls }, { "done", 4 })
  assert(n <= 9 + 5, n)
end)

t.test("a quota that says when it is full again is asked then", function()
  local began = core.system.now_ns()
  local quota = " head 429\n header retry-after: %s\n json "
    .. json.encode { error = { type = "insufficient_quota", message = "no more" } } .. "\n"
  local r, n = live("on POST *\n times 1\n" .. quota:format "0.4" .. always,
                    { patience = 1, retry = 0.01, budget = { steps = 1 } })
  t.equal({ r.state, r.pulls, n }, { "done", 1, 2 })
  assert(core.system.now_ns() - began > 0.4e9)
  r, n = live("on POST *\n" .. quota:format "3600", { patience = 1, retry = 0.01 })
  t.equal({ r.state, r.pulls, n }, { "paused", 0, 1 })
end)

t.test("a run goes on with another model or other prompts only when it is forced to", function()
  local run = require "kernelband.store.run"
  local s = server.start(always)
  local function go(out, how)
    local options = { model = "m", base_url = s.url, attempts = 1 }
    for k, v in pairs(how) do options[k] = v end
    return search { out = out, generator = kb.generator.llm(options), patience = 0,
                    budget = { steps = how.temperature and 1 or 2 } }
  end
  local function asking(text) return function() return text end end
  for _, case in ipairs {
    { {}, { prompt = { ask = "Be quick." } } },
    { { prompt = { ask = "Be quick." } }, { prompt = { ask = "Be slow." } } },
    { { prompt = { ask = function() return "a" end } },
      { prompt = { ask = function() return "b" end } } },
    { {}, { prompt = { ask = false } } },
    { {}, { model = "n" } }, { {}, { temperature = 0.5 } }, { {}, { provider = "responses" } },
  } do
    local out = worlds.folder()
    go(out, case[1])
    run.resuming(out)
    t.raises("generator", go, out, case[2])
    run.resuming(nil)
  end
  local out = worlds.folder()           -- the same code elsewhere is the same prompt
  go(out, { prompt = { ask = asking "x" } })
  run.resuming(out)
  t.equal(go(out, { prompt = { ask = asking "x" } }).pulls, 2)
  run.resuming { folder = out, force = true }
  t.equal(go(out, { prompt = { ask = "other" } }).pulls, 2)
  run.resuming(nil)
  s:stop()
end)

worlds.clean()
t.finish()
