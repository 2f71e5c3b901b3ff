-- Triton tasks: meta-parameters, the engine's half of the protocol with a stand-in for the worker,
-- and the worker itself on Triton's CPU interpreter: make check-triton.
package.path = "tests/lib/?.lua;" .. package.path
local t = require "harness"
local changes = require "changes"
local core = require "kernelband.core"
local kb = require "kernelband"
local python = require "kernelband.triton.python"
local tunables = require "kernelband.triton.tunables"
local worker = require "kernelband.worker"

local second_ns = 10 ^ 9 // 1
local dir = t.folder()
local interpreter = require "interpreter"

local function import(options)
  local tasks = kb.import.tritonbench("tests/triton", options)
  for _, task in ipairs(tasks) do
    if task.name == "scaled_add" then return task end
  end
end

-- One that looks for modules in folder first.
local function python_with(folder)
  local path = folder .. "/python3"
  assert(core.system.write_file(path, ("#!/bin/sh\nPYTHONPATH='%s' exec '%s' \"$@\"\n")
    :format(folder, interpreter)))
  os.execute(("chmod +x '%s'"):format(path))
  return path
end

t.test("a Python that lacks modules of its own is named, and what to install", function()
  -- As python3-minimal is: this one finds no ctypes.
  local modules = t.folder()
  assert(core.system.write_file(modules .. "/ctypes.py",
    "raise ModuleNotFoundError(\"No module named 'ctypes'\")\n"))
  local lacking = python_with(modules)
  local words = ": No module named 'ctypes', which is part of Python: install the whole of it"
  local found, why = python.probe(lacking)
  t.equal(found, nil)
  t.contains(why, words)
  t.equal(why:sub(1, 1), "/")           -- which Python
  local task = import { python = lacking }
  t.raises(words, function()
    kb.search { task = task, budget = { steps = 1 }, out = dir .. "/none", quiet = true }
  end)
  t.contains(task.no_schedule, words)
  local e = worker.start { task = task, device = "triton:0", workers = 1 }
  t.contains(t.raises("the worker died", function() e.baseline() end), words)
  e.close()
end)

local function schedule(source) return tunables.schedule(source) end

t.test("block sizes, warps and stages are found where they are given", function()
  local s = assert(schedule(import {}.source))
  t.equal(#s.parameters, 3)
  t.equal(s.parameters[1][1], "tile1")
  t.equal(s.parameters[1].label, "BLOCK_SIZE")
  t.equal(s.parameters[1][2][1], 64)
  local same = s.emit { tile1 = 64, warps1 = 0, stages1 = 0 }
  t.equal(same, import {}.source)
  local other = s.emit { tile1 = 512, warps1 = 8, stages1 = 0 }
  t.contains(other, "BLOCK_SIZE = 512")
  t.contains(other, "BLOCK_SIZE=BLOCK_SIZE, num_warps=8)")
end)

t.test("a number that no launch can take is no block size", function()
  local s = assert(schedule(("BLOCK = 1%s\nBLOCK_M = 64\nk[(1,)](x, BLOCK=BLOCK)\n"):format(
    ("0"):rep(60))))
  t.equal(s.parameters[1].label, "BLOCK_M")
end)

t.test("defaults, keywords and configurations of autotune are found too", function()
  local s = assert(schedule [[
import triton
é = "multi-byte text before"
@triton.autotune(configs=[triton.Config({'BLOCK_M': 32, 'GROUP_SIZE_M': 8}, num_warps=4),
                          triton.Config({"BLOCK_M": 64, "GROUP_SIZE_M": 8}, num_stages=2)], key=[])
@triton.jit
def tuned(x, BLOCK_M: tl.constexpr, GROUP_SIZE_M: tl.constexpr): pass
@triton.jit
def plain(x, BLOCK: tl.constexpr = 16): pass
def wrapper(x, chunk_size=64):
    tuned[(1,)](x)
    plain[(1,)](x, BLOCK=32, num_warps=2)
]])
  local seen = {}
  for _, p in ipairs(s.parameters) do
    seen[#seen + 1] = ("%s:%s=%d"):format(p[1]:match "%a+", p.label, p[2][1])
  end
  table.sort(seen)
  t.equal(table.concat(seen, " "), "group:GROUP_SIZE_M=8 group:GROUP_SIZE_M=8 stages:num_stages=0 "
    .. "stages:num_stages=2 tile:BLOCK=16 tile:BLOCK=32 tile:BLOCK_M=32 tile:BLOCK_M=64 "
    .. "tile:chunk_size=64 warps:num_warps=2 warps:num_warps=4")
  local p = {}
  for _, x in ipairs(s.parameters) do p[x[1]] = x[2][1] end
  p.tile1 = 128
  t.contains(s.emit(p), "128")
end)

t.test("a source that is no Python, or has nothing to vary, says so", function()
  local s, why = schedule "def f(:\n"
  t.equal(s, nil)
  t.contains(why, "no Python")
  s, why = schedule "def f(x):\n    return x\n"
  t.equal(s, nil)
  t.contains(why, "no meta-parameter")
end)

-- With a stand-in ---------------------------------------------------------------

local function standin()
  local task = import {}
  task.worker_argv = function() return { interpreter, "tests/triton/standin.py" } end
  return task
end

t.test("a whole search of a Triton task, and its journal", function()
  local out = dir .. "/run"
  local r = kb.search { task = standin(), budget = { steps = 8 }, seed = 3, out = out,
                        quiet = true }
  t.equal(r.pulls, 8)
  t.equal(r.speedup > 1, true)
  t.contains(r.source_path, "best.py")
  t.equal(r.machine.name, "stand-in")
  t.contains(core.system.read_file(r.source_path), "scaled_add_kernel")
  local sets = kb.metrics.of_runs { out }
  t.equal(#sets, 1)
  t.equal(sets[1].rows[1].task, "scaled_add")
  t.equal(sets[1].rows[1].verdict, "ok")
  t.near(sets[1].rows[1].speedup, r.speedup, 1e-9)
  t.contains(kb.metrics.text(sets), "100.0")
end)

t.test("kernels that do not stand at the end are in no table", function()
  local task, out = standin(), dir .. "/refuted"
  task.worker_argv = function() return { interpreter, "tests/triton/standin.py", "refutes" } end
  local r = kb.search { task = task, budget = { steps = 8 }, seed = 3, out = out, quiet = true }
  t.equal(r.speedup, 1)
  local row = kb.metrics.row(out)
  t.equal(row.verdict, "refuted")
  t.equal(row.speedup, nil)
  t.equal(kb.metrics.of({ row }).correct_pct, 0.0)
end)

t.test("a worker that dies, garbles or refuses costs a candidate or says why", function()
  local e = worker.start { task = standin(), device = "triton:0", workers = 1 }
  t.equal(e.baseline().verdict, "ok")
  local function judge(source)
    return e.evaluate({ source = source }, {})
  end
  t.equal(judge("def f(): dies").verdict, "crashed")
  t.equal(judge("def f(): garbles").verdict, "crashed")
  t.equal(judge("x").verdict, "build_failed")
  t.equal(judge("def f(): BLOCK_SIZE = 256").tier, "host-code")
  e.close()
  local task = standin()
  task.job.source = "import nowhere"
  e = worker.start { task = task, device = "triton:0", workers = 1 }
  t.raises("package nowhere", function() e.baseline() end)
  e.close()
end)

t.test("the engine waits longer than the worker's own deadline, and no more than that", function()
  local task = standin()
  local given = task.limits().open_s
  task.job.open_s = 1000
  t.equal(task.limits().open_s > 1060, true)
  task.job.open_s = nil
  t.equal(task.limits().open_s, given)
  t.equal(task.limits().evaluate_s > 160, true)
  task.job.source = "def f(): sleeps"
  task.limits = function() return { open_s = 0.5, evaluate_s = 1 } end
  local e = worker.start { task = task, device = "triton:0", workers = 1 }
  t.raises("did not answer in time", function() e.baseline() end)
  e.close()
end)

-- With torch and triton -----------------------------------------------------------

t.test("a Python without torch is named, and what it lacks", function()
  local bare = t.folder()
  assert(core.system.write_file(bare .. "/torch.py",
    "raise ModuleNotFoundError(\"No module named 'torch'\", name='torch')\n"))
  bare = python_with(bare)
  local e = worker.start { task = import { python = bare }, device = "triton:0", workers = 1 }
  t.raises("cannot import t", function() e.baseline() end)
  e.close()
end)

-- KERNELBAND_TEST_GPU=1: on the first GPU.
local on_gpu = os.getenv "KERNELBAND_TEST_GPU" == "1"

local function real(options)
  local task = import(options)
  task.job.call_s = on_gpu and 20 or 6
  task.worker_argv = function(device)
    return { "/usr/bin/env", on_gpu and "A=1" or "TRITON_INTERPRET=1",
             "SECRET_KEY=sk-not-to-be-told", interpreter, python.worker, "serve", device,
             python.inject() }
  end
  return task
end

local evaluator = worker.start { task = real {}, device = "triton:0", workers = 1 }

local function judge(source, options)
  return assert(evaluator.evaluate({ source = source }, options or {}))
end

t.test("the untouched reference is ok, and 1 by definition", function()
  local b = assert(evaluator.baseline())
  t.equal(b.verdict, "ok", b.reason)
  t.equal(b.speedup, 1)
  t.equal(b.tier, "host-code")
  t.equal(#b.shapes, 3)
  t.equal(b.self_speedup > 0.3 and b.self_speedup < 3, true)
  t.equal(b.checks.elements, 3 * (64 + 200 + 1 + 120))
  t.equal(b.checks.left_to_chance, 0)
  t.equal(evaluator.machine().interpreter, not on_gpu or nil)
  -- What ran on the GPU is recorded, or the result says what is in the way.
  t.equal(type(b.recorded.by or b.recorded.why), "string")
  if not on_gpu then t.contains(b.recorded.why, "interpreter") end
  if b.recorded.by then t.equal(b.shapes[1].recorded.kernels > 0, true) end
  t.equal(#b.evidence.phi, 9)
  t.equal(#b.evidence.rho, 6)
  t.equal(#b.evidence.signature, 5)
end)

t.test("pairs of processes time a baseline: the medians of both orders are its speed-up", function()
  local task = real {}
  task.job.pairs, task.job.baseline_only = 2, true
  local e = worker.start { task = task, device = "triton:0", workers = 1 }
  local b = assert(e.baseline())
  t.equal(e.evaluate({ source = task.source .. "\n# one after all\n" }, {}).verdict, "ok")
  e.close()
  t.equal(b.verdict, "ok", b.reason)
  t.equal(#b.pairs, 2)
  t.equal(b.pairs[1] ~= b.pairs[2], true)
  local sum, by_pairs = 0, 0
  for _, shape in ipairs(b.shapes) do
    sum = sum + math.log(shape.self_speedup)
    if shape.pairs then     -- a call that waits for the host in one pair alone has one
      by_pairs = by_pairs + 1
      local same, other = core.stats.median(shape.pairs[1]), core.stats.median(shape.pairs[2])
      t.near(shape.self_speedup, math.sqrt(same * other), on_gpu and 1e-3 or 1e-9)
    end
  end
  t.equal(by_pairs > 0, true)
  t.near(b.self_speedup, math.exp(sum / #b.shapes), 1e-9)
  t.equal(b.speedup, 1)
end)

t.test("an honest candidate is ok, has an interval and samples of every shape", function()
  local out = judge((import {}.source:gsub("BLOCK_SIZE = 64", "BLOCK_SIZE = 256")))
  t.equal(out.verdict, "ok", out.reason)
  t.equal(out.speedup > (on_gpu and 0.5 or 1.2), true)
  t.equal(out.speedup_low <= out.speedup and out.speedup <= out.speedup_high, true)
  t.equal(#out.shapes[1].samples.candidate, out.shapes[1].blocks)
  t.equal(out.speedup_of_sums > (on_gpu and 0.5 or 1), true)
end)

t.test("what is clearly slower than the best is dropped after a screen", function()
  local times = {}
  for i, s in ipairs(evaluator.baseline().shapes) do times[i] = s.time_ns / 20 end
  local out = judge(import {}.source, { best_times_ns = times })
  t.equal(out.verdict, "ok", out.reason)
  t.equal(out.screened, true)
end)

-- The look at the syntax is a first gate alone: what it stops must not get through
-- the checks behind it either. open: a list of what does, told in README.
local open = { library_behind_a_kernel = true, inspects_stack = true, walks_frames = true,
               reads_seed = true, leaves_a_process = true, rewrites_the_runner = true }

-- Processes that work in a folder of this run's workers: others may be judging beside us.
local me, ours = core.system.realpath "/proc/self":match "%d+", {}

-- How many, and of each the pid of its worker.
local function left_behind()
  local n, whose = 0, {}
  for _, pid in ipairs(core.system.list "/proc") do
    local cwd = pid:match "^%d+$" and core.system.realpath("/proc/" .. pid .. "/cwd")
    local of = cwd and cwd:match "kernelband%-triton%-(%d+)%-"
    if of then
      local stat = core.system.read_file("/proc/" .. of .. "/stat") or ""
      ours[of] = ours[of] or stat:match "%) %S (%d+)" == me
      n = n + (ours[of] and 1 or 0)
      whose[pid] = ours[of] and of or nil
    end
  end
  return n, whose
end

-- A process that runs no file keeps memory of the GPU that results are shown in.
local keepers = on_gpu and 1 or 0

t.test("a winner is confirmed by processes that no candidate was beside, of the same worker",
       function()
  local honest = import {}.source:gsub("BLOCK_SIZE = 64", "BLOCK_SIZE = 128")
  t.equal(judge(honest).verdict, "ok")
  local _, before = left_behind()
  local out = judge(honest, { confirm = true })
  t.equal(out.verdict, "ok", out.reason)
  t.equal(out.screened, false)
  local n, after = left_behind()
  t.equal(n >= 1, true)
  local worker_before, worker_after = select(2, next(before)), select(2, next(after))
  t.equal(worker_after, worker_before)
  local old = 0
  for pid in pairs(after) do old = old + (before[pid] and 1 or 0) end
  t.equal(old, keepers)
  t.equal(judge(honest).verdict, "ok")
end)

local stopped = {}
local recorded = on_gpu and not evaluator.baseline().recorded.why

local hostile = changes.list("tests/candidates/hostile_triton", import {}.source)
for _, c in ipairs(hostile) do
  local expected = recorded and c.head:match "# recorded: (%S+)" or c.head:match "# expect: (%S+)"
  t.test(c.name .. " is judged " .. expected, function()
    local out = judge(c.source)
    local fits = false
    for v in expected:gmatch "[^|]+" do fits = fits or v == out.verdict end
    t.equal(fits, true, ("%s: %s"):format(out.verdict, out.reason))
    stopped[c.name] = (out.reason or ""):find "which no kernel needs"
    t.equal((out.reason or ""):find "sk%-not", nil)
  end)
end

t.test("nothing that candidates started or wrote stays behind", function()
  local n, till = left_behind(), core.system.now_ns() + 5 * second_ns
  local most = keepers + (on_gpu and 3 or 2)      -- the reference, a spare and its partner
  while n > most and core.system.now_ns() < till do n = left_behind() end     -- no one asks for it
  t.equal(n >= 1 and n <= most, true, n .. " processes")
  t.equal(core.system.exists "/tmp/kernelband_triton_was_here", nil)
  evaluator.close()
  t.equal(left_behind(), 0)
end)

t.test("without the look at the syntax the other checks hold, save for what is listed", function()
  local task = real {}
  task.job.gate = false
  evaluator = worker.start { task = task, device = "triton:0", workers = 1 }
  t.equal(evaluator.baseline().verdict, "ok")
  for _, c in ipairs(hostile) do
    -- What torch does on another stream is seen in records alone.
    local seen = recorded or c.name ~= "torch_on_other_stream"
    if stopped[c.name] and not open[c.name] and seen
       and (on_gpu or not c.name:find "other_stream") then
      t.equal(judge(c.source).verdict ~= "ok", true, c.name)
    end
  end
  evaluator.close()
end)

-- Each starts a process that outlives it and slows down what its worker has: at once, under a name
-- that is no text, or, of one that ends in the middle, when the reference runs once more.
local leaving = [[

import ctypes, logging
os, worker = logging.os, logging.os.getppid()
def children():
    with logging.io.open("/proc/%d/task/%d/children" % (worker, worker)) as f:
        return [int(pid) for pid in f.read().split()]
def slow(pid):
    try:
        os.setpriority(os.PRIO_PROCESS, pid, 19)
    except OSError:
        pass
def leave(name, wait):
    parent, reference = os.getpid(), min(children())
    def turns():
        with logging.io.open("/proc/%d/schedstat" % reference) as f:
            return f.read().split()[2]
    if os.fork():
        return
    os.setsid()
    ctypes.CDLL(None).prctl(15, name, 0, 0, 0)
    before = None
    for _ in range(20000):
        if os.getppid() != parent:
            before = before or turns()
            if not wait or turns() != before:
                [slow(pid) for pid in ([reference] if wait else children())]
        logging.time.sleep(0.0002)
    os._exit(0)
]]
for _, how in ipairs { { "is left behind", "leave(b'stays', False)" },
                       { "has no name", "leave(b'\\xff\\xfe', False)" },
                       { "follows a crash", "leave(b'crash', True)\nlogging.time.sleep(0.2)\n"
                           .. "os.kill(os.getpid(), 9)" } } do
  t.test(("a process that %s does nothing to the next candidate"):format(how[1]), function()
    local task = real {}
    task.job.gate = false
    evaluator = worker.start { task = task, device = "triton:0", workers = 1 }
    t.equal(evaluator.baseline().verdict, "ok")
    local honest = import {}.source
    for round = 1, 2 do
      judge(honest .. leaving .. how[2] .. "\n# " .. round)
      local out = judge(honest .. "# " .. round)
      t.equal(out.verdict, "ok", out.reason)
    end
    evaluator.close()
  end)
end

t.test("a result that the untouched file does not give twice is left out by name", function()
  local task = real {}
  task.job.tests = task.job.tests .. "result_gold['whim'] = id(object()) % 1000003\n"
  local e = worker.start { task = task, device = "triton:0", workers = 1 }
  local b = e.baseline()
  t.equal(b.verdict, "ok", b.reason)
  t.equal(#b.checks.ignored, 1)
  t.contains(b.checks.ignored[1], "whim")
  e.close()
end)

t.test("a child that speaks nonsense, or gives a pipe for a file, is no worker's end", function()
  local task = real {}
  task.job.gate = false
  evaluator = worker.start { task = task, device = "triton:0", workers = 1 }
  t.equal(evaluator.baseline().verdict, "ok")
  local honest = import {}.source
  local runner = [[

def runner():
    try:
        raise ValueError
    except ValueError as e:
        frame = e.__traceback__.tb_frame
    while frame:
        if type(frame.f_locals.get("self")).__name__ == "Runner":
            return frame.f_locals["self"]
        frame = frame.f_back

]]
  local out = judge(honest .. runner .. [[
runner().timed = lambda call, cycles: (call(), float("inf"), 1, True)
]])
  t.equal(out.verdict ~= "ok", true, "times that are no numbers")
  out = judge(honest .. runner .. [[
type(runner()).do_go = lambda self, cycles=0: {"ticks": []}
]])
  t.equal(out.verdict, "crashed")
  out = judge(honest .. [[

import gc
assert not any(type(thing).__name__ == "Runner" for thing in gc.get_objects())
]])
  t.equal(out.verdict, "ok", out.reason)
  out = judge(honest .. [[

import os
os.mkfifo("out.bin")
]])
  t.equal(out.verdict ~= "ok", true, "a pipe")
  t.equal(judge(honest).verdict, "ok")
  evaluator.close()
end)

t.test("folders of a worker that was killed are removed by the next", function()
  local old = "/tmp/kernelband-triton-4194303999-left"
  if (os.getenv "TMPDIR" or "/tmp") ~= "/tmp" then return end
  os.execute(("mkdir -p '%s'"):format(old))
  local e = worker.start { task = real {}, device = "triton:0", workers = 1 }
  e.baseline()
  e.close()
  t.equal(core.system.exists(old), nil)
end)

t.test("a missing package is named, and no candidate is asked for", function()
  local task = real {}
  task.job.source = "import no_such_package\n" .. task.job.source
  local e = worker.start { task = task, device = "triton:0", workers = 1 }
  t.raises("no_such_package", function() e.baseline() end)
  e.close()
end)

t.finish()
