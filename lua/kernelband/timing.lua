-- timing.lua - how fast is a candidate that has passed its checks? Baseline and
-- candidate in interleaved blocks, a screen before that, counters after it.
local core     = require "kernelband.core"
local check    = require "kernelband.check"
local evidence = require "kernelband.evidence"
local inputs   = require "kernelband.inputs"
local rooms    = require "kernelband.room"
local schema   = require "kernelband.schema"
local task     = require "kernelband.task"
local verdict  = require "kernelband.verdict"
local win      = require "kernelband.win"

local timing = {}

local now = core.system.now_ns
local died, fail, secret_seed = verdict.died, verdict.fail, verdict.secret_seed

local screen_ratio = 1.25       -- slower than this: not measured further
local contender_ratio = 1.03    -- slower than this: not a new best

-- By language: how long a sample lasts where slots allow; blocks at most, and
-- what one is; baseline time an evaluation may take, all shapes together; time
-- for looks into a shape's samples. A GPU is quiet, and each of its samples
-- starts with a flush: pairs do.
local pace = {
  c    = { sample_ns = 1e6, blocks = 8, baseline_ns = 6e8, look_ns = 1e8,
           orders = { "ABBA", "BAAB" }, slow = { "ABB", "BBA" } },
  cuda = { sample_ns = 2e5, blocks = 8, baseline_ns = 6e7, look_ns = 1e7,
           orders = { "AB", "BA" }, slow = { "AB", "BA" } },
}

-- Moves a few elements of every input, so that an answer kept from an earlier
-- sample is wrong in this one, and found to be so by the last.
local function stir(room)
  for _, input in ipairs(room.inputs) do
    for i = 1, math.max(4, room.slots) do
      local slot = (i - 1) % room.slots + 1
      local to = secret_seed() % input.count + 1
      local from = secret_seed() % input.count + 1
      room.buffers:copy(input.arg, to, from, slot)
    end
  end
end

local function per_call(program, room, iterations)
  stir(room)
  room.buffers:poison(secret_seed())
  local ns, why, code = program:launch(iterations, room.limit_ns * iterations + 2 * 10 ^ 8 // 1)
  if not ns then return nil, why, code end
  return ns / iterations
end

-- Iterations that make a sample last sample_ns, from as many as are known not to be
-- too many; warms up on the way.
local function calibrate(program, room, sample_ns, from)
  local n = from or 1
  while true do
    local ns, why, code = per_call(program, room, n)
    if not ns then return nil, why, code end
    if ns * n >= sample_ns or n >= room.most then return n, ns end
    local want = math.ceil(1.2 * sample_ns / math.max(ns, 1))
    n = math.min(math.max(want, n + 1), n * 16, room.most)
  end
end

-- One block on inputs of its own: A is the baseline, B the candidate, the order
-- drawn by a coin; a slow baseline runs once a block.
-- look(last): what to see of what one of the candidate's samples, the last of the
-- block or not, has written.
-- Returns two times, or nil and an evaluation.
local function block(s, room, program, n, look)
  local slow = room.slow
  local orders = slow and pace[s.language].slow or pace[s.language].orders
  local order = orders[core.system.random_hex(1) < "8" and 1 or 2]
  local sum, count = { A = 0, B = 0 }, { A = 0, B = 0 }
  inputs.renew(s, room, math.max(n, room.baseline_n))
  for at, who in order:gmatch "()(.)" do
    local p = who == "A" and room.baseline or program
    local ns, why, code = per_call(p, room, who == "A" and room.baseline_n or n)
    if not ns then return nil, died(code, why, room.label) end
    local which = who == "B" and look(not order:find("B", at + 1, true))
    local bad = which and check.timed_outputs(s, room, n, which)
    if bad then return nil, bad end
    sum[who] = sum[who] + ns
    count[who] = count[who] + 1
  end
  return sum.A / count.A, sum.B / count.B
end

-- Which of a shape's samples are looked into: the last, one more for certain,
-- others as the time for it allows. A kernel that knew could rest in the rest;
-- one that rests in half of its samples, which moves the median, is caught by
-- half at least. times: so much longer may it take. Returns nil, or how much is
-- to be seen, as check.timed_outputs takes it.
local function looker(s, room, blocks, times)
  local samples = 2 * blocks
  local certain, i = secret_seed() % samples + 1, 0
  local budget_ns = times * pace[s.language].look_ns
  local share = room.look_ns and budget_ns / (samples * room.look_ns) or 1
  local dear = (room.look_ns or 0) > budget_ns
  return function(last, final)
    i = i + 1
    if last and final then return dear and "last" or "both" end
    return (i == certain or secret_seed() / 2 ^ 56 < share) and (dear and "any" or "both")
  end
end

local function blocks_for(s, room, confirm)
  local p = pace[s.language]
  local budget_ns = (confirm and 4 or 1) * p.baseline_ns / #s.timed
  local n = math.floor(budget_ns / (room.baseline_ns * (room.slow and 1 or 2)))
  if confirm then return math.max(8, math.min(16, n)) end
  return math.max(room.baseline_ns < 2e8 and 3 or 2, math.min(p.blocks, n))
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

-- In-out arrays start every call of a sample alike (inputs do not: each slot has
-- its own), so one that keeps answers works at the first only. Caches that go cold
-- between samples slow the baseline as well.
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

-- Is a shape lost for certain? After five blocks no more are spent on it.
local function hopeless(logs)
  return #logs == 5 and core.stats.paired(logs, 0.9).high < math.log(0.97)
end

-- A gain that its interval does not tell from none: worth twice the blocks. Looks
-- after 8, 16, 32 and 64 blocks ask for more confidence: whoever looks often sees
-- a gain that is none (Pocock 1977: four looks at 0.982 are one at 0.95).
local look_confidence = 0.99

-- At the first look a machine that is busy says little: whatever may still be worth
-- a few percent gets a second.
local function undecided(logs)
  local p = core.stats.paired(logs, look_confidence)
  local may_be = p.estimate > math.log(1.01) or #logs == 8 and p.high > math.log(1.03)
  return may_be and p.low <= math.log(1.01)
end

-- The same room with samples of twice as many calls, for both sides; and its calls.
local function longer(room, n)
  if 2 * n > room.most or 2 * room.baseline_n > room.most then return room, n end
  return setmetatable({ baseline_n = 2 * room.baseline_n }, { __index = room }), 2 * n
end

local function alike(a_ns, b_ns) return a_ns < 2 * b_ns and b_ns < 2 * a_ns end

-- Calibrates a side again, and keeps its least: its time now, or nil and an evaluation.
local function calibrate_again(s, room, side)
  local n, ns, code = calibrate(side.program, room, pace[s.language].sample_ns, side.n)
  if not n then return nil, died(code, ns, room.label) end
  if ns < side.least_ns then side.n, side.least_ns = n, ns end
  return ns
end

-- Calls a sample of run has beside the baseline, or nil and an evaluation. A sample
-- costs some 20 us besides its calls: told apart by less than a factor of two, both get
-- as many, or the one with more would look faster (3 percent in samples of 1 ms and of
-- 10). What was calibrated while others had the processor looks slower than it is, by
-- any factor, and what was in a better moment for memory faster: who seem to be further
-- apart are run again, in turns. They are alike when one turn or the least of all says
-- so: to be wrong with that hides a gain, and makes none. A slow baseline is not run
-- again, and needs it least.
local function calls_beside(s, room, run)
  local n = room.baseline_n
  if run.n == n or alike(room.baseline_ns, run.first_ns) then return n end
  if room.slow then return run.n end
  local base = { program = room.baseline, n = n, least_ns = math.huge }
  local mine = { program = run.program, n = run.n, least_ns = math.huge }
  for _ = 1, 3 do
    local base_ns, died_of = calibrate_again(s, room, base)
    if not base_ns then return nil, died_of end
    local ns, why = calibrate_again(s, room, mine)
    if not ns then return nil, why end
    if alike(base_ns, ns) or alike(base.least_ns, mine.least_ns) then return n end
  end
  return mine.n
end

-- run: as prepare gives it. mode: nil; "confirm", with more blocks; or "again", with
-- more looks.
local function one_shape(s, room, run, mode)
  local a, b, logs = {}, {}, {}
  local program = run.program
  local n, died_of = calls_beside(s, room, run)
  if not n then return nil, died_of end
  local blocks = blocks_for(s, room, mode == "confirm")
  local most = room.slow and blocks or math.min(64, blocks_for(s, room, true) * 4)
  local look = looker(s, room, blocks, mode == "again" and 4 or 1)
  local first, side, calls = blocks, room, n
  while #logs < blocks do
    local final = #logs + 1 == blocks or (not mode and #logs == 4)
    local base, mine = block(s, side, program, calls, function(last) return look(last, final) end)
    if not base then return nil, mine end
    local i = #logs + 1
    a[i], b[i], logs[i] = base, mine, math.log(base / mine)
    if not mode and hopeless(logs) then break end
    if i == blocks and i >= 8 and undecided(logs) then
      if i == first then side, calls = longer(room, n) end
      blocks = math.max(blocks, math.min(2 * blocks, most))
    end
  end
  local wrong = #room.inputs == 0 and not s.machine.fresh_outputs
                and keeps_answers(room, program, n, core.stats.median(b))
  if wrong then return nil, wrong end
  local paired = core.stats.paired(logs, #logs > first and look_confidence or 0.95)
  local sure = core.stats.paired(logs, win.confidence)
  return {
    shape = room.shape, label = room.label, role = "timed", iterations = n,
    time_ns = core.stats.median(b), baseline_ns = core.stats.median(a),
    speedup = math.exp(paired.estimate), blocks = #logs,
    speedup_low = paired.method ~= "none" and math.exp(paired.low) or nil,
    speedup_high = paired.method ~= "none" and math.exp(paired.high) or nil,
    sure_low = sure.method ~= "none" and math.exp(sure.low) or nil,
    interval = paired.method, confidence = paired.confidence, baseline_iterations = room.baseline_n,
    samples = { baseline = a, candidate = b },
  }
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

-- The sets of counters an evaluation asks for; the CPU has one and takes any
-- name for it.
local function sets(options)
  if options.profile then return { "lean", "flop", "stalls", "throughput" } end
  return { "lean" }
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

-- The baseline against itself: 1, by definition.
local function baseline_as_is(s, out)
  for i, room in ipairs(s.timed) do
    out.shapes[i] = { shape = room.shape, label = room.label, role = "timed", speedup = 1,
                      speedup_low = 1, speedup_high = 1, time_ns = room.baseline_ns,
                      baseline_ns = room.baseline_ns }
    share_of_peak(s, out.shapes[i])
  end
  win.overall(out)
  count(s, out, s.baseline_kernel, s.timed[1].baseline, {})
end

-- A kernel's program on a timed room's buffers, warmed up and calibrated:
-- { program =, n =, first_ns = } | nil, evaluation.
local function prepare(s, room, kernel)
  inputs.fill_timed(s, room)
  local program, why, code = rooms.load(s, kernel, room.buffers, room.shape)
  if not program then return nil, died(code, why, room.label) end
  local run = { program = program }
  local n, ns, c = calibrate(program, room, pace[s.language].sample_ns)
  if not n then
    program:close()
    return nil, died(c, ns, room.label)
  end
  run.n, run.first_ns = n, ns
  return run
end

-- Logs of A/A pairs, a list a shape.
local function against_itself(s)
  local lists = {}
  for i, room in ipairs(s.timed) do
    local twin = assert(prepare(s, room, s.baseline_kernel))
    local _ <close> = twin.program
    lists[i] = {}
    for k = 1, blocks_for(s, room) do
      local a, b = block(s, room, twin.program, room.baseline_n, function() return false end)
      if not a then error(s.task.file .. ": the baseline: " .. b.reason, 0) end
      lists[i][k] = math.log(a / b)
    end
  end
  return lists
end

-- What the machine says of two processes of the same kernel, the baseline: how
-- far a speed-up must be from 1 to be one. Measured when it is first needed; a
-- disturbed measurement is tried again, now and the next time.
local function noise(s)
  local known = s.noise
  if known and known.least <= win.least_effect then return known end
  for _ = 1, 3 do
    local new = win.noise(against_itself(s))
    if not known or new.least < known.least then known = new end
    if known.least <= win.least_effect then break end
  end
  s.noise = known
  return known
end

-- A result too good to be taken at its word: its shapes are timed again by new
-- processes, with more looks, and that is what counts. A confirmation is such a
-- second measurement by itself.
local function again(s, out, kernel, why)
  for i, room in ipairs(s.timed) do
    local run, bad = prepare(s, room, kernel)
    if not run then return bad end
    local _ <close> = run.program
    local r, wrong = one_shape(s, room, run, "again")
    if not r then return wrong end
    r.first = { time_ns = out.shapes[i].time_ns, speedup = out.shapes[i].speedup }
    share_of_peak(s, r)
    out.shapes[i] = r
  end
  verdict.ran(s, "a second measurement by new processes")
  local before = out.speedup
  win.overall(out)
  local still = win.below_floor(s, out)
  out.impossible = still ~= nil
  out.quarantined = ("%s; measured again: %.4g times, %s"):format(why, out.speedup,
    still and "and still below the floor: it is no win"
    or math.abs(math.log(out.speedup / before)) > 0.1 and "which is another figure and stands"
    or "which stands")
end

-- The kernel of a source, kept while it is asked for again and again.
local function incumbent_of(s, source)
  local held = s.incumbent
  if held and held.source == source then return held.kernel end
  if held then held.kernel.object:close() end
  s.incumbent = nil
  local t = s.task
  local kernel = rooms.build(s, source, t.name, task.arguments(t, t.shapes.smoke[1]))
  s.incumbent = kernel and { source = source, kernel = kernel }
  return kernel
end

-- Whether a candidate is about as fast as the best so far, or faster.
local function contends(out, best_ns)
  local log = 0
  if not best_ns then return true end
  for i, r in ipairs(out.shapes) do log = log + math.log(r.time_ns / best_ns[i]) end
  return math.exp(log / #out.shapes) < contender_ratio
end

-- Blocks of the best kernel so far and the candidate, side by side: what is told
-- apart there does not pass through the baseline's noise.
local function against(s, out, runs, source)
  local kernel = incumbent_of(s, source)
  if not kernel then return nil end
  local pair = { shapes = {} }
  for i, room in ipairs(s.timed) do
    local best = prepare(s, room, kernel)
    if not best then return nil end     -- that is not this candidate's fault
    local _ <close> = best.program
    local side = setmetatable({ baseline = best.program, baseline_n = best.n, slow = false,
                                baseline_ns = best.first_ns }, { __index = room })
    local r, wrong = one_shape(s, side, runs[i])
    if not r then return wrong end
    pair.shapes[i] = r
  end
  win.overall(pair)
  out.against = { speedup = pair.speedup, low = pair.speedup_low, high = pair.speedup_high }
  verdict.ran(s, "side by side with the best kernel so far")
end

function timing.candidate(s, out, kernel, options)
  if options.baseline then return baseline_as_is(s, out) end
  local runs <close> = check.closing {}
  for i, room in ipairs(s.timed) do
    local bad
    runs[i], bad = prepare(s, room, kernel)
    if not runs[i] then return bad end
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
      local r, wrong = one_shape(s, room, runs[i], options.confirm and "confirm" or nil)
      if not r then return wrong end
      out.shapes[i] = r
    end
  end
  for _, r in ipairs(out.shapes) do share_of_peak(s, r) end
  win.overall(out)
  local why = not out.screened and win.suspicious(s, out, options)
  if why and options.confirm then
    out.impossible = win.below_floor(s, out) ~= nil
    out.quarantined = why .. "; this is the second measurement"
  elseif why then
    local bad = again(s, out, kernel, why)
    if bad then return bad end
  end
  if options.incumbent and not out.screened and contends(out, options.best_times_ns) then
    local bad = against(s, out, runs, options.incumbent)
    if bad then return bad end
  end
  if win.needs_noise(out) then
    out.noise = noise(s)
    verdict.ran(s, "the baseline against itself")
  end
  win.decide(out)
  local start = now()
  count(s, out, kernel, runs[1].program, options)
  out.seconds.profile = (now() - start) / 1e9
end

-- Baseline times, and with them the deadlines of every shape.
function timing.baseline(s)
  for _, room in ipairs(s.rooms) do
    inputs.fill_timed(s, room)
    local n, ns = calibrate(room.baseline, room, pace[s.language].sample_ns)
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

return timing
