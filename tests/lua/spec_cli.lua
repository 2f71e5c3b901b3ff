-- The real binary: exit codes, messages, help, the files it writes.
package.path = "tests/lib/?.lua;" .. package.path
local t = require "harness"
local cjson = require "cjson"
local core = require "kernelband.core"

local exe = assert(core.system.exe())
local dir = t.folder()

-- Runs a command line in dir; returns exit code, stdout, stderr.
local function kernelband(words, environment)
  local pipe = assert(io.popen(("cd %s && %s %s %s >out 2>err </dev/null; echo $?")
                               :format(dir, environment or "", exe, words)))
  local code = math.tointeger(tonumber(pipe:read "l"))
  pipe:close()
  return code, core.system.read_file(dir .. "/out"), core.system.read_file(dir .. "/err")
end

local function script(text)
  assert(core.system.write_file(dir .. "/s.lua", text))
end

t.test("alone it lists the verbs and exits 2", function()
  local code, out = kernelband ""
  t.equal(code, 2)
  for _, verb in ipairs { "run", "list", "new", "doctor" } do
    t.contains(out, "\n  " .. verb)
  end
end)

t.test("--help lists the verbs and exits 0", function()
  local code, out, err = kernelband "--help"
  t.equal(code, 0)
  t.contains(out, "usage: kernelband VERB")
  t.equal(err, "")
end)

t.test("every verb explains itself", function()
  for _, verb in ipairs { "run", "list", "new", "doctor" } do
    local code, out = kernelband(verb .. " --help")
    t.equal(code, 0)
    t.contains(out, "usage: kernelband " .. verb)
  end
end)

t.test("an unknown verb is refused with the nearest one", function()
  local code, _, err = kernelband "rnu"
  t.equal(code, 2)
  t.contains(err, "unknown verb 'rnu' (did you mean 'run'?)")
end)

t.test("an unknown option is refused with the nearest one", function()
  local code, _, err = kernelband "doctor --jsno"
  t.equal(code, 2)
  t.contains(err, "unknown option '--jsno' (did you mean '--json'?)")
  t.equal(kernelband "doctor --json=1", 2)
  t.equal(kernelband "doctor more", 2)
end)

t.test("a script gets its arguments and finds modules beside it", function()
  script [[print(arg[0], #arg, arg[1], select("#", ...), (select(2, ...)), require "beside")]]
  assert(core.system.write_file(dir .. "/beside.lua", "return 42"))
  local code, out = kernelband "run s.lua --help 'b c'"
  t.equal(out, core.system.realpath(dir) .. "/s.lua\t2\t--help\t2\tb c\t42\t" .. "./beside.lua\n")
  t.equal(code, 0)
end)

t.test("a script that raises exits 1 with its message, and shows the way when asked", function()
  script "local function f() error 'oh no' end\nf()"
  local code, _, err = kernelband "run s.lua"
  t.equal(code, 1)
  t.equal(err, "s.lua:1: oh no\n")
  code, _, err = kernelband("run s.lua", "KERNELBAND_TRACE=1")
  t.equal(code, 1)
  t.contains(err, "s.lua:1: oh no\nstack traceback:")
  t.contains(err, "s.lua:2:")
  t.equal(err:find "xpcall", nil)
end)

t.test("a fault of the engine keeps the way to it", function()
  script [[local policy = require "kernelband.base.path"
    policy.find({})]]
  local code, _, err = kernelband "run s.lua"
  t.equal(code, 1)
  t.contains(err, "stack traceback:")
  t.contains(err, "s.lua:2:")
end)

t.test("a configuration error exits 2 with its message alone", function()
  script "local kb = require 'kernelband'\nkb.polcy('x')"
  local code, _, err = kernelband "run s.lua"
  t.equal(code, 2)
  t.equal(err, "s.lua:2: kb.polcy: no such name (did you mean 'policy'?)\n")
  local _, _, traced = kernelband("run s.lua", "KERNELBAND_TRACE=1")
  t.contains(traced, "stack traceback:")
end)

t.test("a configuration error can be caught and shown", function()
  script [[local kb = require "kernelband"
    local ok, e = pcall(function() return kb.policy("nosuch") end)
    print(ok, e, e.config)]]
  local code, out = kernelband "run s.lua"
  t.equal(code, 0)
  t.contains(out, "no such file: nosuch")
end)

t.test("errors that are no strings are shown", function()
  script "error(setmetatable({}, { __tostring = function() return 'shown' end }))"
  local code, _, err = kernelband "run s.lua"
  t.equal(code, 1)
  t.contains(err, "shown")
  script "error()"
  t.equal(kernelband "run s.lua", 1)
end)

t.test("what cannot be read or parsed exits 2", function()
  script "return ="
  local code, _, err = kernelband "run s.lua"
  t.equal(code, 2)
  t.contains(err, "s.lua:1:")
  t.equal(kernelband "run nosuch.lua", 2)
  t.equal(kernelband "run .", 2)
  t.equal(kernelband "run", 2)
  t.equal(kernelband "run --fast s.lua", 2)
end)

t.test("running out of memory is an error, not a crash", function()
  script "local s = ('x'):rep(1 << 30)"
  local code, _, err = kernelband "run s.lua"
  t.equal(code, 1)
  t.contains(err, "not enough memory")
end)

t.test("a full standard output is a failure", function()
  if core.system.exists "/dev/full" == nil then return end
  script "print 'x'"
  local pipe = assert(io.popen(("cd %s && %s run s.lua 2>&1 >/dev/full; echo $?")
                               :format(dir, exe)))
  local text = pipe:read "a"
  pipe:close()
  t.contains(text, "No space left on device")
  t.contains(text, "\n1\n")
end)

t.test("an interrupt ends with 130", function()
  script [[local core = require "kernelband.core"
    io.popen("kill -INT $PPID"):close()
    local _, _, code = core.system.sleep_ns(1000)
    while core.system.interrupts() == 0 do core.system.sleep_ns(1000000) end
    print(core.system.interrupts(), code == nil or code)]]
  local code, out = kernelband "run s.lua"
  t.contains(out, "1\t")
  t.equal(code, 130)
end)

t.test("three interrupts end a script that never looks", function()
  script [[for _ = 1, 3 do os.execute "kill -TERM $PPID" end
    while true do end]]
  t.equal(kernelband "run s.lua", 130)
end)

t.test("there is no randomness that is not seeded", function()
  script "math.random()"
  local _, _, err = kernelband "run s.lua"
  t.contains(err, "core\".rng(seed)")
end)

t.test("new writes files that load and keeps what is there", function()
  for _, kind in ipairs { "strategy", "policy", "task" } do
    local code, out = kernelband("new " .. kind .. " sub/my_" .. kind)
    t.equal(code, 0)
    t.contains(out, "wrote sub/my_" .. kind)
    local again, _, err = kernelband("new " .. kind .. " sub/my_" .. kind)
    t.equal(again, 2)
    t.contains(err, "exists already")
  end
  script [[local kb = require "kernelband"
    local p = kb.policy("sub/my_policy.lua", { c = 1 })
    local s = kb.strategies { "sub/my_strategy.lua" }
    local schedule = dofile "sub/my_task/schedule.lua"
    local point = { vector = 8, unroll = 2, prefetch = 64 }
    print(p.name, s[1].name, #s[1].prompt { speedup = 1 } > 0, s[1].applies { depth = 0 },
          schedule.valid(point), #schedule.emit(point) > 200)
    local running = p.new { strategies = s, core = kb.core, open = function() return true end }
    local kernel = { id = 1, speedup = 1 }
    running.admit(kernel)
    print(running.choose(0) == kernel)]]
  local code, out, err = kernelband "run s.lua"
  t.equal(err, "")
  t.equal(out, "my_policy\tmy_strategy\ttrue\ttrue\ttrue\ttrue\ntrue\n")
  t.equal(code, 0)
end)

t.test("a name must be one a C function can have", function()
  local code, _, err = kernelband "new task 1abc"
  t.equal(code, 2)
  t.contains(err, "'1abc' cannot be a name")
  t.equal(kernelband "new tusk abc", 2)
  t.equal(kernelband "new task", 2)
end)

t.test("the new task's C compiles and agrees with its baseline", function()
  script [[local schedule = dofile "sub/my_task/schedule.lua"
    local core = require "kernelband.core"
    assert(core.system.write_file("k.c", schedule.emit { vector = 8, unroll = 4, prefetch = 64 }))]]
  t.equal(kernelband "run s.lua", 0)
  assert(core.system.write_file(dir .. "/main.c", [[
    #include <stdio.h>
    #include <stdint.h>
    void my_task(const float *, const float *, float *, int32_t);
    int main(void) { float x[77], z[77], y[77];
      for (int i = 0; i < 77; i++) { x[i] = i; z[i] = 1; y[i] = -1; }
      my_task(x, z, y, 77);
      for (int i = 0; i < 77; i++) if (y[i] != 2.5f * i + 1) return 1;
      return 0; }]]))
  for _, source in ipairs { "k.c", "sub/my_task/baseline.c" } do
    t.equal(os.execute(("cd %s && cc -w -std=gnu11 -O1 %s main.c -o m 2>err && ./m")
                       :format(dir, source)), true, source)
  end
end)

t.test("list finds what lies below the current folder", function()
  kernelband "new policy policies/mine"
  kernelband "new strategy strategies/own/mine"
  kernelband "new task examples/tasks/mine"
  assert(core.system.write_file(dir .. "/policies/broken.lua", "return {"))
  local code, out = kernelband "list policies"
  t.equal(code, 0)
  t.contains(out, "policies/mine.lua")
  t.contains(out, "UCB1 over strategies")
  t.contains(out, "cannot be loaded: policies/broken.lua:1:")
  for _, kind in ipairs { "tasks", "strategies", "policies" } do
    local _, text = kernelband("list " .. kind .. " --json")
    local list, mine = cjson.decode(text)[kind], nil
    for _, e in ipairs(list) do mine = e.name == "mine" and e or mine end
    t.equal(type(mine.summary), "string")
    t.equal(select(2, text:gsub("\n", "")), 1)
  end
  t.equal(kernelband "list tools", 2)
end)

t.test("doctor prints one JSON object", function()
  local code, out = kernelband "doctor --json"
  local report = cjson.decode(out)
  t.equal(report.ok, code == 0)
  local seen = {}
  for _, probe in ipairs(report.probes) do
    seen[probe.name] = true
    if not probe.ok then t.equal(type(probe.mend), "string", probe.name) end
  end
  t.equal(seen.compiler and seen.landlock and seen.cuda, true)
  t.contains(out, '{"found":"Lua 5.4","name":"lua","ok":true}')         -- its keys in order
  t.equal(select(2, out:gsub("\n", "")), 1)
  t.contains(select(2, kernelband "doctor"), "this machine can")
end)

t.test("doctor does not say that searches can run without Landlock", function()
  script [[local core = require "kernelband.core"
    local host = core.system.host()
    host.landlock_abi = 0
    core.system.host = function() return host end
    print(require("kernelband.cli.doctor").run {})]]
  local _, out = kernelband "run s.lua"
  t.contains(out, "landlock   missing")
  t.contains(out, "this machine cannot run searches until the above is mended\n1\n")
end)

t.test("a library folder without the library is refused", function()
  local code, _, err = kernelband("list tasks", "KERNELBAND_LIB=/nonexistent")
  t.equal(code, 1)
  t.contains(err, "KERNELBAND_LIB")
end)

t.test("lab says of one's own policy what is better, what worse and what is chance", function()
  assert(core.system.write_file(dir .. "/first.lua", [[
    return { name = "first", defaults = {}, new = function(_, ctx)
      local pool = {}
      return { learn = function() end, admit = function(k) pool[#pool + 1] = k end,
        choose = function()
          for _, k in ipairs(pool) do
            for i = 1, #ctx.strategies do if ctx.open(k, i) then return k, i end end
          end
        end }
    end }]]))
  local code, out, err = kernelband "lab first.lua --seeds 6 --steps 12"
  t.equal(code, 0, err)
  t.contains(out, "After 12 pulls, 95 % a comparison, beside own first")
  t.contains(out:match "\n  better:[^\n]*" or out, "kernelband")
  code, out, err = kernelband "lab nosuch.lua"
  t.equal(code, 2, out)
  t.contains(err, "no such policy")
  code, out, err = kernelband "lab first.lua --seeds none"
  t.equal(code, 2, out)
  t.contains(err, "--seeds must be a whole number")
end)

t.test("a search that finds nothing faster exits 0 and leaves the baseline", function()
  local root = core.system.lib_dir()
  script(([[
    local kb = require "kernelband"
    local n = 0
    kb.search { task = kb.task "%s/tests/lib/tasks/axpy", device = "cpu", out = "none", quiet =
      true,
      strategies = kb.strategies "strategies/c", budget = { steps = 2 },
      generator = { name = "slow", open = function() return true end, seen = function() end,
        propose = function()
          n = n + 1
          return { source = ("void axpy(const float *x, float *y, int n) { for (int i = 0; i < n; "
            .. "i++) { volatile float v = x[i]; y[i] = 2 * v + 1 + %%d * 0.0f; } }"):format(n) }
        end } }]]):format(root))
  local code, _, err = kernelband "run s.lua"
  t.equal(code, 0, err)
  local result = cjson.decode(assert(core.system.read_file(dir .. "/none/result.json")))
  t.equal({ result.gain, result.speedup, result.pulls }, { false, 1, 2 })
  t.equal(core.system.read_file(dir .. "/none/best.c"),
          core.system.read_file(root .. "/tests/lib/tasks/axpy/baseline.c"))
end)

t.finish()
