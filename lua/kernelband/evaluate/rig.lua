-- evaluate/rig.lua - what paired.measure runs on a device: two kernels on the buffers of one room.
local core    = require "kernelband.core"
local lists   = require "kernelband.base.lists"
local check   = require "kernelband.evaluate.check"
local inputs  = require "kernelband.evaluate.inputs"
local rooms   = require "kernelband.evaluate.room"
local verdict = require "kernelband.evaluate.verdict"

local rig = {}
rig.__index = rig

local secret_seed, now = verdict.secret_seed, core.system.now_ns

local warm_ns = 5e6             -- of calls before a round's first pair
local longest_warm_ns = 2e7     -- one call that takes longer has no need of it
-- The inputs of a sample are turned where they have at most turned_bytes, which is as much as a
-- processor may learn the branches of; those of a process that lives on, which may have kept
-- answers, also where they have turned_per_ns bytes for each ns of the baseline's sample. Kernels
-- with more are bound by memory: turning takes as long as the sample, and times vary more where
-- inputs were just written.
local turned_bytes, turned_per_ns = 4 << 20, 2

-- After one in stops_one_in of the pairs whose second was B there are so many samples that stop
-- short, and stops_at_end after the last round; for stops_ns at most.
local stops_one_in, stops, stops_at_end, stops_ns = 8, 2, 8, 4e7

local ages, ages_ns = 8, 4e7    -- samples of a process that lives on, and how long they may take

function rig.coin() return secret_seed() % 2 == 0 end

-- Other inputs for n calls, so that what a processor learnt of their branches is of no use, and
-- neither is what a process that lives on kept of earlier samples: it is wrong.
local function stir(room, n, renewed)
  local slots, seed = math.min(n, room.slots), secret_seed()
  local may = math.max(turned_bytes,
                       renewed and 0 or (room.base.ns or 0) * n * turned_per_ns)
  local turned = room.input_bytes * slots <= may
  for slot = 1, slots do
    local kind = room.kinds[(slot + room.first - 1) % room.slots + 1]
    room.buffers:stir(slot, room.pool, room.pool_slot[kind], turned, seed + slot)
  end
end

-- One sample of n calls: ns a call | nil, why, code. renewed, of a program on a CPU: nothing is
-- left of what a kernel kept of earlier samples, and what other calls get is out of reach.
function rig.per_call(program, room, n, renewed)
  local buffers = room.buffers
  buffers:use(n, room.first)
  if renewed then
    local done, why, code = program:renew()     -- it goes on while arrays are filled
    if not done then return nil, why, code end
  end
  stir(room, n, renewed)
  buffers:poison(secret_seed())
  local ns, why, code = program:launch(n, room.base.limit_ns * n + 2 * 10 ^ 8 // 1)
  if not ns then return nil, why, code end
  return ns / n
end

-- k of the slots 1 .. n, drawn without replacement; the last call's is among them when last is.
local function draw_slots(n, k, last)
  local all, out = {}, {}
  for i = 1, n do all[i] = i end
  if last then out[1], all[n] = n, nil end
  while #out < k do out[#out + 1] = table.remove(all, secret_seed() % #all + 1) end
  return out
end

-- What who's launch or load gave. That there is none is the candidate's fault, or nobody's that an
-- evaluation could name.
local function need(r, who, value, ...)
  if value or who == "B" then return verdict.need(r.room.label, value, ...) end
  error(("%s: the baseline, %s: %s"):format(r.s.task.file, r.room.label, (...)), 0)
end

-- Ends the processes of its own.
function rig:close()
  for _, side in ipairs { self.A, self.B } do
    if side.own then side.own:close() end
    side.own = nil
  end
end

local function calls(r, who, n)
  local side = r[who]
  return need(r, who, rig.per_call(side.own or side.program, r.room, n, side.own ~= nil))
end

-- Both sides, in either order.
local function each_side(r, fn)
  for who in (rig.coin() and "AB" or "BA"):gmatch "." do fn(who, r[who]) end
end

local function warm(r)
  if r.s.machine.fresh_outputs then return end          -- a GPU: it makes no difference
  each_side(r, function(who, side)
    local n = side.ns * side.n <= warm_ns and side.n or side.ns <= longest_warm_ns and 1 or 0
    if n > 0 then calls(r, who, n) end
  end)
end

-- New processes, where a kernel has one, on other slots: where a kernel's pages lie in memory is
-- worth several per cent on a CPU, to one side more than to the other. A GPU's context stays.
function rig:begin()
  local s, room = self.s, self.room
  self.began_ns = now()
  self:close()
  room.first = 2 * (secret_seed() % ((room.slots + 1) // 2))    -- see kind_of in inputs.lua
  room.buffers:use(room.slots, room.first)
  if s.machine.fresh_outputs then
    inputs.fill_timed(s, room)
  else
    each_side(self, function(who, side)
      side.own = need(self, who, rooms.load(s, side.kernel, room))
    end)
  end
  warm(self)
end

function rig:sample(who) return calls(self, who, self[who].n) end

local function short_sample(program, room, n)
  local ns, why, code = rig.per_call(program, room, n, true)
  if code == "ECRASH" then
    why = why .. ", where the arrays of later calls could not be used"
  end
  return ns, why, code
end

-- The first calls of a sample, the arrays of the others out of reach: a kernel that works ahead, on
-- what later calls get, dies of it, unless it finds out how many calls there are. One that works
-- one call ahead survives half of such samples, so there are several. A GPU has one slot: no call
-- can find what a later one gets.
local function stop_short(r, times)
  local side, start = r.B, now()
  if not side.own then return end
  for _ = 1, times do
    local n = secret_seed() % side.n
    if n > 0 then need(r, "B", short_sample(side.own, r.room, n)) end
    if now() - start > stops_ns then break end
  end
end

function rig:look()
  if self.looks_ns == 0 then return end
  local looked, short = secret_seed() / 2 ^ 56 < self.share, secret_seed() % stops_one_in == 0
  if looked then check.timed_outputs(self.s, self.room, draw_slots(self.used, self.seen)) end
  if short then stop_short(self, stops) end
end

-- More samples of a process that lives on, where a kernel that goes wrong later does so; outputs of
-- one of them and of the last are compared.
local function grow_old(r)
  local side, start = r.B, now()
  if not side.own then return end
  local drawn = secret_seed() % (ages - 1) + 1
  for age = 1, ages do
    local late = now() - start > ages_ns
    need(r, "B", rig.per_call(side.program, r.room, side.n))
    if age == drawn or age == ages or late then
      check.timed_outputs(r.s, r.room, draw_slots(r.used, r.seen_old, true))
    end
    if late then break end
  end
end

-- One more sample of the candidate, which cannot tell it from the others, as much of it
-- compared as there is time for, its last call always. Then samples that stop short, and older
-- ones; aged: not those, which another measurement of this candidate had.
function rig:finish()
  if self.looks_ns == 0 then return end
  self:sample "B"
  check.timed_outputs(self.s, self.room, draw_slots(self.used, self.seen_last, true))
  if self.aged then return end
  stop_short(self, stops_at_end)
  grow_old(self)
end

-- How long a look takes, about.
local function cost_of(room) return math.max(room.look_ns or 1e6, 1e3) end

-- What a sample of n calls has just left, looked at with the chance that there is time for it.
function rig.look_back(s, room, n, looks_ns)
  if secret_seed() / 2 ^ 56 >= looks_ns / cost_of(room) then return end
  check.timed_outputs(s, room, draw_slots(math.min(n, room.slots), 1))
end

-- a, b: sides, { kernel =, program =, n = calls a sample, ns = about the time of one }. The
-- programs are the caller's; on a CPU every round has its own. pairs_expected: of the whole
-- measurement. looks_ns: time for comparing outputs, half of it for the last sample (a quarter
-- more is for a process that lives on); 0: none are, for a kernel that is trusted. The caller ends
-- it with close().
function rig.new(s, room, a, b, pairs_expected, looks_ns)
  local r = { s = s, room = room, A = lists.with(a), B = lists.with(b), looks_ns = looks_ns }
  local cost_ns, part_ns = cost_of(room), looks_ns / 2
  local eligible = math.max(1, pairs_expected / 2)      -- pairs whose second is B
  r.used = math.min(b.n, room.slots)
  r.seen = math.max(1, math.min(r.used, part_ns / (eligible * cost_ns) // 1))
  r.share = part_ns / (eligible * r.seen * cost_ns)
  r.seen_last = math.max(1, math.min(r.used, part_ns / cost_ns // 1))
  r.seen_old = math.max(1, r.seen_last // 4)
  return setmetatable(r, rig)
end

return rig
