-- evaluate.lua - judges one candidate: builds, checks, times and profiles it.
-- Runs in a worker process, which holds the clock and the expected answers.
--
--   s = evaluate.open(task, device)    builds reference and baseline, refuses a
--                                      task whose two disagree
--   s.baseline                         evaluation of the baseline
--   s:evaluate(source, options)        -> evaluation
--       options.best_times_ns          times of the best kernel so far, one a
--                                      timed shape: what is clearly slower is
--                                      dropped after a screen
--       options.confirm                more blocks, no screen
--
-- The order is that of reference order R1-R9: poison, candidate, then the
-- expected answer; nothing a candidate could read holds it while it runs.
local core     = require "kernelband.core"
local check    = require "kernelband.check"
local evidence = require "kernelband.evidence"
local schema   = require "kernelband.schema"
local task     = require "kernelband.task"

local evaluate = {}

local now = core.system.now_ns

local build_timeout_ns  = 30 * 10 ^ 9 // 1
local sample_ns         = 1000000       -- a sample lasts 1 ms where slots allow
local slots_bytes       = 16 << 20      -- of outputs that rotate in a sample
local look_budget_ns    = 1e8           -- of looks into a shape's samples
local screen_ratio      = 1.25          -- slower than this: not a contender

-- Baseline time an evaluation may take, all shapes together.
local baseline_budget_s = { c = 0.6, cuda = 0.08 }

local verdict_of = { ETIME = "timeout", ECRASH = "crashed", EDENIED = "cheated" }

local function fail(verdict, reason, ...)
  if select("#", ...) > 0 then reason = reason:format(...) end
  return { verdict = verdict, reason = reason }
end

-- Why a launch or a load ended: an evaluation that is not ok.
local function died(code, why, where)
  return fail(verdict_of[code] or "launch_failed", "%s (%s)", why, where)
end

local function seconds_since(start) return (now() - start) / 1e9 end

local function secret_seed()
  return math.tointeger(tonumber("0x" .. core.system.random_hex(7)))
end

-- Building ---------------------------------------------------------------

-- A source as built: its object and, on a GPU, its launch plan. Returns nil,
-- text, code.
local function build(s, source, entry, arguments)
  local launches
  if s.language == "cuda" then
    local why
    launches, why = s.planner.parse(source, s.task)
    if not launches then return nil, why, "EPLAN" end
  end
  local object, log, code = s.device:build { source = source, entry = entry, args = arguments,
                                             timeout_ns = build_timeout_ns }
  if not object then return nil, log, code end
  return { object = object, plan = launches }
end

local function build_reference(s)
  local t = s.task
  local source = task.source(t, "reference")
  local shape = t.shapes.smoke[1]
  local kernel, why = build(s, source, t.name .. "_f64", task.arguments(t, shape, true))
  if kernel then return kernel, true end
  local plain = s.language == "c" and build(s, source, t.name, task.arguments(t, shape))
  if plain then return plain, false end
  schema.raise("%s does not build as %s_f64 (float64 outputs) nor as %s:\n%s",
               t.reference[s.language], t.name, t.name, why)
end

-- A program of the kernel on these buffers | nil, why, code.
local function load(s, kernel, buffers, shape)
  local launches
  if kernel.plan then
    local why
    launches, why = s.planner.resolve(kernel.plan, s.task, shape, { sm_count = s.machine.sm_count })
    if not launches then return nil, why, "EPLAN" end
  end
  return s.device:load(kernel.object, buffers, launches)
end

-- Rooms: what one shape needs, kept for as long as the session lives --------

local function slots_for(arguments)
  local bytes = 0
  for _, a in ipairs(arguments) do
    if a.mode == "out" or a.mode == "inout" then bytes = bytes + 8 * a.count end
  end
  return math.max(1, math.min(1024, slots_bytes // bytes))
end

local function load_or_raise(s, kernel, buffers, shape, what)
  local program, why = load(s, kernel, buffers, shape)
  if not program then schema.raise("%s: %s cannot be loaded: %s", s.task.file, what, why) end
  return program
end

local function buffers_or_raise(s, arguments, slots)
  local b, why = s.device:buffers(arguments, slots)
  if not b then schema.raise("%s: no room for the arguments: %s", s.task.file, why) end
  return b
end

local function new_room(s, shape, role)
  local t = s.task
  local arguments = task.arguments(t, shape)
  local wide = task.arguments(t, shape, s.reference_wide)
  local room = { shape = shape, role = role, label = task.show_shape(t, shape), inputs = {},
                 outputs = {}, below = {}, absolute = {},
                 reduction = t.reduction and t.reduction(shape) or 1 }
  local fresh = s.machine.fresh_outputs
  room.slots = role == "timed" and not fresh and slots_for(arguments) or 1
  -- No call finds an output that an earlier one of its sample has filled: it
  -- could see that it is right and leave it.
  room.most = fresh and 1024 or room.slots
  for i, a in ipairs(t.args) do
    if a.mode == "out" or a.mode == "inout" then room.outputs[#room.outputs + 1] = i end
    room.below[i] = arguments[i].below
    if (a.mode == "in" or a.mode == "inout") and task.is_absolute(t, a.name) then
      room.absolute[#room.absolute + 1] = i
    end
    if a.mode == "in" then
      room.inputs[#room.inputs + 1] = { arg = i, count = arguments[i].count }
    end
  end
  room.buffers = buffers_or_raise(s, arguments, room.slots)
  room.expected = buffers_or_raise(s, wide, 1)
  room.reference = load_or_raise(s, s.reference, room.expected, shape, "the reference")
  if check.needs_scale(t) then
    room.scale = buffers_or_raise(s, wide, 1)
    room.scale_reference = load_or_raise(s, s.reference, room.scale, shape, "the reference")
  end
  room.baseline = load_or_raise(s, s.baseline_kernel, room.buffers, shape, "the baseline")
  room.limit_ns = 10 ^ 10 // 1
  return room
end

-- Timing -------------------------------------------------------------------

-- Moves a few elements of every input, so that an answer kept from an earlier
-- sample is wrong in this one, and found to be so by the last.
local function stir(room)
  for _, input in ipairs(room.inputs) do
    for _ = 1, 4 do
      local to = secret_seed() % input.count + 1
      local from = secret_seed() % input.count + 1
      room.buffers:set(input.arg, to, room.buffers:get(input.arg, from))
    end
  end
end

local function per_call(program, room, iterations)
  room.buffers:poison(secret_seed())
  stir(room)
  local ns, why, code = program:launch(iterations, room.limit_ns * iterations + 2 * 10 ^ 8 // 1)
  if not ns then return nil, why, code end
  return ns / iterations
end

-- Iterations that make a sample last sample_ns; warms up on the way.
local function calibrate(program, room)
  local n = 1
  while true do
    local ns, why, code = per_call(program, room, n)
    if not ns then return nil, why, code end
    if ns * n >= sample_ns or n >= room.most then return n, ns end
    local want = math.ceil(1.2 * sample_ns / math.max(ns, 1))
    n = math.min(math.max(want, n + 1), n * 16, room.most)
  end
end

-- One block: A is the baseline, B the candidate, ABBA or BAAB by a coin; a
-- slow baseline runs once a block, its place drawn too.
-- look(): whether to see, after one of the candidate's samples, what it wrote.
-- Returns two times, or nil and an evaluation.
local function block(s, room, program, n, look)
  local slow = room.slow
  local order = slow and (core.system.random_hex(1) < "8" and "ABB" or "BBA")
                or (core.system.random_hex(1) < "8" and "ABBA" or "BAAB")
  local sum, count = { A = 0, B = 0 }, { A = 0, B = 0 }
  for who in order:gmatch "." do
    local p = who == "A" and room.baseline or program
    local ns, why, code = per_call(p, room, who == "A" and room.baseline_n or n)
    if not ns then return nil, died(code, why, room.label) end
    local bad = who == "B" and look() and check.timed_outputs(s, room, n)
    if bad then return nil, bad end
    sum[who] = sum[who] + ns
    count[who] = count[who] + 1
  end
  return sum.A / count.A, sum.B / count.B
end

-- Which of a shape's samples are looked into: one for certain, others as the
-- time for it allows. A kernel that knew could rest in the rest; one that rests
-- in half of its samples, which moves the median, is caught by half at least.
local function looker(room, samples)
  local certain, i = secret_seed() % samples + 1, 0
  local share = room.look_ns and look_budget_ns / (samples * room.look_ns) or 1
  return function()
    i = i + 1
    return i == certain or secret_seed() / 2 ^ 56 < share
  end
end

local function blocks_for(s, room, confirm)
  local budget_ns = (confirm and 4 or 1) * baseline_budget_s[s.language] * 1e9 / #s.timed
  local n = math.floor(budget_ns / (room.baseline_ns * (room.slow and 1 or 2)))
  if confirm then return math.max(8, math.min(16, n)) end
  return math.max(room.baseline_ns < 2e8 and 3 or 2, math.min(8, n))
end

local function fill_inputs(s, room, distribution)
  for i, a in ipairs(s.task.args) do
    if a.mode == "in" or a.mode == "inout" then
      room.buffers:fill(i, distribution, secret_seed(), room.below[i])
    end
  end
  room.buffers:keep()
end

-- The time of one call on inputs that were never seen.
local function first_call(program, room)
  local times = {}
  for i = 1, 3 do
    local ns, why, code = per_call(program, room, 1)
    if not ns then return nil, died(code, why, room.label) end
    times[i] = ns
  end
  return core.stats.median(times)
end

-- The calls of a sample share their inputs, so one that keeps answers works at
-- the first only. Caches that go cold between samples slow the baseline as well.
local function keeps_answers(room, program, n, warm_ns)
  if n == 1 then return nil end
  local first, bad
  for _ = 1, 2 do                       -- twice: a disturbance passes
    first, bad = first_call(program, room)
    if not first then return bad end
    local cold = first_call(room.baseline, room) or room.baseline_ns
    local extra = 3 * math.max(0, cold - room.baseline_ns)
    if first <= 1.5 * warm_ns + extra + 30000 then return nil end
  end
  return fail("cheated", "%s: a first call on new inputs takes %.1f us, later ones %.1f us: "
              .. "it keeps answers from call to call", room.label, first / 1e3, warm_ns / 1e3)
end

local function time_shape(s, room, program, n, confirm)
  local a, b, logs = {}, {}, {}
  local blocks = blocks_for(s, room, confirm)
  local look = looker(room, 2 * blocks)
  for i = 1, blocks do
    local base, mine = block(s, room, program, n, look)
    if not base then return nil, mine end
    a[i], b[i], logs[i] = base, mine, math.log(base / mine)
  end
  local wrong = keeps_answers(room, program, n, core.stats.median(b))
  if wrong then return nil, wrong end
  local paired = core.stats.paired(logs, 0.95)
  return {
    shape = room.shape, label = room.label, role = "timed", iterations = n,
    time_ns = core.stats.median(b), baseline_ns = core.stats.median(a),
    speedup = math.exp(paired.estimate), blocks = #logs,
    speedup_low = paired.method ~= "none" and math.exp(paired.low) or nil,
    speedup_high = paired.method ~= "none" and math.exp(paired.high) or nil,
    interval = paired.method, confidence = paired.confidence,
    samples_ns = b, baseline_samples_ns = a,
  }
end

-- The geometric mean over shapes. Shapes are timed independently, so the
-- half-widths of their log intervals add in quadrature.
local function overall(out)
  local log, low, high, time, base = 0, 0, 0, 0, 0
  local n, known = #out.shapes, true
  for _, r in ipairs(out.shapes) do
    local e = math.log(r.speedup)
    log, time = log + e / n, time + math.log(r.time_ns) / n
    base = base + math.log(r.baseline_ns) / n
    known = known and r.speedup_low ~= nil
    if known then
      low = low + (e - math.log(r.speedup_low)) ^ 2
      high = high + (math.log(r.speedup_high) - e) ^ 2
    end
  end
  out.time_ns, out.baseline_ns, out.speedup = math.exp(time), math.exp(base), math.exp(log)
  if known then
    out.speedup_low = math.exp(log - math.sqrt(low) / n)
    out.speedup_high = math.exp(log + math.sqrt(high) / n)
  end
end

-- Is it clearly slower than the best so far? Two quick samples a shape.
local function screen(s, out, runs, best_ns)
  local log = 0
  for i, room in ipairs(s.timed) do
    local least = runs[i].first_ns
    for _ = 1, 2 do
      local ns, why, code = per_call(runs[i].program, room, runs[i].n)
      if not ns then return nil, died(code, why, room.label) end
      least = math.min(least, ns)
    end
    out.shapes[i] = { shape = room.shape, label = room.label, role = "timed", time_ns = least,
                      baseline_ns = room.baseline_ns, speedup = room.baseline_ns / least }
    log = log + math.log(least / best_ns[i])
  end
  if math.exp(log / #s.timed) > screen_ratio then return true end
  out.shapes = {}
  return false
end

local function share_of_peak(s, r)
  local work = s.task.work(r.shape)
  local flops_per_s, bytes_per_s = evidence.roofs(s, work)
  local seconds = r.time_ns * 1e-9
  r.compute_share = work.flops / seconds / flops_per_s
  r.bandwidth_share = work.bytes / seconds / bytes_per_s
  r.share_of_peak = math.max(r.compute_share, r.bandwidth_share)
  r.roof = r.compute_share >= r.bandwidth_share and "compute" or "bandwidth"
end

-- The baseline against itself: 1, by definition.
local function time_baseline_as_is(s, out)
  for i, room in ipairs(s.timed) do
    out.shapes[i] = { shape = room.shape, label = room.label, role = "timed", speedup = 1,
                      speedup_low = 1, speedup_high = 1, time_ns = room.baseline_ns,
                      baseline_ns = room.baseline_ns }
    share_of_peak(s, out.shapes[i])
  end
  overall(out)
end

-- The sets of counters an evaluation asks for; the CPU has one and takes any
-- name for it.
local function sets(options)
  if options.profile then return { "lean", "flop", "stalls", "throughput" } end
  return { options.confirm and "lean" or "search" }
end

-- Counters of one run on the first timed shape, and what is known without them.
local function count(s, out, kernel, program, options)
  local facts = { device = s.machine, metrics = {} }
  for _, set in ipairs(sets(options)) do
    local metrics, why = program:profile(set)
    if not metrics then
      facts.metrics, facts.why = nil, why
      break
    end
    for name, value in pairs(metrics) do facts.metrics[name] = value end
  end
  if kernel.plan then
    local resolved = s.planner.resolve(kernel.plan, s.task, s.timed[1].shape,
                                  { sm_count = s.machine.sm_count })
    local main, most = 1, 0
    for i, l in ipairs(resolved.launches) do
      local threads = l.block[1] * l.block[2] * l.block[3] * l.grid[1] * l.grid[2] * l.grid[3]
      if threads > most then main, most = i, threads end
    end
    facts.launch = resolved.launches[main]
    facts.entry = kernel.object:facts(facts.launch.kernel)
    facts.occupancy = program:occupancy(main)
  end
  out.facts = facts
end

local function time_all(s, out, kernel, options)
  if options.baseline then return time_baseline_as_is(s, out) end
  local runs <close> = check.closing {}
  for i, room in ipairs(s.timed) do
    fill_inputs(s, room, "normal")
    local program, why, code = load(s, kernel, room.buffers, room.shape)
    if not program then return died(code, why, room.label) end
    runs[i] = { program = program }
    local n, ns, c = calibrate(program, room)
    if not n then return died(c, ns, room.label) end
    runs[i].n, runs[i].first_ns = n, ns
  end
  if options.best_times_ns and #options.best_times_ns == #s.timed and not options.confirm then
    local slower, bad = screen(s, out, runs, options.best_times_ns)
    if bad then return bad end
    out.screened = slower
  end
  for i, room in ipairs(s.timed) do
    if out.screened then
      local ns, why, code = per_call(runs[i].program, room, runs[i].n)
      if not ns then return died(code, why, room.label) end
      local bad = check.timed_outputs(s, room, runs[i].n)
      if bad then return bad end
    else
      local r, wrong = time_shape(s, room, runs[i].program, runs[i].n, options.confirm)
      if not r then return wrong end
      out.shapes[i] = r
    end
  end
  for _, r in ipairs(out.shapes) do share_of_peak(s, r) end
  overall(out)
  local start = now()
  count(s, out, kernel, runs[1].program, options)
  out.seconds.profile = seconds_since(start)
end

-- The line of a compiler's output that says the most.
local function first_error(log)
  return log:match "[^\n]*undefined reference[^\n]*" or log:match "[^\n]*[Ee]rror:[^\n]*" or log
end

-- The whole of it -------------------------------------------------------------

local function refused(s, out, text, code)
  out.log = text
  if code == "EPLAN" then return fail("launch_failed", "%s", text) end
  if code == "EDENIED" then return fail("cheated", "%s", text) end
  return fail("build_failed", "%s", code == "EBUILD" and first_error(text)
                                    or ("compiling: %s (%s)"):format(text, s.language))
end

local function judge(s, source, options, out)
  local t, seconds = s.task, out.seconds
  local start = now()
  local kernel, log, code = build(s, source, t.name, task.arguments(t, t.shapes.smoke[1]))
  seconds.build = seconds_since(start)
  if not kernel then return refused(s, out, log, code) end
  local _ <close> = kernel.object
  local mix, bad
  if s.language == "c" then
    mix = evidence.read_object(kernel.object)
    bad = evidence.admit(mix)
  end
  if bad then return bad end

  start = now()
  for _, room in ipairs(s.rooms) do
    bad = check.room(s, room, function() return load(s, kernel, room.buffers, room.shape) end)
    if bad then break end
  end
  seconds.check = seconds_since(start)
  if bad then return bad end

  start = now()
  bad = time_all(s, out, kernel, options)
  seconds.time = seconds_since(start) - (seconds.profile or 0)
  if bad then return bad end
  local facts = out.facts or { device = s.machine }
  out.facts = nil
  facts.mix = mix
  out.evidence = s.evidence.make(s, out, facts)
  out.profile, out.evidence.profile = out.evidence.profile, nil
end

local session = {}
session.__index = session

-- Never raises for what a candidate does.
function session:evaluate(source, options)
  local start = now()
  local out = { verdict = "ok", shapes = {}, screened = false, seconds = {} }
  assert(self.device:claim(true))
  local done, bad = pcall(judge, self, source, options or {}, out)
  self.device:claim(false)
  if not done then
    local lost = self.device:lost()
    if not lost then error(bad, 0) end
    bad = fail("crashed", "%s", lost)
  end
  if bad then
    bad.seconds, bad.log, out = out.seconds, out.log, bad
    out.shapes = {}
  end
  out.lost = self.device:lost()
  out.seconds.total = seconds_since(start)
  return out
end

function session:close()
  self.device:close()
end

-- Baseline times, and with them the deadlines of every shape.
local function time_baseline(s)
  for _, room in ipairs(s.rooms) do
    fill_inputs(s, room, "normal")
    local n, ns = calibrate(room.baseline, room)
    if not n then schema.raise("%s: the baseline, %s: %s", s.task.file, room.label, ns) end
    local samples = { ns }
    for i = 2, room.role == "timed" and ns < 2e7 and 3 or 1 do
      samples[i] = per_call(room.baseline, room, n) or ns
    end
    room.baseline_n, room.baseline_ns = n, core.stats.median(samples)
    room.slow = room.baseline_ns > 2e7
    room.limit_ns = math.floor(math.max(20 * room.baseline_ns, 2e8))
  end
end

-- The baseline through every check, with the times just taken.
local function judge_baseline(s)
  local out = s:evaluate(task.source(s.task, "baseline"), { baseline = true })
  if out.verdict ~= "ok" then
    schema.raise("%s: refused: the baseline is not what the reference says: %s: %s",
                 s.task.file, out.verdict, out.reason)
  end
  return out
end

-- What another worker of this run has found out about the same rooms.
local function take_over(s, known)
  for i, room in ipairs(s.rooms) do
    local r = known.rooms[i]
    room.baseline_n, room.baseline_ns, room.limit_ns = r.n, r.ns, r.limit_ns
    room.slow = r.ns > 2e7
  end
  return known
end

local function remember(s, baseline)
  baseline.rooms = {}
  for i, room in ipairs(s.rooms) do
    baseline.rooms[i] = { n = room.baseline_n, ns = room.baseline_ns, limit_ns = room.limit_ns }
  end
  return baseline
end

-- The device of that name; raises a configuration error when it is missing.
function evaluate.device(name)
  local device, why = core.device(name)
  if not device then schema.raise("device '%s': %s", name, why) end
  return device
end

-- Raises a configuration error when the task is not fit; the worker reports it
-- as it is. known: the baseline of another session, which is then believed.
function evaluate.open(t, device, known)
  local machine = device:describe()
  t = task.for_language(t, machine.language)
  local s = setmetatable({ task = t, device = device, rooms = {}, timed = {}, machine = machine,
                           language = machine.language }, session)
  s.evidence = evidence
  if s.language == "cuda" then
    s.evidence, s.planner = require "kernelband.evidence_cuda", require "kernelband.plan"
  end
  s.roofline = assert(device:roofline())
  machine.roofline = s.roofline
  s.reference, s.reference_wide = build_reference(s)
  local log
  s.baseline_kernel, log = build(s, task.source(t, "baseline"), t.name,
                                 task.arguments(t, t.shapes.smoke[1]))
  if not s.baseline_kernel then
    schema.raise("%s: the baseline does not build:\n%s", t.baseline[s.language], log)
  end
  for _, role in ipairs { "smoke", "held_out", "timed" } do
    for _, shape in ipairs(t.shapes[role]) do
      local room = new_room(s, shape, role)
      s.rooms[#s.rooms + 1] = room
      if role == "timed" then s.timed[#s.timed + 1] = room end
    end
  end
  if known then
    s.baseline = take_over(s, known)
  else
    time_baseline(s)
    s.baseline = remember(s, judge_baseline(s))
  end
  return s
end

return evaluate
