-- evaluate/inputs.lua - what kernels are given: draws from several distributions, each one
-- from a seed of the system's that nobody knew before, and everyone may after.
local lists   = require "kernelband.base.lists"
local rooms   = require "kernelband.evaluate.room"
local task    = require "kernelband.task"
local verdict = require "kernelband.evaluate.verdict"

local inputs = {}

local pool_count = 1 << 15      -- elements: a process sees few of them again
local slow_answer = 2e7         -- flops or bytes: some 10 ms for a plain reference

-- One slot's inputs, in-out arrays among them, all from one seed, so that an evaluation can be
-- repeated from what it tells.
local function fill_slot(room, buffers, distribution, seed, slot)
  for _, i in ipairs(room.inputs) do
    local below = room.arguments[i].below
    buffers:fill(i, distribution, seed + i * 0x9e3779b97f4a7c15, below, slot)
  end
end

-- What is drawn is told in the evaluation, afterwards. Slot 1 is the first again, wherever the last
-- round of samples began.
local function begin(s, room, distribution, seed)
  s.drawn[#s.drawn + 1] = { shape = room.label, role = room.role, distribution = distribution,
                            seed = ("%014x"):format(seed) }
  room.first, room.kinds = 0, {}
  room.buffers:use(room.slots)
end

-- Contents for every input of slot 1; a new seed unless one is given.
function inputs.fill(s, room, distribution, seed)
  seed = seed or verdict.secret_seed()
  begin(s, room, distribution, seed)
  fill_slot(room, room.buffers, distribution, seed, 1)
  room.kinds[1] = distribution
end

-- Which distribution a slot of timed inputs has: every other one the plainest, the rest in turn.
-- It follows from the slot alone: two evaluations, on other draws, are timed on the same mixture.
local function kind_of(s, slot)
  local kinds = s.timed_kinds
  return slot % 2 == 1 and kinds[1] or kinds[slot // 2 % #kinds + 1]
end

-- Draws of every timed distribution, a slot each: samples take new elements from there.
local function fill_pool(s, room, seed)
  local kinds = s.machine.fresh_outputs and { s.timed_kinds[1] } or s.timed_kinds
  room.pool = room.pool or rooms.pool(s, room, #kinds, pool_count)
  room.pool_slot = lists.places(kinds)
  for slot, kind in ipairs(kinds) do fill_slot(room, room.pool, kind, seed - slot, slot) end
end

-- Contents for every slot, no two alike, and for the pool. On a CPU they stay for a session, as no
-- kernel can write to them and every sample changes them: the next call fills the first slot
-- alone, which checks have used. anew: every call fills them all.
function inputs.fill_timed(s, room, anew)
  local stay = room.mixture and not anew and not s.machine.fresh_outputs
  room.mixture = stay and room.mixture or verdict.secret_seed()
  begin(s, room, "mixture", room.mixture)
  for slot = 1, room.slots do
    room.kinds[slot] = kind_of(s, slot)
    if slot == 1 or not stay then
      fill_slot(room, room.buffers, room.kinds[slot],
                room.mixture + slot * 0x632be59bd9b4e019, slot)
    end
  end
  if not stay then fill_pool(s, room, room.mixture) end
end

-- The distributions that timed inputs are drawn from, the plainest first: those that may take
-- a processor many times as long, because they are denormal or the answers to them are, are
-- checked and not timed. expect(room) makes the answer. A room whose answers take long, by work()
-- and not by the clock, is asked about the plainest alone: those of other rooms say the rest. On a
-- GPU denormal numbers take no longer.
function inputs.choose_timed(s, expect)
  local legal = s.task.distributions or task.distributions

  local function steady_in(room, name)
    local work = s.task.work(room.shape)
    if name ~= legal[1] and math.max(work.flops, work.bytes) >= slow_answer then return true end
    inputs.fill(s, room, name)
    expect(room)
    return not lists.find(room.outputs, function(arg)
      return (room.expected:denormals(arg, s.task.args[arg].dtype) or 0) > 0
    end)
  end

  local kinds = lists.collect(legal, function(name)
    local unsteady = name == "denormal" or not s.machine.fresh_outputs
                     and lists.find(s.rooms, function(room) return not steady_in(room, name) end)
    return not unsteady and name
  end)
  s.steady = lists.places(kinds)
  s.timed_kinds = #kinds > 0 and kinds or { legal[1] }
end

return inputs
