-- The parts of the Triton worker that compare, lay out memory, draw inputs and time: on tensors of
-- a CPU, where python3 (or KERNELBAND_PYTHON) has torch and triton. Whole files are judged in
-- spec_triton_files.lua.
package.path = "tests/lib/?.lua;" .. package.path
local t = require "harness"
local core = require "kernelband.core"
local python = require "kernelband.triton.python"

local interpreter = python.name()
local found = interpreter and python.probe()
if not (found and found.torch and found.triton) then
  io.stderr:write "skipped: no Python with torch and triton\n"
  return t.finish()
end

local folder = t.folder()

local function run(script, ...)
  return assert(python.run({ interpreter, "-B", "-c", ([[
import sys, tempfile
tempfile.tempdir = "%s"
sys.path[:0] = sys.argv[1].rsplit("/", 1)[0], "tests/triton"
from whole import worker
]]):format(folder) .. script, python.worker(), ... }, ""))
end

t.test("what a candidate will ask for is compiled ahead, without a GPU", function()
  t.equal(run([[
import glob, os, tempfile, types, torch, triton
SOURCE = """
import torch, triton, triton.language as tl
@triton.autotune(configs=[triton.Config({"BLOCK": b}) for b in (64, 128)], key=["n"])
@triton.jit
def copies(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i, mask=i < n), mask=i < n)
@triton.jit
def scales(x, n, by: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + i, tl.load(x + i, mask=i < n) * by, mask=i < n)
def op(x):
    assert x.is_cuda and torch.cuda.get_device_properties(0).multi_processor_count == 132
    y = torch.empty_like(x)
    copies[lambda meta: (triton.cdiv(x.numel(), meta["BLOCK"]),)](x, y, x.numel())
    scales[(triton.cdiv(x.numel(), 64),)](y, x.numel(), by=x.dim(), BLOCK=64)
    return y
"""
TESTS = """
def test_op():
    first = op(torch.randn(100, device="cuda"))
    if not first.sum().item() or not (first > 0).any():
        return {}
    return {"b": first.cpu(), "c": op(torch.randn(3, 3, 3, device="cuda"))}
result = test_op()
"""
PERF = """
from TritonBench_v1.mine import op
from performance_utils import Performance_Metrics
class performance_metrics(Performance_Metrics):
    def get_input_tensors(self):
        for n in 64, 128:
            self.input_tensors.append(torch.rand((n, n), dtype=torch.float16))
    def to_cuda(self, x):
        return x.cuda()
    def call_op(self, x):
        if x.shape[0] == 128:
            raise ValueError("only so far")
        return op(x)
import torch
"""
what = dict(source=SOURCE, tests=TESTS, perf=PERF, kind="tritonbench", name="mine", seed=1)
machine = {"capability": [9, 0], "smem_per_sm": 233472, "sm_count": 132, "memory_bytes": 1 << 37,
           "name": "x"}
child = types.SimpleNamespace(scratch=tempfile.mkdtemp())
def compiled():
    return len(glob.glob(child.scratch + "/cache/*/*.cubin"))
scout = worker.Child.scout(machine, child)
noted = scout.ask("ahead", 60, processes=2, **what)
scout.ask("await", 60, n=noted["all"])
print(noted["tests"], noted["all"], compiled())
# The same launches with tensors that lie somewhere ask for nothing else.
os.environ["TRITON_CACHE_DIR"] = child.scratch + "/cache"
triton.runtime.driver.set_active(worker.NoGpu(torch, machine))
with open(child.scratch + "/mine.py", "w") as f:
    f.write(SOURCE)
space = {"__file__": child.scratch + "/mine.py", "__name__": "mine"}
sys.modules["mine"] = types.ModuleType("mine")
exec(compile(SOURCE, child.scratch + "/mine.py", "exec"), space)
sys.modules["mine"].__dict__.update(space, __file__=child.scratch + "/mine.py")
def run(fn, *args, **options):
    fn.run(*args, grid=(1,), warmup=True, **options)
for x, by in (torch.randn(100), 1), (torch.rand(64, 64).half(), 2), (torch.rand(3, 3, 3), 3):
    for block in 64, 128:
        run(space["copies"].fn, x, x.clone(), x.numel(), BLOCK=block)
    run(space["scales"], x, x.numel(), by=by, BLOCK=64)
print(compiled())
scout.ask("await", 60, n=99)
print(scout.kill(), os.listdir(child.scratch + "/cache") != [])
]]), "4 7 7\n7\nended True\n")
end)

-- A scout of a small file, made by scout_of(what stands above its kernel, what the kernel adds).
local scouting = [[
import ctypes, os, signal, tempfile, time, types
import torch, triton
ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)
KERNEL = """
@triton.jit
def adds(x, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + i, tl.load(x + i, mask=i < n) + %s, mask=i < n)
def op(x):
    for block in 32, 64:
        adds[(1,)](x, x.numel(), BLOCK=block)
    return x
"""
def what(above="", added="1"):
    return dict(source="import torch, triton, triton.language as tl\n" + above + KERNEL % added,
                tests="def test_op():\n    return op(torch.ones(9, device='cuda'))\n"
                "result = test_op()\n", perf="", kind="tritonbench", name="mine", seed=1)
machine = {"capability": [9, 0], "smem_per_sm": 233472, "sm_count": 132, "memory_bytes": 1 << 37,
           "name": "x"}
child = types.SimpleNamespace(scratch=tempfile.mkdtemp(), pid=None)
def scout_of(*given):
    scout = worker.Child.scout(machine, child)
    return scout, scout.ask("ahead", 60, processes=2, **what(*given))
def living():
    found = 0
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/stat" % entry) as f:
                gone = f.read().rsplit(")", 1)[1].split()[0] in "ZX"
            found += not gone and os.readlink("/proc/%s/cwd" % entry).startswith(child.scratch)
        except OSError:
            pass
    return found
]]

t.test("what a scout's file started ends with it, and all of it with a worker that is killed",
       function()
  t.equal(run(scouting .. [[
s = worker.Session.__new__(worker.Session)
s.scout, _ = scout_of("""
import os, time
if os.fork() == 0:
    if os.fork() == 0:
        pass
    time.sleep(60)
    os._exit(0)
""")
print(living() >= 3)
s.no_scout()
print(living())
if os.fork() == 0:      # a worker
    scout_of("""
@triton.constexpr_function
def hangs(n):
    while True:
        pass
""", "hangs(n)")
    os.kill(os.getpid(), signal.SIGKILL)
os.wait()
end = time.monotonic() + 20
while living() and time.monotonic() < end:
    time.sleep(0.01)
print(living())
]]), "True\n0\n0\n")
end)

t.test("a scout has no GPU, and what ends one that compiles is no answer of the scout's", function()
  t.equal(run(scouting .. [[
os.environ["CUDA_VISIBLE_DEVICES"] = "0"
scout, noted = scout_of("""
import os
assert os.environ["CUDA_VISIBLE_DEVICES"] == ""
@triton.constexpr_function
def leaves(n):
    raise SystemExit(3)
""", "leaves(1)")
print(noted["all"], scout.ask("await", 60, n=2), scout.ask("await", 60, n=2))
scout, noted = scout_of("""
@triton.constexpr_function
def hangs(n):
    while True:
        pass
""", "hangs(1)")
print(noted["all"], scout.ask("await", 60, n=2, stall=0.2))
]]), "2 {} {}\n2 {'stalled': True}\n")
end)

t.test("what is waited for are the kernels that were asked for, not as many others", function()
  t.equal(run [[
import os, time
s, made = worker.Scout.__new__(worker.Scout), tempfile.mkdtemp()
def compiles(i):
    while i == 0 and len(os.listdir(made)) < 5 or i == 6 and not os.path.exists(made + "/go"):
        time.sleep(0.01)                    # the first after the next five, the last when told
    open("%s/%d" % (made, i), "w").close()
s.jobs, s.done = {i: lambda i=i: compiles(i) for i in range(7)}, set()
s.start(2)
for n in 2, 6:
    print(s.do_await(n), sorted(os.listdir(made)))
open(made + "/go", "w").close()
print(s.do_await(7), len(os.listdir(made)), s.do_await(8))
]], [[
{} ['0', '1', '2', '3', '4', '5']
{} ['0', '1', '2', '3', '4', '5']
{} 8 {}
]])
end)

t.test("a child has its two pipes and nothing of what is open in the worker", function()
  t.equal(run(scouting .. [[
low, high = os.open("/", os.O_RDONLY), 400
for fd in 200, 201, high:
    os.dup2(low, fd)
scout, _ = scout_of("""
import os
for fd in sorted(int(x) for x in os.listdir("/proc/self/fd")):
    try:
        print(os.readlink("/proc/self/fd/%d" % fd).split(":")[0].rsplit("/", 1)[-1], end=" ")
    except OSError:
        pass
print(flush=True)
""")
with open(scout.scratch + "/log") as f:
    print(f.readline())
]]), "null log log pipe pipe \n\n")
end)

t.test("whatever a scout says, a candidate is judged, and has its time for itself", function()
  t.equal(run [[
import json, math
class Scout:
    def __init__(self, reply):
        self.reply, self.killed = reply, 0
    def begin(self, *args, **given):
        return lambda: json.loads(self.reply)
    def ask(self, op, seconds, n, stall):
        worker.time.sleep(0.1)
        if n > 9:
            raise worker.Lost("timeout", "so many")
        return {}
    def kill(self):
        self.killed += 1
s = worker.Session.__new__(worker.Session)
s.device, s.scout, s.machine, s.needs = "cuda:0", None, {}, {}
s.task = dict(kind="tritonbench", module="mine")
for reply in ('{}', '{"tests": NaN}', '{"tests": Infinity}', '{"tests": [1]}', '{"tests": null}',
              '{"tests": "x"}', '{"tests": %s}' % (4000 * "9"), '{"tests": -1, "all": "-1"}'):
    scout = Scout(reply)
    worker.Child.scout = classmethod(lambda *args: scout)
    worker.Child.deadline = start = worker.time.monotonic()
    until = s.ahead(None, "")
    until("tests"), until("all")
    waited = worker.time.monotonic() - start
    print(scout.killed > 0, abs(worker.Child.deadline - start - waited) < 0.05)
def fails(*args):
    raise BlockingIOError
worker.Child.scout = classmethod(fails)
print(s.ahead(None, "")("tests"))
]], ("True True\n"):rep(7) .. "False True\nNone\n")
end)

t.test("when no kernel gets compiled for long after the untouched file's were, little time is left",
       function()
  t.equal(run [[
import os, time
class Scout:
    def begin(self, *args, **given):
        return lambda: {"tests": 2, "all": 6, "seconds": 0.1}
    def ask(self, op, seconds, n, stall=None):
        said.extend((n, round(seconds), stall))
        if n == 2 and trusted:
            time.sleep(slow)
        return {"stalled": True} if n in stalls else {}
    def kill(self):
        said.append("killed")
class Hurried:
    def hurry(self, seconds, waited):
        said.extend(("hurry", seconds))
worker.Child.scout = classmethod(lambda *args: Scout())
worker.KERNEL_S = 0.2
s = worker.Session.__new__(worker.Session)
s.device, s.scout, s.machine, s.needs, s.haste_s = "cuda:0", None, {}, {}, 11
s.task = dict(kind="tritonbench", module="mine")
for trusted, slow, stalls in ((False, 0, ()), (False, 0, (2,)), (False, 0, (6,)), (True, 0, (6,)),
                              (True, 0.1, ())):
    until, said = s.ahead(Hurried(), "", trusted), []
    until("tests"), until("all")
    print(*said)
print(0.4 <= s.kernel_s < 0.8)
child = worker.Child.__new__(worker.Child)
down, up = os.pipe(), os.pipe()
child.pid, child.to, child.reply = os.fork(), down[1], up[0]
if child.pid == 0:
    time.sleep(60)
os.setpgid(child.pid, child.pid)
worker.Child.deadline = None
child.hurry(0.2, 20.4)
try:
    child.ask("test")
except worker.Lost as e:
    print(*e.args)
child.hurry(99.0, 0)
print(child.call_s, worker.Child.call_s)
]], [[
2 60 20 6 60 20
2 60 20 killed hurry 11 0 60 20
2 60 20 6 60 20 killed hurry 11
2 60 None 6 60 None
2 60 None 6 60 None
True
timeout test took more than 0 s, and its kernels were not compiled in the 20 s before
60 60
]])
end)

t.test("a worker gets ready for a Triton it does not know, and starts no thread", function()
  t.equal(run [[
import os, threading
os.environ["OMP_NUM_THREADS"] = "1"             # as clean_start has it
import torch, triton
import triton.runtime.cache as cache
for module in cache, triton.compiler.compiler:
    if hasattr(module, "triton_key"):
        del module.triton_key
worker.get_ready()
worker.know_compiler({"capability": [9, 0]})
print(threading.active_count(), len(os.listdir("/proc/self/task")), torch.cuda.is_initialized())
]], "1 1 False\n")
end)

t.test("no folder is too deep to be removed, no pipe is left by a fork that fails", function()
  t.equal(run [[
import os, tempfile
c = worker.Child.__new__(worker.Child)
c.pid, c.scratch = None, tempfile.mkdtemp()
os.chdir(c.scratch)
for _ in range(2000):
    os.mkdir("a")
    os.chdir("a")
os.chdir("/")
c.close()
print(os.path.exists(c.scratch))
def fails():
    raise BlockingIOError
os.fork, before = fails, os.listdir("/proc/self/fd")
try:
    c.start(None, None)
except BlockingIOError:
    print(os.listdir("/proc/self/fd") == before)
]], "False\nTrue\n")
end)

t.test("the id of the stream a call is on is learned from a fill on it", function()
  local library, dir = python.inject(), t.folder()
  local cuda = os.getenv "CUDA_HOME" or "/usr/local/cuda"
  if not (library and core.system.exists(cuda .. "/include/cupti_activity.h")) then
    return io.stderr:write "skipped: no libkb_inject.so or no CUPTI headers\n"
  end
  local cc = ("cc -shared -fPIC -I'%s/include' tests/triton/fake_cupti.c -o "):format(cuda)
  assert(os.execute(("cd . && %s '%s/libcuda.so.1' -DDRIVER && %s '%s/libcupti.so.13' "
    .. "-L'%s' -l:libcuda.so.1 -Wl,-rpath,'$ORIGIN'"):format(cc, dir, cc, dir, dir)))
  local text = assert(python.run({ "-u", "CUDA_HOME", "-u", "CUDA_PATH", "-u", "KERNELBAND_CUDA",
    "LD_LIBRARY_PATH=" .. dir, interpreter, "-B", "-c", [[
import sys, ctypes
sys.path[:0] = sys.argv[2].rsplit('/', 1)[0], "tests/triton"
from whole import worker
r = worker.Recorder(sys.argv[1])
print(r.why, r.start())
fill = ctypes.CDLL("libcuda.so.1").cuMemsetD8Async
fill(ctypes.c_uint64(4096), 0, ctypes.c_size_t(4), None)
s = r.stop()
print(s["home"], s["copies"], s["away_ns"], s["by_name"])
print(r.stop()["why"], "|", r.start(), r.stop()["copies"])
for home in 32, 0, 32:
    r.start(home)
    fill(ctypes.c_uint64(4096), 0, ctypes.c_size_t(4), ctypes.c_void_p(32))
    s = r.stop()
    print(s["home"], s["copies"], s["away_ns"])
]], library, python.worker() }, ""))
  t.equal(text, "None None\n7 1 0 []\nnothing is being recorded | None 0\n"
          .. "8 1 0\n7 1 100\n8 1 0\n")
end)

t.test("where the reference disagrees with itself no one is judged, and nowhere else", function()
  t.equal(run [[
import os, tempfile, torch
r = worker.Runner.__new__(worker.Runner)
r.torch, r.device, r.types, r.compiled = torch, "cpu", {"float32"}, lambda: ()
file = tempfile.mkstemp()[1]
def leaf(x, path="[0]"):
    with open(file, "wb") as f:
        f.write(x.numpy().tobytes())
    return dict(path=path, dtype=str(x.dtype), shape=list(x.shape), at=0, n=x.numel())
def kept(x):
    return [("[0]", (x.dtype, list(x.shape), x) if isinstance(x, torch.Tensor) else x)]
base = torch.arange(100).float()
def with_(x, *changes):
    x = x.clone()
    for i, v in changes:
        x[i] = v
    return x
def judge(runs, mine, more=(), **given):
    more, asked = list(more), []
    def run(k):
        asked.append(k)
        return kept(more.pop(0) if more else runs[k % 2])
    out = r.verify([kept(x) for x in runs], [leaf(mine) if isinstance(mine, torch.Tensor)
                   else dict(path="[0]", value=mine)], file, run, **given)
    return out.get("wrong", "fine"), out.get("chance"), out.get("undetermined"), len(asked)
nan = float("nan")
print(judge([base, base], base))
print(judge([with_(base, (3, nan)), with_(base, (3, 777.25))], with_(base, (3, 5))))
print(judge([base, base], with_(base, (7, 8))))                         # steady: wrong
print(judge([base, base], with_(base, (7, 8)), [base, with_(base, (7, 1))]))    # a race, seen late
print(judge([base, base], with_(base, (7, 8), (8, 9.5)), [with_(base, (7, 1))]))
print(judge([base, base], with_(base, (7, 8)), allow={"[0]": .01}))
print(judge([base, base], with_(base, (7, 8), (9, 1)), allow={"[0]": .01}))
print(judge([base * nan, base * 0 + 777.25], base))
ints = torch.arange(100)
print(judge([ints, ints], with_(ints, (2, 134145)), [with_(ints, (2, 133121))]))
print(judge([ints, ints], with_(ints, (2, 134145)))[0])
print(judge([1443.8, 5123190272.0], 7.5), judge([1443.8, 1443.8], 7.5)[0])
print(judge([True, True], 1)[0], judge([3, 3], 3)[0], judge(["a", "a"], "b")[0])
os.unlink(file)
]], [[
('fine', 0, [], 0)
('fine', 1, [], 0)
('[0]: 1 of 100 elements wrong, first [7] = 8.0, expected 7.0', 0, None, 4)
('fine', 1, [], 2)
('[0]: 1 of 100 elements wrong, first [8] = 9.5, expected 8.0', 1, None, 4)
('fine', 0, [], 4)
('[0]: 2 of 100 elements wrong, first [7] = 8.0, expected 7.0', 0, None, 4)
('fine', 100, ['[0]'], 0)
('fine', 1, [], 1)
[0]: 1 of 100 elements wrong, first [2] = 134145, expected 2
('fine', 1, ['[0]'], 0) [0] is 7.5, expected 1443.8
[0] is 1, expected True fine [0] is b, expected a
]])
end)

t.test("numpy's arrays and numbers are compared as torch's and Python's are", function()
  t.equal(run [[
import numpy as np
given = {"a": np.arange(3, dtype=np.float32), "b": [np.float64(2.5), np.bool_(1)],
         "c": np.array(["x"]), "d": np.array(7)}
for path, x in worker.walk(given):
    print(path, type(x).__name__, getattr(x, "dtype", x))
]], "['a'] Tensor torch.float32\n['b'][0] float 2.5\n['b'][1] bool True\n['c'] ndarray <U1\n"
    .. "['d'] Tensor torch.int64\n")
end)

t.test("inputs lie apart: views share as they did, what is written beside them is seen", function()
  t.equal(run [[
import torch
r = worker.Runner.__new__(worker.Runner)
r.torch, r.cpu, r.slack, r.zeros, r.real_empty = torch, True, [], torch.zeros, torch.empty
r.large, r.area, r.places = {}, {}, []
whole = torch.arange(12.).reshape(3, 4)
drawn = (whole[0], {"k": whole[1]}, [whole.t(), 3, None], torch.ones(2, requires_grad=True))
work = r.apart(drawn, {})
print(all(torch.equal(a, b) for (_, a), (_, b) in zip(worker.walk(work), worker.walk(drawn))
          if isinstance(a, torch.Tensor)), work[2][0].stride(), work[3].requires_grad, work[2][1:])
work[0][0] = 50
print(work[2][0][0, 0].item(), whole[0, 0].item(), len(r.slack), r.beyond())
torch.empty(0).set_(work[0].untyped_storage(), worker.FRONT // 4 + 12, (1,)).fill_(1)
print(r.beyond())
torch._foreach_zero_(r.slack)
print(r.beyond(), r.slack[1].numel() >= 4 << 20)
r.reach, r.slack, r.area = 30 << 20, [], {}
r.apart(drawn, {})
print(r.slack[1].numel() >= 30 << 20)
]], "True (1, 4) True [3, None]\n50.0 0.0 4 False\nTrue\nFalse True\nTrue\n")
end)

t.test("in each place inputs are as drawn, rows rolled, whatever the call before left", function()
  t.equal(run [[
import torch, types
whole, numbers, apart = torch.randn(1000, 33), torch.arange(77), torch.randn(8)[1:]
spread, cut = torch.randn(1, 4).expand(6, 4), torch.randn(5)[:3]
r = worker.Runner.__new__(worker.Runner)
r.torch, r.cpu, r.zeros, r.real_empty, r.sync = torch, True, torch.zeros, torch.empty, lambda: None
r.lazy = r.pristine = r.result = None
r.kind, r.former, r.generators = "tritonbench", [], [torch.default_generator.manual_seed]
r.inputs = [(whole, whole[::2], numbers, [cut, spread], {"a": apart, "n": 3})]
r.perf = types.SimpleNamespace(to_cuda=lambda x: x, call_op=lambda x: None)
def look():
    r.do_shape(0, 5)
    seen, pages = set(), set()
    for place in range(worker.PLACES):
        seed = worker.secret((7, place))
        assert worker.place_of(seed) == place and worker.lane_of(seed) == 7
        for spoil in range(2):
            r.do_prepare(seed)
            x, half, n, (c, s), rest = r.work
            seen.add(x.data_ptr()), pages.add(x.untyped_storage().data_ptr())
            assert not r.beyond() and torch.equal(x, torch.roll(whole, (seed >> 8) % 1000, 0))
            assert half.data_ptr() == x.data_ptr() and torch.equal(half, x[::2])
            assert torch.equal(n, numbers) and torch.equal(s, spread) and s.stride(0) == 0
            assert sorted(c.tolist()) == sorted(cut.tolist())
            assert sorted(rest["a"].tolist()) == sorted(apart.tolist()) and rest["n"] == 3
            for y in (x, n, c, rest["a"]):
                y.fill_(9)
            if spoil:
                r.slack[0][-5:] = 1
                assert r.beyond()
    print(len(r.places), len(seen), len(pages))
look()
worker.LARGE = 1 << 16          # it lies in one area, shifted there
look()
worker.PLACED_MOST = 0          # so does all
look()
turns = [turn for turn, _ in zip(worker.turns(8), range(16))]
print(sorted(lane for lane, _ in turns) == sorted(list(range(8)) * 2),
      sorted(place for _, place in turns) == list(range(16)))
]], "16 16 4\n16 16 1\n16 16 1\nTrue True\n")
end)

t.test("inputs that are repeated, or seen as bytes, are not wiped by another place's", function()
  t.equal(run [[
import torch, types
r = worker.Runner.__new__(worker.Runner)
r.torch, r.cpu, r.zeros, r.real_empty, r.sync = torch, True, torch.zeros, torch.empty, lambda: None
r.perf = types.SimpleNamespace(to_cuda=lambda x: x, call_op=lambda x: None)
r.kind, r.generators = "tritonbench", [torch.default_generator.manual_seed]
def wiped(drawn):
    r.lazy, r.pristine, r.result, r.former, r.inputs, n = None, None, None, [], [drawn], 0
    r.do_shape(0, 5)
    for place in list(range(worker.PLACES)) * 2:
        r.do_prepare(worker.secret((7, place)))
        n += any(sorted(x.flatten().tolist()) != sorted(y.flatten().tolist())
                 for x, y in zip(r.work, drawn))
    return len(r.places), n
row, numbers = torch.randn(50000), torch.arange(50000)
print(wiped((torch.ones(3), row.as_strided((1, 50000), (0, 1)))),
      wiped((torch.ones(3), row[:25000].expand(2, 25000))),
      wiped((torch.ones(3), row[25000:].expand(2, 25000))),
      wiped((numbers, numbers.view(torch.uint8)[:100000])))
]], "(16, 0) (16, 0) (16, 0) (16, 0)\n")
end)

t.test("a recorded call that others on the GPU stretch is held against no one", function()
  t.equal(run [[
def judge(mine, others):
    """us of the child's recorded calls, and of the reference's beside them."""
    s = worker.Session.__new__(worker.Session)
    s.unrecorded, s.lanes, s.functions = None, True, {"k"}
    left = {"A": [100] + list(others), "B": list(mine)}
    def record(who, _):
        us = left[who].pop(0)
        return {"kernels": 1, "copies": 0, "union_ns": us * 1e3, "span_ns": us * 1e3,
                "ns": us * 1e3, "streams": 1, "devices": 1, "away_ns": 0, "home": 7,
                "by_name": [{"name": "k", "ns": us * 1e3}]}
    s.record, s.reference, s.recorded, row = record, "A", {}, {}
    try:
        s.check_records("B", {"i": 0, "label": "x", "baseline": False}, record("B", None),
                        100e3, 110e3, row)
        return row["recorded"]["union_ns"]
    except worker.Lost as e:
        return e.args
print(judge([100], []), judge([300, 100], [100]))
print(judge([300, 290, 280], [240, 260]))
print(judge([300, 290, 280], [100, 105]))
]], "100000.0 100000.0\n290000.0\n('cheated', 'x: a recorded call kept the GPU busy for 280 us, "
    .. "timed ones say 100 us')\n")
end)

t.test("a call is timed again where the host was late, and a narrow interval ends it", function()
  t.equal(run [[
s = worker.Session.__new__(worker.Session)
s.device, s.screen, s.left_s, s.task, s.reference = "cuda:0", worker.Screen(None), 1.0, {}, "A"
pinned = []
s.share_cpu = lambda who, on: pinned.append(on)
spins, late = [], [3]
def sample(who, seed, cycles):
    spins.append(cycles)
    ahead = late[0] <= 0 or who == "A"
    late[0] -= who != "A"
    return (10e3 if ahead else 90e3) * (1 + len(spins) % 3 * 1e-3), 1e6, 60e3, ahead
s.sample, s.verify_shape = sample, lambda *a, **k: None
s.record = lambda *a: {"why": "not here"}
s.check_records = lambda *a: None
def shape():
    s.left_s = 1.0
    return s.timed("B", {"i": 0, "k": 0, "label": "x", "host": 60e3, "first": 1e4,
                         "baseline_first": 1e4, "left": 1, "seed": 5, "baseline": False}, {})
row = shape()
most = max(row["samples"]["candidate"])
print(row["blocks"], row["host_bound"], "%.2f" % row["speedup"], most < 11e3)
print(spins[0], max(spins) == 4 * spins[0], row["host_ns"])     # once more is free
late[0] = 10 ** 6
row = shape()
print(row["host_bound"], row["blocks"] <= 24, spins[-1], pinned)
def now_and_then(who, seed, cycles):    # others hold the host up: no call waits for it each time
    spins.append(cycles)
    ns = 10e3 * (1 + len(spins) % 7 * 3e-2)
    return ns, 1e6, 60e3, len(spins) % 5 > 0
s.sample = now_and_then
spins.clear()
row = shape()
print(row["host_bound"], row["blocks"] > 24, len(spins) > 2 * row["blocks"])
warm = set()
def cold(who, seed, cycles):            # a stream's first call, in each process, asks for memory
    spins.append(cycles)
    known = (who, worker.lane_of(seed)) in warm
    warm.add((who, worker.lane_of(seed)))
    return 10e3 * (1 + len(spins) % 7 * 3e-2), 1e6, 60e3, known
s.sample = cold
spins.clear()
row = shape()
print(row["host_bound"], row["blocks"] > 24, len(warm), max(spins) == min(spins))
]], "8 False 1.00 True\n440000 True 60000.0\nTrue True 0 [True, False]\nFalse True True\n"
    .. "False True 16 True\n")
end)

t.test("a candidate is timed for as long as its share of the time allows, by eight pairs at least",
       function()
  t.equal(run [[
s = worker.Session.__new__(worker.Session)
s.device, s.reference, s.record = "cpu", "A", lambda *a: {"why": "not here"}
s.screen, s.share_cpu, s.count = worker.Screen(None), lambda *a: None, 16
now, calls = [0.0], [0]
class Clock:
    monotonic = staticmethod(lambda: now[0])
worker.time = Clock
def sample(who, seed, cycles):
    calls[0] += 1
    now[0] += 2e-3              # what is around a call takes far longer than the call
    return 1e4 * (1 + calls[0] % 7 * 1e-1), 1e6, 1e3, ahead[0]
s.sample, ahead, slow = sample, [True], [0.0]
def verify_shape(child, shape, *a, **k):
    now[0] += slow[0] if shape["k"] < 2 else 0.0
s.verify_shape = s.learn_shape = verify_shape
def pairs(baseline=False, **options):
    s.left_s = 0.6
    return [len(s.in_turns("B", {"k": k, "host": 1e3, "first": 1e4, "baseline_first": 1e4,
                                 "left": 16 - k, "seed": 3, "baseline": baseline}, options)
                ["times"]["B"]) for k in range(16)]
for k in ({}, {"baseline": True}, {"confirm": True}):
    n = pairs(**k)
    print(min(n) >= 8, max(n) < 12, sum(n) > 300)
slow[0] = 2.0                   # its first shapes take all there is
print(set(pairs()[2:]))
def waits(child, shape, *a, **k):    # for memory that others have
    now[0] += 30.0 if shape["k"] == 2 else 0.0
    s.waited += 30.0 if shape["k"] == 2 else 0.0
s.verify_shape = s.learn_shape = waits
print(min(pairs()) > 8, pairs(True)[2] > 12, pairs(confirm=True)[2] > 12)
slow[0], ahead[0] = 0.0, False  # the host holds it up: its clock is a noisy one
print(pairs()[0] > 12)
]], "True True False\n" .. ("True False True\n"):rep(2) .. "{8}\nTrue True True\nTrue\n")
end)

t.test("a candidate clearly slower than the best is timed no longer, a slow first call is none",
       function()
  t.equal(run [[
s = worker.Session.__new__(worker.Session)
s.device, s.reference, s.record = "cpu", "A", lambda *a: {"why": "not here"}
seen = []
s.verify_shape = lambda *a, **k: seen.append(1)
calls, ns = [0], {}
def sample(who, seed, cycles):
    calls[0] += 1
    return ns[who] * (1 + calls[0] % 7 * 1e-3), 1e6, 1e3, True
s.sample = sample
def candidate(b_ns, best_ns, shapes=4, last=1):
    s.screen, s.left_s = worker.Screen([best_ns] * (shapes - 1) + [last * best_ns]), 0.8
    ns.update(A=1e6, B=b_ns)
    rows = [len(s.in_turns("B", {"k": k, "host": 1e3, "first": 5 * b_ns, "baseline_first": 1e4,
                                 "left": shapes - k, "seed": 3 << 4, "baseline": False}, {})
                ["times"]["B"]) for k in range(shapes)]
    return [n == 6 for n in rows], s.screen.slow
print(candidate(1e6, 1e6), candidate(1.2e6, 1e6))
seen.clear()
print(candidate(2e6, 1e6), len(seen))           # each of its shapes was looked at
print(candidate(2e6, 1e6, 1))
print(candidate(2e6, 1e6, 4, 40))               # it is faster in all, with an interval
]], "([False, False, False, False], False) ([False, False, False, False], False)\n"
    .. "([False, False, True, True], True) 4\n([True], True)\n"
    .. "([False, False, True, False], False)\n")
end)

t.test("calls are compared where others were, in their turn and after all others", function()
  t.equal(run [[
s = worker.Session.__new__(worker.Session)
s.device, s.screen = "cpu", worker.Screen(None)
calls, checked = [], []
def sample(who, seed, cycles):
    if who == "B":
        calls.append(worker.place_of(seed))
    return 1e4 * (1 + len(calls) % 7), 1e6, 1e3, True
s.sample, s.reference, s.record = sample, "A", lambda *a: {"why": "not here"}
s.verify_shape = lambda child, shape, seed, runs, part: checked.append(
    (len(calls), worker.place_of(seed) == 3))
def looks(last):
    s.left_s = 1.0
    calls.clear(), checked.clear()
    t = s.in_turns("B", {"host": 1e3, "first": 1e4, "baseline_first": 1e4, "left": 1, "k": 0,
                         "seed": 3 << 4, "baseline": False, "last": last}, {"confirm": True})
    return len(t["times"]["B"]), calls[:], checked[:]
found = [looks(False) for _ in range(64)]
print({len(c) for _, _, c in found}, {there for _, _, c in found for _, there in c})
n, places, found = looks(True)
print([at - n for at, _ in found][1:], found[0][0] <= 6, sorted(places[:16]) == list(range(16)),
      sorted(places[16:32]) == list(range(16)), found[2][1])
]], "{1} {False, True}\n[1, 3] True True True True\n")
end)

t.test("what was shown of a call is not written again while it is compared", function()
  t.equal(run [[
import os, tempfile, torch, types
scratch, read, order = tempfile.mkdtemp(), [], []
r = worker.Runner.__new__(worker.Runner)
r.torch, r.scratch = torch, scratch
with open(scratch + "/out.bin", "wb") as early:     # it was held open before
    early.write(b"aaaa"), early.flush()
    r.put(torch.tensor([1, 2], dtype=torch.uint8), 5)
    early.write(b"bbbb")
s = worker.Session.__new__(worker.Session)
s.poisons, s.ignore, s.allow, s.shown = worker.POISONS, {}, {}, tempfile.mkdtemp()
def begin(op, file=None, **request):
    order.append((op, len(os.listdir(s.shown))))
    if op == "settle":          # its calls run meanwhile
        with open(scratch + "/out.bin", "wb") as f:
            f.write(b"later")
    if op != "verify_shape":
        return lambda: {}
    with open(file, "rb") as f:
        read.append(f.read())
    return lambda: {"count": 1, "chance": 0, "allowed": 0}
def ask(op, **request):
    order.append((op, len(os.listdir(s.shown))))
    return {"leaves": [{"path": "[0]", "dtype": "torch.uint8"}]}
child = types.SimpleNamespace(ask=ask, begin=begin, scratch=scratch)
s.reference = child
s.verify_shape(child, {"i": 0, "baseline": False}, 7, 1)
print(read, order)                      # the reference's first runs are made meanwhile
os.unlink(scratch + "/out.bin")
for made in (lambda name: None, os.mkdir, os.mkfifo):
    try:
        made(scratch + "/out.bin")
        s.verify_shape(child, {"i": 0, "baseline": False}, 7, 1)
    except worker.Lost as e:
        print(e.args)
r.put(torch.tensor([3], dtype=torch.uint8), 5)
s.verify_shape(child, {"i": 0, "baseline": False}, 7, 1)
print(read[1:], os.listdir(s.shown))    # what was compared is gone, and what was none
]], [[
[b'\x01\x02'] [('expect', 0), ('show', 0), ('settle', 1), ('verify_shape', 1)]
('crashed', 'its results are not to be had: No such file or directory')
('crashed', 'its results are not to be had: no file')
('crashed', 'its results are not to be had: no file')
[b'\x03'] ['5.bin']
]])
end)

t.test("a candidate has 30 s for a command, more where the untouched file needs it, or the task's",
  function()
  t.equal(run [[
import types
s = worker.Session.__new__(worker.Session)
s.ahead, s.dying = lambda *a: None, []
def load(child, source):
    raise worker.Lost("build_failed", "here it ends")
s.load = load
def seconds(call_s, baseline=False, haste_s=worker.HASTE_S):
    worker.Child.call_s, s.haste_s = call_s, haste_s
    child = worker.Child.__new__(worker.Child)
    try:
        s.judge(child, "", {}, {"seconds": {}}, baseline)
    except worker.Lost:
        return child.call_s
print(seconds(60), seconds(60, haste_s=25), seconds(6), seconds(240, True), seconds(60, haste_s=99))
]], "30 45 6 240 60\n")
end)

t.test("what an evaluation was shown is gone when it ends, however it ends", function()
  t.equal(run [[
import fcntl, os, tempfile, types
child = types.SimpleNamespace(scratch=tempfile.mkdtemp(), pid=None, close=lambda: None,
                              ask=lambda op: {})
s = worker.Session.__new__(worker.Session)
s.device, s.lock, s.shown, s.spare = "cpu", tempfile.TemporaryFile(), tempfile.mkdtemp(), child
s.reference, s.task = types.SimpleNamespace(pid=None, scratch=""), {"source": "", "gate": False}
s.alone = s.revive = s.end_moved = s.share_cpu = lambda *a: None
s.scout = None
worker.Child = lambda *a: child
worker.Child.call_s = worker.Child.deadline = None
worker.Child.living = set()
def judge(child, *a):
    for made in todo:
        made(child.scratch + "/out.bin")
        s.shown_by(child, "test")
    raise worker.Lost("cheated", "no Triton kernel ran")
s.judge = judge
def locked(name):               # a folder that others than root can't remove
    os.makedirs(name + "/in/side"), os.chmod(name + "/in", 0)
for todo in ([lambda name: open(name, "w").close()] * 2, [os.mkfifo], [os.mkdir], [locked],
             [lambda name: os.symlink("/etc/passwd", name)]):
    out = s.evaluate("", {})
    print(out["verdict"], out["reason"], len([x for x in os.listdir(s.shown) if os.getuid() == 0]))
    for name in os.listdir(s.shown):
        os.chmod(s.shown + "/" + name + "/in", 0o700)
]], [[
cheated no Triton kernel ran 0
crashed its results are not to be had: no file 0
crashed its results are not to be had: no file 0
crashed its results are not to be had: no file 0
crashed its results are not to be had: no file 0
]])
end)

t.test("a baseline says what it was begun again for, and in which shape its time was up", function()
  t.equal(run [[
import tempfile, types
made = types.SimpleNamespace(scratch="", pid=None, close=lambda: None, ask=lambda op: {})
s = worker.Session.__new__(worker.Session)
s.device, s.lock, s.shown, s.spare = "cpu", tempfile.TemporaryFile(), tempfile.mkdtemp(), made
s.reference, s.task, s.scout = made, {"source": "", "baseline_only": True}, None
s.timed_tests, s.poisons = False, worker.POISONS
s.alone = s.revive = s.end_moved = s.share_cpu = s.first_runs = lambda *a: None
s.recorded, s.kept, s.room, s.left_out, s.allow, s.ignore, s.count = {}, set(), set(), {}, {}, {}, 9
worker.Child = lambda *a: made
worker.Child.call_s = worker.Child.deadline = None
worker.Child.living = set()
todo = [worker.Redraw(), worker.Lost("crashed", "its process ended"),
        worker.Lost("launch_failed", "no such dtype"), worker.Lost("timeout", "go took too long")]
def judge(*a):
    s.at = {"i": 3, "label": "4x4"} if len(todo) < 4 else None
    raise todo.pop(0)
s.judge = judge
out = s.evaluate("", {}, baseline=True)
print(out["verdict"], out["reason"], *out["begun_again"], sorted(out["seconds"]), sep="\n")
]], [[
timeout
shape 4x4: go took too long
inputs that no two writes share
shape 4x4: crashed: its process ended
shape 4x4: launch_failed: no such dtype
['first', 'total']
]])
end)

t.test("a reference that is late says so, where the candidate gave no reason itself", function()
  t.equal(run [[
import types
s, ended = worker.Session.__new__(worker.Session), []
s.poisons = worker.POISONS
def late():
    ended.append(True)
    raise worker.Lost("timeout", "expect took more than 60 s")
s.reference = types.SimpleNamespace(begin=lambda op, **request: late)
for shows in (lambda *a, **k: {}, lambda *a, **k: {}["nonsense"]):
    s.shown_by = shows
    try:
        s.verify_shape(None, {"i": 0, "baseline": False}, 7, 1)
    except (worker.Lost, KeyError) as e:
        print(e.args, len(ended))
]], [[
('timeout', 'the reference: expect took more than 60 s') 1
('nonsense',) 2
]])
end)

t.test("what the reference ran ahead is compared with, once, and only with what it was run for",
  function()
  t.equal(run [[
import tempfile, torch
r, ran = worker.Runner.__new__(worker.Runner), []
r.run_shape = lambda seed, show, poison, part: (
    ran.append((seed, show, poison)) or [len(ran)], False)
r.verify = lambda runs, leaves, file, run, *a: dict(of=[k[0] for k in runs], more=run(len(runs))[0])
r.do_settle = lambda: None
what = dict(seed=1, show=2, poisons=(11, 48), runs=2, part=False)
r.do_expect(**what)
print(r.do_verify_shape(leaves=[], file="", **what), ran)
print(r.do_verify_shape(leaves=[], file="", **what)["of"])
r.do_expect(**what)
print(r.do_verify_shape(leaves=[], file="", **dict(what, show=3))["of"], len(ran))
]], [[
{'of': [1, 2], 'more': 3, 'beyond': False} [(1, 2, 11), (1, 2, 48), (1, 2, 11)]
[4, 5]
[9, 10] 11
]])
end)

t.test("a reply that lay there in time is no timeout, however late it is read", function()
  t.equal(run [[
import os, time
c = worker.Child.__new__(worker.Child)
c.pid, c.scratch = 1, "/nowhere"
(down, c.to), (c.reply, up) = os.pipe(), os.pipe()
c.kill = lambda: None
wait = c.begin("settle", 0.05)
worker.write_frame(up, {"done": 1})
time.sleep(0.1)
print(wait())
start, wait = time.monotonic(), c.begin("settle", 0.05)
try:
    wait()
except worker.Lost as e:
    print(e.args[0], time.monotonic() - start < 3)
]], "{'done': 1}\ntimeout True\n")
end)

t.test("one process at a time makes its first call, which may tune by the clock", function()
  t.equal(run [[
busy, most = set(), {}
class Process:
    def begin(self, op, seconds=None, **request):
        busy.add(self)
        most[op] = max(most.get(op, 0), len(busy))
        def end():
            busy.discard(self)
            return {"ns": 5, "host": 5}
        return end
    def ask(self, op, seconds=None, **request):
        return self.begin(op, seconds, **request)()
s = worker.Session.__new__(worker.Session)
s.reference, s.lanes, s.room, s.timed_tests = Process(), True, set(), False
s.first_calls(Process(), {"i": 0, "seed": 1})
print(most)
]], "{'shape': 2, 'prepare': 2, 'go': 1}\n")
end)

t.test("no name is given to two functions of a class or module", function()
  t.equal(run [[
import ast, glob
for name in glob.glob(sys.argv[1] + "/*.py"):
    tree = ast.parse(open(name).read())
    for space in [tree] + [n for n in tree.body if isinstance(n, ast.ClassDef)]:
        names = [n.name for n in space.body if isinstance(n, (ast.FunctionDef, ast.ClassDef))]
        print(*sorted({x for x in names if names.count(x) > 1}), end="")
]], "")
end)

t.test("of many bytes of inputs only one shape's are kept, none while nothing is judged", function()
  t.equal(run [[
import torch, types
worker.INPUTS_MOST = 5000
worker.Drawn.device = "cpu"
d = worker.Drawn()
for i in range(3):
    d.append((torch.zeros(2 ** i * 200), "relu"))
print([x and len(x[0]) for x in d], d.labels, d.bytes)
r = worker.Runner.__new__(worker.Runner)
r.torch, r.kind, r.cpu, r.device, r.cache = torch, "tritonbench", True, "cpu", {}
class Perf:
    def get_input_tensors(self):
        self.input_tensors = worker.Drawn()
        for i in range(3):
            self.input_tensors.append((torch.rand(2 ** i * 200),))
r.perf, r.generators = Perf(), [torch.default_generator.manual_seed]
worker.INPUTS_MOST = 1 << 20
r.do_inputs(7)
whole = r.inputs
print([len(x[0]) for x in whole], r.lazy, len(r.perf.input_tensors))
worker.INPUTS_MOST, r.seed = 10, lambda s: torch.manual_seed(s)
where = worker.Drawn.device
r.draw("cpu", 7, 1)
print([x and len(x[0]) for x in r.inputs], torch.equal(r.inputs[1][0], whole[1][0]))
r.do_idle()
print(r.inputs, len(r.perf.input_tensors))
]], "[None, None, None] ['200 relu', '400 relu', '800 relu'] 5600\n"
    .. "[200, 400, 800] None 0\n[None, 400, None] True\nNone 0\n")
end)

t.test("what is free between live tensors is found, small and large apart", function()
  t.equal(run [[
def block(size, state="inactive"):
    return {"size": size, "state": state}
print(worker.free_remains([
    {"segment_type": "small", "blocks": [block(512), block(1024, "active_allocated"),
                                         block(1572864)]},
    {"segment_type": "large", "blocks": [block(4096), block(3 << 20), block(9 << 20, "active")]},
    {}]))
]], "[3145728, 1048576, 524288, 512]\n")
end)

t.test("random integers are drawn without repeats where there are as many", function()
  t.equal(run [[
import torch
draw = worker.apart_from_each_other(torch)
def look(x):
    return [x.numel(), len(set(x.tolist())), bool((x >= 3).all()), int(x.max()) < 40, str(x.dtype)]
print(look(draw(3, 40, (30,), dtype=torch.int32)), look(draw(low=3, high=40, size=(37,))))
print(look(draw(4, (9,)))[:2][0], len(draw(0, 2, (50, 3))), draw(5, size=(5,)).sort()[0].tolist())
torch.manual_seed(3)
a = draw(0, 9, (6,))
torch.manual_seed(3)
print(torch.equal(a, draw(0, 9, (6,))))
]], "[30, 30, True, True, 'torch.int32'] [37, 37, True, True, 'torch.int64']\n"
    .. "9 50 [0, 1, 2, 3, 4]\nTrue\n")
end)

t.test("a default device is kept by what fills unwritten memory, and none of what is compared",
  function()
  t.equal(run [[
import tempfile, torch
r = worker.Runner("cpu", tempfile.mkdtemp())
torch.set_default_device("meta")
print([f(3).device.type for f in (torch.empty, torch.zeros)], torch.empty.__name__)
file = r.scratch + "/shown"
with open(file, "wb") as f:
    f.write(b"abcd")
print(r.read(file, 1, 2).tolist(), r.read(file, 3, 2))
]], "['meta', 'meta'] empty\n[98, 99] None\n")
end)

t.test("small inputs and results lie elsewhere from call to call, large ones stay", function()
  t.equal(run [[
import random, torch
random.seed(1)
r = worker.Runner.__new__(worker.Runner)
r.torch, r.former, r.result, r.laned = torch, [], None, True
r.places = [(k, [], []) for k in range(4)]
lanes = set()
for k in range(worker.LANES):
    seed = worker.secret((k, 0))
    r.turn(seed)
    lanes.add((r.lane, worker.lane_of(seed) == k))
r.laned = False
r.turn(worker.secret((5, 0)))
print(sorted(lanes) == [(k + 1, True) for k in range(worker.LANES)], r.lane)
works, held = set(), set()
for k in range(64):
    r.turn(random.getrandbits(48))
    works.add(r.work), held.add(len(r.former))
    r.result = torch.zeros(10)
print(sorted(works), sorted(held))
r.places = r.places[:1]
r.turn(5 << 12)
print(r.work, r.former, r.result)
r.places, r.result = r.places * 2, torch.zeros(1 << 20)
r.turn(7 << 12)
print(r.former)
]], "True 0\n[0, 1, 2, 3] [0, 1, 2, 3]\n0 [] None\n[]\n")
end)

t.test("counters are for what may become the best", function()
  t.equal(run [[
s = worker.Session.__new__(worker.Session)
def contends(times, best, **options):
    return s.contends({"screened": options.pop("screened", False),
                       "shapes": [{"time_ns": x} for x in times]}, best, options)
print(contends([5, 6], []), contends([5, 6], [5.1, 6]), contends([5, 6.2], [5, 5.7]),
      contends([5, 6], [9, 9], confirm=True), contends([5], [9], screened=True))
]], "True True False False False\n")
end)

t.test("what is counted is the longest shape, laid out anew where another was the last", function()
  t.equal(run [[
asked = []
class Child:
    def ask(self, op, seconds=None, **request):
        asked.append((op, request.get("i")))
        return {"values": {}}
s = worker.Session.__new__(worker.Session)
s.timed_tests, s.room, out = False, set(), {"shapes": [
    {"time_ns": ns, "shape": {"i": i}} for i, ns in ((0, 5), (2, 9), (3, 7))]}
for last in 3, 2:
    s.shape = {"i": last}
    s.counters(Child(), out, False)
print(asked)
]], "[('shape', 2), ('count', None), ('count', None)]\n")
end)

t.test("what a GPU has to count with is learned of the untouched file's child and told to others",
  function()
  t.equal(run [[
import types
class Child:
    def __init__(self, known):
        self.known, self.told = known, []
    def ask(self, op, seconds=None, known=None, **request):
        self.told += [known] if op == "count" else []
        return {"values": {"dram_pct": 5}, "known": self.known} if op == "count" else {}
s = worker.Session.__new__(worker.Session)
s.timed_tests, s.room, out = False, set(), {"shapes": [{"time_ns": 1, "shape": {"i": 0}}]}
s.shape = {"i": 1}
for known, baseline in (("c0de", False), ("ab01", True), ("c0de", False), ("", False)):
    child = Child(known)
    print(s.counters(child, out, baseline), child.told)

class Library:                  # of one process
    image = None
    def kb_inject_know(self, image, n):
        self.image = image[:n.value]
    def kb_inject_count(self, *args):
        print("counts with", self.image)
        self.image = self.image or b"\1\2"
    def kb_inject_key(self, *args):
        return None
    class Known:
        def __call__(self, n):
            n._obj.value = len(library.image)
            return worker.ctypes.cast(library.image, worker.ctypes.c_void_p).value
    kb_inject_known = Known()
for known in (None, "0a0b0c"):
    r, library = worker.Recorder.__new__(worker.Recorder), Library()
    r.lib, r.why = library, None
    print(r.count(0, None, None, known))
]], [[
({'dram_pct': 5}, None) [None]
({'dram_pct': 5}, None) [None]
({'dram_pct': 5}, None) ['ab01']
({'dram_pct': 5}, None) ['ab01']
counts with None
{'values': {}, 'known': '0102'}
counts with b'\n\x0b\x0c'
{'values': {}, 'known': '0a0b0c'}
]])
end)

t.test("a reference that faults by chance is asked once more, a second time it is told", function()
  t.equal(run [[
s = worker.Session.__new__(worker.Session)
class Reference:
    pid, left = 1, 1
    def begin(self, op, **request):
        def end():
            if self.left:
                self.left -= 1
                self.pid = None
                raise worker.Lost("launch_failed", "CUDA error: an illegal memory access")
            return {"count": 3}
        return end
s.reference, s.shown = Reference(), "/tmp"
def revive():
    s.reference.pid = 2
s.revive = revive
print(s.verify({}, "verify_tests"))
s.reference.left = 2
try:
    s.verify({}, "verify_tests")
except worker.Lost as e:
    print(e.args)
]], "{'count': 3}\n('launch_failed', 'the reference: CUDA error: an illegal memory access')\n")
end)

t.test("what tests make has room of its own, views and what is given share as they did", function()
  t.equal(run [[
import tempfile, torch
r = worker.Runner("cpu", tempfile.mkdtemp())
def shares(a, b):
    return a.untyped_storage().data_ptr() == b.untyped_storage().data_ptr()
def room(t):
    return t.untyped_storage().nbytes() - t.numel() * t.element_size() > worker.AROUND_LEAST
def look():
    x = torch.rand(3, 4, requires_grad=True)
    y = x.detach()
    z = y.clone().requires_grad_()
    r.poison = 12
    w = torch.empty(5, dtype=torch.int64)
    r.poison = None
    made = []
    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a):
            return a * 2
        @staticmethod
        def backward(ctx, g):
            made.append(g.new_empty(3))
            return g * 2
    Twice.apply(z).sum().backward()
    return [room(x), x.is_leaf and x.requires_grad, shares(x, y), room(z), shares(y, z),
            w.tolist(), room(w), room(made[0]), shares(y.to("cpu"), y), z.grad[0, 0].item()]
print(r.with_made(look, r.alone), r.slack)
print(room(torch.zeros(3)), torch.cuda.empty_cache is r.empty_cache, torch.cuda.empty_cache())
]], "[True, True, True, True, False, [13, 13, 13, 13, 13], True, True, True, 2.0] []\n"
    .. "False False None\n")
end)

t.test("a child whose context is gone is ended by torch's word and by Triton's", function()
  t.equal(run [[
import os
def ask(text):
    c = worker.Child.__new__(worker.Child)
    c.pid = 1
    (down, c.to), (c.reply, up) = os.pipe(), os.pipe()
    killed = []
    c.kill = lambda: killed.append(True)
    worker.write_frame(up, {"error": "launch_failed", "text": text})
    try:
        c.ask("go")
    except worker.Lost as e:
        return e.args[0], killed
print(ask("AcceleratorError: CUDA error: an illegal memory access was encountered"))
print(ask("RuntimeError: Triton Error [CUDA]: an illegal memory access was encountered"))
print(ask("OutOfResources: out of resource: shared memory"))
worker.Child.deadline = worker.time.monotonic() - 1
print(ask("many short commands, all in time"))
]], "('launch_failed', [True])\n('launch_failed', [True])\n('launch_failed', [])\n"
    .. "('timeout', [True])\n")
end)

t.test("an output that is learned is made again before it is shown again", function()
  t.equal(run [[
s = worker.Session.__new__(worker.Session)
s.poisons, asked, left = worker.POISONS, [], [1]
class Child:
    def ask(self, op, **request):
        asked.append(op)
def verify_shape(*_):
    if left.pop() if left else 0:
        raise worker.Lost("wrong", "off", "[1][2]", .5)
    return {}
s.verify_shape, s.learn = verify_shape, lambda *a: asked.append("learned")
print(s.learn_shape(Child(), {"i": 0, "returns": True}, 7, 2), asked)
]], "{} ['learned', 'prepare', 'call']\n")
end)

t.test("a process that lacked memory lives on, and gives back what it got", function()
  t.equal(run [[
import tempfile
class Runner:
    given = 0
    def do_lack(self, text):
        raise RuntimeError(text)
    def give_back(self):
        self.given += 1
    def do_say(self):
        return {"given": self.given}
child = worker.Child.__new__(worker.Child)
child.scratch = tempfile.mkdtemp()
child.start(Runner, child.scratch + "/cache")
for text in "CUDA error: out of memory", "another", "CUDA error: an illegal memory access":
    try:
        child.ask("lack", text=text)
    except worker.Lost as e:
        print(e.args[0], worker.LACKING in e.args[1], child.pid and child.ask("say"))
]], "launch_failed True {'given': 1}\nlaunch_failed False {'given': 1}\nlaunch_failed False None\n")
end)

t.test("a lock file that another user made is locked all the same", function()
  t.equal(run [[
import fcntl, os, tempfile
name = tempfile.mkdtemp() + "/lock"
os.umask(0o077)
worker.lock_file(name).close()
print(oct(os.stat(name).st_mode & 0o777))
real = os.open
def another(path, flags, *mode):    # as fs.protected_regular has it, of files in /tmp
    if flags & os.O_CREAT or flags & (os.O_WRONLY | os.O_RDWR):
        raise PermissionError(13, "Permission denied", path)
    return real(path, flags, *mode)
os.open = another
fcntl.flock(worker.lock_file(name), fcntl.LOCK_EX | fcntl.LOCK_NB)
os.open = real
os.chmod(os.path.dirname(name), 0o1777)
if os.geteuid() == 0:
    os.chmod(tempfile.tempdir, 0o755)
    os.seteuid(65534)
    fcntl.flock(worker.lock_file(name), fcntl.LOCK_SH | fcntl.LOCK_NB)
print("locked")
]], "0o644\nlocked\n")
end)

t.finish()
