"""Runs a file's tests and timed calls in a child."""
import ast
import contextlib
import ctypes
import gc
import os
import sys
import types

from . import jail, recorder
from .compare import Reference, in_part, plain
from .frames import Lost
from .hold import Hold
from .inputs import CLEAN, FLUSH, KEPT, Drawn, Inputs, is_tensor, name_of, walk

DRIVER = "libcuda.so.1"
ROOM, PART_OF = 1 << 30, 64         # bytes that processes show results in, at most, and such a part
                                    # of the GPU's memory


def written(path, text):
    """The code of a file that now is there, for tracebacks and for what reads its own source."""
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    return compile(text, path, "exec")


class Handle(ctypes.Structure):
    """The driver's CUipcMemHandle."""
    _fields_ = [("bytes", ctypes.c_char * 64)]


class PerformanceMetrics:
    """What a script of timed shapes derives its class from."""

    def __init__(self, op_name="", dtype=None, is_backward=False, **kwargs):
        self.op_name, self.dtype, self.is_backward = op_name, dtype, is_backward
        self.kwargs, self.input_tensors = kwargs, []

    input_tensors = property(lambda self: self.drawn,
                             lambda self, value: setattr(self, "drawn", Drawn(value)))


class Runner(Hold, Inputs, Reference):
    """Runs a file's tests and timed calls. Everything of torch that matters is taken hold of
    before the file is loaded."""
    poison = perf = plugs = lazy = opened = None    # opened: a room, of what size, by what handle
    distinct = laned = strayed = False
    left_by_tests, timed_seed, launches, lane, lanes, took_ns = (), 0, 0, 0, (), 0

    def __init__(self, device, scratch, cache):
        import torch
        self.torch, self.device, self.scratch, self.cpu = torch, device, scratch, device == "cpu"
        self.recorder = None if self.cpu else recorder.Recorder(recorder.library)
        if not self.cpu:
            try:
                torch.cuda.set_device(device)
                # The driver opens its files now. What may lack memory comes before hold().
                torch.zeros(1, device=device), torch.cuda.Stream(device)
            except (RuntimeError, AssertionError) as e:
                raise RuntimeError("no GPU to run Triton kernels on: torch says: %s"
                                   % str(e).split("\n")[0]) from None
            if not self.recorder.start():       # what the first record costs is paid by all alike
                torch.zeros(1, device=device)
                torch.cuda.synchronize()
                self.recorder.stop()
        self.flush = torch.empty(0 if self.cpu else FLUSH, dtype=torch.uint8, device=device)
        self.flush[:8].any()                    # loads what beyond() calls
        self.unjailed = jail.enter(scratch, cache)
        self.room = torch.empty(0, dtype=torch.uint8, device=device)
        if self.cpu:
            self.pretend()
        self.forget()
        self.hold()

    def do_idle(self):
        """Gives back what others may need while nothing is judged."""
        self.forget()
        self.give_back()

    def give_back(self):
        with contextlib.suppress(RuntimeError):         # of what went wrong before, as was told
            self.empty_cache()

    def forget(self):
        self.inputs, self.expected = None, ()
        self.leave_shape()
        if self.perf:
            self.perf.input_tensors = []

    def do_load(self, source, tests, perf, kind, name, seed):
        self.kind, self.name = kind, name
        self.streams, self.types, self.looked_at, self.narrow = set(), set(), set(), set()
        sys.modules[name] = self.module = module = types.ModuleType(name)
        self.seed(seed)
        gc.collect()
        gc.freeze()                         # what is ours is not found by gc.get_objects
        module.__file__ = self.scratch + "/%s.py" % name
        exec(written(module.__file__, source), module.__dict__)
        if tests:
            body = ast.parse(tests).body
            imports = [n for n in body if isinstance(n, (ast.Import, ast.ImportFrom))]
            # Names that their top level gives to anything, and to what a call of a test returns.
            self.left_by_tests = {
                n.id for part in body if not isinstance(part, (ast.FunctionDef, ast.ClassDef))
                for n in ast.walk(part) if isinstance(n, ast.Name)
                and isinstance(n.ctx, ast.Store)} - set(module.__dict__)
            self.test_names = [
                t.id for n in body if isinstance(n, ast.Assign) and isinstance(n.value, ast.Call)
                and "test" in ast.unparse(n.value.func).lower()
                for t in n.targets if isinstance(t, ast.Name)]
            self.tests = written("%s/%s_test.py" % (self.scratch, name), tests)
            # Their file and the one under test are one module. What it lacks the tests will tell.
            with contextlib.suppress(ImportError):
                exec(compile(ast.Module(imports, []), "imports", "exec"), module.__dict__)
        if perf:
            self.load_perf(perf)
        return self.integrity()

    def load_perf(self, text):
        sys.modules["performance_utils"] = stub = types.ModuleType("performance_utils")
        stub.Performance_Metrics = PerformanceMetrics
        stub.do_bench_config = type("do_bench_config", (), {})
        space, tree = {"__name__": "perf", "__file__": self.scratch + "/perf.py"}, ast.parse(text)
        for n in ast.walk(tree):        # in whatever package such a script looks for them
            last = (getattr(n, "module", None) or "").rpartition(".")[2]
            if last in (self.name, "performance_utils"):
                n.module, n.level = last, 0
        try:
            exec(compile(tree, space["__file__"], "exec"), space)
        except ImportError as e:
            if e.name and e.name.split(".")[-1] == self.name:
                raise Lost("build_failed", "it does not define what is timed: %s" % e) from e
            raise
        kinds = [c for c in space.values() if isinstance(c, type)
                 and issubclass(c, PerformanceMetrics) and c is not PerformanceMetrics]
        if not kinds:
            raise Lost("build_failed", "the perf script has no class of timed shapes")
        self.perf = kinds[-1]()

    def seed(self, seed):
        for manual_seed in self.generators:
            manual_seed(seed % 2 ** 32)

    def integrity(self):
        """What of the ground it stands on the file has changed; nothing if all is as it was."""
        replaced = ["replaced %s.%s" % (where, k) for where, space, then in self.before
                    for k, v in then.items() if getattr(space, k, v) is not v]
        return next(({"tampered": what} for what, seen in (
            ("".join(replaced[:1]), replaced),
            ("left a thread running", self.threads() > self.threads_before),
            ("launched a kernel on a stream of its own", self.streams),
            ("left another stream current", self.other_stream()),
            ("left a mode of torch open", self.modes() > self.cpu)) if seen), {})

    @contextlib.contextmanager
    def poisoned(self, poison):
        """Memory that no one wrote holds this meanwhile."""
        self.poison = poison
        try:
            yield
        finally:
            self.poison = None

    def run_tests(self, seed, poison, change=None):
        """What the tests give, each tensor that they make with room of its own, or changed."""
        for name in self.left_by_tests:
            self.module.__dict__.pop(name, None)
        self.fresh()
        run = self.model if self.kind == "kernelbench" else self.results
        try:
            with self.poisoned(poison), self.counting():
                # Alone, what a file reads or writes beyond a tensor is none of another's.
                found = self.with_made(
                    lambda: run(seed), change or (lambda t: self.apart(t, [], {}, {})))
            self.sync()
            return found
        finally:
            self.plugs = None

    def results(self, seed):
        self.seed(seed)
        space = self.module.__dict__
        exec(self.tests, space)
        found = {n: space[n] for n in self.test_names if n in space}
        calls = [n for n in self.tests.co_names if n.startswith("test") and callable(space.get(n))]
        if not found and not calls:
            raise Lost("build_failed", "the tests give no result")
        if not found:
            self.seed(seed)
            found = {calls[0]: space[calls[0]]()}
        return found

    def net(self):
        """KernelBench's model."""
        space = self.module.__dict__
        net = (space.get("ModelNew") or space["Model"])(*map(self.to, space["get_init_inputs"]()))
        return net.cuda().eval() if isinstance(net, self.torch.nn.Module) else net

    def model(self, seed, inputs=None):
        self.seed(seed)
        net = self.net()
        inputs = [self.to(x) for x in self.module.get_inputs()] if inputs is None else inputs
        with self.torch.no_grad():
            return net(*inputs)

    def to(self, x):
        return x.cuda() if isinstance(x, self.torch.Tensor) else x

    def do_test(self, seed, poison):
        self.launches = 0
        # What a file left behind may undo itself when results are shown: it is looked for before.
        found, bad = self.run_tests(seed, poison), self.integrity()
        return dict(self.put(found, seed), launches=self.launches, **(bad or self.integrity()))

    def do_room(self):
        """Makes a room, in a process that no file is run in: { size =, handle = }."""
        self.open_room(min(ROOM, self.torch.cuda.mem_get_info()[1] // PART_OF), None)
        handle, at = Handle(), ctypes.c_uint64(self.room.data_ptr())
        if ctypes.CDLL(DRIVER).cuIpcGetMemHandle(ctypes.byref(handle), at):
            raise RuntimeError("its memory can't be shared")
        return {"size": len(self.room), "handle": bytes(handle).hex()}

    def open_room(self, size, handle):
        """Another process's room, by its handle, or else one of its own. Where it can't be opened
        there is none: results go to files."""
        if self.opened == (size, handle):
            return
        self.opened, at = (size, handle), ctypes.c_uint64()
        if not handle:
            self.room = self.real_empty(size, dtype=self.torch.uint8, device=self.device)
        elif not ctypes.CDLL(DRIVER).cuIpcOpenMemHandle_v2(
                ctypes.byref(at), Handle.from_buffer_copy(bytes.fromhex(handle)), 1):
            self.room = self.torch.as_tensor(types.SimpleNamespace(__cuda_array_interface__=dict(
                shape=(size,), typestr="|u1", data=(at.value, False), version=3)))

    def wipe(self, areas):
        """Zeros, by the driver: torch's kernel for a list of them takes 0.03 s to load."""
        for x in areas:
            x.zero_() if self.cpu else ctypes.CDLL(DRIVER).cuMemsetD8Async(
                ctypes.c_uint64(x.data_ptr()), 0, ctypes.c_size_t(x.nbytes), None)

    def put(self, value, seed, part=False):
        """Copies the tensors of value to the room, or to out.bin what does not fit; of those that
        are not compared whole, blocks that seed draws."""
        torch, shown, leaves, full = self.torch, [], [], 0
        for path, leaf in walk(value):
            if is_tensor(leaf) and type(leaf) not in (torch.Tensor, torch.nn.Parameter):
                raise Lost("cheated", "%s is a %s" % (path, name_of(type(leaf))))
            # Not by a method that it was given, which would compute what was not timed.
            leaves.append((path, torch.Tensor.detach(leaf) if is_tensor(leaf) else leaf))
        lies = lambda x: x.numel() and x.layout is torch.strided and x.untyped_storage().data_ptr()
        given = {lies(x) for path, x in leaves if path[:3] == "[1]" and is_tensor(x)} - {0, False}
        name, parts = self.scratch + "/out.bin", in_part(leaves, part)
        if os.path.isfile(name):
            os.unlink(name)             # what the file under test has mapped or open is another
        with open(name, "xb") as f, torch.no_grad():
            for path, leaf in leaves:
                if not is_tensor(leaf):
                    x = plain(leaf)
                    shown.append(dict(path=path, value=str(x) if type(x) is float else x))
                    continue
                flat = self.flat(leaf, seed if path in parts else None).contiguous()
                there = self.room[full:full + flat.nbytes]
                fits = len(there) == flat.nbytes
                shown.append(dict(path=path, dtype=str(leaf.dtype), shape=list(leaf.shape),
                                  at=full if fits else f.tell(), room=fits, view=[
                                      how for how, so in (
                                          ("lies in an input", lies(leaf) in given),
                                          ("is not contiguous", not leaf.is_contiguous()))
                                      if so and path[:3] == "[0]"]))
                if fits:
                    there.copy_(flat.view(torch.uint8))
                    full += flat.nbytes
                else:
                    f.write(flat.cpu().view(torch.uint8).numpy().data)
        self.sync()
        return {"leaves": shown}

    def do_settle(self):
        """After checked calls what no one wrote holds zeros again, in both processes: what a
        file prints of it or computes with it takes as long in one as in the other."""
        if self.cpu:
            return
        self.former, held = [], []
        self.do_prepare(self.timed_seed)
        self.former = []
        with self.poisoned(CLEAN):
            while not held or len(held) < KEPT and self.keeps(held[0]):
                held.append(self.timed(self.call, 0, self.lane)[0])
        self.result = None

    def do_go(self, cycles=0, record=False):
        record = record and self.recorder
        why = self.recorder.start(self.lanes[self.lane].cuda_stream) if record else None
        self.result, self.took_ns, host, ahead = self.timed(self.call, cycles, self.lane)
        return {"ns": self.took_ns, "host": host, "ahead": ahead,
                "recorded": record and ({"why": why} if why else self.recorder.stop())}

    def do_count(self, seed, known=None):
        def launch():
            self.result = self.call()
            self.sync()
        if not self.recorder:
            return {"why": "Triton's interpreter has no counters"}
        return self.recorder.count(self.torch.cuda.current_device(),
                                   lambda: self.do_prepare(seed), launch, known)

    def do_call(self, poison):
        """A call that is checked, not timed."""
        self.former = []
        with self.poisoned(poison), self.counting(launches=False):
            self.result = self.timed(self.call, 0, self.lane)[0]

    def do_show(self, seed, part=False):
        bad, reply = self.integrity(), self.put([self.result, self.work], seed, part)
        return dict(reply, beyond=self.beyond(), **(bad or self.integrity()))

    def compiled(self):
        """(name, kernel) of what the file's functions were compiled to and started."""
        for name, fn in list(self.module.__dict__.items()):
            for _ in range(4):
                fn = fn if hasattr(fn, "device_caches") else getattr(fn, "fn", None)
            for cache in list(getattr(fn, "device_caches", {}).values()):
                for kernel in list(cache[0].values()):
                    if getattr(kernel, "n_regs", None) is not None:
                        yield name, kernel

    def do_facts(self):
        kernels = [dict(name=name, registers=k.n_regs, spills=k.n_spills, shared=k.metadata.shared,
                        warps=k.metadata.num_warps, stages=k.metadata.num_stages)
                   for name, k in self.compiled()]
        return dict(kernels=kernels[:32], **self.integrity())
