"""Runs a file's tests and timed calls in a child."""
import ast
import gc
import importlib.machinery
import os
import random
import sys
import types

from . import jail, recorder
from .child import Refusal
from .compare import sizes
from .hold import Hold
from .inputs import CLEAN, FLUSH, KEPT, Drawn, Inputs, walk
from .recorder import Recorder
from .reference import Reference


def stored_names(tests):
    """Names that the tests' top level gives to anything."""
    return {n.id for part in ast.parse(tests).body
            if not isinstance(part, (ast.FunctionDef, ast.ClassDef))
            for n in ast.walk(part) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}


def result_names(tests):
    """Names that the tests' top level gives to what a call of a test returns."""
    out = []
    for n in ast.parse(tests).body:
        if isinstance(n, ast.Assign) and isinstance(n.value, ast.Call) \
                and "test" in ast.unparse(n.value.func).lower():
            out += [t.id for t in n.targets if isinstance(t, ast.Name)]
    return out


def imports_of(tests):
    """What the tests' top level imports: their file and the one under test are one module."""
    part = ast.parse(tests)
    part.body = [n for n in part.body if isinstance(n, (ast.Import, ast.ImportFrom))]
    return part


class Runner(Hold, Inputs, Reference):
    """Runs a file's tests and timed calls. Everything of torch that matters is taken hold of
    before the file is loaded."""

    def __init__(self, device, scratch):
        import torch
        self.torch, self.device, self.scratch, self.cpu = torch, device, scratch, device == "cpu"
        self.recorder = None if self.cpu else Recorder(recorder.library)
        if not self.cpu:
            try:
                torch.cuda.set_device(device)
                torch.zeros(1, device=device)   # the driver opens its files now
            except (RuntimeError, AssertionError) as e:
                raise RuntimeError("no GPU to run Triton kernels on: torch says: %s"
                                   % str(e).split("\n")[0]) from None
            if not self.recorder.start():       # what the first record costs is paid by all alike
                torch.zeros(1, device=device)
                torch.cuda.synchronize()
                self.recorder.stop()
        self.unjailed = jail.enter(scratch)
        self.begin()
        self.lanes, self.laned, self.lane, self.strayed = [], False, 0, False
        if self.cpu:
            self.pretend()
        else:
            self.flush = torch.empty(FLUSH, dtype=torch.int8, device=device)
        self.count_launches()
        self.hold()

    def begin(self):
        """What is there before a file is."""
        self.launches, self.names, self.streams, self.poison = [0], set(), set(), None
        self.cache, self.perf, self.plugs, self.lazy, self.distinct = {}, None, None, None, False
        self.types, self.looked_at, self.narrow = set(), set(), set()
        self.left_by_tests, self.timed_seed = (), 0
        self.forget()

    def do_idle(self):
        """Gives back what others may need while nothing is judged."""
        self.forget()
        self.cache.clear()
        self.give_back()
        return {}

    def give_back(self):
        if not self.cpu:
            try:
                self.empty_cache()
            except RuntimeError:        # what went wrong before shows here: it was told
                pass

    def forget(self):
        self.inputs = self.pristine = self.work = self.result = self.expected = None
        self.slack, self.places, self.former, self.large, self.area = [], [], [], {}, {}
        if self.perf:
            self.perf.input_tensors = []

    def do_load(self, source, tests, perf, kind, name, seed):
        self.kind, self.name = kind, name
        module = types.ModuleType(name)
        sys.modules[name] = self.module = module
        self.seed(seed)
        gc.collect()
        gc.freeze()                         # what is ours is not found by gc.get_objects
        module.__file__ = self.scratch + "/%s.py" % name
        exec(self.written(name, source), module.__dict__)
        if tests:
            self.left_by_tests = stored_names(tests) - set(module.__dict__)
            self.tests, self.test_names = self.written(name + "_test", tests), result_names(tests)
            try:
                exec(compile(imports_of(tests), "imports", "exec"), module.__dict__)
            except ImportError:
                pass                        # the tests themselves will tell
        if perf:
            self.load_perf(perf)
        return self.integrity()

    def written(self, name, text):
        path = "%s/%s.py" % (self.scratch, name)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        return compile(text, path, "exec")

    def load_perf(self, text):
        class Performance_Metrics:
            def __init__(self, op_name="", dtype=None, is_backward=False, **kwargs):
                self.op_name, self.dtype, self.is_backward = op_name, dtype, is_backward
                self.kwargs, self.input_tensors = kwargs, []

            @property
            def input_tensors(self):
                return self.drawn

            @input_tensors.setter
            def input_tensors(self, value):
                self.drawn = Drawn(value)
        stub = types.ModuleType("performance_utils")
        stub.Performance_Metrics = Performance_Metrics
        stub.do_bench_config = type("do_bench_config", (), {})
        real, own = {self.name: self.module, "performance_utils": stub}, self.name

        class Finder:
            """The modules a perf script names: the file under test, and the stub above."""
            @staticmethod
            def find_spec(full, path=None, target=None):
                known = full.rpartition(".")[2] in real
                if known or full.split(".")[0] in ("TritonBench_v1", "geak_eval"):
                    return importlib.machinery.ModuleSpec(full, Finder, is_package=not known)
                return None

            @staticmethod
            def create_module(spec):
                return real.get(spec.name.rpartition(".")[2])

            @staticmethod
            def exec_module(made):
                pass
        sys.meta_path.insert(0, Finder)
        sys.modules["performance_utils"] = stub
        space = {"__name__": "perf", "__file__": self.scratch + "/perf.py"}
        try:
            exec(compile(text, self.scratch + "/perf.py", "exec"), space)
        except ImportError as e:
            if e.name and e.name.split(".")[-1] == own:
                raise Refusal("build_failed", "it does not define what is timed: %s" % e) from e
            raise
        finally:
            sys.meta_path.remove(Finder)
        kinds = [c for c in space.values() if isinstance(c, type)
                 and issubclass(c, Performance_Metrics) and c is not Performance_Metrics]
        if not kinds:
            raise Refusal("build_failed", "the perf script has no class of timed shapes")
        self.perf = kinds[-1]()

    def seed(self, seed):
        random.seed(seed)
        for manual_seed in self.generators:
            manual_seed(seed)
        if "numpy" in sys.modules:
            sys.modules["numpy"].random.seed(seed % 2 ** 32)

    def integrity(self):
        """What of the ground it stands on the file has changed; None is as it should be."""
        for where, space, then in self.before:
            for k, v in then.items():
                if vars(space).get(k, v) is not v:
                    return {"tampered": "replaced %s.%s" % (where, k)}
        if self.threads() > self.threads_before:
            return {"tampered": "left a thread running"}
        if self.streams:
            return {"tampered": "launched a kernel on a stream of its own"}
        if self.other_stream():
            return {"tampered": "left another stream current"}
        return {}

    def run_tests(self, seed, poison, change=None):
        """What the tests give, each tensor that they make with room of its own, or changed."""
        for name in self.left_by_tests:
            self.module.__dict__.pop(name, None)
        self.fresh()
        self.poison = poison
        run = self.model if self.kind == "kernelbench" else self.results
        try:
            with self.counting():
                found = self.with_made(lambda: run(seed), change or self.alone)
            self.sync()
            return found
        finally:
            self.poison = self.plugs = None

    def results(self, seed):
        self.seed(seed)
        space = self.module.__dict__
        exec(self.tests, space)
        found = {n: space[n] for n in self.test_names if n in space}
        calls = [n for n in self.tests.co_names if n.startswith("test") and callable(space.get(n))]
        if not found and not calls:
            raise Refusal("build_failed", "the tests give no result")
        if not found:
            self.seed(seed)
            found = {n: space[n]() for n in calls[:1]}
        return found

    def model(self, seed, inputs=None):
        space = self.module.__dict__
        made = space.get("ModelNew") or space["Model"]
        self.seed(seed)
        net = made(*[self.to(x) for x in space["get_init_inputs"]()])
        net = net.cuda().eval() if isinstance(net, self.torch.nn.Module) else net
        inputs = [self.to(x) for x in space["get_inputs"]()] if inputs is None else inputs
        with self.torch.no_grad():
            return net(*inputs)

    def to(self, x):
        return x.cuda() if isinstance(x, self.torch.Tensor) else x

    def do_test(self, seed, poison):
        self.launches[0] = 0
        reply = self.put(self.run_tests(seed, poison), seed)
        reply.update(self.integrity(), launches=self.launches[0], names=sorted(self.names)[:64])
        return reply

    def put(self, value, seed, part=False):
        """Writes the tensors of value to out.bin; of those that are not compared whole, blocks that
        seed draws. It is a new file: what the file under test has mapped or open is another."""
        torch, shown, at, leaves = self.torch, [], 0, list(walk(value))
        name, of = self.scratch + "/out.bin", sizes(leaves)
        if os.path.isfile(name):
            os.unlink(name)
        with open(name, "xb") as f, torch.no_grad():
            for path, leaf in leaves:
                if isinstance(leaf, torch.Tensor):
                    if type(leaf) not in (torch.Tensor, torch.nn.Parameter):
                        raise Refusal("cheated", "%s is a %s" % (path, type(leaf).__name__))
                    flat = self.sampled(path, leaf.detach(), seed, of, part)
                    data = flat.contiguous().view(torch.uint8).cpu().numpy().data \
                        if flat.numel() else b""
                    f.write(data)
                    shown.append(dict(path=path, dtype=str(leaf.dtype), shape=list(leaf.shape),
                                      at=at, n=flat.numel()))
                    at += len(data)
                else:
                    plain = leaf if isinstance(leaf, (bool, int, str, type(None))) else \
                        "nan" if isinstance(leaf, float) and leaf != leaf else \
                        str(leaf) if isinstance(leaf, float) else type(leaf).__name__
                    shown.append(dict(path=path, value=plain, number=isinstance(leaf, float)))
        return {"leaves": shown, "bytes": at}

    def do_settle(self):
        """After checked calls what no one wrote holds zeros again, in both processes: what a
        file prints of it or computes with it takes as long in one as in the other."""
        if self.cpu:
            return {}
        self.former, held = [], []
        try:
            self.do_prepare(self.timed_seed)
            self.former, self.poison = [], CLEAN
            while not held or len(held) < KEPT and self.keeps(held[0]):
                held.append(self.timed(self.call, 0, self.lane)[0])
        finally:
            self.poison = None
        self.result = None
        return {}

    def do_go(self, cycles=0, record=False):
        why = self.recorder.start(self.lanes[self.lane].cuda_stream) \
            if record and self.recorder else None
        self.result, ns, host, ahead = self.timed(self.call, cycles, self.lane)
        reply = {"ns": ns, "host": host, "ahead": ahead}
        if record and self.recorder:
            reply["recorded"] = {"why": why} if why else self.recorder.stop()
        return reply

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
        self.poison = poison
        try:
            with self.counting(launches=False):
                self.result, ns, host, _ = self.timed(self.call, 0, self.lane)
        finally:
            self.poison = None
        return {"ns": ns, "host": host}

    def do_show(self, seed, part=False):
        reply = self.put([self.result, self.work], seed, part)
        return dict(reply, beyond=self.beyond(), **self.integrity())

    def compiled(self):
        """(name, kernel) of what the file's functions were compiled to and started."""
        for name, fn in list(self.module.__dict__.items()):
            for _ in range(4):
                if hasattr(fn, "device_caches"):
                    break
                fn = getattr(fn, "fn", None)
            for cache in list(getattr(fn, "device_caches", {}).values()):
                for kernel in list(cache[0].values()):
                    if getattr(kernel, "n_regs", None) is not None:
                        yield name, kernel

    def do_facts(self):
        kernels = [dict(name=name, registers=k.n_regs, spills=k.n_spills, shared=k.metadata.shared,
                        warps=k.metadata.num_warps, stages=k.metadata.num_stages)
                   for name, k in self.compiled()]
        return dict(kernels=kernels[:32], **self.integrity())
