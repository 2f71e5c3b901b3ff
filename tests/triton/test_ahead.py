"""Kernels that a file will ask for are compiled ahead, by a scout: a child without a GPU."""
import ctypes
import glob
import inspect
import os
import signal
import sys
import tempfile
import time
import types

import pytest
import torch
import triton
from conftest import called

MACHINE = {"capability": [9, 0], "smem_per_sm": 233472, "sm_count": 132, "memory_bytes": 1 << 37,
           "name": "x"}
FILE = """
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
    if not first.sum().item() or not (first > 0).any() or not torch.equal(first, first):
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
SMALL = """import torch, triton, triton.language as tl
%s
@triton.jit
def adds(x, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + i, tl.load(x + i, mask=i < n) + %s, mask=i < n)
def op(x):
    for block in 32, 64:
        adds[(1,)](x, x.numel(), BLOCK=block)
    return x
"""
HANGS = """
@triton.constexpr_function
def hangs(n):
    while True:
        pass
"""


class Scouting:
    """A child that some scouts compile for."""

    def __init__(self, worker):
        ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)         # what they leave becomes ours
        self.worker = worker
        self.child = types.SimpleNamespace(scratch=tempfile.mkdtemp(), pid=None)

    def ahead(self, source, tests, perf=""):
        """(a scout, what it says of the file)"""
        scout = called(self.worker.Child.scout, machine=MACHINE, other=self.child, trusted=False)

        def noted(**what):
            return scout.ask("ahead", 60, processes=2, **what)
        noted.__signature__ = inspect.signature(self.worker.Runner.do_load)
        return scout, called(noted, source=source, tests=tests, perf=perf, kind="tritonbench",
                             name="mine", seed=1, needs={})

    def small(self, above="", added="1"):
        return self.ahead(SMALL % (above, added), "def test_op():\n    return op(torch.ones(9, "
                          "device='cuda'))\nresult = test_op()\n")

    def living(self):
        """How many processes work in the child's folder."""
        found = 0
        for entry in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open("/proc/%s/stat" % entry) as f:
                    gone = f.read().rsplit(")", 1)[1].split()[0] in "ZX"
                found += not gone and os.readlink("/proc/%s/cwd" % entry).startswith(
                    self.child.scratch)
            except OSError:
                pass
        return found


@pytest.fixture
def scouting(worker, scratch):
    return Scouting(worker)


def test_what_a_candidate_will_ask_for_is_compiled_ahead(worker, scouting):
    scratch = scouting.child.scratch

    def compiled():
        return len(glob.glob(scratch + "/cache/*/*.cubin"))
    scout, noted = scouting.ahead(FILE, TESTS, PERF)
    scout.ask("await", 60, n=noted["all"])
    assert (noted["tests"], noted["all"], compiled()) == (4, 7, 7)
    # The same launches with tensors that lie somewhere ask for nothing else.
    os.environ["TRITON_CACHE_DIR"] = scratch + "/cache"
    triton.runtime.driver.set_active(worker.no_gpu(torch, MACHINE))
    with open(scratch + "/mine.py", "w") as f:
        f.write(FILE)
    space = {"__file__": scratch + "/mine.py", "__name__": "mine"}
    sys.modules["mine"] = types.ModuleType("mine")
    exec(compile(FILE, scratch + "/mine.py", "exec"), space)
    sys.modules["mine"].__dict__.update(space, __file__=scratch + "/mine.py")
    for x, by in (torch.randn(100), 1), (torch.rand(64, 64).half(), 2), (torch.rand(3, 3, 3), 3):
        for block in 64, 128:
            space["copies"].fn.run(x, x.clone(), x.numel(), BLOCK=block, grid=(1,), warmup=True)
        space["scales"].run(x, x.numel(), by=by, BLOCK=64, grid=(1,), warmup=True)
    assert compiled() == 7
    scout.ask("await", 60, n=99)
    assert scout.kill() == "ended" and os.listdir(scratch + "/cache")


@pytest.mark.parametrize("hidden", [False, True])
def test_what_another_child_compiled_is_found_until_it_is_gone_and_is_never_written_to(
        worker, scouting, hidden):
    first = scouting.child
    if hidden:                          # as where TMPDIR is below /home
        worker.HIDDEN.add(first.scratch.split("/")[1])

    def own(child):
        """The files that compilers made for it."""
        return [x for x in glob.glob(child.scratch + "/cache/*/*") if not os.path.islink(x)]

    def compiles_for(child):
        scouting.child = child
        scout, noted = scouting.small()
        scout.ask("await", 60, n=noted["all"])
        scout.close()
        return len([x for x in own(child) if x.endswith(".cubin")])
    assert compiles_for(first) == 2
    before = {x: os.stat(x).st_mtime_ns for x in own(first)}
    children = [worker.Child(None, first.scratch, runner=lambda *_: None) for _ in range(2)]
    assert compiles_for(children[0]) == 0 and not own(children[0])
    assert {x: os.stat(x).st_mtime_ns for x in own(first)} == before
    worker.remove(first.scratch)
    assert compiles_for(children[1]) == 2
    for child in children:
        child.close()


def test_what_a_scouts_file_started_ends_with_it(scouting):
    scout, _ = scouting.small("""
import os, time
if os.fork() == 0:
    os.fork()
    time.sleep(60)
    os._exit(0)
""")
    assert scouting.living() >= 3
    scout.close()
    assert scouting.living() == 0


def test_a_scout_ends_with_its_worker(scouting):
    if os.fork() == 0:      # a worker
        scouting.small(HANGS, "hangs(n)")
        os.kill(os.getpid(), signal.SIGKILL)
    os.wait()
    end = time.monotonic() + 60
    while scouting.living() and time.monotonic() < end:
        time.sleep(0.01)
    assert scouting.living() == 0


def test_a_scout_has_no_gpu_and_outlives_a_compiler_that_crashes(scouting):
    os.environ["CUDA_VISIBLE_DEVICES"] = "0"
    scout, noted = scouting.small("""
import os
assert os.environ["CUDA_VISIBLE_DEVICES"] == ""
@triton.constexpr_function
def leaves(n):
    raise SystemExit(3)
""", "leaves(1)")
    assert noted["all"] == 2
    assert scout.ask("await", 60, n=2) == scout.ask("await", 60, n=2) == {}
    scout, noted = scouting.small(HANGS, "hangs(1)")
    assert noted["all"] == 2
    assert scout.ask("await", 60, n=2, stall=0.2) == {"stalled": True}


def test_a_test_waits_for_the_kernels_it_asks_for_and_for_no_others(scouting):
    """Not as many others: of two the first compiles until the second has, and the last till told.
    """
    made = scouting.child.scratch + "/cache"            # where its compilers may write
    wait = """
@triton.constexpr_function
def waits(n):
    import os, time
    while n == 0 and not os.path.exists("{0}/5") or n == 6 and not os.path.exists("{0}/go"):
        time.sleep(0.01)
    open("{0}/%d" % n, "w").close()
    return n
@triton.jit
def kernel(x, N: tl.constexpr):
    tl.store(x, waits(N))
""".format(made)
    scout, noted = scouting.ahead("import torch, triton, triton.language as tl\n" + wait, """
def test_op():
    for n in range(7):
        kernel[(1,)](torch.ones(9, dtype=torch.int32, device='cuda'), N=n)
    return {}
result = test_op()
""")
    assert noted["all"] == 7

    def done():
        return sorted(x for x in os.listdir(made) if x.isdigit())
    for n in 2, 6:
        assert scout.ask("await", 60, n=n) == {}
        assert done() == list("012345")
    open(made + "/go", "w").close()
    assert scout.ask("await", 60, n=7) == {} and len(done()) == 7
    assert scout.ask("await", 60, n=8) == {}


def test_a_child_has_its_pipe_and_nothing_of_what_is_open_in_the_worker(scouting):
    low = os.open("/", os.O_RDONLY)
    for fd in 200, 201, 400:
        os.dup2(low, fd)
    scout, _ = scouting.small("""
import os
for fd in sorted(int(x) for x in os.listdir("/proc/self/fd")):
    try:
        os.write(1, os.readlink("/proc/self/fd/%d" % fd).split(":")[0].rsplit("/", 1)[-1].encode()
                 + b" ")
    except OSError:
        pass
""")
    with open(scout.scratch + "/log") as f:
        assert f.readline().split() == ["null", "log", "log", "socket"]


def test_whatever_a_scout_says_a_candidate_is_judged_and_has_its_time_for_itself(gpu):
    replies, ended = [], []

    def ahead(stand, request):
        reply = replies.pop(0)
        if isinstance(reply, str):
            raise EOFError
        ended.append(stand)
        return dict(reply, lasts=5.0)

    def waits(stand, request):
        if request["n"] > 9:
            raise EOFError
        return {"lasts": 20.0}
    s = gpu.session()
    gpu.on.update(ahead=ahead, test=lambda stand, request: dict(stand.do_test(), lasts=28.0))
    gpu.on["await"] = waits
    for reply in ({}, {"tests": float("nan")}, {"tests": float("inf")}, {"tests": [1]},
                  {"tests": None}, {"tests": "x"}, {"tests": int(40 * "9")},
                  {"tests": -1, "all": "-1"}, "it ends"):
        replies[:], ended[:] = [reply], []
        begun = gpu.clock.now
        out = gpu.judge(s)
        # Three tests of 28 s, and all the while that is waited for: more than 100 s.
        assert out["verdict"] == "ok", (reply, out["reason"])
        assert gpu.clock.now - begun > 84 and not [x for x in gpu.alive() if x.scout]

    def fails(cls, *args):
        raise BlockingIOError
    gpu.worker.Child.scout = classmethod(fails)
    assert gpu.judge(s)["verdict"] == "ok"


@pytest.mark.parametrize("stalls, tests_s, hurried", [
    ((), 29, False), ((2,), 9, True), ((6,), 9, True), ((2,), 11, True)])
def test_where_no_kernel_gets_compiled_for_long_little_time_is_left(gpu, stalls, tests_s, hurried):
    gpu.on["ahead"] = lambda stand, request: {"tests": 2, "all": 6, "seconds": 0.1}
    gpu.on["await"] = lambda stand, request: {"lasts": request["stall"], "stalled": True} \
        if request["n"] in stalls and "stall" in request else {}
    gpu.on["test"] = lambda stand, request: dict(stand.do_test(), lasts=float(
        tests_s if not stand.trusted else 1))
    s = gpu.session()
    out = gpu.judge(s)
    asked = [(r["n"], r.get("stall")) for _, r in gpu.times("await")]
    assert asked[0] == (2, 20)                          # for how long no kernel got done
    if 2 not in stalls and out["verdict"] == "ok":
        assert asked[1] == (6, 20)
    late = 2 in stalls and tests_s > 10
    assert out["verdict"] == ("timeout" if late else "ok"), out
    if late:
        assert out["reason"] == "test took more than 10 s, and its kernels were not compiled in " \
            "the 20 s before"
    assert not [x for x in gpu.alive() if x.scout]


def test_the_untouched_file_is_waited_for_and_says_how_long_a_kernel_may_take(gpu):
    gpu.on["ahead"] = lambda stand, request: {"tests": 2, "all": 6, "seconds": 0.1}
    gpu.on["await"] = lambda stand, request: {"lasts": 15.0 if request["n"] == 2 else 1.0}
    s = gpu.session()
    assert gpu.judge(s, s.task["source"], baseline=True)["verdict"] == "ok"
    assert [(r["n"], r.get("stall")) for _, r in gpu.times("await")] == [(2, None), (6, None)]
    gpu.judge(s)
    assert [r["stall"] for _, r in gpu.times("await")] == [60, 60]      # four times as long


def test_once_a_worker_is_ready_a_first_launch_imports_little_more_of_triton(worker, scratch):
    worker.get_ready()
    scout, before = worker.Scout(scratch, scratch, MACHINE), set(sys.modules)
    scout.do_load(source=SMALL % ("", "1"), tests="def test_op():\n    return op(torch.ones(9, "
                  "device='cuda'))\nresult = test_op()\n", perf="", kind="tritonbench", name="mine",
                  seed=1)
    scout.run_tests(1, None, lambda t: t)
    assert len(scout.jobs) == 2
    assert [m for m in sys.modules if m.startswith("triton.") and m not in before] in (
        [], ["triton.tools.tensor_descriptor"])


def test_a_worker_gets_ready_for_a_triton_it_does_not_know_and_starts_no_thread(worker):
    import threading

    import triton.runtime.cache as cache
    for module in cache, triton.compiler.compiler:
        if hasattr(module, "triton_key"):
            del module.triton_key
    worker.get_ready()
    worker.know_gpu({"capability": [9, 0]}, True)
    assert threading.active_count() == 1 and len(os.listdir("/proc/self/task")) == 1
    assert not torch.cuda.is_initialized()
