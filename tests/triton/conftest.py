"""What the tests of the Triton worker share. make check-triton runs them.

    worker      the worker's names, in whichever of its files they are
    runner      what a child runs for its worker, on the CPU
    gpu         a GPU that is not there: sessions whose children are stand-ins, on its own clock
    Worker      a worker as the engine starts one, on Triton's interpreter

Each test runs in a process of its own, forked once torch is imported: it may do to torch and to
the worker what it likes.
"""
import ctypes
import glob
import inspect
import json
import os
import re
import signal
import struct
import subprocess
import sys
import tempfile

os.environ["OMP_NUM_THREADS"] = "1"             # as the worker has it

import pytest  # noqa: E402
import triton  # noqa: E402,F401
from _pytest.runner import runtestprotocol  # noqa: E402
from whole import PATH, ROOT  # noqa: E402
from whole import worker as whole  # noqa: E402


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item):
    hook, file = item.ihook, tempfile.TemporaryFile("w+", dir="/tmp")
    hook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    sys.stdout.flush(), sys.stderr.flush()
    pid = os.fork()
    if pid == 0:
        own = os.getpid()
        signal.alarm(300)
        reports = runtestprotocol(item, log=False)
        if os.getpid() == own:                  # else a fork of the test's did not end itself
            json.dump([hook.pytest_report_to_serializable(config=item.config, report=r)
                       for r in reports], file)
            file.flush()
        os._exit(0)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    for lock in glob.glob("/tmp/kernelband-gpu-test%d*" % pid):         # see Gpu.session
        os.unlink(lock)
    file.seek(0)
    said = file.read()
    if status or not said:
        said = json.dumps([pytest.TestReport(
            item.nodeid, item.location, {}, "failed", "its process ended with %d" % status,
            "call").__dict__ | {"$report_type": "TestReport"}])
    for data in json.loads(said):
        hook.pytest_runtest_logreport(
            report=hook.pytest_report_from_serializable(config=item.config, data=data))
    hook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


@pytest.fixture(scope="session")
def worker():
    return whole


@pytest.fixture
def scratch(tmp_path):
    """A folder of the test's own, which the worker's temporary ones lie in."""
    tempfile.tempdir = str(tmp_path)
    return str(tmp_path)


def called(function, **given):
    """function with those of the arguments that it takes."""
    takes = inspect.signature(function).parameters
    return function(**{k: v for k, v in given.items() if k in takes})


@pytest.fixture
def runner(worker, scratch):
    """runner(source, tests, perf, **options): a Runner that loaded a file, in this process."""
    def make(source="", tests="", perf="", bare=False, kind="tritonbench", **needs):
        r = called(worker.Runner, device="cpu", scratch=scratch, cache=scratch)
        if not bare:
            needs = dict(dict.fromkeys(("half", "dot", "bfloat", "rounds"), False), **needs)
            called(r.do_load, source=source, tests=tests, perf=perf, kind=kind, name="mine",
                   seed=1, needs=needs)
        return r
    return make


def perf_of(*tensors, call="x", head=""):
    """A script of timed shapes: each of tensors is the expression of one's inputs."""
    return """
import torch
from performance_utils import Performance_Metrics
%s
class performance_metrics(Performance_Metrics):
    def get_input_tensors(self):
        self.input_tensors = []
        for drawn in (%s):
            self.input_tensors.append(drawn())
    def to_cuda(self, x):
        return x
    def call_op(self, x):
        return %s
""" % (head, " ".join("lambda: %s," % t for t in tensors), call)


# Sessions on a GPU that is not there ---------------------------------------------------


class Clock:
    """Time passes where someone says so."""

    def __init__(self):
        self.now, self.slept = 1000.0, lambda seconds: None

    def monotonic(self):
        return self.now

    perf_counter = time = monotonic

    def perf_counter_ns(self):
        return round(self.now * 1e9)

    def sleep(self, seconds):
        self.now += seconds
        self.slept(seconds)


class Stand:
    """Answers for a child of the worker. pair: the how manieth pair of processes it is of."""

    def __init__(self, gpu, scratch, scout=False, cache=None):
        self.gpu, self.scratch, self.scout, self.cache = gpu, scratch, scout, cache
        self.source, self.seed, self.turn, self.pair = None, None, 0, None
        gpu.made.append(self)

    def answer(self, op, request):
        """(its reply, the seconds it takes)"""
        if op == "load":
            self.source = request["source"]
        if op in ("load", "inputs"):
            self.pair = self.gpu.pair()
        if op == "prepare":
            self.turn += 1
            self.seed = request["seed"]
        given = self.gpu.on.get(op)
        reply = given(self, request) if given else None
        if reply is None:
            reply = getattr(self, "do_" + op, lambda **_: {})(**request)
        return reply, reply.pop("lasts", 0.0)

    @property
    def trusted(self):
        """Whether it is the untouched file's."""
        return self in self.gpu.references()

    def put(self, leaves):
        with open(self.scratch + "/out.bin", "wb") as f:
            f.write(b"1234")
        return {"leaves": leaves}

    def do_machine(self):
        return dict(self.gpu.machine)

    def do_test(self, **_):
        return dict(self.put([{"path": p, "dtype": "torch.float32"} for p in "ab"]), launches=1)

    def do_show(self, **_):
        return dict(self.put([{"path": "[0]", "dtype": "torch.float32"}]), beyond=False)

    def do_verify_tests(self, **_):
        return {"count": 4, "chance": 0, "allowed": 0, "undetermined": [], "worst": 0.0,
                "beyond": False, "told": {}}

    do_verify_shape = do_verify_tests

    def do_inputs(self, **_):
        return {"labels": list(self.gpu.labels), "place": "cuda"}

    def do_go(self, cycles=0, record=False):
        k = dict(us=100, wall_us=200, host_us=1, ahead=True)
        k.update(self.gpu.kernel(self, cycles) or {})
        wiggle = 1 + self.turn * 7 % 5 * k.get("wiggle", 1e-5)
        reply = {"ns": k["us"] * 1e3 * wiggle, "host": k["host_us"] * 1e3, "ahead": k["ahead"],
                 "lasts": k["wall_us"] * 1e-6 * wiggle}
        if record:
            reply["recorded"] = k.get("recorded", {"why": "not here"})
        return reply

    def do_facts(self):
        return {"kernels": []}

    def do_count(self, **_):
        return {"values": {}}

    def do_ahead(self, **_):
        return {"tests": 0, "all": 0, "seconds": 0.0}


class Gpu:
    """on: { command: function(stand, request) -> its reply or None, may raise }; kernel(stand,
    cycles) -> what of a call is not as usual; log: (stand, command, request)."""

    def __init__(self, worker):
        self.worker, self.clock = worker, Clock()
        self.made, self.on, self.log, self.labels = [], {}, [], ["x"]
        self.sessions, self.had = [], []
        self.kernel = lambda stand, cycles: None
        self.machine = {"capability": [9, 0], "smem_per_sm": 233472, "sm_count": 132, "name": "x",
                        "memory_bytes": 1 << 37, "uuid": "test%d" % os.getpid()}
        self.ends = {}
        gpu, Child = self, worker.Child
        strikes = Child.strike

        def strike(child):
            pid = strikes(child)
            os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)   # in no time, by the clock
            return pid

        def start(child, make, cache):
            stand = make()
            child.pid = os.fork()
            if child.pid == 0:
                os.setpgid(0, 0)
                os.closerange(3, 4096)          # a child keeps no lock
                ctypes.CDLL(None).prctl(1, signal.SIGKILL)
                signal.pause()
                os._exit(0)
            os.setpgid(child.pid, child.pid)
            child.pipe = os.open("/dev/null", os.O_RDWR)
            stand.pid = child.pid
            gpu.ends[child.pipe] = stand

        def write_frame(fd, request, deadline=None):
            stand, request = gpu.ends[fd], dict(request)
            op = request.pop("op")
            gpu.log.append((stand, op, dict(request, at=gpu.clock.now)))
            begun = gpu.clock.now
            try:
                reply, lasts = stand.answer(op, request)
            except EOFError:
                reply, lasts = None, 0.0
            except worker.Lost as e:
                reply, lasts = {"error": e.args[0], "text": e.args[1]}, 0.0
            except Exception as e:
                reply, lasts = worker.explain(e), 0.0
            stand.reply = reply, begun + lasts

        def read_frame(fd, deadline=None):
            reply, at = gpu.ends[fd].reply
            if deadline is not None and at > deadline:
                gpu.clock.now = max(gpu.clock.now, deadline)
                raise TimeoutError
            gpu.clock.now = max(gpu.clock.now, at)
            if reply is None:
                raise EOFError
            return json.loads(json.dumps(reply))
        Child.start, Child.strike = start, strike
        worker.write_frame, worker.read_frame, worker.time = write_frame, read_frame, self.clock
        worker.Runner = lambda device, scratch, cache: Stand(gpu, scratch, cache=cache)
        worker.Scout = lambda scratch, *what: Stand(gpu, scratch, True)
        worker.know_gpu = lambda *given: None

    def session(self, **task):
        """A session of a file, whose name is that of no other GPU on this machine."""
        os.environ.setdefault("CUDA_VISIBLE_DEVICES", "test%d" % os.getpid())
        gpu = self

        class Session(self.worker.Session):
            def __init__(self, *given):
                gpu.sessions.append(self)
                super().__init__(*given)
        return Session("cuda:0", dict(dict(
            source="untouched = 1", tests="tests", perf="perf", kind="tritonbench", module="mine",
            gate=False, counters=False), **task))

    def references(self):
        """All that ever were; a pair of processes has one."""
        for session in self.sessions:
            child = getattr(session, "reference", None)
            stand = child and child.pid is not None and self.ends.get(child.pipe)
            if stand and stand not in self.had:
                self.had.append(stand)
        return self.had

    def pair(self):
        """The how manieth reference is at work."""
        child = getattr(self.sessions[-1], "reference", None)
        stand = child and child.pid is not None and self.ends[child.pipe]
        return self.references().index(stand) if stand else 0

    def children(self):
        return len([s for s in self.made if not s.scout])

    def judge(self, session, source="candidate = 1", baseline=False, **options):
        self.log.clear()
        return session.evaluate(source, options, baseline=baseline)

    def times(self, op, stand=None):
        return [(s, r) for s, o, r in self.log if o == op and stand in (None, s)]

    def alive(self):
        """Those of the children whose processes are there."""
        return [s for s in self.made if os.path.exists("/proc/%d/cwd" % s.pid)
                and not re.search(r"\) Z", open("/proc/%d/stat" % s.pid).read())]


@pytest.fixture
def gpu(worker, scratch):
    return Gpu(worker)


# A worker as the engine starts one ---------------------------------------------------


class Worker:
    """With the task of tests/triton/kernels/scaled_add.py but for what is given."""

    def __init__(self, **task):
        text = (ROOT / "tests/triton/kernels/scaled_add.py").read_text()
        self.source, tests = re.split(r"\n#{100,}\n", text)
        self.task = dict(dict(
            kind="tritonbench", module="scaled_add", source=self.source, tests=tests, call_s=20,
            perf=(ROOT / "tests/triton/perf/scaled_add_perf.py").read_text()), **task)
        env = dict(os.environ, TRITON_INTERPRET="1")
        self.process = subprocess.Popen([sys.executable, str(PATH), "serve", "triton:0"], env=env,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.tickets = 0

    def ask(self, **request):
        data = json.dumps(request).encode()
        self.process.stdin.write(struct.pack("<I", len(data)) + data)
        self.process.stdin.flush()
        return self.hear()

    def hear(self):
        n = struct.unpack("<I", self.process.stdout.read(4))[0]
        return json.loads(self.process.stdout.read(n))

    def open(self):
        return self.ask(op="open", task=self.task)["ready"]

    def judge(self, source, **options):
        self.tickets += 1
        took = self.ask(op="evaluate", ticket=self.tickets, source=source, options=options)
        assert took == {"took": self.tickets}
        return self.hear()["evaluation"]

    def close(self):
        self.process.stdin.close()
        self.process.wait()


@pytest.fixture
def worker_of(scratch):
    """worker_of(**task) -> a Worker of that task, which ends with the test"""
    made = []

    def make(**task):
        made.append(Worker(**task))
        return made[-1]
    yield make
    for w in made:
        w.close()
