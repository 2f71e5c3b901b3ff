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
local lists     = require "kernelband.base.lists"
local hot_loop  = require "kernelband.evaluate.hot_loop"
local remarks   = require "kernelband.evaluate.remarks"
local text      = require "kernelband.base.text"
local verdict   = require "kernelband.evaluate.verdict"

local evidence = {}

-- Reading the object ----------------------------------------------------------

local flop_names = lists.places { "add", "sub", "mul", "div", "sqrt", "max", "min" }

-- What an instruction of the disassembly adds to the counts of a mix. AT&T order: the destination
-- comes last.
local function classify(op, operands)
  local out = {}
  local base, kind = op:match "^v?(%a+%d*)([ps][sd])$"
  local width = operands:find "%%zmm" and 16 or operands:find "%%ymm" and 8 or 4
  if kind and kind:sub(2) == "d" then width = width // 2 end
  if base and (flop_names[base] or base:match "^fn?m[as][du][db]%a*%d+$") then
    out.fma = base:match "^fn?m" and 1 or 0
    out.flops, out.lanes = 1, kind:sub(1, 1) == "p" and width or 1
    out.operations = out.lanes * (1 + out.fma)
  end
  local moves_nothing = op:match "^lea" or op:match "^nop" or op:match "^j" or op:match "^prefetch"
  if operands:find "%(" and not moves_nothing then
    local store = operands:find ",[^,%(]*%([^%)]*%)$" or not operands:find ","
    local stack = operands:find "%(%%r[sb]p"
    local vector = operands:find "%%[xyz]mm" and not (op:match "gather" or op:match "scatter"
                   or op:match "s[sd]$" or op:match "^vbroadcast")
    local bytes = op:match "ss$" and 4 or vector and 4 * width or 8
    out.memory, out.stack = 1, stack and 1 or 0
    out.vector_memory = vector and not stack and 1 or 0
    out.load_bytes = store and 0 or bytes
  end
  return out
end

-- Overlapping loops could make a source of a page a work of hours: after this
-- many instructions the rest is not looked at.
local most_read = 200000

-- Adds the loop from an address to the instruction `last`.
local function add_loop(mix, code, address, last)
  local flops, cost, i, seen = 0, 0, last, {}
  while i >= 1 and code[i].address >= address and mix.unread > 0 do
    mix.unread = mix.unread - 1
    local c = classify(code[i].op, code[i].operands)
    seen[#seen + 1], flops = c, flops + (c.flops or 0)
    cost = cost + hot_loop.cost(code[i].op)
    i = i - 1
  end
  if cost > (mix.hot and mix.hot.cost or 0) then
    mix.hot = { cost = cost, code = code, from = i + 1, last = last }
  end
  if flops == 0 then return end         -- tails, copies, bookkeeping
  mix.loops = mix.loops + 1
  mix.largest = math.max(mix.largest, flops)
  for _, c in ipairs(seen) do
    mix.widest = math.max(mix.widest, c.lanes or 0)
    for name, n in pairs(c) do mix[name] = mix[name] + n end
  end
end

-- Adds a function's instructions { address, op, operands } to the mix: those
-- of its innermost loops (a backward jump with no other one inside). Loops come in the order of
-- their ends: one that ended before and began later, or at the same place, lies inside.
local function add_function(mix, code)
  local latest = -1
  for i, ins in ipairs(code) do
    local target = ins.target
    if target and target <= ins.address and target >= code[1].address then
      if target > latest then add_loop(mix, code, target, i) end
      latest = math.max(latest, target)
    end
    for reg in ins.operands:gmatch "%%[xyz]mm(%d+)" do mix.registers[tonumber(reg)] = true end
    local frame = ins.op == "sub" and ins.operands:match "^%$0x(%x+),%%rsp"
    if frame then mix.frame_bytes = math.max(mix.frame_bytes, tonumber(frame, 16)) end
  end
end

-- The functions of a disassembly, each a list of { address, op, operands, raw, target of a jump }.
-- next: the address behind an instruction where the next one stands there; nothing (-1) follows a
-- gap.
local function read_functions(listing)
  local functions, code, last = {}, nil, nil
  for line in listing:gmatch "[^\n]+" do
    local address, op, raw = line:match "^%s*(%x+):%s+(%S+)%s*(.*)$"
    if line:match "^%x+ <.*>:$" then
      code = {}
      functions[#functions + 1] = code
    elseif address and code then
      address = tonumber(address, 16)
      if last then last.next = address end
      local target = op:sub(1, 1) == "j" and tonumber(raw:match "^(%x+)" or "", 16)
      last = { address = address, op = op, operands = raw:gsub("%s*[#<].*$", ""), raw = raw,
               target = target, next = -1 }
      code[#code + 1] = last
    else
      last = nil
    end
  end
  return functions
end

-- printed: by readelf and objdump, see kb_object_text.
function evidence.read_text(printed)
  local functions = read_functions(printed)
  local mix = { at_load = admission.judge(printed, functions), whole = #functions > 0,
                registers = {}, frame_bytes = 0, loops = 0, largest = 0, flops = 0, lanes = 0,
                operations = 0, fma = 0, widest = 0, memory = 0, stack = 0, vector_memory = 0,
                load_bytes = 0, unread = most_read }
  for _, code in ipairs(functions) do add_function(mix, code) end
  return mix
end

-- The mix of an object, or nil where there is no objdump. One that cannot
-- be shown, or not down to its code, is a mix that admit refuses.
function evidence.read_object(object)
  local printed, _, code = object:text()
  if code == "ENODEV" then return nil end
  local mix = evidence.read_text(printed or "")
  mix.remarks = object.remarks and remarks.read(object:remarks())
  return mix
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

-- What is known of features: { value, kind }, {} of one that is not.
local function measured(value) return { value, "measured" } end
local function derived(value) return { value, "derived" } end

-- A share, 0..1, or nil.
local function clip(x) return x and math.max(0, math.min(1, x)) end

local function ratio(a, b) return a and b and b > 0 and a / b or nil end

evidence.measured, evidence.derived, evidence.clip, evidence.ratio = measured, derived, clip, ratio

local lengths = { phi = 9, rho = 6, signature = 5 }

-- phi, rho and signature of lists of { value, kind }, h of such by name, shares of peak: values and
-- kinds apart. What is no finite number is missing, and is 0 in a list.
function evidence.of(features)
  local e = { h = {}, h_kind = {} }
  local function known(item)
    local v = item and text.finite(item[1])
    return v, v and item[2] or "missing"
  end
  for name, n in pairs(lengths) do      -- each writes places of its own
    local values, kinds = {}, {}
    for i = 1, n do
      local v, kind = known(features[name][i])
      values[i], kinds[i] = v or 0, kind
    end
    e[name], e[name .. "_kind"] = values, kinds
  end
  for _, name in ipairs { "sm", "dram", "l2" } do
    local share, kind = known(features.h[name])
    e.h[name], e.h_kind[name] = share and 100 * share, kind
  end
  return e
end

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

-- The flops and bytes a second of a shape, as shares of its roofs.
function evidence.shares(s, work, time_ns)
  local seconds = time_ns * 1e-9
  local flops_per_s, bytes_per_s = evidence.roofs(s, work)
  return work.flops / seconds / flops_per_s, work.bytes / seconds / bytes_per_s
end

-- s: the session, for its roofs and its task; out: the evaluation so far;
-- facts: the object's mix and the counters, each nil where there is none.
function evidence.make(s, out, facts)
  local mix, c = facts.mix, facts.metrics
  local first = out.shapes[1]
  local work = s.task.work(first.shape)
  local sm, dram = evidence.shares(s, work, first.time_ns)
  sm, dram = derived(clip(sm)), derived(clip(dram))
  local ipc = measured(clip(c and ratio(c.instructions, c.cycles * 4)))
  local hit = c and c.cache_refs > 0 and 1 - c.cache_misses / c.cache_refs
  local loops = mix and mix.flops > 0 and mix or {}     -- what is known of inner loops
  local registers = derived(mix and #lists.keys(mix.registers) / 32)
  local lanes, traffic = ratio(loops.lanes, loops.flops), ratio(loops.load_bytes, loops.operations)
  local l2 = traffic and traffic * work.flops / (first.time_ns * 1e-9) / s.roofline.l1_bytes_per_s
  local e = evidence.of {
    phi = { measured(clip(hit)), dram, sm, derived(lanes and clip(lanes / 16)), ipc, registers,
            derived(ratio(loops.stack, loops.memory)),
            derived(ratio(loops.vector_memory, loops.memory)),
            derived(ratio(loops.fma, loops.flops)) },
    rho = { measured(math.log(first.time_ns)), derived(math.log(work.bytes)),
            derived(work.flops / work.bytes), derived(loops.widest), derived(loops.largest), ipc },
    signature = { measured(1 / first.speedup), registers,
                  derived(mix and math.log(1 + mix.frame_bytes) / 20),
                  derived(loops.widest and loops.widest / 16), ipc },
    h = { sm = sm, dram = dram, l2 = derived(clip(l2)) },
  }
  e.hot, e.remarks = mix and mix.hot and hot_loop.tell(mix.hot), mix and mix.remarks
  return e
end

return evidence
