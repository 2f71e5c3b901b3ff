-- eval --strict on a GPU: what compute-sanitizer's tools say, read from programs that
-- print what the real ones do. No GPU is needed.
package.path = "tests/lib/?.lua;" .. package.path
local t = require "harness"
local core = require "kernelband.core"
local strict = require "kernelband.evaluate.strict"

local folder = os.tmpname()
os.remove(folder)
assert(core.system.mkdir_p(folder))
local head = "========= COMPUTE-SANITIZER\n"
local clean = {
  memcheck  = head .. "========= ERROR SUMMARY: 0 errors\n",
  racecheck = head .. "========= RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)\n",
  initcheck = head .. "========= ERROR SUMMARY: 0 errors\n",
  synccheck = head .. "========= ERROR SUMMARY: 0 errors\n",
}
local tools = { "memcheck", "racecheck", "initcheck", "synccheck" }

-- A compute-sanitizer whose tools do as told: of each { text =, status =, run = shell }.
local function fake(does)
  local lines = { "#!/bin/sh", 'while [ "$1" != --tool ]; do shift; done', 'case "$2" in' }
  for _, tool in ipairs(tools) do
    local d = does[tool] or {}
    lines[#lines + 1] = ("%s) cat <<'TEXT'\nok: 1.00x\n%sTEXT\n%s\nexit %d ;;"):format(
      tool, d.text or clean[tool], d.run or "", d.status or 0)
  end
  lines[#lines + 1] = "esac\n"
  local file = folder .. "/compute-sanitizer"
  assert(core.system.write_file(file, table.concat(lines, "\n")))
  assert(os.execute("chmod +x " .. file))
  return file
end

local function judge(does, limit_ns)
  local out = { checks = {}, weakened = {} }
  local bad = strict.sanitizer(out, "examples/tasks/softmax", "it's.cu", "cuda:0",
    { file = does and fake(does) or folder .. "/nothing-here", limit_ns = limit_ns })
  return bad, table.concat(out.checks, "; "), table.concat(out.weakened, "; ")
end

t.test("a kernel that every tool finds clean is ok, and all four tools are named", function()
  local bad, checks, weakened = judge {}
  t.equal(bad, nil)
  t.equal(checks, "compute-sanitizer memcheck; compute-sanitizer racecheck; "
                  .. "compute-sanitizer initcheck; compute-sanitizer synccheck")
  t.equal(weakened, "")
end)

local dirty = {
  memcheck = { "Invalid __global__ write of size 4 bytes", [[
========= Invalid __global__ write of size 4 bytes
=========     at softmax(const float *, float *, int, int)+0x70
=========     by thread (0,0,0) in block (0,0,0)
=========     Address 0x7f2b5f600400 is out of bounds
=========     and is 1 bytes after the nearest allocation at 0x7f2b5f600000 of size 1024 bytes
=========     Saved host backtrace up to driver entry point at kernel launch time
=========         Host Frame: cuLaunchKernel [0x2d2ed7] in libcuda.so.1
=========
========= ERROR SUMMARY: 1 error
]] },
  racecheck = { "Race reported between Write access", [[
========= Error: Race reported between Write access at softmax(float *, int)+0x90
=========     and Read access at softmax(float *, int)+0xc0 [254 hazards]
=========
========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)
]] },
  initcheck = { "Uninitialized __global__ memory read of size 4 bytes", [[
========= Uninitialized __global__ memory read of size 4 bytes
=========     at softmax(const float *, float *)+0x50
=========     by thread (95,0,0) in block (0,0,0)
=========     Address 0x7f2b5f600180
=========
========= ERROR SUMMARY: 48 errors
]] },
  synccheck = { "Barrier error detected. Divergent thread(s) in block", [[
========= Barrier error detected. Divergent thread(s) in block.
=========     at softmax(int *)+0x40
=========     by thread (32,0,0) in block (0,0,0)
=========
========= ERROR SUMMARY: 16 errors
]] },
}

for _, tool in ipairs(tools) do
  t.test(("what %s finds is wrong, and the finding is told"):format(tool), function()
    local bad = judge { [tool] = { text = head .. dirty[tool][2], status = 99 } }
    t.equal(bad.verdict, "wrong")
    t.contains(bad.reason, "compute-sanitizer " .. tool)
    t.contains(bad.reason, dirty[tool][1])
  end)
end

t.test("an error in one process of several is found, whatever the exit status", function()
  local bad = judge { memcheck = { text = head .. dirty.memcheck[2] .. clean.memcheck } }
  t.equal(bad and bad.verdict, "wrong")
end)

t.test("a hazard that is only a warning is reported and is not wrong", function()
  local bad, checks, weakened = judge { racecheck = { text = head .. [[
========= Warning: Race reported between Read access at softmax(float *, int)+0x90
=========     and Write access at softmax(float *, int)+0xc0 [4 hazards]
=========
========= RACECHECK SUMMARY: 1 hazard displayed (0 errors, 1 warning)
]] } }
  t.equal(bad, nil)
  t.contains(checks, "racecheck")
  t.contains(weakened, "racecheck warns: Race reported between Read access")
end)

for _, row in ipairs {
  { "runs past its time", { run = "sleep 20", text = head }, "after 1 s", 10 ^ 9 // 1 },
  { "cannot attach", { status = 1, text = head .. [[
========= Error: Target application terminated before first instrumented API call
]] }, "Target application terminated before" },
  { "is not one it knows", { status = 1, text = "ERROR: Unknown tool: initcheck\n" },
                              "exit status 1" },
  { "is killed", { run = "kill -9 $$", text = head }, "signal 9" },
  { "says nothing", { text = head }, "no summary" },
  { "fails inside", { status = 255, text = head .. [[
========= Internal Sanitizer Error: The Sanitizer encountered an error
========= ERROR SUMMARY: 0 errors
]] }, "Internal Sanitizer Error" },
  { "runs an evaluation that fails", { status = 1,
    text = "timeout: did not return in time\n" .. clean.initcheck }, "exit status 1" },
} do
  t.test(("a tool that %s is told, and not among the checks that ran"):format(row[1]), function()
    local bad, checks, weakened = judge({ initcheck = row[2] }, row[4])
    t.equal(bad, nil)
    t.equal(checks:find("initcheck", 1, true), nil)
    t.contains(checks, "compute-sanitizer synccheck")
    t.contains(weakened, "compute-sanitizer initcheck did not finish")
    t.contains(weakened, row[3])
  end)
end

t.test("a compute-sanitizer that is missing or cannot be started is reported", function()
  local bad, checks, weakened = judge(nil)
  t.equal(bad, nil)
  t.equal(checks, "")
  t.contains(weakened, "memcheck did not finish: it cannot be started")
end)

os.execute("rm -r " .. folder)
t.finish()
