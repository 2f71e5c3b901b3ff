-- The CUDA device from the engine's side, on the driver of tests/lib/stub: verdicts,
-- a worker lost and another in its place, and what is closed in which order.
package.path = "tests/lib/?.lua;" .. package.path
local core = require "kernelband.core"

local system = core.system
local exe = system.exe()
local here = "tests/lib"

-- The dynamic linker reads its path when a program starts: so this one starts again.
if not os.getenv "STUB_UUID" then
  local stub, cache = exe:match "^(.*)/" .. "/tests/lib/stub", assert(system.temp_dir())
  assert(system.exists(stub .. "/lib/libcuda.so.1"), "the stub is not built: make check builds it")
  local uuid = "spec" .. system.now_ns() % 10 ^ 7 // 1
  -- Its nvdisasm prints a loop of whatever kernel.
  assert(system.write_file(cache .. "/nvdisasm", [[#!/bin/sh
for k in scale scale_fast; do
  echo ".text.$k:"
  printf '/*0000*/ LDC R1 ;\n.L:\n/*0010*/ LDG R2 ;\n/*0020*/ @P0 BRA `(.L) ;\n//---\n'
done
]]))
  -- A toolkit with a long path, so that sentences about it are long; its CUPTI is none.
  local toolkit = cache .. "/" .. ("x"):rep(240)
  os.execute(("chmod 755 %s && mkdir -p %s/lib %s/bin && install -m 755 %s/nvdisasm %s/bin"):format(
    cache, toolkit, toolkit, cache, toolkit))
  os.execute(("ln -s %s/lib/libnvrtc.so.13 %s/lib && ln -s %s/lib/libcuda.so.1 "
              .. "%s/lib/libcupti.so.13"):format(stub, toolkit, stub, toolkit))
  local ok = os.execute(("LD_LIBRARY_PATH=%s/lib KERNELBAND_CUDA=%s XDG_CACHE_HOME=%s STUB_UUID=%s"
                         .. " STUB_NEIGHBOUR=%s/fault %s run %s"):format(stub, toolkit, cache, uuid,
                                                                        cache, exe, arg[0]))
  local hex = uuid:gsub(".", function(c) return ("%02x"):format(c:byte()) end)
  os.execute(("rm -rf '%s' /tmp/kernelband-gpu-%s*"):format(cache, hex))
  assert(ok, "a test failed")
  return
end

local asked = require "asked"
local candidates = require "candidates"
local t        = require "harness"
local evaluate = require "kernelband.evaluate"
local task     = require "kernelband.task"
local worker   = require "kernelband.worker"

local second_ns = 10 ^ 9 // 1
local scale = task.load(here .. "/stub/scale")
local baseline = assert(system.read_file(here .. "/stub/scale/baseline.cu"))
local function source(name) return (baseline:gsub("scale", name)) end

local args = { { mode = "in", dtype = "f32", count = 4 },
               { mode = "out", dtype = "f32", count = 4 },
               { mode = "scalar", dtype = "i32", value = 4 } }

local function judge(e, name, how)
  return assert(e.evaluate({ source = source(name) }, how or {}))
end

t.test("candidates get their verdicts", function()
  local e = worker.start { task = scale, device = "cuda:1" }
  local out = judge(e, "scale_fast", { disassemble = true, profile = true })
  t.equal(out.verdict .. tostring(out.reason), "oknil")
  t.equal(out.speedup > 1.9 and out.speedup < 2.1, true)
  t.equal(out.evidence.hot, { text = "   0  LDG R2\n  10  @P0 BRA +0", instructions = 2, shown = 2,
                              sass = true })
  local limits = {}                     -- by what the driver says of its device
  for _, l in ipairs(out.profile.occupancy.limits) do limits[l.name] = l.blocks end
  t.equal({ limits.threads, limits.blocks }, { 8, 32 })
  t.equal(out.evidence.signature_kind[3], "derived")
  t.equal(e.baseline().evidence.hot.instructions, 2)    -- and of others on demand
  t.equal(judge(e, "scale_fast").evidence.hot, nil)
  t.equal(judge(e, "scale_wrong").verdict, "wrong")
  t.contains(judge(e, "scale_beside").reason, "outside")
  e.close()
end)

t.test("only a kernel with atomic additions may flush every term of a sum, and that is said",
       function()
  local rooms = require "kernelband.evaluate.room"
  local atomic = "__device__ void f(float *p) { atomicAdd(p, 1); }"
  for _, case in ipairs {
    { "", false }, { "// atomicAdd(p, 1)\n", false }, { "/* red.global.add.f32 */", false },
    { "int colored; struct { int x; } infrared; int y = infrared.x;", false }, { atomic, true },
    { 'asm("red.global.add.f32 [%0], 1.0;" :: "l"(p));', true },
    { 'asm("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32")', true },
    { "# kb: triton k\ni = p // 2; tl.atomic_add(x, y)", true },
  } do
    t.equal(rooms.has_atomics({ language = "cuda" }, case[1]), case[2], case[1])
    t.equal(rooms.has_atomics({ language = "c" }, case[1]), false)
  end
  local sums = task.load(here .. "/stub/scale")
  sums.all.reduction = function() return 1000 end
  local device <close> = evaluate.device "cuda:0"
  local s = evaluate.open(sums, device)
  local out, told = s:evaluate(source "scale_fast" .. atomic), "an error of 1000 of the smallest "
  t.equal(out.verdict, "ok", out.reason)
  t.contains(table.concat(out.weakened, "\n"), told)
  assert(not table.concat(s.baseline.weakened, "\n"):find(told, 1, true))
  s:close()
end)

-- Builders were refused as no device for a while, and the worker compiled everything.
t.test("what waits for the GPU is compiled by builders", function()
  local e = asked(worker.start { task = scale, device = "cuda:0", parallel = 2 })
  if e.capacity < 2 then
    print "skipped: builders compile on a second processor, and there is one"
    return e.close()
  end
  e.baseline()
  for i = 1, 6 do
    e.submit(i, { source = source "scale_fast" .. "// slow to compile " .. i }, {})
  end
  local compiled = 0
  for _ = 1, 6 do
    local ticket, out, code
    repeat
      ticket, out, code = e.next(10 * second_ns)
    until ticket or code ~= "EINTR" and code ~= "ETIME"
    t.equal(ticket and out.verdict, "ok", out)
    if out.seconds.build >= 0.4 then compiled = compiled + 1 end
  end
  assert(compiled <= 3, compiled)       -- the first, while there was nothing else to do
  e.close()
end)

-- A fault breaks the driver for the process, a hang leaves it at work: neither
-- is asked anything more, and the next candidate finds a worker that is whole.
t.test("after a candidate that breaks, hangs or kills the worker the next one is judged", function()
  local e = worker.start { task = scale, device = "cuda:0" }
  for _, case in ipairs { { "scale_fault", "crashed", "ILLEGAL_ADDRESS" },
                          { "scale_hang", "timeout", "" }, { "scale_kill", "crashed", "" } } do
    local out = judge(e, case[1])
    t.equal({ case[1], out.verdict }, { case[1], case[2] })
    t.contains(out.reason, case[3])
    t.equal(judge(e, "scale_fast").verdict, "ok")
  end
  e.close()
end)

-- Measured on an H200: another process's fault may break a context that only waits, and a kernel
-- that runs beside it.
local function neighbour_faults(when)
  assert(system.write_file(os.getenv "STUB_NEIGHBOUR" .. "." .. when, ""))
end

t.test("a fault of another process's kernel is no verdict on a candidate", function()
  local e = worker.start { task = scale, device = "cuda:0" }
  e.baseline()
  for _, case in ipairs { { "memset", "scale_fast" }, { "load", "scale_fast" },
                          { "launch", "scale_beside_fault" } } do
    neighbour_faults(case[1])           -- before the candidate begins, and while it runs
    local out = judge(e, case[2])
    t.equal({ out.verdict, out.reason }, { "ok" })
    t.equal(system.exists(os.getenv "STUB_NEIGHBOUR" .. "." .. case[1]), nil)
  end
  -- And while the next worker opens the task: the spare, then, where the spare is killed too, a
  -- fresh one that opens the device first.
  for kills, when in ipairs { "memset", "load" } do
    for _ = 1, kills do candidates.kill_worker() end
    neighbour_faults(when)
    t.equal(judge(e, "scale_fast").verdict, "ok")
    t.equal(system.exists(os.getenv "STUB_NEIGHBOUR" .. "." .. when), nil)
  end
  e.close()
end)

-- Linux releases the files of a process that ends from the highest number down: the driver's,
-- which stop what runs on the GPU, must come before the lock that keeps others away from it.
t.test("a worker that dies has let go of the GPU before another gets its lock", function()
  local e = worker.start { task = scale, device = "cuda:0" }
  e.baseline()
  local files <close> = io.popen(("ls -l /proc/%s/fd"):format(candidates.worker_pid()))
  local text = files:read "a"
  local lock = tonumber(text:match "(%d+) %-> /tmp/kernelband%-gpu%-")
  t.equal(lock < tonumber(text:match "(%d+) %-> /memfd:driver"), true)
  e.close()
end)

t.test("a device closed while rooms live, in whatever order they are collected, harms nothing",
       function()
  for round = 1, 2 do
    local held = { device = evaluate.device "cuda:0" }
    held.session = evaluate.open(scale, held.device)
    t.equal(held.session:evaluate(source "scale_fast", {}).verdict, "ok")
    held.session:close()
    held[round == 1 and "device" or "session"] = nil
    collectgarbage()
    held.device, held.session = nil, nil
    collectgarbage()
  end
end)

t.test("things of two devices do not go together", function()
  local a, b = assert(core.device "cuda:0"), assert(core.device "cuda:1")
  local x, y = a:buffers(args, 1), b:buffers(args, 1)
  t.raises("another device", x.take, x, y)
  a:close()
  b:close()
  x:fill(1, "normal", 1)
  x:close()
  y:close()
end)

t.test("the sentence that says why there are no counters is whole", function()
  local plan = { launches = { { kernel = "scale", grid = { 1, 1, 1 }, block = { 32, 1, 1 },
    shared = 0, args = { { kind = "arg", index = 1 }, { kind = "arg", index = 2 },
             { kind = "arg", index = 3 } } } }, scratch = {} }
  local d <close> = assert(core.device "cuda:0")
  local o <close> = assert(d:build { source = baseline, entry = "scale", args = args,
                                     timeout_ns = 10 * second_ns })
  local b <close> = assert(d:buffers(args, 1))
  local p <close> = assert(d:load(o, b, plan))
  local metrics, why = p:profile "search"
  t.equal(metrics, nil)
  if why:find("built without", 1, true) then           -- as one with the address sanitizer is
    return t.contains(why, "build it with make CUDA=/usr/local/cuda")
  end
  t.equal(#why > 255, true)
  t.contains(why, "install a newer CUPTI")
end)

t.test("an invalid name of a GPU is refused before anything starts", function()
  for _, name in ipairs { "cuda:x", "cuda:", "cuda:-1", "gpu" } do
    t.equal(core.language(name), nil)
    local d, why = core.device(name)
    t.equal(d, nil)
    t.contains(why, '"cuda:N"')
  end
end)

t.finish()
