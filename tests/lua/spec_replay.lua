-- This file tests lua/kernelband/generator/replay.lua and lua/kernelband/llm/record.lua, which
-- replay the recorded answers of a model. It also tests lua/kernelband/generator/mixed.lua, which
-- combines several generators.
package.path = "tests/lib/?.lua;" .. package.path
local t = require "harness"
local kb = require "kernelband"
local worlds = require "worlds"
local core = kb.core
local record = require "kernelband.llm.record"

local task = { name = "axpy", summary = "y = x", language = "c" }
local strategy = { name = "tiling", summary = "tile", prompt = "Tile it.", moves = {} }
local parent = { id = 1, source = "void axpy(void) { }", time_ns = 2000, speedup = 1 }

local function code(n) return ("void axpy(int n)\n{\n    n += %d;\n}\n"):format(n) end
local function said(n) return "Try:\n```c\n" .. code(n) .. "```\n" end

local function folder(files)
  local dir = worlds.folder()
  assert(core.system.mkdir_p(dir))
  for name, text in pairs(files) do assert(core.system.write_file(dir .. "/" .. name, text)) end
  return dir
end

local function propose(g, pull, kernel)
  return g.propose(kernel or parent, strategy, core.rng(1), { pull = pull })
end

local failed = { verdict = "build_failed", reason = "error: no" }

t.test("files in the order of their names answer pull after pull", function()
  local chosen = 1
  local g = kb.generator.replay { folder { ["01.md"] = said(1), ["02.md"] = said(2),
    ["02b-repair.md"] = said(3), ["README.md"] = "no answer" } }
    .start(task, { chosen = function() return chosen end })
  t.equal(propose(g, 1).source, code(1))
  t.equal(g.open(parent, strategy), true)
  local c = propose(g, 2)
  t.equal(c.source, code(2))
  chosen = 2
  t.equal(g.open(parent, strategy), false)
  t.equal(g.repair(c, failed, core.rng(1), { pull = 2 }).source, code(3))
  local none, why = propose(g, 3)
  t.equal(none, nil)
  t.contains(why, "no answer for pull 3")
end)

t.test("what a pull gets does not depend on what was asked before", function()
  local dir = folder { ["1.md"] = said(1), ["2.md"] = said(2), ["3.md"] = said(3) }
  local g = kb.generator.replay(dir).start(task, {})
  t.equal(propose(g, 3).source, code(3))
  t.equal(propose(g, 2).source, code(2))
end)

t.test("a repair that was not recorded is not replayed", function()
  local g = kb.generator.replay { folder { ["1.md"] = said(1) } }.start(task, {})
  local c, why = g.repair(propose(g, 1), failed, core.rng(1), { pull = 1 })
  t.equal(c, nil)
  t.contains(why, "no repair of this was recorded")
end)

local question = {}

-- A generator that answers n at pull n and keeps its exchanges.
local function recorded(dir)
  local ask = require "kernelband.generator.ask"
  local function exchange(q, _, about)
    question[about.pull] = q.text
    return { text = said(10 * about.pull + about.attempt), finish = "stop" }, nil, nil,
           { provider = "p", model = "m", tokens_in = 7, tokens_out = 3, usd = 0.5,
             usd_source = "table" }
  end
  return ask.generator { name = "x", identity = "x", origin = "x", begin = function()
    return exchange
  end, options = { repair = 1, record = dir } }.start(task, {})
end

t.test("a recording gives the same answers to the same questions, whatever their pull", function()
  local dir = worlds.folder()
  local g = recorded(dir)
  propose(g, 1)
  local c = propose(g, 2, { id = 2, source = "other", time_ns = 1 })
  g.repair(c, failed, core.rng(1), { pull = 2 })
  local r = kb.generator.replay(dir).start(task, {})
  local records = {}
  local again = r.propose({ id = 2, source = "other", time_ns = 1 }, strategy, core.rng(9),
    { pull = 1, call = function(rec) records[1] = rec end })
  t.equal(again.source, code(21))
  t.equal({ records[1].tokens_in, records[1].tokens_out }, { 7, 3 })
  t.equal(records[1].usd, 0)                      -- what it cost then is not spent again
  t.equal(records[1].recorded_usd, 0.5)
  t.equal(records[1].usd_source, "recorded")
  t.equal(records[1].model, "m")
  t.equal(r.repair(again, failed, core.rng(1), { pull = 1 }).source, code(22))
  t.equal(propose(r, 2).source, code(11))         -- pull 1's question again
end)

t.test("a question that is another one is answered by its pull", function()
  local dir = worlds.folder()
  local g = recorded(dir)
  propose(g, 1)
  propose(g, 2)
  local r = kb.generator.replay(dir).start(task, {})
  t.equal(propose(r, 2, { id = 1, source = "void axpy(void) { }", time_ns = 999 }).source, code(21))
end)

t.test("texts are kept once, named by their hash", function()
  local dir = worlds.folder()
  local g = recorded(dir)
  for _ = 1, 3 do propose(g, 1) end
  t.equal(#core.system.list(dir), 3)              -- request, answer, index
  local name = core.system.hash(question[1]) .. ".txt"
  t.equal(core.system.read_file(dir .. "/" .. name), question[1])
end)

t.test("another recording is another identity", function()
  local a = kb.generator.replay { folder { ["1.md"] = said(1) } }
  local b = kb.generator.replay { folder { ["1.md"] = said(2) } }
  local c = kb.generator.replay { folder { ["x.md"] = said(1) } }
  assert(a.identity ~= b.identity)
  t.equal(a.identity, c.identity)
end)

for _, case in ipairs {
  { { ["index.jsonl"] = '{"answer":"../secret"}\n' }, "is no name of a file" },
  { { ["index.jsonl"] = '{"answer":"gone.md"}\n' }, "gone.md" },
  { { ["index.jsonl"] = '{"answer":\n' }, "line 1: malformed JSON" },
  { { ["index.jsonl"] = '{"answer":["x"]}\n' }, "is no name of a file" },
  { { ["run.db"] = "junk" }, "not a recording" },
  { { ["x.txt"] = "x" }, "holds no recorded answer" },
} do
  t.test("a recording that cannot be read is refused: " .. case[2], function()
    t.raises(case[2], kb.generator.replay, { folder(case[1]) })
  end)
end

t.test("a folder that is not there is named", function()
  t.raises("there is no folder runs/none", kb.generator.replay, "runs/none")
  t.raises("expected { \"folder\" }", kb.generator.replay, {})
end)

t.test("numbers of a recording are not believed blindly", function()
  local dir = folder { ["a.md"] = said(1),
    ["index.jsonl"] = '{"answer":"a.md","usd":-3,"tokens_in":"x","pull":1e99,"attempt":null}\n' }
  local e = record.load(dir)[1]
  t.equal({ e.usd, e.tokens_in, e.pull, e.attempt, e.kind }, { nil, nil, 1, 1, "propose" })
end)

-- Several generators -------------------------------------------------------------------

local function constant(name, more)
  local g = { name = name, open = function() return true end, seen = function() end,
              propose = function() return { source = name } end }
  for k, v in pairs(more or {}) do g[k] = v end
  return { name = name, start = function() return g end }
end

t.test("a mixed generator draws by shares, the same for the same seed", function()
  local function drawn()
    local g = kb.generator.mixed { { constant "a", share = 3 }, constant "b" }.start(task)
    local n = { a = 0, b = 0 }
    for i = 1, 400 do
      local c = g.propose(parent, strategy, core.rng(i), {})
      n[c.source] = n[c.source] + 1
    end
    return n
  end
  local n = drawn()
  assert(n.a > 250 and n.a < 350, n.a)
  t.equal(drawn(), n)
end)

t.test("where the one drawn has nothing, the other is asked", function()
  local g = kb.generator.mixed { constant("a", { propose = function() return nil, "empty" end }),
    constant("b", { open = function() return false end }), constant "c" }.start(task)
  for i = 1, 20 do t.equal(g.propose(parent, strategy, core.rng(i), {}).source, "c") end
  g = kb.generator.mixed { constant("a", { propose = function() return nil, "empty" end }) }
      .start(task)
  t.equal({ g.propose(parent, strategy, core.rng(1), {}) }, { nil, "empty" })
end)

t.test("a refusal of the world is passed on, and no other is asked", function()
  local g = kb.generator.mixed { constant("a", { propose = function()
    return nil, "quota", "EPAUSE"
  end }) }.start(task)
  t.equal({ g.propose(parent, strategy, core.rng(1), {}) }, { nil, "quota", "EPAUSE" })
end)

t.test("a candidate is repaired by the generator that made it", function()
  local g = kb.generator.mixed {
    constant("a", { repair = function() return { source = "mended" } end }) }.start(task)
  local c = g.propose(parent, strategy, core.rng(1), {})
  local mended = g.repair(c, failed, core.rng(1), {})
  t.equal(mended.source, "mended")
  t.equal(g.repair(mended, failed, core.rng(1), {}).source, "mended")
  t.equal(g.repair({ source = "stranger" }, failed, core.rng(1), {}), nil)
end)

t.test("a list that holds no generator is refused", function()
  t.raises("item 1 must be a generator", kb.generator.mixed, { 5 })
  t.raises("the list of generators is empty", kb.generator.mixed, {})
  t.raises("share must be a number above 0", kb.generator.mixed, { { constant "a", share = 0 } })
end)

worlds.clean()
t.finish()
