-- Runs that are stopped, killed, moved, changed, and gone on with.
package.path = "tests/lib/?.lua;" .. package.path
local t = require "harness"
local kb = require "kernelband"
local core = kb.core
local run = require "kernelband.store.run"
local worlds = require "worlds"

local exe = core.system.exe()

local function shell(command, ...)
  local pipe = assert(io.popen("( " .. command:format(...) .. " ) 2>&1"))
  local text = pipe:read "a"
  local _, how, code = pipe:close()
  return how == "signal" and 128 + code or code, text
end

local function folder()
  local dir = worlds.folder()
  assert(core.system.mkdir_p(dir))
  return dir
end

local function write(path, text) assert(core.system.write_file(path, text)) end

local function rows(dir, sql)
  local reader = run.reader(dir)
  local out = reader:rows(sql)
  reader:close()
  return out
end

-- Prints a line a pull; STOP=n HOW=signal ends it at pull n.
local experiment = [[
local kb = require "kernelband"
local r = kb.search {
  task = kb.synthetic { seed = 5 }, seed = 2, parallel = tonumber(os.getenv "PARALLEL") or 1,
  budget = { steps = tonumber(arg[2]) or 30 }, out = arg[1],
  policy = os.getenv "POLICY" or "policies/random.lua", quiet = true,
  on_pull = function(p)
    if p.n == tonumber(os.getenv "STOP") then
      os.execute("kill -" .. (os.getenv "HOW" or 9) .. " $PPID")
    end
  end }
for _, w in ipairs(r.rows) do
  print(w.n, w.strategy, w.parent, w.child, w.verdict, ("%.17g"):format(w.reward))
end
print(("%.17g"):format(r.speedup), r.state)
]]

local function place()
  local dir = folder()
  write(dir .. "/x.lua", experiment)
  return dir
end

local whole                             -- of 30 pulls
local function uninterrupted()
  if not whole then
    local dir = place()
    local code
    code, whole = shell("cd %s && %s run x.lua out", dir, exe)
    assert(code == 0, whole)
  end
  return whole
end

-- Formats ------------------------------------------------------------------------

t.test("a journal of another format is refused, and so is a file that is no journal", function()
  local dir = folder() .. "/run"
  kb.search { task = kb.synthetic { seed = 5 }, budget = { steps = 2 }, out = dir, quiet = true }
  for _, version in ipairs { 1, 9 } do
    local db = assert(core.store(dir .. "/run.db"))
    assert(db:exec("PRAGMA user_version = " .. version))
    db:close()
    t.raises("has format " .. version, run.reader, dir)
  end
  write(dir .. "/run.db", "this is no database, whatever its name says of it")
  t.raises("not a SQLite database", run.reader, dir)
  t.raises("holds no run", run.reader, "/nowhere")
end)

t.test("a run says what it is made of", function()
  local dir = place()
  assert(shell("cd %s && %s run x.lua out", dir, exe) == 0)
  local r = run.reader(dir .. "/out")
  local e = r:experiment()
  t.equal(e.script_text, experiment)
  t.equal(core.system.read_file(dir .. "/out/script.lua"), experiment)
  t.equal({ e.version, e.state, e.args[1] }, { kb.version, "done", "out" })
  for _, name in ipairs { "script", "task", "policy", "strategies" } do
    t.equal(#e.hashes[name], 16)
  end
  local p = r:profiles()[1]
  t.equal({ p.kernel, #p.phi, #p.rho, #p.signature }, { 1, 9, 6, 5 })
  local kinds = {}
  for i, event in ipairs(r:events()) do kinds[i] = event.kind end
  t.equal(kinds, { "started", "done" })
  r:close()
end)

-- Going on -------------------------------------------------------------------------

t.test("a killed run resumes from any folder, with what it was started with", function()
  local dir = place()
  t.equal(shell("cd %s && STOP=11 %s run x.lua out", dir, exe), 137)
  local code, text = shell("cd / && %s resume %s/out", exe, dir)
  t.equal(code, 0, text)
  t.equal(text, uninterrupted())
end)

t.test("a script finds itself by the same name when its run is resumed", function()
  local dir = place()
  write(dir .. "/x.lua", "print(arg[0])\n" .. experiment)
  local _, text = shell("cd %s && %s run x.lua out 1", dir, exe)
  local _, again = shell("cd / && %s resume %s/out --steps 2", exe, dir)
  t.equal(again:match "[^\n]*", text:match "[^\n]*")
end)

t.test("a run that was moved goes on where it is", function()
  local dir = place()
  t.equal(shell("cd %s && STOP=11 %s run x.lua out", dir, exe), 137)
  local moved = folder() .. "/elsewhere"
  assert(os.execute(("mv %s/out %s"):format(dir, moved)))
  local code, text = shell("%s resume %s", exe, moved)
  t.equal(code, 0, text)
  t.equal(text, uninterrupted())
  t.equal(core.system.exists(dir .. "/out"), nil)
end)

t.test("without its script a run says where the text is", function()
  local dir = place()
  t.equal(shell("cd %s && STOP=11 %s run x.lua out", dir, exe), 137)
  os.remove(dir .. "/x.lua")
  local code, text = shell("cd %s && %s resume out", dir, exe)
  t.equal(code, 2)
  t.contains(text, "out --script ")
  code, text = shell("cd %s && %s resume out --script out/script.lua", dir, exe)
  t.equal(code, 0, text)
  t.equal(text, uninterrupted())
end)

t.test("a script that came with a run folder is not run unasked", function()
  local dir = place()
  t.equal(shell("cd %s && STOP=11 %s run x.lua out", dir, exe), 137)
  local db = assert(core.store(dir .. "/out/run.db"))
  write(dir .. "/out/evil.lua", "print 'owned'")
  assert(db:exec("UPDATE experiment SET script = ?", dir .. "/out/evil.lua"))
  db:close()
  local code, text = shell("%s resume %s/out", exe, dir)
  t.equal(code, 2)
  t.contains(text, "in the run's own folder")
  t.equal(text:find "owned", nil)
end)

t.test("resume wants a budget it can read, and a search that writes there", function()
  local dir = place()
  t.equal(shell("cd %s && STOP=11 %s run x.lua out", dir, exe), 137)
  local code, text = shell("cd %s && %s resume out --steps many", dir, exe)
  t.equal(code, 2)
  t.contains(text, "--steps must be a whole number from 0 up, got 'many'")
  write(dir .. "/y.lua", "print 'no search'")
  code, text = shell("cd %s && %s resume out --script y.lua", dir, exe)
  t.equal(code, 2)
  t.contains(text, "no search of it writes to")
end)

t.test("run --resume goes on in the same folder, and starts a run where there is none", function()
  local dir = place()
  t.equal(shell("cd %s && STOP=7 %s run --resume x.lua out", dir, exe), 137)
  local code, text = shell("cd %s && %s run x.lua out", dir, exe)
  t.equal(code, 2)
  t.contains(text, "already holds a run")
  code, text = shell("cd %s && %s run x.lua out --resume", dir, exe)
  t.equal(code, 0, text)
  t.equal(text, uninterrupted())
end)

t.test("a finished run goes on with a greater budget", function()
  local dir = place()
  local code, text = shell("cd %s && %s run x.lua out 12", dir, exe)
  t.equal(code, 0, text)
  local confirmed = "SELECT count(*) AS n FROM evaluations WHERE kind = 'confirm'"
  local before = rows(dir .. "/out", confirmed)
  code = shell("cd %s && %s resume out", dir, exe)
  t.equal(code, 0)
  t.equal(rows(dir .. "/out", confirmed), before)   -- nothing was added to it
  code, text = shell("cd %s && %s resume out --steps 30", dir, exe)
  t.equal(code, 0, text)
  t.equal(text, uninterrupted())
  t.contains(rows(dir .. "/out", "SELECT text FROM events WHERE kind = 'config'")[1].text,
             '"steps":30')
end)

for _, parallel in ipairs { 1, 4 } do
  t.test(("interrupted, killed and resumed equals uninterrupted, %d at once")
         :format(parallel), function()
    local with = ("PARALLEL=%d POLICY=policies/kernelband_v1.lua"):format(parallel)
    local dir = place()
    local _, straight = shell("cd %s && %s %s run x.lua whole", dir, with, exe)
    t.equal(shell("cd %s && %s STOP=9 HOW=TERM %s run x.lua out", dir, with, exe), 130)
    t.equal(rows(dir .. "/out", "SELECT state FROM experiment")[1].state, "interrupted")
    t.equal(shell("cd %s && %s STOP=18 %s resume out", dir, with, exe), 137)
    t.equal(shell("cd %s && %s STOP=23 HOW=TERM %s resume out", dir, with, exe), 130)
    local code, text = shell("cd %s && %s %s resume out", dir, with, exe)
    t.equal(code, 0, text)
    t.equal(text, straight)
  end)
end

t.test("a policy file that changed is refused, and --force is in the journal", function()
  local dir = place()
  local policy = [[
return { name = "mine", defaults = {}, new = function(params, ctx)
  local pool = {}
  return { admit = function(k) pool[#pool + 1] = k end, learn = function() end,
    choose = function() return pool[%s], 1 + #pool %% #ctx.strategies end } end }]]
  write(dir .. "/mine.lua", policy:format "#pool")
  t.equal(shell("cd %s && POLICY=mine.lua STOP=11 %s run x.lua out", dir, exe), 137)
  local before = rows(dir .. "/out", "SELECT * FROM pulls")
  write(dir .. "/mine.lua", policy:format "1")
  local code, text = shell("cd %s && POLICY=mine.lua %s resume out", dir, exe)
  t.equal(code, 2)
  t.contains(text, "other files of its policy")
  t.contains(text, "--force")
  code, text = shell("cd %s && POLICY=mine.lua %s resume out --force", dir, exe)
  t.equal(code, 0, text)
  local after = rows(dir .. "/out", "SELECT * FROM pulls")
  t.equal(#after, 30)
  for i, row in ipairs(before) do t.equal(after[i], row) end
  t.equal(after[30].parent, 1)          -- as the changed policy would have it
  t.contains(rows(dir .. "/out", "SELECT text FROM events WHERE kind = 'forced'")[1].text,
             "policy")
end)

t.test("a run recorded with four at once goes on with one, by force", function()
  local dir = place()
  t.equal(shell("cd %s && PARALLEL=4 STOP=15 %s run x.lua out", dir, exe), 137)
  local before = rows(dir .. "/out", "SELECT * FROM pulls")
  local code, text = shell("cd %s && %s resume out", dir, exe)
  t.equal(code, 2)
  t.contains(text, "was recorded with parallel 4, and this is 1")
  code, text = shell("cd %s && %s resume out --force", dir, exe)
  t.equal(code, 0, text)
  local after = rows(dir .. "/out", "SELECT * FROM pulls")
  t.equal(#after, 30)
  for i, row in ipairs(before) do t.equal(after[i], row) end
end)

t.test("a run killed before its first table starts again", function()
  local dir = place()
  assert(core.system.mkdir_p(dir .. "/out"))
  core.store(dir .. "/out/run.db"):close()
  local code, text = shell("cd %s && %s run --resume x.lua out", dir, exe)
  t.equal(code, 0, text)
  t.equal(text, uninterrupted())
end)

t.test("one search writes to a run at a time", function()
  local dir = folder()
  local function options(more)
    local o = { task = worlds.task {}, policy = "policies/random.lua", quiet = true,
                budget = { steps = 3 }, out = dir }
    for k, v in pairs(more or {}) do o[k] = v end
    return o
  end
  local why
  kb.search(options { on_pull = function()
    run.resuming(dir)
    local ok, e = pcall(kb.search, options())
    assert(not ok)
    why = e
  end })
  t.contains(why, "a search is writing to this run now")
end)

t.test("eight models asked at once, interrupted: what was measured is kept", function()
  local dir = folder()
  write(dir .. "/x.lua", [[
local kb = require "kernelband"
local calls = 0
local r = kb.search {
  task = kb.synthetic { seed = 5 }, budget = { steps = 40 }, out = arg[1], parallel = 8,
  policy = "policies/random.lua", quiet = true,
  generator = { name = "slow", open = function() return true end, seen = function() end,
    first = { 0, 0, 0, 0, 0, 0 },
    propose = function(parent, strategy, rng, ctx)
      calls = calls + 1
      local n = calls
      local ok, why, code = ctx.loop:sleep(n <= 8 and 10 ^ 7 // 1 or 60 * 10 ^ 9 // 1)
      if not ok then return nil, why, code end
      return { source = "tiling " .. n, params = { n / 1000, 0, 0, 0, 0, 0 } }
    end },
  on_pull = function(p) if p.landed == 8 then os.execute "kill -TERM $PPID" end end }
print(r.pulls, r.state)
]])
  local began = core.system.now_ns()
  local code, text = shell("cd %s && %s run x.lua out", dir, exe)
  t.equal(code, 130, text)
  t.contains(text, "8\tinterrupted")
  assert((core.system.now_ns() - began) / 1e9 < 50)
  t.equal(rows(dir .. "/out", "SELECT count(*) AS n FROM pulls"), { { n = 8 } })
  t.equal(rows(dir .. "/out", "PRAGMA integrity_check"), { { integrity_check = "ok" } })
end)

-- Kills -----------------------------------------------------------------------------

t.test("killed at any moment, a run loses nothing that had landed", function()
  local kills = require "kills"
  kills.run { kills = 10, dir = place(), exe = exe, seed = 7 }
end)

-- What a policy logs ---------------------------------------------------------------

local talking = [[
return { name = "talking", defaults = {}, new = function(params, ctx)
  local first, n = nil, 0
  ctx.log("begins with", #ctx.strategies, "strategies")
  return { learn = function(pull) ctx.log("pull", pull.n, pull.verdict, { 1 }) end,
    admit = function(k) first = first or k end,
    choose = function() n = n + 1 return first, n % #ctx.strategies + 1 end }
end }
]]

t.test("what a policy logs is in the journal once, after a stop too, and in the report", function()
  local dir = place()
  write(dir .. "/p.lua", talking)
  local sql = "SELECT text FROM events WHERE kind = 'policy' ORDER BY id"
  assert(shell("cd %s && POLICY=p.lua %s run x.lua whole", dir, exe) == 0)
  local all = rows(dir .. "/whole", sql)
  t.equal(#all, 31)
  t.equal(all[1].text, "after 0 pulls: begins with\t6\tstrategies")
  t.contains(all[2].text, "after 1 pulls: pull\t1\t")
  shell("cd %s && POLICY=p.lua STOP=12 %s run x.lua cut", dir, exe)
  local code, text = shell("cd %s && POLICY=p.lua %s resume cut", dir, exe)
  t.equal(code, 0, text)
  t.equal(rows(dir .. "/cut", sql), all)
  t.contains(require("kernelband.report").html { dir .. "/cut" }, "after 30 pulls: pull")
end)

worlds.clean()
-- A world whose worker is lost with some candidates, as one behind a connection may be.
local function lossy(lost)
  local task, count = worlds.task {}, 0
  local environment = task.environment
  function task.environment()
    local env = environment()
    local evaluate = env.evaluator.evaluate
    function env.evaluator.evaluate(candidate, how)
      count = count + 1
      if lost[count] then return nil, "the connection ended", "ELOST" end
      return evaluate(candidate, how)
    end
    return env
  end
  return task
end

t.test("what could not be evaluated is no pull, and a resumed run passes over it, too", function()
  local function search(task, steps, out)
    return kb.search { task = task, policy = "policies/ucb1.lua", budget = { steps = steps },
                       parallel = 3, seed = 4, out = out, quiet = true, confirm = false }
  end
  local lost, dirs = { [2] = true, [5] = true }, { worlds.folder(), worlds.folder() }
  local whole_run = search(lossy(lost), 9, dirs[1])
  t.equal(whole_run.pulls, 9)
  t.equal(whole_run.verdicts, { ok = 9 })
  t.equal(#rows(dirs[1], "SELECT 1 FROM events WHERE kind = 'not evaluated'"), 2)
  t.equal(#rows(dirs[1], "SELECT 1 FROM evaluations WHERE pull NOT IN (SELECT n FROM pulls)"), 0)
  local task = lossy(lost)
  search(task, 6, dirs[2])
  run.resuming { folder = dirs[2], budget = { steps = 9 } }
  local resumed = search(task, 9, dirs[2])
  run.resuming()
  local function told(r)
    local out = {}
    for i, w in ipairs(r.rows) do
      out[i] = ("%d %d %s %s"):format(w.n, w.parent, w.strategy, w.verdict)
    end
    return out
  end
  t.equal(told(resumed), told(whole_run))
end)

t.finish()
