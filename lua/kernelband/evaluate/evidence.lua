-- evaluate/evidence.lua - what is honestly known about a kernel on the CPU: its times
-- against work() and this machine's measured roofs, the instruction mix of the
-- built object's inner loops, and hardware counters where there are any.
--
-- Each feature has a kind: "measured" (a clock or a counter said so),
-- "derived" (follows from measurements, from work() or from the object), or
-- "missing" (0, and to be ignored). On a CPU the paper's GPU features read:
--
--   phi  l2_hit                1 - cache misses / references (counters)
--        mem_bw                compulsory bytes / time / measured bandwidth of
--                              the level that holds them
--        sm_util               flops / time / measured FMA peak of one core
--        warp_eff              SIMD lanes in use, of the widest possible
--        achieved_occupancy    instructions a cycle / 4 (counters)
--        reg_per_thread        vector registers named in inner loops / 32
--        shared_conflicts      stack accesses among memory accesses: spills
--        load_store_coalesced  contiguous vector accesses among all
--        tensor_core_util      fused multiply-adds among flop instructions
--   rho  log_time, log_footprint, intensity, block_x (lanes), block_y (flop
--        instructions an inner loop: its unrolling), occupancy (as above)
--   h    sm, dram as above; l2: bytes the inner loops load a flop, times
--        flops / time, against measured L1 bandwidth. Percent.
--   signature (v2)  T / T0, registers, stack frame, lanes, occupancy
--   hot  the innermost loop a turn of which costs most (hot_loop.lua)
--   remarks  what the compiler told of its loops (remarks.lua)
local admission = require "kernelband.evaluate.admission"
local finite    = require("kernelband.base.text").finite
local hot_loop  = require "kernelband.evaluate.hot_loop"
local remarks   = require "kernelband.evaluate.remarks"
local verdict   = require "kernelband.evaluate.verdict"

local evidence = {}

-- Reading the object ----------------------------------------------------------

local flop_names = { add = true, sub = true, mul = true, div = true, sqrt = true,
                     max = true, min = true }

-- What an instruction of the disassembly adds to the counts of a mix. AT&T order: the destination
-- comes last.
local function classify(op, operands)
  local out = {}
  local base, kind = op:match "^v?(%a+)([ps][sd])$"
  if not base then base, kind = op:match "^v?(%a+%d+)([ps][sd])$" end
  local width = operands:find "%%zmm" and 16 or operands:find "%%ymm" and 8 or 4
  if kind and kind:sub(2) == "d" then width = width // 2 end
  if base and (flop_names[base] or base:match "^fn?m[as][du][db]%a*%d+$") then
    out.fma = base:match "^fn?m" and 1 or 0
    out.flops, out.lanes = 1, kind:sub(1, 1) == "p" and width or 1
    out.operations = out.lanes * (1 + out.fma)
  end
  if operands:find "%(" and not (op:match "^lea" or op:match "^nop" or op:match "^j"
                                 or op:match "^prefetch") then
    local store = operands:find ",[^,%(]*%([^%)]*%)$" or not operands:find ","
    local stack = operands:find "%(%%r[sb]p"
    local vector = operands:find "%%[xyz]mm" and not (op:match "gather" or op:match "scatter"
                   or op:match "s[sd]$" or op:match "^vbroadcast")
    local bytes = op:match "ss$" and 4 or op:match "sd$" and 8 or op:match "^vbroadcastss" and 4
                  or vector and 4 * width or 8
    out.memory, out.stack = 1, stack and 1 or 0
    out.vector_memory = vector and not stack and 1 or 0
    out.load_bytes = store and 0 or bytes
  end
  return out
end

-- Overlapping loops could make a source of a page a work of hours: after this
-- many instructions the rest is not looked at.
local most_read = 200000

local function add_loop(mix, code, loop)
  local flops, i = 0, loop.at
  local seen, hot = {}, hot_loop.new()
  while i >= 1 and code[i].address >= loop.first and mix.unread > 0 do
    mix.unread = mix.unread - 1
    hot_loop.add(hot, code[i])
    local c = classify(code[i].op, code[i].operands)
    seen[#seen + 1], flops = c, flops + (c.flops or 0)
    i = i - 1
  end
  if i < loop.at then hot_loop.keep(mix, hot, code, i + 1, loop.at) end
  if flops == 0 then return end         -- tails, copies, bookkeeping
  mix.loops = mix.loops + 1
  mix.largest = math.max(mix.largest, flops)
  for _, c in ipairs(seen) do
    mix.widest = math.max(mix.widest, c.lanes or 0)
    for name, n in pairs(c) do mix[name] = mix[name] + n end
  end
end

-- Adds a function's instructions { address, op, operands } to the mix: those
-- of its innermost loops (a backward jump with no other one inside).
local function add_function(mix, code)
  local loops = {}
  for i, ins in ipairs(code) do
    local target = ins.op:sub(1, 1) == "j" and tonumber(ins.operands:match "^(%x+)" or "", 16)
    if target and target <= ins.address and target >= code[1].address then
      loops[#loops + 1] = { first = target, last = ins.address, at = i }
    end
    for reg in ins.operands:gmatch "%%[xyz]mm(%d+)" do mix.registers[tonumber(reg)] = true end
    local frame = ins.op == "sub" and ins.operands:match "^%$0x(%x+),%%rsp"
    if frame then mix.frame_bytes = math.max(mix.frame_bytes, tonumber(frame, 16)) end
  end
  -- Loops come in the order of their ends: one that ended before and began
  -- later, or at the same place, lies inside.
  local latest
  for _, loop in ipairs(loops) do
    if not latest or latest < loop.first then add_loop(mix, code, loop) end
    latest = math.max(latest or 0, loop.first)
  end
end

-- text: what readelf and objdump printed, see kb_object_text.
function evidence.read_text(text)
  local mix = { at_load = admission.judge(text), registers = {}, frame_bytes = 0, loops = 0,
                largest = 0, flops = 0, lanes = 0, operations = 0, fma = 0, widest = 0, memory = 0,
                stack = 0, vector_memory = 0, load_bytes = 0, unread = most_read }
  local code
  for line in text:gmatch "[^\n]+" do
    if line:match "^%x+ <.*>:$" then
      if code and #code > 0 then add_function(mix, code) end
      code = {}
    elseif code then
      local address, op, operands = line:match "^%s*(%x+):%s+(%S+)%s*(.*)$"
      if address then
        code[#code + 1] = { address = tonumber(address, 16), op = op,
                            operands = operands:gsub("%s*[#<].*$", ""), raw = operands }
      end
    end
  end
  if code and #code > 0 then add_function(mix, code) end
  mix.whole = code ~= nil
  return mix
end

-- The mix of an object, or nil where there is no objdump. One that cannot
-- be shown, or not down to its code, is a mix that admit refuses.
function evidence.read_object(object)
  local text, _, code = object:text()
  if text then
    local mix = evidence.read_text(text)
    mix.remarks = object.remarks and remarks.read(object:remarks())
    return mix
  end
  if code ~= "ENODEV" then return evidence.read_text "" end
end

-- What may not be in a candidate at all: code that runs when it is loaded,
-- before anything watches.
function evidence.admit(mix)
  if not mix then return end
  if mix.at_load then
    verdict.fail("cheated", "the object has %s: code that runs before or after the kernel "
                        .. "is called", mix.at_load)
  elseif not mix.whole then
    verdict.fail("cheated", "objdump cannot show the object's code: it is too large, or "
                        .. "made not to be read")
  end
end

-- Features -----------------------------------------------------------------------

function evidence.clip(x) return math.max(0, math.min(1, x)) end

local function count(set)
  local n = 0
  for i = 0, 31 do if set[i] then n = n + 1 end end
  return n
end

local lengths = { phi = 9, rho = 6, signature = 5 }

-- phi, rho and signature of lists of { value, kind }, h of such by name, shares of peak: values and
-- kinds apart. What is no finite number is missing, and is 0 in a list.
function evidence.of(features)
  local e = { h = {}, h_kind = {} }
  local function known(item)
    local v = item and finite(item[1])
    return v, v and item[2] or "missing"
  end
  for name, n in pairs(lengths) do      -- each writes places of its own
    local values, kinds = {}, {}
    for i = 1, n do values[i], kinds[i] = known(features[name][i]) end
    for i = 1, n do values[i] = values[i] or 0 end
    e[name], e[name .. "_kind"] = values, kinds
  end
  for _, name in ipairs { "sm", "dram", "l2" } do
    local share, kind = known(features.h[name])
    e.h[name], e.h_kind[name] = share and 100 * share, kind
  end
  return e
end

function evidence.ratio(a, b)
  if a and b and b > 0 then return a / b end
end

local clip, ratio = evidence.clip, evidence.ratio

-- The roofs over a shape's work: flops/s of one core in the task's own type,
-- and the bandwidth of the smallest level that holds all of its data (there is
-- no figure for the last cache, so data that live there can beat "DRAM").
function evidence.roofs(s, work)
  local peak = s.roofline
  local flops = peak[s.task.args[1].dtype .. "_flops_per_s"] or 0
  if flops == 0 then flops = peak.f32_flops_per_s end
  if work.bytes <= peak.l1d_bytes then return flops, peak.l1_bytes_per_s end
  if work.bytes <= peak.l2_bytes then return flops, peak.l2_bytes_per_s end
  return flops, math.max(peak.dram_bytes_per_s, peak.dram_copy_bytes_per_s)
end

-- s: the session, for its roofs and its task; out: the evaluation so far;
-- facts: the object's mix and the counters, each nil where there is none.
function evidence.make(s, out, facts)
  local mix, c = facts.mix, facts.metrics
  local first = out.shapes[1]
  local seconds = first.time_ns * 1e-9
  local work = s.task.work(first.shape)
  local flops_per_s, bytes_per_s = evidence.roofs(s, work)
  local sm, dram = work.flops / seconds / flops_per_s, work.bytes / seconds / bytes_per_s
  local ipc = c and ratio(c.instructions, c.cycles * 4)
  local hit = c and c.cache_refs > 0 and 1 - c.cache_misses / c.cache_refs or nil
  local known = mix and mix.flops > 0
  local registers = mix and count(mix.registers) / 32
  local lanes = known and mix.lanes / mix.flops
  local traffic = known and ratio(mix.load_bytes, mix.operations)
  local l2 = traffic and traffic * work.flops / seconds / s.roofline.l1_bytes_per_s

  local e = evidence.of { phi = {
    { hit and clip(hit), "measured" },
    { clip(dram), "derived" },
    { clip(sm), "derived" },
    { lanes and clip(lanes / 16), "derived" },
    { ipc and clip(ipc), "measured" },
    { registers, "derived" },
    { known and ratio(mix.stack, mix.memory), "derived" },
    { known and ratio(mix.vector_memory, mix.memory), "derived" },
    { known and mix.fma / mix.flops, "derived" },
  }, rho = {
    { math.log(first.time_ns), "measured" },
    { math.log(work.bytes), "derived" },
    { work.flops / work.bytes, "derived" },
    { known and mix.widest, "derived" },
    { known and mix.largest, "derived" },
    { ipc and clip(ipc), "measured" },
  }, signature = {
    { 1 / first.speedup, "measured" },
    { registers, "derived" },
    { mix and math.log(1 + mix.frame_bytes) / 20, "derived" },
    { known and mix.widest / 16, "derived" },
    { ipc and clip(ipc), "measured" },
  }, h = { sm = { clip(sm), "derived" }, dram = { clip(dram), "derived" },
           l2 = { l2 and clip(l2), "derived" } } }
  e.hot, e.remarks = mix and hot_loop.tell(mix.hot), mix and mix.remarks
  return e
end

return evidence
