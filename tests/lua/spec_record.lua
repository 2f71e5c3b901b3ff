-- This file tests lua/kernelband/trace/record.lua and the command kernelband record. It checks
-- which points of a schedule are recorded, in which order, and how a stopped recording continues.
package.path = "tests/lib/?.lua;" .. package.path
local t = require "harness"
local kb = require "kernelband"
local core = kb.core
local documents = require "kernelband.trace.documents"
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
local strategies = {
  { name = "tiling", target = "l2", moves = { "tile", "absent" } },
  { name = "pipeline", target = "sm", moves = { "unroll", "idle" } },
  { name = "vectorization", target = "dram", moves = { "fast" } },
}

local evidence = { phi = { 0, 0.5, 0, 0, 0, 0, 0, 0, 0 },
  phi_kind = { "missing", "measured", "missing", "missing", "missing", "missing", "missing",
               "missing", "missing" },
  h = { dram = 50 }, h_kind = { sm = "missing", dram = "measured", l2 = "missing" } }

local function evaluation(source)
  local tile, unroll, fast = source:match "(%d) (%d) (%d)"
  if tile == "4" then return { verdict = "wrong" } end
  local speedup = tile * 2 / (1 + unroll / 4 + fast)
  return { verdict = "ok", speedup = speedup, time_ns = 1, evidence = evidence,
           shapes = { { samples = { candidate = { 10 / speedup, 11 / speedup },
                                    baseline = { 10, 10 } } } } }
end

-- Records into folder/name; configurations, whether all, evaluations it took.
local function run(name, limit, more)
  local evaluated = 0
  local task = { name = "toy", schedule = schedule, environment = function()
    return { source = "the baseline", strategies = strategies, evaluator = {
      close = function() end,
      baseline = function() return { verdict = "ok", time_ns = 1000, evidence = evidence } end,
      evaluate = function(candidate)
        evaluated = evaluated + 1
        return evaluation(candidate.source)
      end } }
  end }
  local opt = { task = task, strategies = strategies, seed = 1, out = folder .. "/" .. name,
                limit = limit, quiet = true }
  for k, v in pairs(more or {}) do opt[k] = v end
  local count, whole = record.run(opt)
  return count, whole, evaluated
end

-- What a recording holds, in its order or sorted.
local function rows(name, sorted)
  local out = {}
  for i, row in ipairs(documents.space(folder .. "/" .. name).rows) do
    out[i] = ("%s %s %s"):format(table.concat(row.values, ","), row.verdict, row.time_ns)
  end
  if sorted then table.sort(out) end
  return out
end

t.test("a schedule is recorded to its end, each new text once", function()
  local count, whole, evaluated = run "all"
  t.equal({ count, whole, evaluated }, { 21, true, 20 })
  local trace = kb.trace(folder .. "/all")
  t.equal(trace.rows, 21)
  t.equal(trace.valid, 15)
  t.equal(#trace.strategies, 3)
  t.near(trace.optimum_ns, 1000 * 1.25 / 6, 0.01)
  local r = kb.search { task = trace, policy = "policies/random.lua", budget = { steps = 60 } }
  assert(r.share_of_optimum > 0.5 and r.verdicts.wrong > 0)
end)

t.test("stopped anywhere it has neighbours and goes on to the same recording", function()
  run("whole", 18)
  local count, whole, evaluated = run("part", 7)
  t.equal({ count, whole, evaluated }, { 7, false, 6 })
  kb.trace(folder .. "/part")
  t.equal({ run("part", 18) }, { 18, false, 11 })
  t.equal(rows "part", rows "whole")
end)

t.test("with several points on their way the same ones are recorded", function()
  run("together", 7, { parallel = 3 })
  t.equal({ run("together", 18, { parallel = 3 }) }, { 18, false, 11 })
  t.equal(rows("together", true), rows("whole", true))
end)

t.test("what was recorded comes back with kinds and samples", function()
  local trace = kb.trace(folder .. "/all", { start = "baseline", noise = false })
  local seen
  kb.search { task = trace, policy = "policies/random.lua", budget = { steps = 1 },
              on_pull = function(p) seen = p.parent end }
  t.equal(seen.params, { tile = 1, unroll = 1, fast = 0, idle = "a" })
  t.equal(seen.phi[2], 0.5)
  t.equal(seen.phi_kind[2], "measured")
  t.equal(seen.phi_kind[1], "missing")
  t.equal(seen.h, { dram = 50 })
  local samples = 0
  for i = 1, trace.rows do samples = math.max(samples, #trace.world.samples[i]) end
  t.equal(samples, 2)
end)

t.test("another recording, or a file that is none, is left alone", function()
  assert(core.system.write_file(folder .. "/other.gz", "precious"))
  t.raises("is a file, and a recording is a folder", run, "other.gz", 9)
  t.equal(core.system.read_file(folder .. "/other.gz"), "precious")
  t.raises("was recorded with seed 1, and this is 2", run, "all", 9, { seed = 2 })
  t.raises("was recorded with", run, "all", 9, { strategies = { strategies[1], strategies[2] } })
  t.equal(#rows "all", 21)
end)

t.test("the order of points is seeded and begins with the baseline", function()
  local function order(seed)
    local out = {}
    for p in record.points(schedule, strategies, seed) do
      out[#out + 1] = ("%d,%d,%d,%s"):format(p.tile, p.unroll, p.fast, p.idle)
    end
    return out
  end
  t.equal(order(1), order(1))
  assert(table.concat(order(1), " ") ~= table.concat(order(2), " "))
  t.equal(order(1)[1], "1,1,0,a")
  t.equal(#order(1), 48)
end)

t.test("a wrong argument of the verb is an error", function()
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
