-- evaluate/check.lua - is a candidate right? Every element, on every shape of the task,
-- against a float64 answer made after the candidate ran.
--
-- The bound is that of core/measure/tensor.h: it grows with the number of
-- terms summed into an element, and knows the dtype. What is beyond it is right
-- all the same where answers to inputs a few roundings away are as far off: exp of a
-- large difference, say. Beside the bound stand the RMS
-- error against the baseline's (a lower precision is thousands of times off),
-- untouched red zones, no poison left, and a second run on other poison that
-- must give the same bits.
local lists   = require "kernelband.base.lists"
local core    = require "kernelband.core"
local inputs  = require "kernelband.evaluate.inputs"
local rooms   = require "kernelband.evaluate.room"
local schema  = require "kernelband.base.schema"
local task    = require "kernelband.task"
local verdict = require "kernelband.evaluate.verdict"

local check = {}

local drawn_of = { held_out = 2, timed = 1 }

local fail, secret_seed = verdict.fail, verdict.secret_seed
-- Of a few errors one can be 0 by luck; flops or bytes, by the task, of the draws that make them
-- more.
local least_for_rms, most_work = 32, 2 ^ 28
local orders = 3                        -- more runs of a kernel whose bits differ
-- Answers to inputs near by: how many, by how many roundings at most an input moves, and how
-- many times what the answer moves by, on the average for a move of one, a limit grows. What is
-- off after the first row has the second, in which two moves seldom cancel in each answer; a
-- kernel of several steps loses a few roundings in each.
local nearby = { { answers = 8, most = 1, times = 2 }, { answers = 24, most = 8, times = 8 } }
-- After the first row an answer that is so many limits off is not looked at again, unless few of
-- its elements are off: for 1 element in 128 all eight answers move by the same.
local hopeless, cancel = 1000, { few = 8, share = 1 / 32 }

-- nudged: these inputs are taken 1 to most roundings away.
local function answer(s, room, slot, buffers, program, nudged, most)
  buffers:poison(secret_seed())
  buffers:take(room.buffers, slot)
  for _, i in ipairs(nudged or {}) do
    buffers:nudge(i, s.task.args[i].dtype, most, secret_seed())
  end
  if buffers == room.scale then
    for _, arg in ipairs(room.absolute) do buffers:absolute(arg) end
  end
  local limit_s = room.role == "smoke" and rooms.patience_s or 60
  local ok, why, code = program:run(limit_s * 10 ^ 9 // 1)
  if not ok then
    schema.raise("%s: the reference, on %s: %s", s.task.reference[s.language], room.label,
                 code == "ETIME" and ("did not return in %d s"):format(limit_s) or why)
  end
end

-- Makes the expected answer for the inputs now in a slot of the room, and its
-- scale.
function check.expect(s, room, slot)
  answer(s, room, slot, room.expected, room.reference)
  if room.scale then answer(s, room, slot, room.scale, room.scale_reference) end
end

-- What a verdict says where answers that might have excused a candidate could not be had.
local function unasked(lacks)
  return lacks and ("; answers to inputs a rounding away, which might excuse that, could not be "
                    .. "had: %s"):format(lacks) or ""
end

local function refuse_wrong(room, a, r, distribution)
  local name = a.name
  if r.poison_left > 0 then
    fail("wrong", "%s: %d of %d elements never written, first %s[%d] (%s inputs)",
         room.label, r.poison_left, r.n, name, r.first_bad, distribution)
  end
  if a.dtype == "i64" and math.abs(r.want) >= 2 ^ 53 then
    fail("wrong", "%s: %d of %d elements wrong, first %s[%d]: expected %.0f, and a float64 answer "
         .. "has not every integer beyond 2^53: let the task return the halves of such numbers as "
         .. "i32 (%s inputs)", room.label, r.bad, r.n, name, r.first_bad, r.want, distribution)
  end
  fail("wrong", "%s: %d of %d elements wrong, first %s[%d] = %.9g, expected %.9g +- %.3g, off by "
       .. "%.3g (%s inputs)%s", room.label, r.bad, r.n, name, r.first_bad, r.got, r.want, r.limit,
       math.abs(r.got - r.want), distribution, unasked(r.lacks))
end

-- A reference that leaves elements as they were writes too few, or another type than double:
-- the task cannot be judged by it.
local function refuse_unwritten(s, room, arg)
  local name, entry = s.task.args[arg].name, s.task.name
  local r = room.expected:compare(arg, 1, room.expected, nil, { reduction = 1 })
  if r.poison_left == 0 then return end
  schema.raise("%s: the reference, on %s, left %d of %d elements of %s unwritten: expected all of "
    .. "them%s", s.task.reference[s.language], room.label, r.poison_left, r.n, name,
    s.reference_wide and (", as double (double *%s in %s_f64)"):format(name, entry) or "")
end

-- Equal terms are all rounded the same way, and the square root in the bound
-- stands for roundings that differ: where values repeat, the bound is K u. So it is
-- where one term may be all of a sum and each of the others is lost to it (softmax
-- with spikes in a row), unless the error scale says how large the terms are.
local repeats = { ties = true, integers = true, denormal = true }
local dominates = { spikes = true, wide = true, lognormal = true }

local function bound(s, room, distribution)
  local own = s.atomics and room.bound_of_atomics or room.bound
  local k = own.reduction
  if repeats[distribution] or dominates[distribution] and not room.scale then
    k = math.max(k, (k / 8) ^ 2)
  end
  return lists.with(own, { reduction = k })
end

-- The buffers for answers to inputs near by, or nil, why; nil alone for an output that is not of
-- floats, or where no input may be moved by a rounding.
local function near_of(s, room, arg)
  local rounded = s.task.args[arg].dtype:find "f" and s.reference_wide
  if not rounded or #task.nudged(s.task) == 0 then return nil end
  return rooms.near(s, room)
end

-- An output with elements beyond the bound, r, once more under a wider one: its limits grow by
-- what the answer moves by when each input moves by a few roundings. An error so
-- small is that of a kernel which is exact on inputs next to those it was given (backward error:
-- Higham, sec. 1.5), and the bound of a sum does not know how much an answer hangs on its inputs.
-- One such answer is held against the one before: where an answer jumps at the very input that was
-- given (at the ones of a mask) those near by agree, and nothing more is allowed.
local function among_nearby(s, room, slot, arg, r, b)
  local a, nudged = s.task.args[arg], task.nudged(s.task)
  if b.exact or r.nan_mismatch + r.poison_left > 0 then return r end
  local near, lacks = near_of(s, room, arg)
  r.lacks = lacks
  if not near then return r end
  local again
  for _, by in ipairs(nearby) do
    local times = by.times / (by.answers - 1) / ((by.most + 1) / 2)
    near.spread:spread(arg, room.expected, room.expected, b, a.dtype, 0,
                       room.scale or room.expected)
    for k = 1, by.answers do
      local one, before = near[k % 2 + 1], near[(k + 1) % 2 + 1]
      answer(s, room, slot, one.buffers, one.reference, nudged, by.most)
      if k > 1 then near.spread:spread(arg, before.buffers, one.buffers, b, a.dtype, times) end
    end
    again = room.buffers:compare(arg, slot, room.expected, near.spread, b)
    local many = again.bad > cancel.few + again.n * cancel.share
    if again.bad == 0 or again.max_excess > hopeless and many then break end
  end
  if again.bad == 0 and not s.told_of_near then
    s.told_of_near = true               -- the first is enough
    s.warnings[#s.warnings + 1] = ("%s: %d of %d elements of %s are off by more than sums are "
      .. "rounded by, but by no more than the answer to inputs a few roundings away is"):format(
      room.label, r.bad, r.n, a.name)
  end
  return again
end

-- The outputs of a slot against the expected answer. Returns the sums of the errors of each.
function check.compare(s, room, slot, distribution)
  local totals = {}
  for k, arg in ipairs(room.outputs) do
    local b = bound(s, room, distribution)
    local r = room.buffers:compare(arg, slot, room.expected, room.scale, b)
    if r.bad > 0 then r = among_nearby(s, room, slot, arg, r, b) end
    if r.bad > 0 and s.judging_baseline then refuse_unwritten(s, room, arg) end
    if r.bad > 0 then refuse_wrong(room, s.task.args[arg], r, distribution) end
    totals[k] = { err_ss = r.err_ss, ref_ss = r.ref_ss, n = r.n }
  end
  return totals
end

local function refuse_damage(s, room)
  local a = s.task.args[room.buffers:damaged()]
  if not a then return end
  fail("wrong", a.mode == "in" and "%s: wrote to its input %s, or beside it"
       or "%s: wrote outside its output %s", room.label, a.name)
end

-- One run on fresh poison.
function check.run(s, room, program)
  room.buffers:use(1)
  room.buffers:poison(secret_seed())
  -- The baseline is trusted: when it is late, the machine is. Denormal numbers may take a
  -- processor a hundred times as long as those that the limit is made from.
  local patient = program == room.baseline or s.judging_baseline or not s.steady[room.kinds[1]]
  local limit_ns = room.base.limit_ns * (patient and 10 or 1)
  verdict.need(room.label, program:launch(1, limit_ns)) -- as when it is timed: it cannot tell
  refuse_damage(s, room)
end

-- So many runs on the same inputs: do all of them leave the same bits?
function check.repeats(s, room, program, times)
  local first, same = nil, true
  for _ = 1, times do
    check.run(s, room, program)
    local digest = room.buffers:digest()
    first = first or digest
    same = same and digest == first
  end
  return same
end

local function relative(totals)
  return math.sqrt(totals.err_ss) / math.max(math.sqrt(totals.ref_ss), 5e-324)
end

-- How large the errors of each output are, as a share of its size, 0 where they say nothing
-- about precision; nil where none does. The floor is half a rounding of the output, or of the sums
-- that the task allows; in float64, where the reference is rounded as much, sixteen times that.
function check.share(s, room, totals)
  if s.task.exact then return nil end
  local some = false
  local shares = lists.collect(totals, function(t, k)
    local dtype = s.task.args[room.outputs[k]].dtype
    local of = core.bound(dtype, { accumulate = s.task.accumulate })
    local u = s.task.accumulate and math.max(of.u_out, of.u_acc) or of.u_out
    if u == 0 then u = 2 ^ -24 end      -- integers
    if t.n < least_for_rms then return 0 end
    some = true
    return math.max(relative(t), dtype == "f64" and 8 * u or u / 2)
  end)
  return some and shares or nil
end

-- What an output moves by for inputs a rounding away, as a share of its size; 0, why where that is
-- not to be had. Of pairs of answers to inputs 1 to 8 roundings away: what two differ by has twice
-- the square of a move, and a move the mean square of 1 to 8. One element may be most of it all,
-- and a pair may move it by the same: several tell.
local pairs_of_answers, roundings, mean_square = 4, 8, 25.5
local function moved(s, room, slot, arg)
  local near, lacks = near_of(s, room, arg)
  if not near then return 0, lacks end
  local sum = { err_ss = 0, ref_ss = 0 }
  for _ = 1, pairs_of_answers do
    for _, one in ipairs(near) do
      answer(s, room, slot, one.buffers, one.reference, task.nudged(s.task), roundings)
    end
    local r = near[1].buffers:compare(arg, 1, near[2].buffers, nil, { reduction = 1 })
    sum = { err_ss = sum.err_ss + r.err_ss, ref_ss = sum.ref_ss + r.ref_ss }
  end
  return relative(sum) / math.sqrt(2 * mean_square)
end

-- Error of the baseline on inputs of the same kind, base_share, bounds that of the candidate.
-- A baseline that sums in float64 is at the floor, and an honest float32 sum of
-- K terms may be sqrt(K) above it (Higham, sec. 4.2); bf16 is thousands above. Where a function is
-- steep a quarter of what a rounding of the inputs moves it by is a baseline's error, too.
function check.refuse_coarse(s, room, slot, mine, base_share)
  local limit = math.max(8, math.sqrt(room.bound.reduction))
  for k, t in ipairs(mine) do
    local share, arg = base_share[k], room.outputs[k]
    if share > 0 and relative(t) > limit * share then
      local move, lacks = moved(s, room, slot, arg)
      share = math.max(share, move / 4)
      if relative(t) > limit * share then
        fail("wrong", "%s: the RMS error of %s is %.3g times that of the baseline (limit %.3g): "
             .. "was it computed in a lower precision?%s", room.label, s.task.args[arg].name,
             relative(t) / share, limit, unasked(lacks))
      end
    end
  end
end

local function add(sums, more)
  for k, t in ipairs(more) do
    local sum = sums[k] or { err_ss = 0, ref_ss = 0, n = 0 }
    for name, v in pairs(sum) do sum[name] = v + t[name] end
    sums[k] = sum
  end
end

-- Errors of the candidate, those of the draw at hand, beside the baseline's: of further draws where
-- outputs have few elements, unless those are too much work.
local function precision(s, room, program, distribution, mine)
  if s.task.exact then return end
  local base, work = {}, s.task.work(room.shape)
  local few = lists.best(mine, function(t) return -t.n end)
  local wanted = math.ceil(least_for_rms / few.n)
  for k = 1, wanted * math.max(work.flops, work.bytes) > most_work and 1 or wanted do
    if k > 1 then
      inputs.fill(s, room, distribution)
      check.run(s, room, program)
      check.expect(s, room, 1)
      add(mine, check.compare(s, room, 1, distribution))
    end
    verdict.of_baseline(s, check.run, s, room, room.baseline)
    local _, totals = verdict.try(check.compare, s, room, 1, distribution)
    if not totals then return end
    add(base, totals)
  end
  local share = check.share(s, room, base)
  if not share then return end
  verdict.ran(s, "RMS error against the baseline's")
  check.refuse_coarse(s, room, 1, mine, share)
end

-- The draws of a room: { distribution =, seed = or nil }. An evaluation that is
-- repeated starts with the draws it had, and adds its own.
local function draws(s, room)
  local out = lists.collect(s.again or {}, function(d)
    return d.role == room.role and d.shape == room.label and d.distribution ~= "mixture"
           and { distribution = d.distribution, seed = tonumber(d.seed, 16) }
  end)
  local wanted, legal = drawn_of[room.role], s.task.distributions or task.distributions
  local left = table.move(legal, 1, #legal, 1, {})
  for i = 1, math.min(wanted or #legal, #legal) do
    local first = not wanted or (i == 1 and (wanted > 1 or s.judging_baseline))
    local k = first and 1 or secret_seed() % #left + 1
    out[#out + 1] = { distribution = table.remove(left, k) }
  end
  -- Timed calls have no denormal inputs, so one untimed call of each timed shape has.
  if room.role == "timed" and not s.judging_baseline and lists.places(left).denormal then
    out[#out + 1] = { distribution = "denormal" }
  end
  return out
end

-- Sums by atomics are right in any order and have other bits each time: every run of such a
-- kernel must be within the bound. The answer to one draw is on the device while a kernel runs, so
-- each further run has inputs of its own.
local function in_any_order(s, room, program, distribution)
  for _ = 1, orders do
    inputs.fill(s, room, distribution)
    check.run(s, room, program)
    check.expect(s, room, 1)
    check.compare(s, room, 1, distribution)
  end
  s.warnings[#s.warnings + 1] = "two runs on the same inputs differ in their last bits, as sums "
    .. "in another order do: each was within the bound"
end

local function one_draw(s, room, program, draw, twice)
  local distribution = draw.distribution
  inputs.fill(s, room, distribution, draw.seed)
  local same = check.repeats(s, room, program, 1 + (twice and (s.strict and 10 or 1) or 0))
  if twice then
    verdict.ran(s, s.strict and "ten more runs, bit for bit" or "a second run, bit for bit")
  end
  local start = core.system.now_ns()
  check.expect(s, room, 1)
  local totals = check.compare(s, room, 1, distribution)
  room.look_ns = core.system.now_ns() - start
  if not same and s.language == "cuda" and s.task.reduction then
    in_any_order(s, room, program, distribution)
  elseif not same then
    fail("wrong", "%s: two runs on the same inputs differ: it reads memory it did not write, or "
         .. "keeps state", room.label)
  end
  if distribution ~= s.timed_kinds[1] then return end
  if room.role == "held_out" then
    precision(s, room, program, distribution, totals)
  elseif room.role == "timed" and s.judging_baseline then
    room.base.base_share = check.share(s, room, totals)
  end
end

-- All checks of one shape, in a process of their own.
function check.room(s, room, kernel)
  local program <close> = verdict.need("loading", rooms.load(s, kernel, room))
  for i, draw in ipairs(draws(s, room)) do
    one_draw(s, room, program, draw, i == 1 and (room.role ~= "timed" or s.strict))
  end
  verdict.ran(s, ("every element of %s shapes"):format(room.role:gsub("_", "-")))
end

-- After a timed sample: the outputs that it left in these slots. Keeps in room.look_ns how
-- long one of them takes.
function check.timed_outputs(s, room, slots)
  local start = core.system.now_ns()
  refuse_damage(s, room)
  for _, slot in ipairs(slots) do
    local kind = room.kinds[(slot + room.first - 1) % room.slots + 1]
    check.expect(s, room, slot)
    local totals = check.compare(s, room, slot, kind)
    local shares = room.base.base_share     -- older runs have one number for all outputs
    if type(shares) == "table" and kind == s.timed_kinds[1] then
      verdict.ran(s, "RMS error of timed outputs")
      check.refuse_coarse(s, room, slot, totals, shares)
    end
  end
  verdict.ran(s, "outputs of timed calls")
  room.look_ns = (core.system.now_ns() - start) / #slots
end

return check
