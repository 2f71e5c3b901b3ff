-- Evidence of kernels on a GPU, from counters small enough to check by hand.
package.path = "tests/lib/?.lua;" .. package.path
local t = require "harness"
local evidence = require "kernelband.evaluate.evidence_cuda"

local function session()
  return { task = { args = { { "x", dtype = "f32" } },
                    work = function() return { flops = 2e9, bytes = 1e9 } end },
           roofline = { f32_flops_per_s = 5e13, dram_bytes_per_s = 4e12 } }
end

local evaluation = { shapes = { { shape = {}, time_ns = 5e5, speedup = 4 } } }

local function facts(metrics)
  return { metrics = metrics, why = not metrics and "counters are for administrators" or nil,
           entry = { registers = 128, shared_bytes = 16384, local_bytes = 0 },
           launch = { grid = { 100, 1, 1 }, block = { 64, 4, 1 }, shared = 32768 },
           device = { sm_count = 132, sm_registers = 65536, sm_shared_bytes = 233472,
                      sm_threads = 2048, sm_blocks = 32, warp = 32 } }
end

local function counted()
  return { time_ns = 5e5, dram_bytes = 1.25e9, dram_pct = 62, l2_pct = 40, l2_sectors = 6000,
           l2_requests = 2000, l2_tags = 1000, l2_tag_misses = 250, occupancy_pct = 20,
           instructions = 1e6, issue_pct = 30, threads_per_instruction = 24, tensor_pct = 45,
           shared_conflicts = 100, shared_wavefronts = 400 }
end

t.test("counters give every feature, measured", function()
  local e = evidence.make(session(), evaluation, facts(counted()))
  t.equal(e.phi, { 0.75, 0.62, 0.45, 0.75, 0.2, 128 / 255, 0.25, 0.75, 0.45 })
  for i, kind in ipairs(e.phi_kind) do
    t.equal(kind, i == 6 and "derived" or "measured", "phi " .. i)
  end
  t.equal(e.rho, { math.log(5e5), math.log(1e9), 1.6, 64, 4, 0.2 })
  t.equal(e.h, { sm = 45, dram = 62, l2 = 40 })
  t.equal(e.h_kind, { sm = "measured", dram = "measured", l2 = "measured" })
  t.equal(e.signature, { 0.25, 128 / 255, 49152 / 233472, 0.25, 0.25 })
end)

t.test("finer counters stand before coarser ones", function()
  local m = counted()
  m.l2_hit_pct, m.load_sector_pct, m.store_sector_pct = 90, 100, 50
  m.sm_throughput_pct, m.l2_throughput_pct = 55, 44
  local e = evidence.make(session(), evaluation, facts(m))
  t.near(e.phi[1], 0.9)
  t.near(e.phi[3], 0.55)
  t.near(e.phi[8], 0.75)
  t.near(e.h.l2, 44)
end)

t.test("without counters nothing is measured but the clock", function()
  local e = evidence.make(session(), evaluation, facts(nil))
  t.equal(e.phi, { 0, 0.5, 0.08, 0, 0.25, 128 / 255, 0, 0, 0 })
  t.equal(e.phi_kind, { "missing", "derived", "derived", "missing", "derived", "derived",
                        "missing", "missing", "missing" })
  t.equal(e.rho_kind, { "measured", "derived", "derived", "derived", "derived", "derived" })
  t.equal(e.h, { sm = 8, dram = 50 })
  t.equal(e.h_kind, { sm = "derived", dram = "derived", l2 = "missing" })
  t.equal(e.profile.why, "counters are for administrators")
  t.equal(e.profile.counters, nil)
end)

t.test("what no clock, counter or roof tells is missing", function()
  local s, f = session(), facts(nil)
  s.roofline = nil
  f.device = { sm_count = 132 }
  f.entry = {}
  local e = evidence.make(s, evaluation, f)
  t.equal(e.phi_kind, { "missing", "missing", "missing", "missing", "missing", "missing",
                        "missing", "missing", "missing" })
  t.equal(e.h, {})
  t.equal(e.profile.roofs, {})
  t.equal(e.profile.bottleneck, nil)
end)

t.test("a kernel without shared memory has no conflicts", function()
  local f = facts(nil)
  f.entry.shared_bytes, f.launch.shared = 0, 0
  local e = evidence.make(session(), evaluation, f)
  t.equal({ e.phi[7], e.phi_kind[7] }, { 0, "derived" })
  local m = counted()
  m.shared_conflicts, m.shared_wavefronts = 0, 0
  e = evidence.make(session(), evaluation, facts(m))
  t.equal({ e.phi[7], e.phi_kind[7] }, { 0, "measured" })
end)

-- 128 registers: 4096 a warp, 4 warps a quarter of 16384, 16 of 8 a block.
-- 48 KiB and 1 KiB of the system's: 4 blocks in 228 KiB.
t.test("the resource that lets the fewest blocks in limits occupancy", function()
  local limits, threads = evidence.limits(facts(nil))
  t.equal(threads, 256)
  t.equal(limits, { { name = "registers", blocks = 2 }, { name = "shared memory", blocks = 4 },
                    { name = "threads", blocks = 8 }, { name = "blocks", blocks = 32 } })
  local o = evidence.make(session(), evaluation, facts(counted())).profile.occupancy
  t.equal(o.limiter, "registers")
  t.equal(o.blocks_per_sm, 2)
  t.near(o.possible, 0.25)
  t.near(o.achieved, 0.2)
  t.near(o.waves, 100 / 264)
  local f = facts(nil)
  f.occupancy = 1
  t.equal(evidence.make(session(), evaluation, f).profile.occupancy.limiter, nil)
end)

t.test("the bottleneck is the busiest roof", function()
  local p = evidence.make(session(), evaluation, facts(counted())).profile
  t.equal(p.bottleneck.roof, "DRAM")
  t.equal(p.bottleneck.bound, "memory")
  t.near(p.bottleneck.share, 0.62)
  t.near(p.traffic.ratio, 1.25)
  local m = counted()
  m.dram_pct, m.tensor_pct = 30, 81
  p = evidence.make(session(), evaluation, facts(m)).profile
  t.equal(p.bottleneck.text, "compute: tensor pipe works at 81 % of its peak")
end)

t.test("with no busy roof it says what the kernel waits for", function()
  local m = counted()
  m.dram_pct, m.stall_barrier, m.stall_long_scoreboard, m.stall_wait = 30, 30, 60, 10
  local p = evidence.make(session(), evaluation, facts(m)).profile
  t.equal(p.bottleneck.bound, "latency")
  t.contains(p.bottleneck.text, "warps wait for global or local memory (60 % of stalls)")
  t.contains(p.bottleneck.text, "100 blocks fill 38 % of the GPU")
  t.equal(p.stalls[2], { reason = "barrier", share = 0.3 })
  t.equal(#p.stalls, 3)
end)

t.finish()
