-- kernelband profile: the real binary on the CPU, and how a GPU's profile reads.
package.path = "tests/lib/?.lua;" .. package.path
local t = require "harness"
local cjson = require "cjson"
local core = require "kernelband.core"
local evidence = require "kernelband.evaluate.evidence_cuda"
local profile = require "kernelband.cli.profile"

local exe = assert(core.system.exe())
local dir = t.folder()

-- Returns exit code, stdout, stderr.
local function run(words)
  local pipe = assert(io.popen(("%s profile %s >%s/out 2>%s/err </dev/null; echo $?")
                               :format(exe, words, dir, dir)))
  local code = math.tointeger(tonumber(pipe:read "l"))
  pipe:close()
  return code, core.system.read_file(dir .. "/out"), core.system.read_file(dir .. "/err")
end

t.test("a kernel's profile is tables of roofs and features", function()
  local code, out = run "tests/lib/tasks/axpy tests/lib/tasks/axpy/baseline.c"
  t.equal(code, 0)
  t.contains(out, "bottleneck, n=65536: ")
  t.contains(out, "of the measured peak")
  t.contains(out, "memory its data fit in")
  t.contains(out, "contiguous vector accesses")
end)

t.test("--json prints one object with evidence and profile", function()
  local code, out = run "tests/lib/tasks/axpy tests/lib/tasks/axpy/baseline.c --json"
  t.equal(code, 0)
  local o = cjson.decode(out)
  t.equal(o.verdict, "ok")
  t.equal(#o.evidence.phi, 9)
  t.equal(o.profile, cjson.null)
  t.equal(o.shapes[1].samples_ns, nil)
end)

t.test("a source that is not ok exits 1 and says why", function()
  assert(core.system.write_file(dir .. "/bad.c", "void axpy(nonsense"))
  local code, out = run("tests/lib/tasks/axpy " .. dir .. "/bad.c")
  t.equal(code, 1)
  t.contains(out, "build_failed: ")
end)

t.test("a usage error exits 2", function()
  local code, _, err = run "tests/lib/tasks/axpy"
  t.equal(code, 2)
  t.contains(err, "usage: kernelband profile TASK SOURCE")
  t.equal(run "tests/lib/tasks/axpy /nowhere.c", 2)
end)

local function on_gpu(metrics, why)
  local session = { task = { args = { { dtype = "f32" } },
                             work = function() return { flops = 2e8, bytes = 1e9 } end },
                    roofline = { f32_flops_per_s = 5e13, dram_bytes_per_s = 4e12 } }
  local out = { verdict = "ok", time_ns = 4e5, baseline_ns = 8e5, speedup = 2,
                shapes = { { role = "timed", label = "n=1", shape = { n = 1 }, time_ns = 4e5,
                             baseline_ns = 8e5, speedup = 2 } } }
  out.evidence = evidence.make(session, out, {
    metrics = metrics, why = why,
    entry = { registers = 255, shared_bytes = 0, local_bytes = 16 },
    launch = { grid = { 264, 1, 1 }, block = { 256 }, shared = 0 },
    device = { sm_count = 132, sm_registers = 65536, sm_shared_bytes = 233472,
               sm_threads = 2048 } })
  out.profile, out.evidence.profile = out.evidence.profile, nil
  return profile.text_of(out)
end

t.test("a GPU's profile names the bottleneck, limits, stalls and spills", function()
  local text = on_gpu { dram_pct = 71, dram_bytes = 1.5e9, issue_pct = 12, occupancy_pct = 11,
                        spill_loads = 120, spill_stores = 40, stall_wait = 25,
                        stall_long_scoreboard = 75 }
  t.contains(text, "bottleneck, n=1: memory: DRAM works at 71 % of its peak")
  t.contains(text, "registers (limits)")
  t.contains(text, "occupancy 11 % of a possible 12 %; 264 blocks are 2.0 waves of the GPU")
  t.contains(text, "spills 16 bytes a thread (120 loads, 40 stores)")
  t.contains(text, "1.50 of the compulsory")
  t.contains(text, "long_scoreboard       75 %")
  t.contains(text, "stall_wait")
end)

t.test("without counters the reason stands in their place", function()
  local text = on_gpu(nil, "the driver keeps counters to administrators")
  t.contains(text, "no hardware counters: the driver keeps counters to administrators")
  t.contains(text, "DRAM     62 %  derived")
  t.contains(text, "spills 16 bytes a thread\n")
end)

t.finish()
