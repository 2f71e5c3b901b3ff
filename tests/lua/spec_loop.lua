-- The loop: coroutines that wait, promises, timers, workers on it.
package.path = "tests/lib/?.lua;" .. package.path
local t      = require "harness"
local core   = require "kernelband.core"
local loop   = require "kernelband.base.loop"
local task   = require "kernelband.task"
local worker = require "kernelband.worker"

local ms, second_ns = 10 ^ 6 // 1, 10 ^ 9 // 1
local now_ns = core.system.now_ns

-- Turns L until done() or nothing is left to wait for.
local function drive(L, done)
  local limit = now_ns() + 60 * second_ns
  while not done() do
    local ok, why, code = L:turn(second_ns)
    if not ok and code ~= "ETIME" and code ~= "EINTR" then return nil, why, code end
    assert(now_ns() < limit, "the loop did not come to its end")
  end
  return true
end

t.test("a coroutine runs at once until its first wait", function()
  local L, seen = loop.new(), {}
  local h = L:spawn(function()
    seen[#seen + 1] = "begun"
    assert(L:sleep(ms))
    seen[#seen + 1] = "slept"
  end)
  t.equal(seen, { "begun" })
  t.equal(h:done(), false)
  assert(drive(L, function() return h:done() end))
  t.equal(seen, { "begun", "slept" })
  t.equal(select(3, L:turn(second_ns)), "EEMPTY")
end)

t.test("sleepers wake by time, and by age where times are equal", function()
  local L, seen, left = loop.new(), {}, 3
  for i, ns in ipairs { 20 * ms, 5 * ms, 10 * ms } do
    L:spawn(function()
      L:sleep(ns)
      seen[#seen + 1], left = i, left - 1
    end)
  end
  local at = now_ns()
  for i = 4, 6 do L:at(at, function() seen[#seen + 1] = i end) end
  assert(drive(L, function() return left == 0 end))
  t.equal(seen, { 4, 5, 6, 2, 3, 1 })
end)

t.test("a turn ends at its time", function()
  local L = loop.new()
  L:spawn(function() L:sleep(600 * second_ns) end)
  local begun = now_ns()
  local ok, _, code = L:turn(20 * ms)
  t.equal({ ok == nil, code }, { true, "ETIME" })
  assert(now_ns() - begun >= 20 * ms and now_ns() - begun < 300 * second_ns)
end)

t.test("a dropped timer does not run", function()
  local L, ran = loop.new(), false
  local timer = L:at(now_ns(), function() ran = true end)
  L:drop(timer)
  t.equal(select(3, L:turn(0)), "EEMPTY")
  t.equal(ran, false)
end)

t.test("a promise gives its first value to all who wait, before or after", function()
  local L, got = loop.new(), {}
  local p = L:promise()
  for i = 1, 3 do
    L:spawn(function()
      local a, b = p:await()
      got[#got + 1] = ("%d %s %s"):format(i, a, tostring(b))
    end)
  end
  p:resolve("x", nil)
  p:resolve "late"
  t.equal(got, {})                      -- never in the midst of who resolves
  assert(L:turn(0))
  t.equal(got, { "1 x nil", "2 x nil", "3 x nil" })
  L:spawn(function() got[#got + 1] = p:await() end)
  t.equal(got[4], "x")
end)

t.test("waiting outside a coroutine of the loop is an error", function()
  local L, other = loop.new(), loop.new()
  t.raises("only a coroutine of loop:spawn can wait", function() L:sleep(ms) end)
  t.raises("only a coroutine of loop:spawn can wait", function() L:promise():await() end)
  t.raises("only a coroutine of loop:spawn can wait", function()
    L:spawn(function() other:sleep(ms) end)
  end)
  t.raises("only a coroutine of loop:spawn can wait", function()
    L:spawn(function() coroutine.wrap(function() L:sleep(ms) end)() end)
  end)
  t.raises("cannot turn the loop it runs in", function()
    L:spawn(function() L:turn(0) end)
  end)
end)

t.test("cancelling ends the wait and every later one", function()
  local L, got = loop.new(), {}
  local h = L:spawn(function()
    got[1] = table.pack(L:sleep(60 * second_ns))
    got[2] = table.pack(L:sleep(60 * second_ns))
    got[3] = table.pack(L:promise():await())
  end)
  h:cancel()
  h:cancel()
  t.equal(#got, 0)
  assert(drive(L, function() return h:done() end))
  for i = 1, 3 do t.equal({ got[i][2], got[i][3] }, { "cancelled", "ECANCELED" }) end
  h:cancel()                            -- one that has ended
  t.equal(select(3, L:turn(0)), "EEMPTY")
end)

t.test("a value that came first is not lost to a cancel", function()
  local L, got = loop.new(), nil
  local p = L:promise()
  local h = L:spawn(function() got = p:await() end)
  p:resolve(7)
  h:cancel()
  assert(drive(L, function() return h:done() end))
  t.equal(got, 7)
end)

t.test("a coroutine may cancel itself and others, and spawn", function()
  local L, got = loop.new(), {}
  local sleeper = L:spawn(function() got[1] = select(3, L:sleep(60 * second_ns)) end)
  local me
  me = L:spawn(function()
    L:sleep(0)
    sleeper:cancel()
    me:cancel()
    L:spawn(function()
      L:sleep(0)
      got[3] = "child"
    end)
    got[2] = select(3, L:sleep(0))
  end)
  assert(drive(L, function() return got[3] end))
  t.equal(got, { "ECANCELED", "ECANCELED", "child" })
  t.equal({ sleeper:done(), me:done() }, { true, true })
end)

t.test("an error ends its coroutine alone and is raised by the turn", function()
  local L, slept = loop.new(), false
  local bad = L:spawn(function()
    L:sleep(0)
    error("as asked")
  end)
  L:spawn(function()
    L:sleep(0)
    slept = true
  end)
  t.raises("as asked", function()
    for _ = 1, 3 do L:turn(second_ns) end
  end)
  t.equal(bad:done(), true)
  assert(drive(L, function() return slept end))
  t.raises("at once", function() L:spawn(function() error("at once") end) end)
  local object = setmetatable({}, { __tostring = function() return "an object" end })
  local ok, why = pcall(L.spawn, L, function() error(object) end)
  t.equal({ ok, why == object }, { false, true })
end)

t.test("coroutines that wake one another do not keep timers waiting", function()
  local L, ended, n = loop.new(), false, 0
  L:at(now_ns() + 20 * ms, function() ended = true end)
  local function relay(p)
    L:spawn(function()
      p:await()
      n = n + 1
      if not ended then
        local q = L:promise()
        relay(q)
        q:resolve()
      end
    end)
  end
  local first = L:promise()
  relay(first)
  first:resolve()
  assert(drive(L, function() return ended end))
  assert(n > 1)
end)

t.test("a thousand coroutines sleep and wake", function()
  local L, left = loop.new(), 1000
  for i = 1, 1000 do
    L:spawn(function()
      for _ = 1, 3 do L:sleep((i % 7) * ms) end
      left = left - 1
    end)
  end
  assert(drive(L, function() return left == 0 end))
end)

-- Workers -----------------------------------------------------------------------

local axpy = task.load "tests/lib/tasks/axpy"
local source = core.system.read_file "tests/lib/tasks/axpy/baseline.c"

t.test("evaluations overlap with sleep, in coroutines, on a shared loop", function()
  local L = loop.new()
  local e = worker.start { task = axpy, device = "cpu", loop = L }
  local out, naps = {}, 0
  local baseline
  L:spawn(function() baseline = e.baseline() end)
  L:spawn(function()
    repeat
      L:sleep(5 * ms)
      naps = naps + 1
    until #out == 3
  end)
  for i = 1, 3 do
    L:spawn(function()
      local verdict = e.evaluate({ source = i == 2 and "broken" or source }).verdict
      out[#out + 1] = { i, verdict }
    end)
  end
  local list, busy, queued = e.state()
  t.equal({ #list, list[1].state, busy, queued }, { 1, "opening", 0, 3 })
  assert(drive(L, function() return #out == 3 end))
  t.equal(out, { { 1, "ok" }, { 2, "build_failed" }, { 3, "ok" } })
  t.equal(baseline.verdict, "ok")
  assert(naps > 10, "the loop stood still while the worker worked")
  list, busy, queued = e.state()
  t.equal({ list[1].state, busy, queued }, { "idle", 0, 0 })
  e.close()
end)

t.test("outside a coroutine evaluate turns the loop, and a cancel loses one only", function()
  local L = loop.new()
  local e = worker.start { task = axpy, device = "cpu", loop = L }
  local verdict, code
  local h = L:spawn(function() code = select(3, e.evaluate { source = source }) end)
  L:spawn(function() verdict = e.evaluate({ source = source }).verdict end)
  h:cancel()
  t.equal(e.evaluate({ source = "broken" }).verdict, "build_failed")
  t.equal({ code, verdict }, { "ECANCELED", "ok" })
  e.close()
end)

t.test("each coroutine that waits for a worker hears that none can be started", function()
  local L = loop.new()
  local e = worker.start { task = { dir = "tests/lib/tasks/absent" }, device = "cpu", loop = L }
  local told = {}
  for _, what in ipairs { "evaluate", "baseline" } do
    L:spawn(function()
      local ok, why = pcall(e[what], { source = source })
      told[#told + 1] = tostring(ok) .. tostring(why)
    end)
  end
  assert(drive(L, function() return #told == 2 end))
  for _, text in ipairs(told) do
    t.contains(text, "false")
    t.contains(text, "absent")
  end
  t.raises("absent", e.evaluate, { source = source })
  e.close()
end)

t.test("workers are as many as pulls in flight, within what the machine has", function()
  local cpus = #core.system.cpus()
  local e = worker.start { task = axpy, device = "cpu", parallel = 100 }
  t.equal(e.capacity, cpus)
  e.close()
  e = worker.start { task = axpy, device = "cpu", parallel = 100, workers = 1 }
  t.equal(e.capacity, 1)
  e.close()
  t.raises("workers = 1000", worker.start, { task = axpy, workers = 1000 })
end)

local function devices(e)
  local list = e.state()
  for i, slot in ipairs(list) do list[i] = slot.device end
  return list
end

-- What a cpuset leaves need not start at 0: this process pretends that it has 2, 5 and 7.
t.test("workers are timed on processors by their own numbers", function()
  local cpus = core.system.cpus
  core.system.cpus = function() return { 2, 5, 7 } end
  local e = worker.start { task = axpy, device = "cpu", parallel = 2 }
  local f = worker.start { task = axpy, device = "cpu" }
  local got = { devices(e), devices(f) }
  e.close()
  f.close()
  core.system.cpus = cpus
  t.equal(got, { { "cpu:7", "cpu:5" }, { "cpu:2" } })
end)

t.test("one processor that is not the first is enough", function()
  local cpus = core.system.cpus()
  local last = cpus[#cpus]
  if not os.execute "command -v taskset >/dev/null" then return print "skipped: no taskset" end
  local script, root = os.tmpname(), "tests/lib"
  core.system.write_file(script, ([[
    local core, worker = require "kernelband.core", require "kernelband.worker"
    local axpy = require("kernelband.task").load "%s/tasks/axpy"
    local cpus = core.system.cpus()
    local e = worker.start { task = axpy, device = "cpu", parallel = 2 }
    local out = e.evaluate({ source = core.system.read_file "%s/tasks/axpy/baseline.c" }, {})
    print(#cpus, cpus[1], e.capacity, out.verdict)
    e.close()
  ]]):format(root, root))
  local pipe = io.popen(("taskset -c %d %s run %s 2>&1"):format(last, core.system.exe(), script))
  t.equal(pipe:read "a", ("1\t%d\t1\tok\n"):format(last))
  pipe:close()
  os.remove(script)
end)

t.test("workers of two searches are timed on processors of their own", function()
  local cpus = core.system.cpus()
  if #cpus < 2 then return print "skipped: one processor" end
  local a = worker.start { task = axpy, device = "cpu" }
  local b = worker.start { task = axpy, device = "cpu" }
  t.equal({ devices(a), devices(b) }, { { "cpu" }, { "cpu:" .. cpus[#cpus - 1] } })
  a.close()
  a.close()
  local c = worker.start { task = axpy, device = "cpu" }
  t.equal(devices(c), { "cpu" })
  b.close()
  c.close()
end)

t.finish()
