-- This file tests lua/kernelband/store/run.lua. It checks the contents of a run folder, how a
-- stopped run is resumed, and what a full disk causes. It also tests lua/kernelband/base/json.lua,
-- and the final table of lua/kernelband/search/progress.lua.
package.path = "tests/lib/?.lua;" .. package.path
local t = require "harness"
local kb = require "kernelband"
local core = kb.core
local progress = require "kernelband.search.progress"
local run = require "kernelband.store.run"
local worlds = require "worlds"

local exe = core.system.exe()

-- Runs a shell command; returns exit code and what it wrote.
local function shell(command, ...)
  local pipe = assert(io.popen("( " .. command:format(...) .. " ) 2>&1"))
  local text = pipe:read "a"
  local _, how, code = pipe:close()
  return how == "signal" and 128 + code or code, text
end

-- An experiment that stops itself after pull STOP by kill -9.
local experiment = worlds.file [[
local kb = require "kernelband"
local stop = tonumber(os.getenv "STOP")
local policy = os.getenv "POLICY" or "kernelband"
local r = kb.search {
  task = kb.synthetic { seed = 5 }, seed = tonumber(os.getenv "SEED") or 2,
  budget = { steps = tonumber(arg[2]) or 40 }, out = arg[1], parallel = 3,
  policy = "policies/" .. policy .. ".lua",
  on_pull = function(p)
    if p.n == stop then os.execute("kill -" .. (os.getenv "HOW" or 9) .. " $PPID") end
  end }
for _, w in ipairs(r.rows) do
  print(w.n, w.strategy, w.parent, w.child, w.verdict, ("%.17g"):format(w.reward))
end
print(r.speedup, r.interrupted)
]]

local function rows(folder, sql)
  local db = assert(core.store(folder .. "/run.db"))
  local out = assert(db:rows(sql))
  db:close()
  return out
end

t.test("the folder holds the journal, the best source and the result", function()
  local out = worlds.folder() .. "/deep/run"
  local r = kb.search { task = worlds.task {}, budget = { steps = 4 }, quiet = true,
                        out = out, policy = "policies/greedy.lua" }
  t.equal(r.run, out)
  t.equal(core.system.read_file(r.source_path), r.source)
  t.equal(rows(out, "SELECT state, seed FROM experiment"), { { state = "done", seed = 1 } })
  t.equal(rows(out, "SELECT count(*) AS n FROM kernels"), { { n = 5 } })
  t.equal(rows(out, "SELECT n, landed, parent, child, verdict, reward FROM pulls "
    .. "WHERE n = 1"), { { n = 1, landed = 1, parent = 1, child = 2, verdict = "ok",
                           reward = 0.5 } })
  t.equal(rows(out, "SELECT kind, count(*) AS n FROM evaluations GROUP BY kind "
    .. "ORDER BY kind"), { { kind = "baseline", n = 1 }, { kind = "confirm", n = 1 },
                           { kind = "pull", n = 4 } })
  t.equal(rows(out, "PRAGMA user_version"), { { user_version = 2 } })
  local result = require("kernelband.base.json").decode(
    core.system.read_file(out .. "/result.json"))
  t.equal(result.speedup, r.speedup)
  t.equal(result.verdicts, { ok = 4 })
end)

t.test("sources of kernels lie in the journal and not in memory", function()
  local out, kernels, held = worlds.folder(), {}, 0
  local r = kb.search { task = kb.synthetic { seed = 3 }, budget = { steps = 12 }, seed = 1,
    policy = "policies/random.lua", out = out, confirm = false, on_pull = function(p)
      if p.child then
        kernels[#kernels + 1] = p.child
        held = held + (rawget(p.child, "source") and 1 or 0)
        t.equal(p.child.source, p.candidate.source)
      end
    end }
  t.equal(held, 0)
  assert(#kernels > 2 and r.pulls == 12)
  local reader = run.reader(out)
  for _, row in ipairs(reader:kernels()) do
    for _, k in ipairs(kernels) do
      if k.id == row.id then t.equal(k.source, row.source) end
    end
  end
  reader:close()
  t.equal(kernels[1].nothing, nil)
end)

t.test("a folder that holds a run is refused, with what to do", function()
  local out = worlds.folder()
  local options = { task = worlds.task {}, budget = { steps = 1 }, quiet = true,
                    out = out, policy = "policies/greedy.lua" }
  kb.search(options)
  t.raises("kernelband resume " .. out, kb.search, options)
  t.equal(run.fresh(out), out .. "-2")
end)

t.test("a start that failed leaves a folder that can be used", function()
  local out = worlds.folder()
  local options = { task = worlds.task { bad = true }, budget = { steps = 1 },
                    quiet = true, out = out, policy = "policies/greedy.lua" }
  t.raises("baseline is wrong", kb.search, options)
  t.equal(run.fresh(out), out)
  options.task = worlds.task {}
  t.equal(kb.search(options).pulls, 1)
end)

for _, policy in ipairs { "kernelband", "kernelband_v1", "kernelband_v2", "random" } do
  t.test("killed and resumed equals uninterrupted: " .. policy, function()
    local dir = worlds.folder()
    core.system.mkdir_p(dir)
    local with = ("cd %s; export POLICY=%s; "):format(dir, policy)
    local code, whole = shell("%s %s run %s whole", with, exe, experiment)
    t.equal(code, 0, whole)
    code = shell("%s STOP=13 %s run %s cut", with, exe, experiment)
    t.equal(code, 137)
    t.equal(rows(dir .. "/cut", "SELECT count(*) AS n FROM pulls"), { { n = 13 } })
    code = shell("%s STOP=27 %s resume cut", with, exe)
    t.equal(code, 137)
    local again
    code, again = shell("%s %s resume cut", with, exe)
    t.equal(code, 0, again)
    t.equal(again, whole)
    local all = "SELECT n, landed, parent, strategy, verdict, child, reward, mean, "
                .. "cluster FROM pulls"
    t.equal(rows(dir .. "/cut", all), rows(dir .. "/whole", all))
  end)
end

t.test("an interrupt saves, says how to go on, and exits 130", function()
  local dir = worlds.folder()
  core.system.mkdir_p(dir)
  local code, text = shell("cd %s; HOW=TERM STOP=9 %s run %s cut", dir, exe, experiment)
  t.equal(code, 130, text)
  t.contains(text, "true")
  t.equal(rows(dir .. "/cut", "SELECT state FROM experiment"), { { state = "interrupted" } })
  code = shell("cd %s; %s resume cut", dir, exe)
  t.equal(code, 0)
  t.equal(rows(dir .. "/cut", "SELECT count(*) AS n, max(n) AS m FROM pulls"),
          { { n = 40, m = 40 } })
end)

t.test("what changed since is named", function()
  local dir = worlds.folder()
  core.system.mkdir_p(dir)
  shell("cd %s; STOP=9 %s run %s cut", dir, exe, experiment)
  local code, text = shell("cd %s; SEED=7 %s resume cut", dir, exe)
  t.equal(code, 2)
  t.contains(text, "was recorded with seed 2, and this is 7")
  code, text = shell("cd %s; POLICY=greedy %s resume cut", dir, exe)
  t.equal(code, 2)
  t.contains(text, "policy kernelband")
  local db = assert(core.store(dir .. "/cut/run.db"))
  db:exec "UPDATE pulls SET strategy = 'other' WHERE n = 4"
  db:close()
  code, text = shell("cd %s; %s resume cut", dir, exe)
  t.equal(code, 2)
  t.contains(text, "pull 4 was other on kernel")
  t.contains(text, "changed since")
end)

t.test("resume wants a run folder", function()
  local code, text = shell("%s resume /nowhere", exe)
  t.equal(code, 2)
  t.contains(text, "holds no run")
end)

t.test("a full disk stops the run and what was written stays readable", function()
  local dir = worlds.folder()
  core.system.mkdir_p(dir)
  local code, text = shell("cd %s; ulimit -f 1000; trap '' XFSZ; exec %s run %s full 4000",
                           dir, exe, experiment)
  t.equal(code, 1, text)
  t.contains(text, "full")
  t.contains(text, "kernelband resume full")
  local n = rows(dir .. "/full", "SELECT count(*) AS n FROM pulls")[1].n
  assert(n > 5, n)
  code = shell("cd %s; STOP=%d %s resume full", dir, n + 5, exe)
  t.equal(code, 137)
  assert(rows(dir .. "/full", "SELECT count(*) AS n FROM pulls")[1].n >= n + 5)
end)

t.test("a disk that is nearly full is an error before it is full", function()
  local out, real = worlds.folder(), core.system.disk_free
  local why = t.raises("its disk is full (1 MiB left)", kb.search, {
    task = worlds.task {}, budget = { steps = 9 }, quiet = true, out = out,
    policy = "policies/greedy.lua", on_pull = function(p)
      if p.n == 4 then core.system.disk_free = function() return 1 << 20 end end
    end })
  core.system.disk_free = real
  t.contains(why, "kernelband resume " .. out)
  t.equal(rows(out, "SELECT count(*) AS n FROM pulls"), { { n = 4 } })
end)

t.test("JSON keeps every digit and sorts its keys", function()
  local json = require "kernelband.base.json"
  t.equal(json.encode { b = 0.1, a = { 1, 2.0, 1 / 3 }, c = "x/\"\n" },
          '{"a":[1,2,0.33333333333333331],"b":0.1,"c":"x/\\"\\n"}')
  t.equal(json.decode(json.encode { x = 1 / 3 }).x, 1 / 3)
  t.equal(math.type(json.decode "{\"n\":3}".n), "integer")
  t.equal(json.decode "{\"n\":null}", {})
  t.raises("finite", json.encode, { 0 / 0 })
end)

t.test("the final table", function()
  local text = progress.table { speedup = 3, speedup_low = 2.9, speedup_high = 3.1,
    baseline_ns = 3e6, time_ns = 1e6, shapes = { { shape = { n = 64.0, m = 32 },
    role = "timed", baseline_ns = 3000, time_ns = 1000, speedup = 3, share_of_peak = 0.5 } } }
  t.contains(text, "m=32 n=64   3.00 us  1.00 us     3.00x")
  t.contains(text, "50 %")
  t.contains(text, "all         3.00 ms  1.00 ms     3.00x   2.90 to 3.10")
end)

worlds.clean()
t.finish()
