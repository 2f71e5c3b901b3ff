-- evaluate/rig.lua - what paired.measure runs on a device: two kernels on the buffers of one room.
local check   = require "kernelband.evaluate.check"
local inputs  = require "kernelband.evaluate.inputs"
local rooms   = require "kernelband.evaluate.room"
local verdict = require "kernelband.evaluate.verdict"

local rig = {}

local secret_seed = verdict.secret_seed

local warm_ns = 5e6             -- of calls before a round's first pair, and after a look
local longest_warm_ns = 2e7     -- one call that takes longer has no need of it

function rig.coin() return secret_seed() % 2 == 0 end

-- One sample: n calls on inputs of which a few elements have just moved, so that an answer kept
-- from an earlier sample is wrong in this one, and found to be so if it is looked at. ns a
-- call | nil, why, code.
function rig.per_call(program, room, n)
  room.buffers:use(n, room.first)
  room.buffers:stir(4, secret_seed())
  room.buffers:poison(secret_seed())
  local ns, why, code = program:launch(n, room.limit_ns * n + 2 * 10 ^ 8 // 1)
  if not ns then return nil, why, code end
  return ns / n
end

-- k of the slots 1 .. n, drawn without replacement; the last call's is among them when last is.
local function draw_slots(n, k, last)
  local all, out = {}, {}
  for i = 1, n do all[i] = i end
  if last then out[1], all[n] = n, nil end
  while #out < k do
    out[#out + 1] = table.remove(all, secret_seed() % #all + 1)
  end
  return out
end

-- Whose fault: the candidate's, or nobody's that an evaluation could name.
local function ended(r, who, why, code)
  if who == "B" then return verdict.died(code, why, r.room.label) end
  error(("%s: the baseline, %s: %s"):format(r.s.task.file, r.room.label, why), 0)
end

local function close_programs(r)
  for _, side in ipairs { r.A, r.B } do
    if side.own then side.own:close() end
    side.own = nil
  end
end

local function warm(r)
  if r.s.machine.fresh_outputs then return nil end      -- a GPU: it makes no difference
  for who in (rig.coin() and "AB" or "BA"):gmatch "." do
    local side = r[who]
    local n = side.ns * side.n <= warm_ns and side.n or side.ns <= longest_warm_ns and 1 or 0
    if n > 0 then
      local ns, why, code = rig.per_call(side.own or side.program, r.room, n)
      if not ns then return ended(r, who, why, code) end
    end
  end
end

-- New processes, where a kernel has one, on other slots: where a kernel's pages lie in memory is
-- worth several per cent on a CPU, to one side more than to the other. A GPU's context stays.
local function begin(r)
  close_programs(r)
  r.room.first = 2 * (secret_seed() % ((r.room.slots + 1) // 2))      -- see kind_of in inputs.lua
  r.room.buffers:use(r.room.slots, r.room.first)
  for who in (rig.coin() and "AB" or "BA"):gmatch "." do
    local side = r[who]
    if not r.s.machine.fresh_outputs then
      local program, why, code = rooms.load(r.s, side.kernel, r.room.buffers, r.room.shape)
      if not program then return ended(r, who, why, code) end
      side.own = program
    end
  end
  inputs.renew(r.s, r.room, math.max(r.A.n, r.B.n))
  return warm(r)
end

local function sample(r, who)
  local side = r[who]
  local ns, why, code = rig.per_call(side.own or side.program, r.room, side.n)
  if not ns then return nil, ended(r, who, why, code) end
  return ns
end

local function look(r, last)
  if r.looks_ns == 0 or secret_seed() / 2 ^ 56 >= r.share then return nil end
  local bad = check.timed_outputs(r.s, r.room, draw_slots(r.used, r.seen))
  if bad then return bad end
  return not last and warm(r) or nil
end

-- One more sample of the candidate, which cannot tell it from the others, as much of it
-- compared as there is time for, its last call always.
local function finish(r)
  if r.looks_ns == 0 then return nil end
  local ns, bad = sample(r, "B")
  if not ns then return bad end
  return check.timed_outputs(r.s, r.room, draw_slots(r.used, r.seen_last, true))
end

-- What a sample of n calls has just left, looked at with the chance that there is time for it: a
-- kernel may be wrong only in calls that nobody takes for timed ones.
function rig.look_back(s, room, n, looks_ns)
  if secret_seed() / 2 ^ 56 >= looks_ns / math.max(room.look_ns or 1e6, 1e3) then return nil end
  return check.timed_outputs(s, room, draw_slots(math.min(n, room.slots), 1))
end

-- a, b: sides, { kernel =, program =, n = calls a sample, ns = about the time of one }. The
-- programs are the caller's; on a CPU every round has its own. pairs_expected: of the whole
-- measurement. looks_ns: time for comparing outputs, half of it for the last sample; 0: none
-- are, for a kernel that is trusted. The caller ends it with close().
function rig.new(s, room, a, b, pairs_expected, looks_ns)
  local function side(of)
    return { kernel = of.kernel, program = of.program, n = of.n, ns = of.ns }
  end
  local r = { s = s, room = room, A = side(a), B = side(b), looks_ns = looks_ns }
  local cost_ns, part_ns = math.max(room.look_ns or 1e6, 1e3), looks_ns / 2
  local eligible = math.max(1, pairs_expected / 2)      -- pairs whose second is B
  r.used = math.min(b.n, room.slots)
  r.seen = math.max(1, math.min(r.used, part_ns / (eligible * cost_ns) // 1))
  r.share = part_ns / (eligible * r.seen * cost_ns)
  r.seen_last = math.max(1, math.min(r.used, part_ns / cost_ns // 1))
  return {
    begin = function() return begin(r) end, sample = function(who) return sample(r, who) end,
    look = function(last) return look(r, last) end, finish = function() return finish(r) end,
    close = function() close_programs(r) end,
  }
end

return rig
