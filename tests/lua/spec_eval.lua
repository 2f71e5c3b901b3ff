-- The judge: what an evaluation says, and that the death of a worker costs one
-- candidate at most. The suites of candidates are spec_candidates.lua's.
package.path = "tests/lib/?.lua;" .. package.path
local t = require "harness"
local asked = require "asked"
local candidates = require "candidates"
local cjson = require "cjson"
local core = require "kernelband.core"
local task = require "kernelband.task"
local worker = require "kernelband.worker"

local exe = assert(core.system.exe())
local dir = t.folder()
local second_ns = 10 ^ 9 // 1

local axpy = task.load "tests/lib/tasks/axpy"
local evaluator = asked(worker.start { task = axpy, device = "cpu" })
local tickets = 0

local function submit(source, options)
  tickets = tickets + 1
  evaluator.submit(tickets, { source = source }, options or {})
  return tickets
end

local function wait()
  while true do
    local ticket, out, code = evaluator.next(60 * second_ns)
    if ticket then return ticket, out end
    if code ~= "EINTR" then error(("%s: %s"):format(code, out)) end
  end
end

local function judge(source, options)
  local ticket = submit(source, options)
  local got, out = wait()
  t.equal(got, ticket)
  return out
end

local function read(file) return assert(core.system.read_file(file)) end

local honest = read "tests/lib/tasks/axpy/baseline.c"

t.test("the baseline is ok and 1 by definition", function()
  local out = assert(evaluator.baseline())
  t.equal(out.verdict, "ok")
  t.equal(out.speedup, 1)
  t.equal(out.baseline_ns > 0, true)
end)

t.test("a call may take ten seconds while no other has been timed", function()
  t.equal(require("kernelband.evaluate.room").patience_s, 10)
end)

t.test("a slow candidate is screened, a good one has an interval", function()
  -- So slow that no disturbance of the machine brings it near.
  local source = read "tests/candidates/honest/is_slow.c"
                 :gsub("for %(int i", "for (int k = 0; k < 100; k++) %0")
  local slow = judge(source, { best_times_ns = { evaluator.baseline().time_ns / 10 } })
  t.equal(slow.verdict, "ok")
  t.equal(slow.screened, true)
  t.equal(slow.speedup_low, nil)
  t.equal(slow.speedup < 0.9, true)
  local same = judge(honest)
  t.equal(same.screened, false)
  t.equal(same.speedup_low <= same.speedup and same.speedup <= same.speedup_high, true)
  t.equal(#same.shapes, 1)
  t.equal(#same.evidence.phi, 9)
  t.equal(#same.evidence.rho, 6)
  t.equal(#same.evidence.signature, 5)
end)

t.test("an empty source, a NUL and no text at all do not build", function()
  for _, source in ipairs { "", "\0", "\xff\xfe", "/*" } do
    t.equal(judge(source).verdict, "build_failed", ("%q"):format(source))
  end
end)

-- Kills the worker once it has the candidate in hand; false where nobody can.
local function kill_busy()
  local limit = core.system.now_ns() + 20 * second_ns
  while evaluator.state()[1].state ~= "busy" and core.system.now_ns() < limit do
    evaluator.next(second_ns // 100)
  end
  evaluator.next(second_ns // 10)
  return candidates.kill_worker()
end

t.test("a worker killed from outside in the middle is no verdict on its candidate", function()
  local ticket = submit(honest)
  if not kill_busy() then return print "skipped: no /proc/thread-self/children" end
  local got, out = wait()
  t.equal(got, ticket)
  t.equal(out.verdict, "ok", out.reason)
  t.contains(out.died, "the worker died")
end)

t.test("the second death of a worker on one candidate is the candidate's", function()
  local ticket = submit(read "tests/candidates/hostile/never_returns.c")
  if not kill_busy() then return print "skipped: no /proc/thread-self/children" end
  evaluator.next(second_ns // 100)      -- which sees to it
  t.equal(kill_busy(), true)
  local got, out = wait()
  t.equal(got, ticket)
  t.equal(out.verdict, "crashed", out.reason)
  t.contains(out.reason, "the worker died, for the second time")
  t.equal(judge(honest).verdict, "ok")
end)

t.test("nor does a fresh one that is killed while it opens end the run", function()
  submit(honest)
  if not kill_busy() then return print "skipped: no /proc/thread-self/children" end
  for _ = 1, 10000 do                   -- until its death is noticed
    if evaluator.state()[1].state == "opening" then break end
    evaluator.next(second_ns // 1000)
  end
  t.equal(evaluator.state()[1].state, "opening")
  candidates.kill_worker()
  local _, out = wait()
  t.equal(out.verdict, "ok", out.reason)
end)

t.test("a worker killed while idle costs no candidate", function()
  if not candidates.kill_worker() then return end
  t.equal(judge(honest).verdict, "ok")
end)

t.test("nor does one that dies with a candidate it has not read", function()
  if not candidates.kill_worker "STOP" then return end
  submit(honest)                        -- into the pipe, as of a process that takes long to die
  candidates.kill_worker()
  local _, out = wait()
  t.equal(out.verdict, "ok", out.reason)
end)

t.test("two candidates can wait for one worker", function()
  local one, two = submit "nonsense", submit "more nonsense"
  t.equal((wait()), one)
  t.equal((wait()), two)
end)

evaluator.close()

-- The verb ---------------------------------------------------------------------

local function kernelband(words)
  local pipe = assert(io.popen(("%s %s >%s/out 2>%s/err </dev/null; echo $?")
                               :format(exe, words, dir, dir)))
  local code = math.tointeger(tonumber(pipe:read "l"))
  pipe:close()
  return code, read(dir .. "/out"), read(dir .. "/err")
end

t.test("eval --json prints one object and exits 0 for ok", function()
  local code, out, err =
    kernelband "eval --json tests/lib/tasks/axpy tests/candidates/honest/uses_vectors.c"
  t.equal(err, "")
  t.equal(code, 0)
  t.equal(select(2, out:gsub("\n", "")), 1)
  local e = cjson.decode(out)
  t.equal(e.verdict, "ok")
  t.equal(e.task, "axpy")
  t.equal(e.source, "tests/candidates/honest/uses_vectors.c")
  for _, key in ipairs { "reason", "time_ns", "baseline_ns", "speedup", "speedup_low",
                         "speedup_high", "shapes", "seconds", "screened", "evidence" } do
    if e[key] == nil then error("no key " .. key) end
  end
  t.equal(e.reason, cjson.null)
  t.equal(e.shapes[1].shape, { n = 65536 })
  t.equal(e.shapes[1].role, "timed")
  for _, key in ipairs { "build", "check", "time", "profile", "total" } do
    t.equal(type(e.seconds[key]), "number")
  end
end)

t.test("eval exits 1 for another verdict", function()
  local code, out =
    kernelband "eval --json tests/lib/tasks/axpy tests/candidates/hostile/misses_tail.c"
  t.equal(code, 1)
  local e = cjson.decode(out)
  t.equal(e.verdict, "wrong")
  t.contains(e.reason, "never written")
  t.equal(e.speedup, cjson.null)
  t.contains(out, '"shapes":[]')
  code, out = kernelband "eval tests/lib/tasks/axpy tests/candidates/hostile/does_not_compile.c"
  t.equal(code, 1)
  t.contains(out, "build_failed: ")
end)

t.test("eval says that a source does not build before the baseline is judged", function()
  local folder = dir .. "/refused"
  assert(os.execute(("cp -r tests/lib/tasks/axpy '%s'"):format(folder)))
  assert(core.system.write_file(folder .. "/baseline.c", (honest:gsub("2 %* x", "3 * x"))))
  local code, out = kernelband("eval " .. folder .. " tests/candidates/hostile/does_not_compile.c")
  t.equal(code, 1)
  t.contains(out, "build_failed: ")
  local err
  code, out, err = kernelband("eval " .. folder .. " tests/lib/tasks/axpy/baseline.c")
  t.equal(code, 2)
  t.equal(out, "")
  t.contains(err, "refused: the baseline is not what the reference says")
end)

t.test("eval as text is a table", function()
  local code, out = kernelband "eval tests/lib/tasks/axpy tests/lib/tasks/axpy/baseline.c"
  t.equal(code, 0)
  t.contains(out, "n=65536")
end)

t.test("eval exits 2 for what it cannot use", function()
  for words, says in pairs {
    ["tests/lib/tasks/axpy"] = "usage", ["tests/lib/tasks/axpy /nonexistent.c"] = "/nonexistent.c",
    ["tests/lib/tasks/absent tests/candidates/honest/is_slow.c"] = "absent",
    ["tests/lib/tasks/axpy tests/candidates/honest/is_slow.c --device gpu"] = "gpu",
    ["tests/lib/tasks/axpy tests/candidates/honest/is_slow.c --device cpu:4095"] = "cpu:4095",
    ["tests/lib/tasks/axpy tests/candidates/honest/is_slow.c --jsno"] = "--json",
  } do
    local code, out, err = kernelband("eval " .. words)
    t.equal(code, 2, words)
    t.equal(out, "", words)
    t.contains(err, says)
  end
end)

-- As a worker behind ssh is: its death may be the connection's.
t.test("a worker that ends behind a prefix gives no verdict, and a second end says so", function()
  local prefix = { "/bin/sh", "-c", 'exec "$@"', "sh" }
  evaluator = asked(worker.start { task = axpy, places = { { prefix = prefix, device = "cpu" } } })
  t.equal(evaluator.baseline().verdict, "ok")
  submit(honest)
  if not kill_busy() then return print "skipped: no /proc/thread-self/children" end
  local _, out = wait()
  t.equal(out.verdict, "ok", out.reason)
  t.contains(out.died, "the worker died")
  submit(read "tests/candidates/hostile/never_returns.c")
  kill_busy()
  evaluator.next(second_ns // 100)
  kill_busy()
  local ticket, why, code = evaluator.next(60 * second_ns)
  t.equal({ ticket, code }, { nil, "ELOST" })
  t.contains(why, "the worker died, for the second time")
  t.equal(judge(honest).verdict, "ok")
  evaluator.close()
end)

t.test("a full disk is nobody's verdict", function()
  local small = "/tmp/small-" .. core.system.random_hex(6)     -- nobody must get there
  os.execute("mkdir " .. small)
  if not os.execute(("mount -t tmpfs -o size=2m tmpfs %s 2>/dev/null"):format(small)) then
    os.execute("rmdir " .. small)
    return print "skipped: a small file system needs root to mount"
  end
  local words = "eval --json tests/lib/tasks/axpy tests/candidates/hostile/does_not_compile.c"
  local pipe = io.popen(("TMPDIR=%s %s %s 2>&1"):format(small, exe, words))
  local text = pipe:read "a"
  pipe:close()
  os.execute(("umount -l %s; rmdir %s"):format(small, small))
  t.contains(text, "is full")
  t.equal(text:find "build_failed", nil)
end)

t.finish()
