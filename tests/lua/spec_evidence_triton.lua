-- What is known of a Triton kernel, from what a worker says, small enough to check by hand.
package.path = "tests/lib/?.lua;" .. package.path
local t = require "harness"
local evidence = require "kernelband.evaluate.evidence_triton"

local machine = { dram_gbps = 4000, sm_tflops = 50, max_threads_per_sm = 2048,
                  regs_per_sm = 65536, smem_per_sm = 233472 }

-- An evaluation with two shapes and two kernels, of which the second is the main one.
local function evaluation(counters)
  return { verdict = "ok", speedup = 4,
    shapes = { { time_ns = 1e4, gbps = 100 }, { time_ns = 1e6, gbps = 3000, tflops = 5 } },
    profile = { counters = counters, why = "a reason", kernels = {
      { name = "small", registers = 20, spills = 0, shared = 0, warps = 4, stages = 1 },
      { name = "large", registers = 128, spills = 2, shared = 116736, warps = 8, stages = 3 } } } }
end

t.test("without counters features follow from the compiled kernel and the script's own figures",
       function()
  local out = evidence.add(evaluation {}, machine)
  local e = out.evidence
  -- One block of 256 threads has the shared memory of an SM to itself.
  t.equal(e.phi, { 0, 0.75, 0.1, 0, 0.125, 128 / 255, 0, 0, 0 })
  t.equal(e.phi_kind, { "missing", "derived", "derived", "missing", "derived", "derived",
                        "missing", "missing", "missing" })
  t.equal(e.rho, { math.log(1e6), 0, 0, 256, 1, 0.125 })
  t.equal(e.rho_kind, { "measured", "missing", "missing", "derived", "derived", "derived" })
  t.equal(e.signature, { 0.25, 128 / 255, 0.5, 0.25, 0.125 })
  t.equal(e.h, { sm = 10, dram = 75 })
  t.equal(e.h_kind, { sm = "derived", dram = "derived", l2 = "missing" })
  local p = out.profile
  t.equal({ p.registers, p.shared_bytes, p.warps, p.stages, p.spills, p.why },
          { 128, 116736, 8, 3, 2, "a reason" })
end)

t.test("what was counted is measured", function()
  local e = evidence.add(evaluation { l2_tags = 1000, l2_tag_misses = 250, dram_pct = 62,
    issue_pct = 30, tensor_pct = 45, threads_per_instruction = 24, occupancy_pct = 20,
    shared_wavefronts = 400, shared_conflicts = 100, l2_sectors = 6000, l2_requests = 2000,
    l2_pct = 40 }, machine).evidence
  t.equal(e.phi, { 0.75, 0.62, 0.45, 0.75, 0.2, 128 / 255, 0.25, 0.75, 0.45 })
  for i, kind in ipairs(e.phi_kind) do
    t.equal(kind, i == 6 and "derived" or "measured", "phi " .. i)
  end
  t.equal(e.h, { sm = 45, dram = 62, l2 = 40 })
end)

t.test("evidence that is added twice is the same", function()
  local out = evidence.add(evaluation { dram_pct = 62 }, machine)
  local first = out.evidence
  t.equal(evidence.add(out, machine).evidence, first)
end)

t.test("an evaluation that failed or has no numbers gives no evidence and no error", function()
  local bad = { verdict = "wrong", shapes = {} }
  t.equal(evidence.add(bad, machine), { verdict = "wrong", shapes = {} })
  t.equal(evidence.add("nonsense", machine), "nonsense")
  local junk = evaluation { dram_pct = "62", l2_tags = {}, occupancy_pct = 0 / 0 }
  junk.shapes[2] = { time_ns = "long" }
  junk.profile.kernels = { 5, { registers = 1 / 0, spills = 0, shared = 0, warps = 4, stages = 1 } }
  local e = evidence.add(junk, { dram_gbps = {}, smem_per_sm = 0 }).evidence
  t.equal(e.phi, { 0, 0, 0, 0, 0, 0, 0, 0, 0 })
  t.equal(e.rho[1], math.log(1e4))
  junk.shapes, junk.speedup = {}, nil
  t.equal(evidence.add(junk, nil).evidence.rho_kind[1], "missing")
  junk.shapes = 7
  t.equal(rawequal(evidence.add(junk, nil), junk), true)
  local none = evaluation {}
  none.profile.kernels[2].warps = 0
  t.equal(#evidence.add(none, machine).evidence.phi, 9)
end)

t.finish()
