package.path = "tests/lib/?.lua;" .. package.path
local t = require "harness"
local kb = require "kernelband"
local core = kb.core
local record = require "kernelband.trace.record"

local folder = t.folder()

-- A schedule of 4 x 3 x 2 x 2 points; `idle` changes nothing, tile 3 with fast is
-- not valid, tile 4 is wrong. The time is a function of the source.
local schedule = {
  parameters = { { "tile", { 1, 2, 3, 4 } }, { "unroll", { 1, 2, 4 } }, { "fast", { 0, 1 } },
                 { "idle", { "a", "b" } } },
  valid = function(p) return not (p.tile == 3 and p.fast == 1) end,
  emit = function(p) return ("%d %d %d"):format(p.tile, p.unroll, p.fast) end,
}
local task = { name = "toy", schedule = schedule }
local strategies = {
  { name = "tiling", target = "l2", moves = { "tile", "absent" } },
  { name = "pipeline", target = "sm", moves = { "unroll", "idle" } },
  { name = "vectorization", target = "dram", moves = { "fast" } },
}

local function evaluator()
  local waiting, ticket, count = nil, nil, 0
  return {
    count = function() return count end,
    baseline = function() return { verdict = "ok", time_ns = 1000 } end,
    submit = function(n, candidate) ticket, waiting = n, candidate.source end,
    next = function()
      count = count + 1
      local tile, unroll, fast = waiting:match "(%d) (%d) (%d)"
      if tile == "4" then return ticket, { verdict = "wrong" } end
      local speedup = tile * 2 / (1 + unroll / 4 + fast)
      return ticket, { verdict = "ok", speedup = speedup, time_ns = 1,
        shapes = { { samples_ns = { 10 / speedup, 11 / speedup },
                     baseline_samples_ns = { 10, 10 } } },
        evidence = { phi = { 0, 0.5, 0, 0, 0, 0, 0, 0, 0 },
          phi_kind = { "missing", "measured", "missing", "missing", "missing", "missing",
                       "missing", "missing", "missing" },
          h = { dram = 50 }, h_kind = { sm = "missing", dram = "measured", l2 = "missing" } } }
    end,
  }
end

local function run(name, limit, more)
  local e = evaluator()
  local opt = { task = task, language = "c", device_name = "toy", strategies = strategies, seed = 1,
                file = folder .. "/" .. name, limit = limit, evaluator = e,
                progress = function() end }
  for k, v in pairs(more or {}) do opt[k] = v end
  local count, whole = record.run(opt)
  return count, whole, e.count()
end

local function text(name) return core.gunzip(core.system.read_file(folder .. "/" .. name)) end

t.test("a schedule is recorded to its end, each new text once", function()
  local count, whole, evaluated = run "all.jsonl.gz"
  t.equal({ count, whole, evaluated }, { 21, true, 21 })
  local trace = kb.trace(folder .. "/all.jsonl.gz")
  t.equal(trace.rows, 21)
  t.equal(trace.valid, 15)
  t.equal(#trace.strategies, 3)
  t.near(trace.optimum_ns, 1000 * 1.25 / 6, 0.01)
  local r = kb.search { task = trace, policy = "policies/random.lua", budget = { steps = 60 } }
  assert(r.share_of_optimum > 0.5 and r.verdicts.wrong > 0)
end)

t.test("stopped anywhere it has neighbours and goes on to the same recording", function()
  run("whole.jsonl.gz", 18)
  local count, whole, evaluated = run("part.jsonl.gz", 7)
  t.equal({ count, whole, evaluated }, { 7, false, 7 })
  kb.trace(folder .. "/part.jsonl.gz")
  t.equal({ run("part.jsonl.gz", 18) }, { 18, false, 11 })
  assert(text "part.jsonl.gz" == text "whole.jsonl.gz")
end)

t.test("points on their way come back in any order and are recorded in their own", function()
  local one, waiting, most = evaluator(), {}, 0
  local many = { capacity = 3, baseline = one.baseline }
  function many.submit(ticket, candidate)
    waiting[#waiting + 1] = { ticket, candidate }
    most = math.max(most, #waiting)
  end
  function many.next()
    one.submit(table.unpack(table.remove(waiting)))     -- the latest first
    return one.next()
  end
  run("together.jsonl.gz", 7, { evaluator = many })
  t.equal({ most, #waiting }, { 6, 0 })
  t.equal({ run("together.jsonl.gz", 18, { evaluator = many }) }, { 18, false, 0 })
  assert(text "together.jsonl.gz" == text "whole.jsonl.gz")
end)

t.test("a recording that was cut off keeps its complete lines", function()
  run("cut.jsonl.gz", 18)
  local bytes = core.system.read_file(folder .. "/cut.jsonl.gz")
  core.system.write_file(folder .. "/cut.jsonl.gz", bytes:sub(1, #bytes * 3 // 4))
  run("cut.jsonl.gz", 18)
  assert(text "cut.jsonl.gz" == text "whole.jsonl.gz")
end)

t.test("what was recorded comes back with kinds and samples", function()
  local trace = kb.trace(folder .. "/all.jsonl.gz", { start = "baseline", noise = false })
  local seen
  kb.search { task = trace, policy = "policies/random.lua", budget = { steps = 1 },
              on_pull = function(p) seen = p.parent end }
  t.equal(seen.params, { tile = 1, unroll = 1, fast = 0, idle = "a" })
  t.equal(seen.phi[2], 0.5)
  t.equal(seen.phi_kind[2], "measured")
  t.equal(seen.phi_kind[1], "missing")
  t.equal(seen.h, { dram = 50 })
  t.equal(#trace.world.samples[1] // 8, 2)
end)

t.test("another task's recording, or no recording, is left alone", function()
  t.raises("a recording of seed 1, not of 2", run, "all.jsonl.gz", 9, { seed = 2 })
  t.raises("strategies changed since", run, "all.jsonl.gz", 9,
           { strategies = { strategies[1], strategies[2] } })
  core.system.write_file(folder .. "/other.gz", "precious")
  t.raises("no recording; choose another file", run, "other.gz", 9)
  t.equal(core.system.read_file(folder .. "/other.gz"), "precious")
end)

t.test("the order of points is seeded and begins with the baseline", function()
  local function order(seed)
    local out = {}
    for p in record.points(schedule, strategies, seed) do out[#out + 1] = table.concat(p, ",") end
    return out
  end
  t.equal(order(1), order(1))
  assert(table.concat(order(1), " ") ~= table.concat(order(2), " "))
  t.equal(order(1)[1], "1,1,1,1")
  t.equal(#order(1), 48)
end)

t.test("what the verb is told wrongly is an error", function()
  local exe = core.system.exe()
  local function said(args)
    local pipe = assert(io.popen(("%s record %s 2>&1"):format(exe, args)))
    local out = pipe:read "a"
    local _, _, code = pipe:close()
    t.equal(code, 2)
    return out
  end
  t.contains(said "", "TASK is missing")
  t.contains(said "examples/tasks/matmul --limit x", "--limit must be a whole number")
  t.contains(said "examples/tasks/matmul --limit 2.5", "whole number")
  t.contains(said "examples/tasks/absent", "absent")
end)

t.finish()
