-- This file tests lua/kernelband/generator/command.lua, which asks a program for a kernel. It
-- checks the question, the answer, the retry of a failed call, the deadline and the options.
package.path = "tests/lib/?.lua;" .. package.path
local t = require "harness"
local kb = require "kernelband"
local core = kb.core
local loop = require "kernelband.base.loop"
local looped = require "looped"

local code = "void axpy(const float *x, float *y, int n)\n{\n    y[0] = x[0];\n}\n"
local task = { name = "axpy", summary = "y = x", language = "c" }
local strategy = { name = "tiling", summary = "tile", prompt = "Tile it.", moves = {} }
local parent = { id = 1, source = code, time_ns = 2000, speedup = 1 }

local function propose(script, more)
  local options = { "sh", "-c", script, attempts = 1, retry_s = 0.01 }
  for k, v in pairs(more or {}) do options[k] = v end
  local record
  local c, why, status = looped(function(L)
    local g = kb.generator.command(options).start(task, { loop = L })
    return g.propose(parent, strategy, core.rng(1), { pull = 1, call = function(r) record = r end })
  end)
  return c, why, status, record
end

local answer = "printf 'Here:\\n```c\\n%s```\\n' \"$(cat <<'X'\n" .. code .. "X\n)\n\""

t.test("the question comes on standard input, the answer goes to standard output", function()
  local c, why, _, record = propose("grep -q 'Tile it' && " .. answer)
  assert(c, why)
  t.equal(c.source, code)
  t.equal(c.origin, "command sh")
  t.contains(record.request, "Tile it.")
  t.contains(record.answer, "void axpy")
  t.equal(record.usd_source, "unknown")
end)

t.test("a program that prints nothing but code is understood", function()
  t.equal(propose("cat <<'X'\n" .. code .. "X\n").source, code)
end)

t.test("a program that does not read its question is no fault", function()
  local c, why = propose("exec <&-; " .. answer)
  assert(c, why)
end)

t.test("prose is no candidate, and costs a pull", function()
  local c, why, status = propose "echo I would tile it."
  t.equal({ c, status }, {})
  t.contains(why, "no code block")
end)

for _, case in ipairs {
  { "echo quota exceeded >&2; exit 3", "ended with status 3: quota exceeded" },
  { "kill -9 $$", "signal 9" },
} do
  t.test("a program that fails pauses the search: " .. case[1], function()
    local c, why, status, record = propose(case[1])
    t.equal(c, nil)
    t.equal(status, "EPAUSE")
    t.contains(why, case[2])
    t.contains(record.error, case[2])
  end)
end

t.test("a program that is not there stops the search", function()
  local c, why, status = looped(function(L)
    local g = kb.generator.command { "/no/such/program", attempts = 1 }.start(task, { loop = L })
    return g.propose(parent, strategy, core.rng(1), { pull = 1 })
  end)
  t.equal(c, nil)
  t.equal(status, "ESTOP")
  t.contains(why, "/no/such/program")
end)

t.test("a program that fails once is tried again", function()
  local flag = os.tmpname()
  os.remove(flag)
  local c, why, _, record = propose(("if [ -e %s ]; then %s; else : >%s; exit 1; fi"):format(flag,
    answer, flag), { attempts = 2 })
  os.remove(flag)
  assert(c, why)
  t.equal(record.attempts, 2)
end)

t.test("the deadline ends the program and its children", function()
  local flag = os.tmpname()
  local c, why, status = propose(("(sleep 2; echo late >%s) & sleep 30"):format(flag),
                                             { timeout_s = 0.3 })
  t.equal(c, nil)
  t.equal(status, "EPAUSE")
  t.contains(why, "sh: not done within 0.3 s")
  core.system.sleep_ns(2200 * 1000000)
  t.equal(core.system.read_file(flag), "")
  os.remove(flag)
end)

t.test("an answer without end is cut off, and no candidate", function()
  local c, why, status, record = propose("yes void axpy", { timeout_s = 600 })
  t.equal({ c, status }, {})
  t.equal(why, "the answer is longer than 1 MiB")
  t.equal(record.error, nil)
end)

t.test("the time of a program's call is returned, in seconds", function()
  local _, _, _, record = propose("sleep 0.2; " .. answer)
  assert(record.total_s >= 0.2, record.total_s)
  t.equal(record.tokens_in, nil)
end)

t.test("many programs think at once", function()
  -- Each answers when all are there.
  local L, done, dir = loop.new(), 0, t.folder()
  local g = kb.generator.command { "sh", "-c", ("touch %s/$$; while [ $(ls %s | wc -l) -lt 10 ]; "
    .. "do sleep 0.02; done; %s"):format(dir, dir, answer) }
    .start(task, { loop = L })
  for i = 1, 10 do
    L:spawn(function()
      assert(g.propose(parent, strategy, core.rng(i), { pull = i }))
      done = done + 1
    end)
  end
  while done < 10 do assert(L:turn(60e9 // 1)) end
end)

t.test("a repair shows the program what failed", function()
  local c, why = looped(function(L)
    local g = kb.generator.command { "sh", "-c", "grep -q 'no such thing' && " .. answer }
              .start(task, { loop = L })
    return g.repair({ source = "x" }, { verdict = "build_failed",
      reason = "error: no such thing" }, core.rng(1), { pull = 1 })
  end)
  assert(c, why)
end)

for _, case in ipairs {
  { {}, "the command is missing" }, { { 5 }, "argument 1 of the command must be a text" },
  { { "x", timeout = 3 }, "did you mean 'timeout_s'" },
} do
  t.test("an option is checked: " .. case[2], function()
    t.raises(case[2], kb.generator.command, case[1])
  end)
end

t.finish()
