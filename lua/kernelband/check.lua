-- check.lua - is a candidate right? Every element, on every shape of the task,
-- against a float64 answer made after the candidate ran.
--
-- The bound is that of core/measure/tensor.h: it grows with the number of
-- terms summed into an element, and knows the dtype. Beside it stand the RMS
-- error against the baseline's (a lower precision is thousands of times off),
-- untouched red zones, no poison left, and a second run on other poison that
-- must give the same bits.
local core    = require "kernelband.core"
local verdict = require "kernelband.verdict"

local check = {}

check.distributions = { "normal", "wide", "uniform", "lognormal", "spikes", "ties",
                        "integers", "denormal" }
local roundoff = { f64 = 2 ^ -53, f16 = 2 ^ -11, bf16 = 2 ^ -8 }
local drawn_of = { held_out = 2, timed = 1 }

local fail, secret_seed = verdict.fail, verdict.secret_seed

-- A list whose programs are stopped when the block that made it ends.
function check.closing(list)
  return setmetatable(list, { __close = function(t)
    for _, item in ipairs(t) do item.program:close() end
  end })
end

-- Is the error scale the reference on absolute inputs? A task may say; without
-- a word, sums have it and element-wise work has not.
function check.needs_scale(t)
  if t.exact then return false end
  if t.scale then return t.scale == "absolute" end
  return t.reduction ~= nil
end

local function answer(s, room, slot, buffers, program)
  buffers:poison(secret_seed())
  buffers:take(room.buffers, slot)
  if buffers == room.scale then
    for _, arg in ipairs(room.absolute) do buffers:absolute(arg) end
  end
  local ns, why = program:launch(1, 60 * 10 ^ 9 // 1)
  if not ns then
    error(("%s: the reference, %s: %s"):format(s.task.file, room.label, why), 0)
  end
end

-- Makes the expected answer for the inputs now in a slot of the room, and its
-- scale.
local function expect(s, room, slot)
  answer(s, room, slot, room.expected, room.reference)
  if room.scale then answer(s, room, slot, room.scale, room.scale_reference) end
end

local function explain(s, room, arg, r, distribution)
  local name = s.task.args[arg].name
  if r.poison_left > 0 then
    return ("%s: %d of %d elements never written, first %s[%d] (%s inputs)")
           :format(room.label, r.poison_left, r.n, name, r.first_bad, distribution)
  end
  return ("%s: %d of %d elements wrong, first %s[%d] = %.9g, expected %.9g +- %.3g (%s inputs)")
         :format(room.label, r.bad, r.n, name, r.first_bad, r.got, r.want, r.limit, distribution)
end

-- Equal terms are all rounded the same way, and the square root in the bound
-- stands for roundings that differ: where values repeat, the bound is K u.
local repeats = { ties = true, integers = true, denormal = true }

local function bound(s, room, distribution)
  local k = room.reduction
  if repeats[distribution] then k = math.max(k, (k / 8) ^ 2) end
  return { reduction = k, exact = s.task.exact, tolerance = s.task.tolerance,
           accumulate = s.task.accumulate }
end

-- The outputs of a slot against the expected answer; nil when they are right.
local function compare(s, room, slot, distribution)
  local totals = { err_ss = 0, ref_ss = 0, n = 0 }
  for _, arg in ipairs(room.outputs) do
    local r = room.buffers:compare(arg, slot, room.expected, room.scale,
                                   bound(s, room, distribution))
    if r.bad > 0 then return fail("wrong", "%s", explain(s, room, arg, r, distribution)) end
    totals.err_ss = totals.err_ss + r.err_ss
    totals.ref_ss = totals.ref_ss + r.ref_ss
    totals.n = totals.n + r.n
  end
  return nil, totals
end

local function damaged(s, room)
  local arg = room.buffers:damaged()
  if arg then
    local a = s.task.args[arg]
    return fail("wrong", a.mode == "in" and "%s: wrote to its input %s, or beside it"
                or "%s: wrote outside its output %s", room.label, a.name)
  end
end

-- One run on fresh poison. Returns nil, or what is wrong.
local function run(s, room, program)
  room.buffers:poison(secret_seed())
  local ns, why, code = program:launch(1, room.limit_ns)
  if not ns then
    return verdict.died(code, why, room.label)
  end
  return damaged(s, room)
end

-- Error of the baseline on the same inputs bounds that of the candidate. The
-- floor is half a rounding of the outputs, as in kb_tensor_rms_ratio. A baseline
-- that sums in float64 is at that floor, and an honest float32 sum of K terms
-- may be sqrt(K) above it (Higham, sec. 4.2); bf16 is thousands above.
local function precision(s, room, mine)
  if mine.n < 32 then return nil end    -- of a few errors one can be 0 by luck
  local bad = run(s, room, room.baseline)
  if bad then error(("%s: the baseline: %s"):format(s.task.file, bad.reason), 0) end
  local _, base = compare(s, room, 1, "")
  if not base then return nil end
  local u = roundoff[s.task.args[room.outputs[1]].dtype] or 2 ^ -24
  local floor = u / 2 * math.sqrt(base.ref_ss)
  local ratio = math.sqrt(mine.err_ss) / math.max(math.sqrt(base.err_ss), floor, 5e-324)
  local limit = math.max(8, math.sqrt(room.reduction))
  if ratio > limit then
    return fail("wrong", "%s: its RMS error is %.3g times that of the baseline (limit %.3g): "
                .. "was it computed in a lower precision?", room.label, ratio, limit)
  end
end

local function distributions(s, room)
  local wanted, legal = drawn_of[room.role], s.task.distributions or check.distributions
  if not wanted then return legal end
  local drawn, left = { "normal" }, table.move(legal, 1, #legal, 1, {})
  for i = 2, wanted do
    local k = secret_seed() % #left + 1
    drawn[i] = table.remove(left, k)
  end
  if wanted == 1 then drawn[1] = legal[secret_seed() % #legal + 1] end
  return drawn
end

local function one_distribution(s, room, program, distribution, twice)
  for i, a in ipairs(s.task.args) do
    if a.mode == "in" or a.mode == "inout" then
      room.buffers:fill(i, distribution, secret_seed(), room.below[i])
    end
  end
  room.buffers:keep()
  local bad = run(s, room, program)
  if bad then return bad end
  local digest = room.buffers:digest()
  bad = twice and run(s, room, program)
  if bad then return bad end
  local differs = room.buffers:digest() ~= digest
  expect(s, room, 1)
  local wrong, totals = compare(s, room, 1, distribution)
  if wrong then return wrong end
  if differs then
    return fail("wrong", "%s: two runs on the same inputs differ: it reads memory it did "
                .. "not write, or keeps state", room.label)
  end
  if room.role == "held_out" and distribution == "normal" and not s.task.exact then
    return precision(s, room, totals)
  end
end

-- All checks of one shape, in a process of their own.
function check.room(s, room, load)
  local program, why, code = load()
  if not program then
    return verdict.died(code, why, "loading")
  end
  local _ <close> = program
  for i, distribution in ipairs(distributions(s, room)) do
    local bad = one_distribution(s, room, program, distribution, i == 1 and room.role ~= "timed")
    if bad then return bad end
  end
end

-- After a timed batch of n calls: the outputs it left behind. Keeps in
-- room.look_ns how long that took.
function check.timed_outputs(s, room, n)
  local start = core.system.now_ns()
  local bad = damaged(s, room)
  if bad then return bad end
  local used = math.min(n, room.slots)
  local any, last = secret_seed() % used + 1, (n - 1) % room.slots + 1
  for i, slot in ipairs { last, any } do
    if i == 1 or slot ~= last then
      expect(s, room, slot)
      bad = compare(s, room, slot, "timed")
      if bad then return bad end
    end
  end
  room.look_ns = core.system.now_ns() - start
end

return check
