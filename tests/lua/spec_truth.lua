-- What makes a verdict worth believing: tasks whose checks sleep are refused, samples are as
-- long on both sides, every evaluation says what was checked, on which inputs, and what was
-- weakened. How sure a time is: spec_sure.
package.path = "tests/lib/?.lua;" .. package.path
local t = require "harness"
local check = require "kernelband.evaluate.check"
local core = require "kernelband.core"
local evaluate = require "kernelband.evaluate"
local inputs = require "kernelband.evaluate.inputs"
local json = require "kernelband.base.json"
local rig = require "kernelband.evaluate.rig"
local strangers = require "strangers"
local task = require "kernelband.task"
local win = require "kernelband.evaluate.win"

local dir = t.folder()
local made = 0

-- A task folder like axpy's, with other fields and other sources.
local function make_task(fields, sources)
  made = made + 1
  local folder = ("%s/%d"):format(dir, made)
  assert(core.system.mkdir_p(folder))
  sources = sources or {}
  local function put(name, text) assert(core.system.write_file(folder .. "/" .. name, text)) end
  put("reference.c", sources.reference or "void f_f64(const float *x, double *y, int n) {"
      .. " for (int i = 0; i < n; i++) y[i] = 2.0 * x[i] + 1; }\n")
  put("baseline.c", sources.baseline or "void f(const float *x, float *y, int n) {"
      .. " for (int i = 0; i < n; i++) y[i] = 2 * x[i] + 1; }\n")
  put("task.lua", ([[
local out = {
  name = "f", summary = "for a test",
  args = { { "x", "f32", "in", { "n" } }, { "y", "f32", "out", { "n" } }, { "n", "i32" } },
  shapes = { smoke = { { n = 7 } }, timed = { { n = 20000 } }, held_out = { { n = 1021 } } },
  work = function(s) return { flops = 2 * s.n, bytes = 8 * s.n } end,
  reference = { c = "reference.c" }, baseline = { c = "baseline.c" },
}
%s
return out
]]):format(fields or ""))
  return task.load(folder)
end

local device = evaluate.device "cpu"

t.test("a task that forgives too much is refused by the mutant's name", function()
  for fields, name in pairs {
    ["out.tolerance = 1e9"] = "'zeros'", ["out.tolerance = 0.02"] = "'half'",
  } do
    fields = fields .. " out.distributions = { 'normal' }"
      .. " out.shapes = { smoke = { { n = 7 } }, timed = { { n = 24 } }, held_out = {} }"
    local why = t.raises("refused", evaluate.open, make_task(fields), device)
    t.contains(why, name)
    t.contains(why, "output y")
  end
end)

t.test("a task that is strict enough is opened, and says which mutants do not apply", function()
  local s = evaluate.open(make_task(), device)
  t.equal(s.baseline.mutants, { caught = 7, none = { "swap y" } })
end)

t.test("a copy is no mutant of a copy", function()
  local s = evaluate.open(make_task("out.exact = true", {
    reference = "void f_f64(const float *x, double *y, int n) {"
      .. " for (int i = 0; i < n; i++) y[i] = x[i]; }\n",
    baseline = "void f(const float *x, float *y, int n) {"
      .. " for (int i = 0; i < n; i++) y[i] = x[i]; }\n" }), device)
  t.equal(s.baseline.mutants.none, { "copy y", "swap y" })
end)

local axpy = task.load "tests/lib/tasks/axpy"
local good = assert(core.system.read_file "tests/candidates/honest/uses_vectors.c")
local session = evaluate.open(axpy, device)     -- of all tests that leave it as it is

-- Another, to be changed: it takes over what that one has found out, as a second worker does.
local function successor(of)
  return evaluate.open(of.task, device, json.decode(json.encode(of.baseline)))
end

t.test("an evaluation says what was checked, and on which inputs", function()
  local out = session:evaluate(good)
  t.equal(out.verdict, "ok", out.reason)
  local all = table.concat(out.checks, "; ")
  for _, name in ipairs { "admission", "a second run", "smoke", "held-out", "timed shapes",
                          "RMS error against", "RMS error of timed", "timed calls" } do
    t.contains(all, name)
  end
  local kinds = {}
  for _, d in ipairs(out.inputs) do
    t.equal(#d.seed, 14)
    kinds[d.distribution] = true
  end
  for _, name in ipairs(task.distributions) do t.equal(kinds[name], true, name) end
  t.equal(kinds.mixture, true)
  local r = out.shapes[1]
  t.equal(#r.samples.candidate, r.blocks)
  t.equal(#r.samples.baseline, r.blocks)
end)

t.test("an evaluation is repeated on the inputs it had", function()
  local wrong = assert(core.system.read_file "tests/candidates/hostile/small_values_only.c")
  local first = session:evaluate(wrong)
  t.equal(first.verdict, "wrong")
  local second = session:evaluate(wrong, { inputs = first.inputs })
  t.equal(second.verdict, "wrong")
  for i = 1, math.min(8, #first.inputs) do t.equal(second.inputs[i], first.inputs[i]) end
end)

t.test("no two samples are timed on the same inputs", function()
  local room = session.timed[1]
  inputs.fill_timed(session, room)
  local kinds = {}
  for slot = 1, room.slots do kinds[room.kinds[slot]] = (kinds[room.kinds[slot]] or 0) + 1 end
  t.equal(kinds.normal >= room.slots // 2, true)
  t.equal(kinds.denormal, nil)
  t.equal(room.kinds[1], "normal")      -- of other kinds neighbours may be alike
  local before = { room.buffers:get(1, 1), room.buffers:get(1, 2) }
  assert(rig.per_call(room.baseline, room, 1))
  t.equal(room.buffers:get(1, 1) ~= before[1] or room.buffers:get(1, 2) ~= before[2], true)
end)

t.test("timed inputs stay for a session, and a confirmation draws new ones", function()
  local room = session.timed[1]
  local function contents()
    return room.buffers:get(1, 1, 1), room.buffers:get(1, 1, room.slots)
  end
  inputs.fill_timed(session, room)
  local first, last = contents()
  inputs.fill(session, room, "integers")
  inputs.fill_timed(session, room)
  t.equal({ contents() }, { first, last })
  t.equal(room.kinds[1], "normal")
  inputs.fill_timed(session, room, true)
  local other, another = contents()
  t.equal(other ~= first and another ~= last, true)
end)

t.test("every verdict shows what its task allows", function()
  local loose = "out.tolerance = 1e-6; out.distributions = { 'normal' }"
  local s = evaluate.open(make_task(loose), device)
  local out = s:evaluate((good:gsub("axpy", "f")))
  t.equal(out.verdict, "ok", out.reason)
  t.contains(table.concat(out.weakened, "\n"), "absolute error of 1e-06")
  t.contains(table.concat(out.weakened, "\n"), "inputs are normal and nothing else")
  t.equal(#session.weakened < 2, true)
end)

local slow = task.load "tests/lib/tasks/slow_axpy"

t.test("a candidate is timed side by side with the best kernel so far", function()
  local s, a = evaluate.open(slow, device), nil
  for _ = 1, 3 do                       -- two rounds' interval: others may have the processor
    local out = s:evaluate(good, { incumbent = good })
    t.equal(out.verdict, "ok", out.reason)
    a = out.against
    if a.low < 1.05 and a.high > 0.95 then break end
  end
  t.equal(a.low < 1.05 and a.high > 0.95, true, ("%g to %g"):format(a.low, a.high))
  t.equal(a.low <= a.speedup and a.speedup <= a.high, true)
  t.equal(s:evaluate(good, { incumbent = "nonsense" }).against, nil)
end)

t.test("whoever runs as fast has as many calls in a sample", function()
  local calibrated = successor(session)
  local room = calibrated.timed[1]
  -- As if the baseline had been calibrated while others had the processor.
  local n, ns, out, r = room.base.n, room.base.ns, nil, nil
  for _ = 1, 3 do                       -- others may have the processor all through one
    room.base.n, room.base.ns = math.max(1, n // 6), 4 * ns
    out = calibrated:evaluate(assert(core.system.read_file "tests/lib/tasks/axpy/baseline.c"))
    t.equal(out.verdict, "ok", out.reason)
    r = out.shapes[1]
    if r.iterations == r.baseline_iterations then break end
  end
  t.equal(r.iterations, r.baseline_iterations)
  t.equal(out.sure_low <= out.speedup_low, true)
end)

-- Calls of o's methods go to o, but for those in mine.
local function beside(o, mine)
  return setmetatable(mine, {
    __index = function(_, name) return function(_, ...) return o[name](o, ...) end end,
    __close = function() o:close() end,
  })
end

-- A program that runs, and whose calls are told to take call_ns; in its first
-- launches, as many as disturbed, others have the processor and it takes 30 times that.
local function told(program, call_ns, disturbed)
  local launches = 0
  return beside(program, { launch = function(_, n, limit_ns)
    local ns, why, code = program:launch(n, limit_ns)
    if not ns then return nil, why, code end
    launches = launches + 1
    return (launches <= disturbed and 30 or 1) * n * call_ns + 20000
  end })
end

t.test("a round's first slot is the first to whoever reads, runs and compares", function()
  local s = successor(session)
  local room = s.timed[1]
  inputs.fill_timed(s, room)
  room.first = 2
  t.equal(type((rig.per_call(room.baseline, room, 2))), "number")
  t.equal(check.timed_outputs(s, room, { 1, 2 }), nil)
  room.buffers:use(1)
  local third = room.buffers:get(1, 1, 3)
  room.buffers:use(1, 2)
  t.equal(room.buffers:get(1, 1, 1), third)
end)

t.test("a slot is held against its own distribution, with whichever a round begins", function()
  local folder = strangers.write(dir, "softmax_rows")
  local s = evaluate.open(task.load(folder), device)
  for _ = 1, 4 do
    local out = s:evaluate(assert(core.system.read_file(folder .. "/baseline.c")))
    t.equal(out.verdict, "ok", out.reason)
  end
end)

t.test("samples have as many calls on either side, whoever was disturbed", function()
  local s = successor(session)
  local room = s.timed[1]
  local baseline = room.baseline
  -- Calls in a sample of a candidate and of the baseline, which takes 50 us and had 7 of them;
  -- its session believes that it takes believed_ns.
  local function calls_of(call_ns, disturbed, believed_ns, baseline_disturbed)
    room.base.n, room.base.ns = 7, believed_ns
    s.device = beside(device, { load = function(_, ...)
      room.baseline = told(baseline, 50000, baseline_disturbed)     -- from its start again
      return told(assert(device:load(...)), call_ns, disturbed)
    end })
    local out = s:evaluate(assert(core.system.read_file "tests/lib/tasks/axpy/baseline.c"))
    t.equal(out.verdict, "ok", out.reason)
    t.equal(out.shapes[1].iterations, out.shapes[1].baseline_iterations)
    return out.shapes[1].iterations
  end
  local alike, faster = calls_of(50000, 0, 50000, 0), calls_of(20000, 0, 50000, 0)
  t.near(calls_of(50000, 0, 200000, 2), alike, 2)    -- the baseline was
  t.near(calls_of(50000, 3, 50000, 0), alike, 2)     -- the candidate was
  -- A candidate that is faster would have 18 to 25 by itself.
  t.equal(faster > alike and faster < 2 * alike, true, faster)
  t.near(calls_of(20000, 4, 50000, 0), faster, 3)
end)

t.test("faster than the machine is no win", function()
  local s = evaluate.open(make_task(
    "out.work = function(s) return { flops = 1e6 * s.n, bytes = 8 * s.n } end"), device)
  local out = s:evaluate((good:gsub("axpy", "f")))
  t.equal(out.verdict, "ok", out.reason)
  t.contains(out.quarantined, "still below the floor")
  t.equal(out.win or false, false)
end)

t.test("a win is above what the machine's own noise can do", function()
  local quiet = win.noise { { 0.001, -0.001, 0, 0.002, -0.002, 0, 0.001, -0.001 } }
  t.near(quiet.least, math.log(1.01))
  local loud = win.noise { { 0.1, -0.1, 0.2, -0.2, 0.05, -0.05, 0.1, -0.1 } }
  t.equal(loud.least > 0.1, true)
  local biased = win.noise { { 0.05, 0.051, 0.049, 0.05, 0.05, 0.051, 0.049, 0.05 } }
  t.near(biased.least, 0.1, 1e-3)
  local both = win.noise { { 0, 0.001, -0.001, 0 }, { 0.1, -0.1, 0.2, -0.2 } }
  t.equal(both.shapes[1].least < both.least and both.least < both.shapes[2].least, true)
  local out = { speedup = 1.05, speedup_low = 1.04, speedup_high = 1.06, sure_low = 1.03,
                noise = quiet }
  win.decide(out)
  t.equal(out.win, true)
  out.noise = loud
  win.decide(out)
  t.equal(out.win, false)
  t.equal(win.may_be { speedup = 1.05, speedup_low = 1.02, sure_low = 1.005 }, false)
  t.equal(win.may_be { speedup = 1.05 }, false)
end)

t.test("more than a roof is a finding", function()
  local out = { shapes = { { label = "n=1", bandwidth_share = 1.64, compute_share = 0.1 },
                           { label = "n=2", bandwidth_share = 0.5, compute_share = 1.2 },
                           { label = "n=3", bandwidth_share = 0.9, compute_share = 0.9 } } }
  local found = win.findings(out)
  t.equal(#found, 2)
  t.contains(found[1], "n=1: 164 % of the measured memory bandwidth")
  t.contains(found[2], "n=2: 120 % of the measured peak of arithmetic")
  out.shapes = { out.shapes[3] }
  t.equal(win.findings(out), nil)
end)

local rows_of_softmax = make_task([[
  out.args = { { "x", "f32", "in", { "n" } }, { "y", "f32", "out", { "n" } }, { "n", "i32" } }
  out.reduction = function(s) return math.max(256, s.n) end
  out.scale, out.distributions = "result", { "normal", "spikes", "denormal" }
  out.shapes.held_out = { { n = 1021 }, { n = 300 } }]], {
  reference = [[
#include <math.h>
void f_f64(const float *x, double *y, int n)
{
    double top = x[0], sum = 0;
    for (int i = 1; i < n; i++) top = x[i] > top ? x[i] : top;
    for (int i = 0; i < n; i++) sum += y[i] = exp(x[i] - top);
    for (int i = 0; i < n; i++) y[i] /= sum;
}
]], baseline = [[
#include <math.h>
void f(const float *x, float *y, int n)
{
    float top = x[0];
    double sum = 0;
    for (int i = 1; i < n; i++) top = x[i] > top ? x[i] : top;
    for (int i = 0; i < n; i++) sum += y[i] = expf(x[i] - top);
    for (int i = 0; i < n; i++) y[i] /= sum;
}
]] })

local softmax = evaluate.open(rows_of_softmax, device)
local good_softmax = assert(core.system.read_file(rows_of_softmax.dir .. "/baseline.c"))

t.test("inputs whose answers are denormal are checked and not timed", function()
  t.equal(softmax.steady.normal ~= nil, true)
  t.equal(softmax.steady.spikes or softmax.steady.denormal, nil)
  local out = softmax:evaluate(good_softmax)
  t.equal(out.verdict, "ok", out.reason)
  local kinds = {}
  for _, d in ipairs(out.inputs) do kinds[d.role .. " " .. d.distribution] = true end
  t.equal(kinds["smoke spikes"], true)
  t.equal(kinds["timed denormal"], true)
end)

t.test("two sessions time the same mixture of inputs", function()
  local function kinds(s)
    inputs.fill_timed(s, s.timed[1])
    return s.timed[1].kinds
  end
  t.equal(kinds(session), kinds(evaluate.open(axpy, device)))
end)

t.test("an answer that is wrong on denormal inputs of a timed shape alone is found", function()
  local out = session:evaluate [[
void axpy(const float *x, float *y, int n)
{
    for (int i = 0; i < n; i++) {
        float size = x[i] < 0 ? -x[i] : x[i];
        y[i] = n == 65536 && size > 0 && size < 0x1p-126f ? 2 : 2 * x[i] + 1;
    }
}
]]
  t.equal(out.verdict, "wrong")
  t.contains(out.reason, "n=65536")
  t.contains(out.reason, "denormal inputs")
end)

t.test("a verdict says that a check which might excuse the candidate could not be made", function()
  local s = successor(softmax)
  local real = s.device
  local function buffers(_, arguments, slots)   -- room for the candidate, none for an answer
    if arguments[2].dtype == "f64" then return nil, "no memory is left" end
    return real:buffers(arguments, slots)
  end
  s.device = setmetatable({ buffers = buffers },
    { __index = function(_, name) return function(_, ...) return real[name](real, ...) end end })
  for _, c in ipairs { { "1.0001f", "elements wrong" }, { "1.000006f", "the RMS error" } } do
    local out = s:evaluate((good_softmax:gsub("/= sum", "*= " .. c[1] .. " / sum")))
    t.equal(out.verdict, "wrong")
    t.contains(out.reason, c[2])
    t.contains(out.reason, "could not be had: no memory is left")
  end
end)

t.finish()
