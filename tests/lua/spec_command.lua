-- L:command: texts in and out, an end by the deadline, nothing left behind. And
-- what Ctrl-C does to a loop with much in flight.
package.path = "tests/lib/?.lua;" .. package.path
local t      = require "harness"
local core   = require "kernelband.core"
local loop   = require "kernelband.base.loop"
local server = require "server"

local ms, second_ns = 10 ^ 6 // 1, 10 ^ 9 // 1
local now_ns = core.system.now_ns

local function run(request)
  local L, out = loop.new(), nil
  local begun = now_ns()
  local h = L:spawn(function() out = table.pack(L:command(request)) end)
  while not h:done() do
    local ok, why, code = L:turn(second_ns)
    assert(ok or code == "ETIME" or code == "EINTR", why)
    assert(now_ns() - begun < 60 * second_ns, "the command did not come to its end")
  end
  return out, (now_ns() - begun) / 1e9
end

local function sh(text, more)
  local request = { argv = { "sh", "-c", text } }
  for key, value in pairs(more or {}) do request[key] = value end
  return run(request)
end

-- Whether a process is gone within two seconds; a zombie is.
local function gone(pid)
  local limit = now_ns() + 2 * second_ns
  while now_ns() < limit do
    local stat = core.system.read_file(("/proc/%s/stat"):format(pid))
    if not stat or stat:match "%) (%a)" == "Z" then return true end
    core.system.sleep_ns(5 * ms)
  end
  return false
end

t.test("a command reads its input and says its output, errors and status", function()
  local r = sh("cat; echo oops >&2; exit 3", { input = "a\0b" })[1]
  t.equal(r, { status = 3, output = "a\0b", errors = "oops\n" })
  t.equal(sh("read x; echo $?")[1].output, "1\n")       -- no input: its end at once
end)

t.test("large texts pass both ways, and input it does not read is dropped", function()
  local big = ("0123456789abcdef"):rep(1 << 16)
  t.equal(run({ argv = { "cat" }, input = big })[1].output == big, true)
  t.equal(sh("exec <&-; echo done", { input = big })[1].output, "done\n")
  t.equal(run({ argv = { "true" }, input = big })[1].status, 0)
end)

t.test("its folder and environment are given, or the engine's", function()
  t.equal(sh("pwd", { directory = "/tmp" })[1].output, "/tmp\n")
  t.equal(run({ argv = { "env" }, environment = { "KB_X==y z" } })[1].output, "KB_X==y z\n")
  t.equal(sh("echo $PATH")[1].output, os.getenv "PATH" .. "\n")
end)

t.test("what cannot be started says why", function()
  local out = run { argv = { "kernelband-absent" } }
  t.equal({ out[1], out[3] }, { nil, "ENOENT" })
  t.contains(out[2], "kernelband-absent cannot be started")
  t.equal(run({ argv = { "/etc/passwd" } })[3], "EACCES")
  out = run { argv = { "true" }, directory = "/nonexistent" }
  t.equal(out[3], "ENOENT")
  t.contains(out[2], "in /nonexistent")
  for _, request in ipairs { { argv = {} }, { argv = "true" }, { argv = { 1 } },
                             { argv = { "a\0b" } }, { argv = { "true" }, colour = 1 },
                             { argv = { "true" }, environment = "x" } } do
    t.raises("", run, request)
  end
end)

t.test("a signal that ends it is reported", function()
  t.equal(sh("echo last; kill -TERM $$")[1], { status = 0, signal = 15, output = "last\n",
                                              errors = "" })
end)

t.test("at its deadline it is killed with all it started, and what it said is kept", function()
  local out, took = sh("sleep 600 & echo $!; echo why >&2; wait", { timeout_ns = 200 * ms })
  t.equal({ out[1], out[3], out[4].errors }, { nil, "ETIME", "why\n" })
  t.contains(out[2], "sh: not done within 0.2 s")
  assert(took >= 0.2 and took < 500, took)
  assert(gone(out[4].output:match "%d+"))
end)

t.test("what it leaves running when it ends is killed", function()
  local out, took = sh "sleep 600 & echo $!"
  t.equal(out[1].status, 0)
  assert(took < 500, took)
  assert(gone(out[1].output:match "%d+"))
end)

t.test("output over max_bytes ends it; of errors the end is kept", function()
  local out = run { argv = { "yes" }, max_bytes = 100000 }
  t.equal({ out[1], out[3], #out[4].output }, { nil, "EFULL", 100000 })
  local r = sh("yes >&2 & sleep 0.1; kill $!; wait; echo end >&2")[1]
  assert(#r.errors <= 65536)
  t.equal(r.errors:sub(-4), "end\n")
end)

t.test("a flood does not hold up the deadline", function()
  local out, took = sh("yes >&2", { timeout_ns = 100 * ms })
  t.equal(out[3], "ETIME")
  assert(took < 500, took)
end)

t.test("cancelled it is killed at once, with what it said", function()
  local L, out = loop.new(), nil
  local h = L:spawn(function()
    out = table.pack(L:command { argv = { "sh", "-c", "sleep 600 & echo $!; wait" } })
  end)
  for _ = 1, 4 do L:turn(50 * ms) end
  h:cancel()
  while not h:done() do assert(L:turn(second_ns)) end
  t.equal({ out[1], out[3] }, { nil, "ECANCELED" })
  assert(gone(out[4].output:match "%d+"))
  t.equal(select(3, L:turn(0)), "EEMPTY")
end)

t.test("it has three descriptors, no ignored signals and a group of its own", function()
  local r = sh("ls /proc/self/fd | wc -l; grep SigIgn /proc/self/status; "
               .. "cut -d' ' -f5,6 /proc/$$/stat")[1]
  local fds, ignored, group, session = r.output:match "(%d+)%s+SigIgn:%s*(%x+)%s+(%d+) (%d+)"
  t.equal({ fds, ignored, group }, { "4", "0000000000000000", session })
  local mine = core.system.read_file "/proc/self/stat":match "%) %a %d+ %d+ (%d+)"
  assert(session ~= mine)
end)

t.test("sixteen commands run beside one another", function()
  local L, left = loop.new(), 16
  local dir = t.folder()                -- each ends when all are there
  for i = 1, 16 do
    L:spawn(function()
      t.equal(L:command({ argv = { "sh", "-c", "touch $0/$$; while "
        .. "[ $(ls $0 | wc -l) -lt 16 ]; do sleep 0.02; done; cat", dir },
        input = "n" .. i }).output, "n" .. i)
      left = left - 1
    end)
  end
  while left > 0 do assert(L:turn(60 * second_ns)) end
end)

-- An engine of its own that is ended in the midst of things.
local function engine(body, argument)
  local script = os.tmpname()
  assert(core.system.write_file(script, [[
    local core, loop = require "kernelband.core", require "kernelband.base.loop"
    local L, tasks = loop.new(), {}
    local pid = core.system.read_file "/proc/self/stat":match "^%d+"
  ]] .. body))
  local out, took = run { argv = { core.system.exe(), "run", script, argument },
                          timeout_ns = 30 * second_ns }
  os.remove(script)
  return out[1] or error(out[2]), took
end

t.test("killed with SIGKILL an engine takes its commands and theirs along", function()
  local r = engine [[
    L:spawn(function()
      L:command { argv = { "sh", "-c", "sleep 600 & echo $! $$ >&2; echo $! $$ >" .. arg[0]
                           .. ".pids; wait" } }
    end)
    for _ = 1, 4 do L:turn(50 * 10 ^ 6 // 1) end
    print(core.system.read_file(arg[0] .. ".pids"))
    os.remove(arg[0] .. ".pids")
    io.stdout:flush()
    os.execute("kill -KILL " .. pid)
  ]]
  t.equal(r.signal, 9)
  local child, shell = r.output:match "(%d+) (%d+)"
  assert(gone(child), "the command's child lives on")
  assert(gone(shell), "the command lives on")
end)

t.test("Ctrl-C with eight transfers and eight commands in flight ends in good order", function()
  local s = server.start "on ANY *\n  head 200\n  chunked\n  chunk \"begun\"\n  stall"
  local r, took = engine([[
    local codes = {}
    for i = 1, 8 do
      tasks[#tasks + 1] = L:spawn(function()
        local _, _, code = L:http { url = arg[1] }
        codes[#codes + 1] = code
      end)
      tasks[#tasks + 1] = L:spawn(function()
        local _, _, code = L:command { argv = { "sleep", "600" } }
        codes[#codes + 1] = code
      end)
    end
    for _ = 1, 20 do L:turn(10 * 10 ^ 6 // 1) end
    tasks[17] = L:spawn(function()      -- sh's own: the program kill is not everywhere
      assert(L:command { argv = { "sh", "-c", "kill -INT " .. pid } })
    end)
    while core.system.interrupts() == 0 do L:turn(10 ^ 9 // 1) end
    for i = 1, 16 do tasks[i]:cancel() end
    while not (tasks[16]:done() and tasks[17]:done()) do L:turn(10 ^ 9 // 1) end
    print(#codes, codes[1], codes[16], select(3, L:turn(10 ^ 9 // 1)))
  ]], s.url)
  t.equal(r.output, "16\tECANCELED\tECANCELED\tEEMPTY\n")
  assert(took < 500, took)
  s:stop()
end)

t.finish()
