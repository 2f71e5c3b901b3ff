-- evaluate/timing.lua - how fast is a candidate that has passed its checks? A screen, rounds of
-- pairs with the baseline (paired.lua), counters after them.
local lists    = require "kernelband.base.lists"
local core     = require "kernelband.core"
local check    = require "kernelband.evaluate.check"
local evidence = require "kernelband.evaluate.evidence"
local inputs   = require "kernelband.evaluate.inputs"
local paired   = require "kernelband.evaluate.paired"
local rig      = require "kernelband.evaluate.rig"
local rooms    = require "kernelband.evaluate.room"
local schema   = require "kernelband.base.schema"
local verdict  = require "kernelband.evaluate.verdict"
local win      = require "kernelband.evaluate.win"

local timing = {}

local now = core.system.now_ns
local need, per_call = verdict.need, rig.per_call

local screen_ratio = 1.25       -- slower than this: not measured further
local contender_ratio = 1.03    -- slower than this: not timed beside the best
local far_apart = 3             -- times as fast: fewer rounds say it
local slow_pair_ns = 4e7        -- slower pairs get fewer rounds
local recent_times = 2          -- of a slow baseline, kept for the next evaluation

-- By language, of an evaluation with all its shapes:
--   sample_ns    how long a sample lasts, where slots allow
--   samples_ns   what the samples of the first rounds may take
--   longest_ns   no round is added after that, and `answers` times as long as the reference takes.
--                On a CPU the first rounds have fewer pairs where they would take longer
--   looks_ns     what comparing outputs may take
--   pairs        pairs of samples in a round, at most
--   beside       a shape's pairs may take this share of the longest pair of all shapes: else a
--                quick and noisy shape would have one pair a round beside a slow one
--   rounds, most how many rounds at first, and at most
--   width        half of the width of the 95 % interval that is asked for, as a log
--   late_ns      the least limit of a launch: a GPU stops for some hundred milliseconds while
--                other processes open and close their contexts
-- A confirmation has more rounds, a narrower interval and more time; its longest_ns counts once
-- for each time that it has the rounds of an evaluation: twice.
-- A GPU's samples are short: from the third launch that is queued on, all launches of a sample
-- take up to a quarter longer, or shorter, together (4 us kernels on an H200), so many samples of
-- two launches say more than few of fifty. Kernels of 100 us have no such trouble, and get few.
local pace = {
  c    = { sample_ns = 5e5, samples_ns = 4e8, longest_ns = 1.15e9, looks_ns = 1.5e8, pairs = 8,
           rounds = 8, most = 64, width = 0.015, late_ns = 2e8, answers = 6, beside = 1 / 8 },
  cuda = { sample_ns = 8e3, samples_ns = 8e6, longest_ns = 3e8, looks_ns = 2e7, pairs = 8,
           rounds = 8, most = 64, width = 0.01, late_ns = 1e9, answers = 0, beside = 0 } }
local confirm = { c = { rounds = 16, most = 128, width = 0.004, longest_ns = 6.5e9 },
                  cuda = { rounds = 16, most = 64, width = 0.005, longest_ns = 6e8 } }
-- KERNELBAND_ROUNDS, set by tests that ask for a verdict alone: rounds at most, of half the pairs.
local few = math.tointeger(tonumber(os.getenv "KERNELBAND_ROUNDS"))

-- The least time of a call, and the calls that make a sample last sample_ns, from as many as
-- are known not to be too many; warms up on the way. What disturbs makes a sample longer, never
-- shorter. n, ns, how many calls the last sample had | nil, why, code.
local function calibrate(s, program, room, from)
  local n, least, sample_ns = from or 1, math.huge, pace[s.language].sample_ns
  while true do
    local enough, ran = true, n
    for _ = 1, 3 do
      local ns, why, code = per_call(program, room, n)
      if not ns then return nil, why, code end
      least = math.min(least, ns)
      if least * n > 10 * sample_ns then break end
    end
    local want = math.min(math.ceil(sample_ns / math.max(least, 1)), room.most)
    if want > n then
      local next_n = math.min(want, n * 16)
      enough, n = next_n < 1.5 * n, next_n
    end
    if enough then return n, least, ran end
  end
end

-- What a candidate's sample of n calls has just left, maybe looked at: it may be wrong only in
-- calls that nobody takes for timed ones.
local function look_back(s, room, n)
  rig.look_back(s, room, n, pace[s.language].looks_ns / 4 / #s.timed)
end

-- A list whose items are closed when the block that made it ends.
local function closing(list)
  return setmetatable(list, { __close = function(t)
    for _, item in ipairs(t) do item:close() end
  end })
end

local function alike(a_ns, b_ns) return a_ns < 2 * b_ns and b_ns < 2 * a_ns end

-- How many calls a sample has. On a CPU as many on either side, in the middle of what both would
-- have alone: every call of a sample has inputs and outputs of its own, so with twice the calls a
-- side would meet caches that are colder, and a kernel that is twice as fast would be told another
-- speed-up whenever calibration gave it one call more. On a GPU, where caches are flushed, only
-- where they are about as fast, so that what a sample costs besides its calls is the same. Sides
-- that seem to be further apart are run again, in turns, because what was calibrated while others
-- had the processor looks slower than it is, by any factor.
local function settle_calls(s, base, run)
  for _ = 1, 3 do
    if alike(base.ns, run.ns) then break end
    for _, side in ipairs { base, run } do
      if side.ns < slow_pair_ns / 2 then
        local n, ns, ran = need(run.room.label, calibrate(s, side.program, run.room, side.n))
        if side == run then look_back(s, run.room, ran) end
        if ns < side.ns then side.n, side.ns = n, ns end
      end
    end
  end
  if s.language == "c" then
    base.n = math.min(run.room.most, math.ceil((base.n * run.n) ^ 0.5))
  end
  if s.language == "c" or alike(base.ns, run.ns) then run.n = base.n end
end

-- What is told of a timed shape: a call takes time_ns.
local function row(room, time_ns)
  return { shape = room.shape, label = room.label, role = "timed", time_ns = time_ns,
           baseline_ns = room.base.ns, speedup = room.base.ns / time_ns }
end

-- How two sides are measured at a shape: a rule of paired.measure without pairs, with what it would
-- have the whole measurement be (the slowest shape's rule decides), and
--   pair_ns      what a pair of samples takes
--   round_ns     what the pairs of a round may take, or
--   beside       this share of the longest pair of all shapes, if that is more
--   looks_ns     what comparing outputs may take
--   longest_ns   what all rounds may take
-- mode: nil; "confirm"; "again", with more looks; "best", beside the best kernel so far; or
-- "noise", with no looks, for a kernel that is trusted. Where the baseline takes long, the other
-- side runs several times beside it. Where the two are far apart, few rounds and half the time say
-- so, and for most rounds of a slow baseline its times are those of earlier evaluations.
local function plan(s, a, b, mode)
  local p = pace[s.language]
  local more = mode == "confirm" and confirm[s.language] or p
  local a_ns, b_ns = a.ns * a.n, b.ns * b.n
  local repeats = s.language == "c" and math.max(1, math.min(8, a_ns / b_ns / far_apart // 1)) or 1
  local pair_ns, most = a_ns + repeats * b_ns, more.most
  local rounds = mode == "best" and p.rounds * 3 // 4 or more.rounds
  local share = more.rounds / p.rounds / #s.timed
  local apart, slow = math.max(a.ns / b.ns, b.ns / a.ns) > far_apart, pair_ns > slow_pair_ns
  if slow or apart and s.language == "c" then
    rounds = (slow and apart and 3 or (apart or mode == "noise") and 4 or 6)
             * (mode == "confirm" and 2 or 1)
    if apart then most = 2 * rounds end
  end
  if few then rounds, most = math.min(few, rounds), few end
  local often = mode == "confirm" or mode == "again"
  local longest_ns = (more.longest_ns + p.answers * (b.room.look_ns or 0))
                     * (mode == "best" and 1 / 3 or 1)
  if apart and not often then share = share / 2 end
  return {
    coin = rig.coin, repeats = repeats, rounds = rounds, width = more.width,
    most = mode == "noise" and math.min(most, 2 * rounds) or most,
    slower = (not mode or mode == "best") and math.log(0.97) or nil,
    known = slow and apart and not often and a.recent or nil,
    pair_ns = pair_ns, round_ns = p.samples_ns * share / rounds, beside = apart and 0 or p.beside,
    looks_ns = mode == "noise" and 0 or p.looks_ns / #s.timed * (often and 2 or 1),
    longest_ns = math.max(longest_ns * share, 2 * rounds * pair_ns) }
end

-- Both sides at all timed shapes. mode: see plan. Returns what paired.measure does, and of each
-- shape its pairs a round.
local function side_by_side(s, bases, runs, mode)
  local rigs <close> = closing {}
  local rules = lists.collect(runs, function(run, i) return plan(s, bases[i], run, mode) end)
  local whole, most_ns, start = lists.best(rules, function(r) return r.pair_ns end), 0, now()
  local list = lists.collect(rules, function(rule, i)
    local round_ns = math.max(rule.round_ns, rule.beside * whole.pair_ns)
    local most_pairs = few and 4 or pace[s.language].pairs
    rule.pairs = math.max(1, math.min(most_pairs, round_ns / rule.pair_ns // 1))
    rigs[i] = rig.new(s, runs[i].room, bases[i], runs[i], whole.rounds * rule.pairs, rule.looks_ns)
    rigs[i].aged = mode == "best"
    rule.pressed = s.language == "c" and function()
      return now() - rigs[i].began_ns > rule.longest_ns / whole.rounds
    end
    most_ns = most_ns + rule.longest_ns
    return { rig = rigs[i], rule = rule }
  end)
  whole.late = function() return now() - start > most_ns end
  local results, all = paired.measure(list, whole)
  for i, m in ipairs(results) do m.pairs = rules[i].pairs end
  return results, all
end

-- The baseline as sides. recent: its newest times, for plan.
local function baseline_sides(s)
  return lists.collect(s.timed, function(room)
    return { room = room, kernel = s.baseline_kernel, program = room.baseline,
             n = room.base.n, ns = room.base.ns, recent = room.recent }
  end)
end

-- What a measurement says of one shape.
local function summary(base, run, m)
  local by = core.stats.paired(m.logs, 0.95)
  local sure = core.stats.paired(m.logs, win.confidence)
  local function bound(p, name) return p.method ~= "none" and math.exp(p[name]) or nil end
  return lists.with(row(run.room, core.stats.median(m.b)), {
    baseline_ns = core.stats.median(m.a), speedup = math.exp(by.estimate), blocks = #m.logs,
    speedup_low = bound(by, "low"), speedup_high = bound(by, "high"), sure_low = bound(sure, "low"),
    interval = by.method, confidence = by.confidence, iterations = run.n, pairs = m.pairs,
    baseline_iterations = base.n, samples = { baseline = m.a, candidate = m.b } })
end

-- bases, runs: sides, one a shape, the baseline's first. Into out: the shapes, measured, and the
-- logs of the rounds over all of them.
local function compare(s, out, bases, runs, mode)
  for i, run in ipairs(runs) do settle_calls(s, bases[i], run) end
  local results
  results, out.logs = side_by_side(s, bases, runs, mode)
  out.shapes = lists.collect(runs, function(run, i) return summary(bases[i], run, results[i]) end)
  return out
end

-- One more sample of a side.
local function sample(run)
  return need(run.room.label, per_call(run.program, run.room, run.n))
end

-- Is it clearly slower than the best so far? Two quick samples a shape, beside as many of that
-- kernel on the same inputs where its source is known.
local function screen(s, out, runs, best_times_ns, kernel)
  local log = 0
  for i, run in ipairs(runs) do
    local room, least = run.room, run.ns
    local best <close> = kernel and rooms.load(s, kernel, room)
    local best_ns = best and math.huge or best_times_ns[i]
    for _ = 1, 2 do
      least = math.min(least, sample(run))
      look_back(s, room, run.n)
      best_ns = best and math.min(best_ns, per_call(best, room, run.n) or math.huge) or best_ns
    end
    out.shapes[i] = row(room, least)
    log = log + math.log(least / best_ns)
  end
  if math.exp(log / #s.timed) > screen_ratio then return true end
  out.shapes = {}
  return false
end

-- Shares of the machine's peaks, and the figures of all shapes together.
local function sum_up(s, out)
  for _, r in ipairs(out.shapes) do
    local work = s.task.work(r.shape)
    r.flops, r.bytes = work.flops, work.bytes
    r.compute_share, r.bandwidth_share = evidence.shares(s, work, r.time_ns)
    r.share_of_peak = math.max(r.compute_share, r.bandwidth_share)
    r.roof = r.compute_share >= r.bandwidth_share and "compute" or "bandwidth"
  end
  win.overall(out)
end

-- Counters of one run on the first timed shape, and what is known without them.
local function count(s, kernel, program, options)
  local facts = { device = s.machine }
  -- The CPU has one set of counters and takes any name for it.
  facts.metrics, facts.why = program:profile(options.profile and "full" or "lean")
  if kernel.plan then
    local launches = rooms.launches(s, kernel, s.timed[1].shape).launches
    local launch, index = lists.best(launches, function(l)
      return l.block[1] * l.block[2] * l.block[3] * l.grid[1] * l.grid[2] * l.grid[3]
    end)
    facts.launch, facts.entry = launch, kernel.object:facts(launch.kernel)
    facts.occupancy = program:occupancy(index)
  end
  return facts
end

-- The baseline against itself: 1, by definition.
local function baseline_as_is(s, out)
  out.shapes = lists.collect(s.timed, function(room)
    return lists.with(row(room, room.base.ns), { speedup_low = 1, speedup_high = 1 })
  end)
  sum_up(s, out)
  out.speedup_low, out.speedup_high, out.sure_low = 1, 1, 1
  return count(s, s.baseline_kernel, s.timed[1].baseline, {})
end

-- A candidate's programs on the timed rooms' buffers, warmed up and calibrated: into sides, see
-- rig.new. anew: on other inputs.
local function prepare(s, kernel, sides, anew)
  for i, room in ipairs(s.timed) do
    inputs.fill_timed(s, room, anew)
    local program = need(room.label, rooms.load(s, kernel, room))
    sides[i] = { room = room, kernel = kernel, program = program,
                 close = function() program:close() end }
    local n, ns, ran = need(room.label, calibrate(s, program, room))
    sides[i].n, sides[i].ns = n, ns
    look_back(s, room, ran)
  end
end

-- What this machine says, now, of the baseline against itself: how far from 1 a speed-up of this
-- task must be to be one. Measured once a session, as a candidate is.
function timing.noise(s)
  for _, room in ipairs(s.timed) do inputs.fill_timed(s, room) end
  local sides = baseline_sides(s)
  local results = verdict.of_baseline(s, side_by_side, s, sides, sides, "noise")
  for i, room in ipairs(s.timed) do
    room.recent = table.move(results[i].a, 1, recent_times, 1, {})
  end
  return win.noise(lists.collect(results, "logs"))
end

-- A result too good to be taken at its word was measured twice: what the second measurement, with
-- more looks, says of it. A confirmation is such a second measurement by itself.
local function say_again(s, out, before, why)
  for i, r in ipairs(out.shapes) do
    r.first = { time_ns = before.shapes[i].time_ns, speedup = before.shapes[i].speedup }
  end
  verdict.ran(s, "a second measurement by new processes")
  local still = win.below_floor(s, out)
  out.impossible = still ~= nil
  out.quarantined = ("%s; measured again: %.4g times, %s"):format(why, out.speedup,
    still and "and still below the floor: it is no win"
    or math.abs(math.log(out.speedup / before.speedup)) > 0.1
    and "which is another figure and stands" or "which stands")
end

-- The kernel of a source, kept while it is asked for again and again.
local function incumbent_of(s, source)
  local held = s.incumbent
  if held and held.source == source then return held.kernel end
  if held then held.kernel.object:close() end
  s.incumbent = nil
  local kernel = rooms.build(s, source)
  s.incumbent = kernel and { source = source, kernel = kernel }
  return kernel
end

-- Blocks of the best kernel so far and the candidate, side by side: what is told
-- apart there does not pass through the baseline's noise.
local function against(s, out, runs, source)
  local kernel, best <close> = incumbent_of(s, source), closing {}
  if not kernel or verdict.try(prepare, s, kernel, best) then return end  -- not its fault
  local pair = win.overall(compare(s, {}, best, runs, "best"))
  out.against = { speedup = pair.speedup, low = pair.speedup_low, high = pair.speedup_high }
  verdict.ran(s, "side by side with the best kernel so far")
end

-- All timed shapes.
local function measure(s, out, runs, mode)
  compare(s, out, baseline_sides(s), runs, mode)
  for i, room in ipairs(s.timed) do
    local times = out.shapes[i].samples.baseline
    room.recent = table.move(times, math.max(1, #times - recent_times + 1), #times, 1, {})
  end
  sum_up(s, out)
end

-- A candidate that was not screened away. What calibration says of its speed is a measurement, too,
-- by processes that the next does not use: what is too good is measured with more looks at once;
-- what looked possible then and does not now is measured again.
local function measured(s, out, kernel, runs, options)
  local sight = lists.collect(runs, function(run) return row(run.room, run.ns) end)
  local before = win.overall { shapes = sight }
  local why = not options.confirm and win.suspicious(s, before, options) or nil
  measure(s, out, runs, options.confirm and "confirm" or why and "again")
  if why then return say_again(s, out, before, why) end
  why = win.suspicious(s, out, options)
  if why and options.confirm then
    out.impossible = win.below_floor(s, out) ~= nil
    out.quarantined = why .. "; this is the second measurement"
  elseif why then
    before = { shapes = out.shapes, speedup = out.speedup }
    local again <close> = closing {}
    prepare(s, kernel, again)
    measure(s, out, again, "again")
    say_again(s, out, before, why)
  end
end

-- One more sample of a candidate that was screened away, for its outputs.
local function look_at_screened(s, out, runs)
  for _, run in ipairs(runs) do
    sample(run)
    check.timed_outputs(s, run.room, { math.min(run.n, run.room.slots) })
  end
  sum_up(s, out)
end

-- Times of a candidate, into out. Returns facts, see evidence_cuda.lua.
function timing.candidate(s, out, kernel, options)
  if options.baseline then return baseline_as_is(s, out) end
  local best_ns, source = options.best_times_ns, options.incumbent
  local runs <close> = closing {}
  prepare(s, kernel, runs, options.confirm)
  if best_ns and #best_ns == #s.timed and not options.confirm then
    out.screened = screen(s, out, runs, best_ns, source and incumbent_of(s, source))
  end
  if out.screened then
    look_at_screened(s, out, runs)
  else
    measured(s, out, kernel, runs, options)
    local behind = source and best_ns and math.exp(win.log_ratio(out.shapes, best_ns)) or 0
    if source and behind < contender_ratio then against(s, out, runs, source) end
  end
  out.noise = s.noise
  out.findings = win.findings(out)
  win.decide(out)
  local start = now()
  local facts = count(s, kernel, runs[1].program, options)
  out.seconds.profile = (now() - start) / 1e9
  return facts
end

-- Baseline times, and with them the deadlines of every shape.
function timing.baseline(s)
  for _, room in ipairs(s.rooms) do
    inputs.fill_timed(s, room)
    local n, ns = calibrate(s, room.baseline, room)
    if not n then schema.raise("%s: the baseline, %s: %s", s.task.file, room.label, ns) end
    room.base = { n = n, ns = ns,
                  limit_ns = math.floor(math.max(20 * ns, pace[s.language].late_ns)) }
  end
end

return timing
