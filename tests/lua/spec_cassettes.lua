-- Runs of a strong model (tests/bench/trial), kept as cassettes. Each is searched again without a
-- model, with the recorded choices and times, and comes to the same verdicts and kernels by the
-- same answers. The fastest kernel of each is built and checked on this machine, on small shapes of
-- its task. Without AVX-512 that is emulated, and kernels with assembly are passed over.
package.path = "tests/lib/?.lua;" .. package.path
local t = require "harness"
local kb = require "kernelband"
local core = kb.core
local check = require "kernelband.evaluate.check"
local inputs = require "kernelband.evaluate.inputs"
local json = require "kernelband.base.json"
local lists = require "kernelband.base.lists"
local rooms = require "kernelband.evaluate.room"
local tasks = require "kernelband.task"
local verdict = require "kernelband.evaluate.verdict"
local worker = require "kernelband.worker"
local worlds = require "worlds"

local here = "tests/runs/cassettes"

local function read(dir, file) return assert(core.system.read_file(dir .. "/" .. file)) end

-- Answers each source with what was measured of it then.
local function evaluator_of(dir, machine)
  local known, baseline = {}, nil
  for line in read(dir, "evaluations.jsonl"):gmatch "[^\n]+" do
    local e = json.decode(line)
    if e.hash then known[e.hash] = e.evaluation else baseline = e.evaluation end
  end
  return { close = function() end, machine = function() return machine end,
    baseline = function() return baseline end,
    evaluate = function(candidate)
      local e = known[core.system.hash(candidate.source)]
                or candidate.declared and { verdict = "wrong", reason = "not measured then" }
      assert(e, "a source that the run did not have:\n" .. candidate.source)
      return e
    end }
end

-- The choices of then, whatever the default policy would choose today.
local function policy_of(pulls)
  local lines = {}
  for i, p in ipairs(pulls) do lines[i] = ("{ %d, %q }"):format(p.parent, p.strategy) end
  return worlds.file(([=[
local pulls = { %s }
return { name = "as then", defaults = {}, new = function(_, ctx)
  local kernels, index, n = {}, {}, 0
  for i, s in ipairs(ctx.strategies) do index[s.name] = i end
  return { learn = function() end, admit = function(k) kernels[k.id] = k end,
    choose = function()
      n = n + 1
      return kernels[pulls[n][1]], index[pulls[n][2]]
    end }
end }
]=]):format(table.concat(lines, ", ")))
end

local function search(dir, about, pulls)
  local task, out = tasks.for_language(kb.task(about.task), "c"), worlds.folder()
  local start <const> = worker.start
  worker.start = function() return evaluator_of(dir, about.machine) end
  local _ <close> = setmetatable({}, { __close = function() worker.start = start end })
  kb.search { task = task, device = "cpu", generator = kb.generator.replay { dir }, out = out,
              seed = about.seed, policy = policy_of(pulls), budget = { steps = #pulls },
              quiet = true, confirm = false, patience = 600 }
  local db <close> = assert(core.store(out .. "/run.db", "read"))
  return db:rows [[SELECT p.verdict, k.speedup, k.source FROM pulls p
                   LEFT JOIN kernels k ON k.id = p.child ORDER BY p.n]], task
end

local function emulated(source)
  local with = read("tests/lib", "avx512.h")
  return (source:gsub("#include <immintrin.h>", function() return with end))
end

-- nil, or what the judge says of a source on all shapes but the timed ones.
local function wrong(task, source)
  local device <close> = assert(core.device "cpu")
  local s = { task = task, device = device, language = "c", machine = device:describe(),
              timed_kinds = { "normal" }, steady = { normal = true }, ran = {}, drawn = {},
              warnings = {}, judging_baseline = true }
  s.reference, s.reference_wide = rooms.build_reference(s)
  s.baseline_kernel = assert(rooms.build(s, source))
  for _, role in ipairs { "smoke", "held_out" } do
    for _, shape in ipairs(task.shapes[role]) do
      local room = rooms.new(s, shape, role)
      inputs.fill(s, room, "normal")
      local bad = verdict.try(check.run, s, room, room.baseline)
      check.expect(s, room, 1)
      bad = bad or verdict.try(check.compare, s, room, 1, "normal")
      if bad then return bad.reason end
    end
  end
end

local device <close> = assert(core.device "cpu")
local isa = device:roofline().isa

for _, name in ipairs(assert(core.system.list(here))) do
  local dir = here .. "/" .. name
  if core.system.exists(dir) == "dir" then
    local kept = json.decode(read(dir, "run.json"))
    local kernels, task = {}, nil
    t.test(name .. ": a model's run replays without a model", function()
      local pulls
      pulls, task = search(dir, kept.about, kept.pulls)
      t.equal(#pulls, #kept.pulls)
      for n, p in ipairs(pulls) do
        local then_ = kept.pulls[n]
        local hash = p.source and core.system.hash(p.source)
        t.equal({ n, p.verdict, p.speedup, hash },
                { n, then_.verdict, then_.speedup, then_.source })
        if p.speedup then kernels[#kernels + 1] = p end
      end
    end)
    t.test(name .. ": its fastest kernel is right", function()
      local native = isa == kept.about.machine.roofline.isa
      if not native and not core.system.exists "/usr/include/simde" then
        return print "skipped: libsimde-dev, which emulates AVX-512, is not there"
      end
      local best = lists.best(kernels, function(p)
        return (native or not p.source:find "__asm__") and p.speedup
      end)
      t.equal(wrong(task, native and best.source or emulated(best.source)), nil)
    end)
  end
end

worlds.clean()
t.finish()
