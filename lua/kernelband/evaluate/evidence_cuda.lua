-- evaluate/evidence_cuda.lua - what is honestly known about a kernel on a GPU: hardware
-- counters where they can be had, else the cubin's facts, the occupancy the
-- driver computes, and work() over measured peaks. Same shape as evidence.lua.
--
--   evidence.make(session, evaluation, facts) -> { phi, phi_kind, rho, rho_kind,
--       h, h_kind, signature, signature_kind, profile, hot }
--
--   session     task, roofline = { dram_bytes_per_s=, f32_flops_per_s=,
--               f16_.., bf16_.., f64_flops_per_s=, l2_bytes_per_s= }, each optional
--   evaluation  shapes[1] = { shape=, time_ns=, speedup= }
--   facts       metrics = { key -> number } (keys of core/cuda/counters/cupti_sets.c,
--                         nil where a counter gave nothing), or nil and why = text
--               entry   = { registers, shared_bytes, local_bytes }
--               launch  = { grid, block, shared } of that entry
--               device  = { sm_count, sm_registers, sm_shared_bytes,
--                           sm_threads, sm_blocks, warp }
--               occupancy = 0..1, what the driver says is possible
--               hot     = a loop of its machine code, see sass.lua, or nil
--
-- Kinds: "measured" is a counter or a clock, "derived" follows from the object,
-- from the launch or from work(), "missing" is 0 and to be ignored.
--
--   phi  l2_hit          hits among L2 sectors, else among L2 tag lookups
--        mem_bw          DRAM share of peak, else compulsory bytes over peak
--        sm_util         busiest of SM issue and tensor pipes (or CUPTI's SM
--                        throughput), else flops over peak
--        warp_eff        active threads of 32 an instruction
--        achieved_occupancy  else the possible one
--        reg_per_thread  of 255
--        shared_conflicts    share of shared-memory wavefronts that a bank
--                        conflict caused; 0 where no shared memory is used
--        load_store_coalesced  bytes used of the sectors moved, else sectors a
--                        request to L2, of 4
--        tensor_core_util    cycles the tensor pipes were active
--   rho  log_time, log_footprint, intensity (flops of work() a DRAM byte, or a
--        compulsory byte), block_x, block_y, occupancy
--   h    sm, dram, l2: percent of peak
--   signature (v2)  T / T0, registers of 255, shared memory of the SM's,
--        threads of 1024, possible occupancy
local lists = require "kernelband.base.lists"
local cpu   = require "kernelband.evaluate.evidence"
local fill  = require("kernelband.base.template").fill

local evidence = {}

local clip, ratio, measured, derived = cpu.clip, cpu.ratio, cpu.measured, cpu.derived

local busy_pct = 60             -- a unit above this is what binds the kernel

local function share(pct) return clip(pct and pct / 100) end

-- A feature that is measured where a counter gave something, else derived.
local function either(counted, value) return counted and measured(counted) or derived(value) end

-- Shares of roofs ---------------------------------------------------------------

-- Flops and compulsory bytes a second over the measured peaks, 0..1 or nil.
local function ideal(session, work, seconds)
  local roofline = session.roofline or {}
  local flops = roofline[session.task.args[1].dtype .. "_flops_per_s"] or roofline.f32_flops_per_s
  local dram = math.max(roofline.dram_bytes_per_s or 0, roofline.dram_copy_bytes_per_s or 0)
  return clip(ratio(work.flops / seconds, flops)), clip(ratio(work.bytes / seconds, dram))
end

local function coalesced(m)
  local loads, stores = share(m.load_sector_pct), share(m.store_sector_pct)
  if loads and stores then return (loads + stores) / 2 end
  local sectors = ratio(m.l2_sectors, m.l2_requests)
  return loads or stores or clip(sectors and sectors / 4)
end

local function conflicts(m)
  if m.shared_wavefronts == 0 then return 0 end
  return clip(ratio(m.shared_conflicts, m.shared_wavefronts))
end

local function hits(m)
  local missed = ratio(m.l2_tag_misses, m.l2_tags)
  return share(m.l2_hit_pct) or clip(missed and 1 - missed)
end

-- Occupancy ---------------------------------------------------------------------

local function product(list)
  local n = 1
  for _, x in ipairs(list) do n = n * x end
  return n
end

local function shared_of(facts)
  return (facts.entry.shared_bytes or 0) + (facts.launch.shared or 0)
end

local function up(x, unit) return (x + unit - 1) // unit * unit end

-- How many blocks each resource lets onto an SM, as the CUDA programming guide
-- has it for compute capability 8.0 and later: registers are given to warps in
-- units of 256, from a quarter of the SM's; a block's shared memory in units of
-- 128 bytes and 1 KiB of the system's.
function evidence.limits(facts)
  local device, warp = facts.device, facts.device.warp or 32
  local warps = up(product(facts.launch.block), warp) // warp
  local registers, shared = facts.entry.registers or 0, shared_of(facts)
  local rows = {
    { "registers", registers > 0 and device.sm_registers
                   and 4 * (device.sm_registers // 4 // up(registers * warp, 256)) // warps },
    { "shared memory", shared > 0 and device.sm_shared_bytes
                       and device.sm_shared_bytes // (up(shared, 128) + 1024) },
    { "threads", device.sm_threads and device.sm_threads // (warps * warp) },
    { "blocks", device.sm_blocks } }
  return lists.collect(rows, function(row)
    return row[2] and { name = row[1], blocks = math.floor(row[2]) }
  end), warps * warp
end

local function occupancy(facts)
  local list, threads = evidence.limits(facts)
  local least = lists.best(list, function(l) return -l.blocks end) or {}
  local resident = least.blocks and least.blocks * threads
  local possible = facts.occupancy or clip(ratio(resident, facts.device.sm_threads))
  local blocks, in_a_wave = product(facts.launch.grid), (least.blocks or 0) * facts.device.sm_count
  return { limits = list, blocks_per_sm = least.blocks, blocks = blocks,
           limiter = possible ~= 1 and least.name or nil,         -- 1: nothing is in the way
           waves = ratio(blocks, in_a_wave), possible = possible,
           achieved = share(facts.metrics and facts.metrics.occupancy_pct) }
end

-- The table a person reads ------------------------------------------------------

-- Without a counter for it the share of the SM follows from work().
local function roofs(m, sm, memory)
  local counted = m.issue_pct or m.sm_throughput_pct
  local rows = { { "DRAM", m.dram_pct, memory }, { "L2", m.l2_throughput_pct or m.l2_pct },
                 { "L1", m.l1_throughput_pct }, { "SM", m.sm_throughput_pct },
                 { "SM issue", m.issue_pct }, { "tensor pipe", m.tensor_pct },
                 { "SM", nil, not counted and sm } }
  return lists.collect(rows, function(row)
    local known = either(share(row[2]), row[3])
    return known[1] and { name = row[1], share = known[1], kind = known[2] }
  end)
end

-- What warps wait for.
local waits = {
  { "long_scoreboard", "for global or local memory" }, { "short_scoreboard", "for shared memory" },
  { "barrier", "at barriers" }, { "math_pipe_throttle", "for arithmetic pipes" },
  { "mio_throttle", "for the shared-memory queue" },
  { "lg_throttle", "for the global-memory queue" }, { "wait", "fixed latencies" },
  { "not_selected", "for a turn (enough warps are ready)" },
  { "no_instruction", "for instructions" } }

local function stalls(m)
  local total = 0
  local list = lists.collect(waits, function(wait)
    local n = m["stall_" .. wait[1]]
    total = total + (n or 0)
    return n and { reason = wait[1], share = n }
  end)
  if total == 0 then return nil end
  for _, s in ipairs(list) do s.share = s.share / total end
  return lists.sorted(list, function(s) return -s.share end)
end

-- The busiest roof; when none is busy, what keeps the kernel waiting.
local function bottleneck(p)
  local top, worst = lists.best(p.roofs, function(r) return r.share end), p.stalls and p.stalls[1]
  if not top then return nil end
  local computes = top.name:find "SM" or top.name:find "tensor"
  local bound = 100 * top.share < busy_pct and "latency" or computes and "compute" or "memory"
  local text = fill("evaluate/sentences.bottleneck", { top = top, bound = bound, worst = worst,
    wait = worst and lists.find(waits, function(w) return w[1] == worst.reason end)[2],
    occupancy = p.occupancy })
  return { roof = top.name, share = top.share, kind = top.kind, bound = bound,
           text = text:gsub("\n", "; ") }
end

local function make_profile(facts, work, sm, memory)
  local m, entry, launch = facts.metrics or {}, facts.entry, facts.launch
  local p = {
    counters = facts.metrics, why = not facts.metrics and facts.why or nil,
    roofs = roofs(m, sm, memory), occupancy = occupancy(facts), stalls = stalls(m),
    registers = entry.registers, shared_bytes = shared_of(facts),
    grid = launch.grid, block = launch.block,
    spills = { local_bytes = entry.local_bytes, loads = m.spill_loads, stores = m.spill_stores },
    traffic = { dram_bytes = m.dram_bytes, compulsory_bytes = work.bytes,
                ratio = ratio(m.dram_bytes, work.bytes) } }
  p.bottleneck = bottleneck(p)
  return p
end

-- Features ----------------------------------------------------------------------

-- phi and h of counters m; d: what is derived where there is none, { dram =, sm =, occupancy =,
-- registers = a thread, conflicts = }, each optional.
function evidence.counted(m, d)
  local busiest = (m.issue_pct or m.tensor_pct) and math.max(m.issue_pct or 0, m.tensor_pct or 0)
  local sm, dram = either(share(m.sm_throughput_pct or busiest), d.sm),
                   either(share(m.dram_pct), d.dram)
  return {
    phi = { measured(hits(m)), dram, sm, measured(clip(ratio(m.threads_per_instruction, 32))),
            either(share(m.occupancy_pct), d.occupancy), derived(clip(ratio(d.registers, 255))),
            either(conflicts(m), d.conflicts), measured(coalesced(m)),
            measured(share(m.tensor_pct)) },
    h = { sm = sm, dram = dram, l2 = measured(share(m.l2_throughput_pct or m.l2_pct)) } }
end

function evidence.make(session, evaluation, facts)
  local r, m, device = evaluation.shapes[1], facts.metrics or {}, facts.device
  local work = session.task.work(r.shape)
  local sm, memory = ideal(session, work, r.time_ns * 1e-9)
  local profile = make_profile(facts, work, sm, memory)
  local achieved, possible = profile.occupancy.achieved, profile.occupancy.possible
  local block, shared = facts.launch.block, profile.shared_bytes
  local features = evidence.counted(m, { dram = memory, sm = sm, occupancy = possible,
    registers = facts.entry.registers, conflicts = shared == 0 and 0 or nil })
  local phi = features.phi
  features.rho = { measured(math.log(r.time_ns)), derived(math.log(work.bytes)),
    derived(ratio(work.flops, m.dram_bytes) or ratio(work.flops, work.bytes)),
    derived(block[1]), derived(block[2] or 1), phi[5] }
  features.signature = { measured(1 / r.speedup), phi[6],
    derived(clip(ratio(shared, device.sm_shared_bytes))), derived(clip(product(block) / 1024)),
    possible and derived(possible) or measured(achieved) }
  local e = cpu.of(features)
  e.profile, e.hot = profile, facts.hot
  return e
end

return evidence
