-- First points from a model: asked for once, all proposed before anything else.
package.path = "tests/lib/?.lua;" .. package.path
local t = require "harness"
local kb = require "kernelband"
local core = kb.core
local json = require "kernelband.base.json"
local answer = require "kernelband.llm.answer"
local worlds = require "worlds"

local parameters = { { "tile", { 0, 8, 16 } }, { "exp", { "libm", "poly" } },
                     { "wide", { false, true } } }

-- What a schedule makes of sets that a model names: the points it proposes, what it notes.
local function named(sets)
  local out, notes, c = {}, {}, nil
  local g = kb.generator.schedule { first = { name = "model", start = function()
    return { points = function() return sets end }
  end } }.start({ name = "toy", schedule = { parameters = parameters, emit = json.encode,
    valid = function() return true end } }, { loop = require("kernelband.base.loop").new() })
  repeat
    out[#out + 1] = c and c.params
    c = g.propose({ id = 1, params = g.first }, { name = "s", moves = { "*" } }, core.rng(1),
      { pull = 1, pool = {}, note = function(text) notes[#notes + 1] = text end })
  until c.origin ~= "first points of a model"
  return out, notes
end

t.test("sets are read from the last block that is a list, or from bare JSON", function()
  local want = { { tile = 8, exp = "poly", wide = true }, { tile = 16, exp = "libm" } }
  local list = '[{"tile": 8, "exp": "poly", "wide": true}, {"tile": 16, "exp": "libm"}]'
  local text = "First:\n```json\n[1]\n```\nNo:\n```json\n" .. list .. "\n```\n"
  t.equal(answer.points(text), want)
  t.equal(answer.points("I name " .. list .. " here."), want)
  t.equal({ named(want) }, { { want[1], { tile = 16, exp = "libm", wide = false } }, {} })
end)

t.test("sets that name a value the schedule has not are left out and counted", function()
  local list, notes = named(answer.points
    '[{"tile": 7}, {"exp": 1}, {"tile": 16}, 5, "x", {"tile": null}]')
  t.equal(list, { { tile = 16, exp = "libm", wide = false } })  -- the last is the first version
  t.equal(notes, { "4 of 6 first points fit no value of the schedule" })
end)

t.test("at most 16 sets are taken, of whatever an answer holds", function()
  local many = {}
  for i = 1, 500 do many[i] = '{"tile": 8}' end
  local list, notes = named(answer.points("[" .. table.concat(many, ",") .. "]"))
  t.equal(list, { { tile = 8, exp = "libm", wide = false } })
  t.equal(notes, { "484 of 500 first points fit no value of the schedule" })
  for _, text in ipairs { "", "[", "[]", "no", ("["):rep(10000), "```json\n{}\n```",
                          ("x"):rep(2 << 20), "[\0\1\2]" } do
    t.equal(#answer.points(text), 0)
  end
end)

t.test("an answer of nothing but brackets is read in no time", function()
  local began = os.clock()
  t.equal(#answer.points(("["):rep(1 << 17)), 0)
  assert(os.clock() - began < 1)
end)

-- Whole searches: made-up times over the schedule of a shipped task.
local function answer_file(text)
  local dir = worlds.folder()
  assert(core.system.mkdir_p(dir))
  assert(core.system.write_file(dir .. "/answer", text))
  return dir
end

local function search(options)
  local task = kb.task "examples/tasks/softmax"
  local evaluator = { close = function() end }
  local function judged(source)
    local speed = 1 + #source % 97 / 50
    return { verdict = "ok", speedup = speed, time_ns = 1e6 / speed, baseline_ns = 1e6,
             shapes = { { role = "timed", label = "rows=7", time_ns = 1e6 / speed } },
             evidence = {} }
  end
  function evaluator.baseline() return judged "" end
  function evaluator.evaluate(candidate) return judged(candidate.source) end
  local tasks = require "kernelband.task"
  task = tasks.for_language(task, "c")
  local with = setmetatable({ environment = function()
    return { evaluator = evaluator, source = tasks.source(task, "baseline"),
             strategies = kb.strategies "strategies/c" }
  end }, { __index = task })
  local r = kb.search { task = with, quiet = true, confirm = false, seed = 1, out = options.out,
    parallel = options.parallel, budget = { steps = options.steps }, policy = options.policy,
    generator = kb.generator.schedule { first = options.first } }
  return r
end

local sets = '[{"vector": 8, "exp": "poly"}, {"vector": 16, "unroll": 2}, '
             .. '{"vector": 16, "unroll": 2}, {"vector": 3}, {"tile_cols": 256}]'
local dir = answer_file("```json\n" .. sets .. "\n```\n")

-- The command counts its calls.
local function model()
  return kb.generator.command { "sh", "-c", ("echo x >> %s/calls; cat > %s/question; cat %s/answer")
                                :format(dir, dir, dir) }
end

local function calls()
  local text = core.system.read_file(dir .. "/calls") or ""
  os.remove(dir .. "/calls")
  return #text // 2
end

t.test("every other of the first pulls proposes what the model named, each once, asked once",
       function()
  local out = worlds.folder()
  local r = search { first = model(), steps = 6, out = out }
  t.equal(calls(), 1)
  local db = core.store(out .. "/run.db", "read")
  local kernels = db:rows "SELECT params FROM kernels WHERE id > 1 ORDER BY id"
  local asked = db:rows "SELECT pull, kind, tokens_in FROM calls"
  db:close()
  t.equal(asked, { { pull = 1, kind = "first" } })
  local first = {}
  for i, k in ipairs(kernels) do first[i] = json.decode(k.params) end
  t.equal({ first[1].vector, first[1].exp, first[1].unroll }, { 8, "poly", 1 })
  t.equal({ first[3].vector, first[3].unroll }, { 16, 2 })
  t.equal(first[5].tile_cols, 256)
  assert(first[2].tile_cols ~= 256 and first[4].tile_cols ~= 256)
  t.equal(r.pulls, 6)
  local question = core.system.read_file(dir .. "/question")
  t.contains(question, "# First points")
  t.contains(question, '{ "sweep", { "forward", "backward", "zigzag" } }')
  t.contains(question, "8 to 16 different sets")
  t.contains(question, "- rows=7: 1.00 ms")
  assert(not question:find("# Direction", 1, true))
end)

t.test("a run that was stopped after one of them goes on without a second question", function()
  local whole, out = search { first = model(), steps = 6 }, worlds.folder()
  calls()
  search { first = model(), steps = 1, out = out }
  local resume = require "kernelband.store.run"
  resume.resuming(out)
  local r = search { first = model(), steps = 6, out = out }
  resume.resuming(nil)
  t.equal(calls(), 1)
  for i = 1, 6 do t.equal(r.rows[i].speedup, whole.rows[i].speedup) end
end)

t.test("of several pulls at once one asks, and the others wait for it", function()
  search { first = model(), steps = 8, parallel = 4 }
  t.equal(calls(), 1)
end)

t.test("a pull that is cancelled while another asks waits no longer", function()
  local L = require("kernelband.base.loop").new()
  local asked = L:promise()
  local generator = kb.generator.schedule { first = { name = "slow", start = function()
    return { points = function()
      asked:await()
      return {}
    end }
  end } }
  local g = generator.start({ name = "toy", schedule = { parameters = { { "a", { 1, 2 } } },
    valid = function() return true end, emit = function(p) return "a" .. p.a end } },
    { loop = L })
  local said = {}
  local function pull(n)
    return L:spawn(function()
      said[n] = { g.propose({ id = 1, params = { a = 1 } }, { name = "s", moves = { "a" } },
                            core.rng(1), { pull = 1, pool = {} }) }
    end)
  end
  pull(1)
  pull(2):cancel()
  L:turn(0)
  t.equal(said, { [2] = { nil, "cancelled", "ECANCELED" } })
  asked:resolve(true)
  L:turn(0)
  t.equal(said[1][1].source, "a2")
end)

t.test("a model that names nothing leaves the search as it is without one", function()
  local plain = search { steps = 4 }
  local silent = kb.generator.command { "echo", "I cannot say." }
  local r = search { first = silent, steps = 4 }
  for i = 1, 4 do t.equal(r.rows[i].speedup, plain.rows[i].speedup) end
end)

t.test("a run with first points is a recording that replays", function()
  local out = worlds.folder()
  local r = search { first = model(), steps = 5, out = out }
  calls()
  local again = search { first = kb.generator.replay { out }, steps = 5 }
  t.equal(calls(), 0)
  for i = 1, 5 do t.equal(again.rows[i].speedup, r.rows[i].speedup) end
end)

t.test("what asks no model is refused", function()
  t.raises("a generator that asks a model", kb.generator.schedule, { first = {} })
  t.raises("asks no model", search, { first = kb.generator.schedule {}, steps = 1 })
end)

worlds.clean()
t.finish()
