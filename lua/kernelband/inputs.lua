-- inputs.lua - what kernels are given: draws from several distributions, each one
-- from a seed of the system's that nobody knew before, and everyone may after.
local verdict = require "kernelband.verdict"

local inputs = {}

-- See core/measure/tensor.h. The first is the plainest.
inputs.distributions = { "normal", "wide", "uniform", "lognormal", "spikes", "ties",
                         "integers", "denormal" }

-- One slot's inputs, all from one seed, so that an evaluation can be repeated
-- from what it tells. In-out arrays are those of slot 1 in every slot.
local function fill_slot(s, room, distribution, seed, slot)
  for i, a in ipairs(s.task.args) do
    if a.mode == "in" or (a.mode == "inout" and slot == 1) then
      room.buffers:fill(i, distribution, seed + i * 0x9e3779b97f4a7c15, room.below[i], slot)
    end
  end
end

-- What has been drawn is told in the evaluation, afterwards.
local function note(s, room, distribution, seed)
  if not s.drawn then return end
  s.drawn[#s.drawn + 1] = { shape = room.label, role = room.role, distribution = distribution,
                            seed = ("%014x"):format(seed) }
end

-- Contents for every input of slot 1; a new seed unless one is given.
function inputs.fill(s, room, distribution, seed)
  seed = seed or verdict.secret_seed()
  note(s, room, distribution, seed)
  fill_slot(s, room, distribution, seed, 1)
  room.kinds = { distribution }
  room.buffers:keep()
end

-- Which distribution a slot of timed inputs has: every other one normal, the
-- rest in turn, so that samples of any length meet about the same mixture.
-- Denormals are checked and not timed: they make any kernel slow at random.
local function kind_of(s, seed, slot)
  local legal = s.timed_kinds
  if (seed + slot) % 2 == 0 then return legal[1] end
  return legal[((seed >> 8) + slot // 2) % #legal + 1]
end

-- Contents for every slot, no two alike.
function inputs.fill_timed(s, room, seed)
  seed = seed or verdict.secret_seed()
  note(s, room, "mixture", seed)
  room.kinds = {}
  for slot = 1, room.slots do
    room.kinds[slot] = kind_of(s, seed, slot)
    fill_slot(s, room, room.kinds[slot], seed + slot * 0x632be59bd9b4e019, slot)
  end
  room.buffers:keep()
end

-- Other contents for a block of samples that uses the first n slots: a new draw
-- where that is quick, else the old ones turned by a random distance.
function inputs.renew(s, room, n)
  if s.machine.fresh_outputs then return inputs.fill_timed(s, room) end
  local used = math.min(n, room.slots)
  for _, input in ipairs(room.inputs) do
    for slot = 1, used do
      room.buffers:turn(input.arg, verdict.secret_seed() % input.count, slot)
    end
  end
end

-- The distributions that timed inputs are drawn from, the plainest first.
function inputs.timed_kinds(t)
  local out = {}
  for _, name in ipairs(t.distributions or inputs.distributions) do
    if name ~= "denormal" then out[#out + 1] = name end
  end
  return #out > 0 and out or { t.distributions[1] }
end

return inputs
