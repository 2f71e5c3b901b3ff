-- evaluate/evidence_triton.lua - what is known of a Triton kernel that its worker timed: hardware
-- counters where there are some, else what it was compiled to, and the bytes and operations that
-- its script of timed shapes counts. The features are those of evidence_cuda.lua.
--
--   evidence.add(evaluation, machine) -> evaluation
--
--   evaluation.profile  of the worker: kernels = { { name =, registers =, spills =, shared =,
--                       warps =, stages = } }, counters = { key -> number }, why = text; what the
--                       main kernel has of these is added: registers .. and shared_bytes
--   evaluation.shapes   { time_ns =, gbps =, tflops = }, the latter two optional
--   machine             { dram_gbps =, sm_tflops =, max_threads_per_sm =, regs_per_sm =,
--                       smem_per_sm = }, each optional
local cuda  = require "kernelband.evaluate.evidence_cuda"
local cpu   = require "kernelband.evaluate.evidence"
local lists = require "kernelband.base.lists"
local text  = require "kernelband.base.text"

local evidence = {}

local clip, ratio, measured, derived = cpu.clip, cpu.ratio, cpu.measured, cpu.derived

-- Of what a worker said, the numbers.
local function numbers(given)
  local out = {}
  for key, v in pairs(type(given) == "table" and given or {}) do out[key] = text.finite(v) end
  return out
end

-- Of the compiled kernels the one with most shared memory, then registers.
local function main_of(kernels)
  local known = lists.collect(type(kernels) == "table" and kernels or {}, function(k)
    local n = numbers(k)
    return n.registers and n.spills and n.shared and n.warps and n.stages and n
  end)
  return lists.best(known, function(k) return k.shared + k.registers / 1e4 end)
end

-- The share of an SM's threads that such blocks can have on it, or nil.
local function occupancy(main, machine)
  local list, threads = cuda.limits {
    entry = { registers = main.registers, shared_bytes = main.shared }, launch = {
      block = { 32 * math.max(1, main.warps) } },
    device = { sm_registers = machine.regs_per_sm, sm_threads = machine.max_threads_per_sm,
               sm_shared_bytes = machine.smem_per_sm } }
  local least = lists.best(list, function(l) return -l.blocks end)
  return clip(ratio(least and least.blocks * threads, machine.max_threads_per_sm))
end

function evidence.add(out, machine)
  local p = type(out) == "table" and out.verdict == "ok" and out.profile
  if type(p) ~= "table" or type(out.shapes) ~= "table" then return out end
  local main, on = main_of(p.kernels), numbers(machine)
  local timed = lists.collect(out.shapes, function(r)
    local n = numbers(r)
    return n.time_ns and n
  end)
  local big = lists.best(timed, function(r) return r.time_ns end) or {}
  local threads, possible, shared
  if main then
    for key, v in pairs(main) do p[key] = v end
    p.shared_bytes, p.shared = main.shared, nil
    threads, shared = 32 * main.warps, clip(ratio(main.shared, on.smem_per_sm))
    possible = occupancy(main, on)
  end
  local features = cuda.counted(numbers(p.counters), { dram = clip(ratio(big.gbps, on.dram_gbps)),
    sm = clip(ratio(big.tflops, on.sm_tflops)), occupancy = possible,
    registers = main and main.registers })
  features.rho = { measured(big.time_ns and math.log(big.time_ns)), {}, {}, derived(threads),
                   derived(threads and 1), derived(possible) }
  features.signature = { measured(ratio(1, numbers(out).speedup)), features.phi[6], derived(shared),
                         derived(clip(ratio(threads, 1024))), derived(possible) }
  out.evidence = cpu.of(features)
  return out
end

return evidence
