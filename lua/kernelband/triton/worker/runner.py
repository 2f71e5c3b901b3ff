"""Runs a file's tests and timed calls in a child."""
import ast
import gc
import os
import sys
import types

from . import recorder
from .child import Refusal
from .compare import SAMPLE, WHOLE, Compare
from .hold import Hold
from .inputs import CLEAN, FLUSH, KEPT, Drawn, Inputs, walk
from .jail import landlock
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


class Runner(Hold, Inputs, Compare, Reference):
    """Runs a file's tests and timed calls. Everything of torch that matters is taken hold of
    before the file is loaded."""

    def __init__(self, device, scratch, trusted):
        import torch
        self.torch, self.device, self.scratch, self.trusted = torch, device, scratch, trusted
        self.recorder = Recorder(recorder.library) if device != "cpu" else None
        if not self.device == "cpu":
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
        if not trusted:
            landlock({"root", "home"}, scratch)
        self.cpu = device == "cpu"
        self.launches, self.names, self.streams, self.poison = [0], set(), set(), None
        self.cache, self.pristine, self.slack, self.large, self.perf = {}, None, [], {}, None
        self.plugs, self.lazy, self.places, self.former, self.area = None, None, [], [], {}
        self.lanes, self.laned, self.lane, self.strayed = [], False, 0, False
        if self.cpu:
            self.pretend()
        else:
            self.flush = torch.empty(FLUSH, dtype=torch.int8, device=device)
        self.count_launches()
        self.hold()

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

    def do_load(self, source, tests, perf, kind, name, seed, needs):
        scratch = self.scratch
        self.kind, self.name, self.needs, self.perf = kind, name, needs, None
        path = "%s/%s.py" % (scratch, name)
        with open(path, "w", encoding="utf-8") as f:
            f.write(source)
        self.file = path
        module = types.ModuleType(name)
        module.__file__ = path
        sys.modules[name] = self.module = module
        self.seed(seed)
        gc.collect()
        gc.freeze()                         # what is ours is not found by gc.get_objects
        exec(compile(source, path, "exec"), module.__dict__)
        self.left_by_tests = ()
        if tests:
            self.left_by_tests = stored_names(tests) - set(module.__dict__)
            tests_path = "%s/%s_test.py" % (scratch, name)
            with open(tests_path, "w", encoding="utf-8") as f:
                f.write(tests)
            self.tests = compile(tests, tests_path, "exec")
            self.test_names = result_names(tests)
        if perf:
            self.load_perf(perf)
        return self.integrity()

    def load_perf(self, text):
        stub = types.ModuleType("performance_utils")

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
        stub.Performance_Metrics = Performance_Metrics
        stub.do_bench_config = type("do_bench_config", (), {})
        own, module = self.name, self.module

        class Finder:
            """The modules a perf script names: the file under test, and the stub above."""
            @staticmethod
            def find_spec(full, path=None, target=None):
                last = full.split(".")[-1]
                real = {own: module, "performance_utils": stub}.get(last)
                if real is None and full.split(".")[0] not in ("TritonBench_v1", "geak_eval"):
                    return None
                import importlib.machinery

                class Loader:
                    def create_module(self, spec):
                        if real is None:
                            made = types.ModuleType(full)
                            made.__path__ = []
                            return made
                        return real

                    def exec_module(self, made):
                        pass
                return importlib.machinery.ModuleSpec(full, Loader(), is_package=real is None)
        sys.meta_path.insert(0, Finder)
        sys.modules["performance_utils"] = stub
        space = {"__name__": "perf", "__file__": self.scratch + "/perf.py"}
        try:
            exec(compile(text, self.scratch + "/perf.py", "exec"), space)
        except ImportError as e:
            if e.name and e.name.split(".")[-1] == own:
                raise Refusal("build_failed", "it does not define what is timed: %s" % e)
            raise
        finally:
            sys.meta_path.remove(Finder)
        kinds = [c for c in space.values() if isinstance(c, type)
                 and issubclass(c, Performance_Metrics) and c is not Performance_Metrics]
        if not kinds:
            raise Refusal("build_failed", "the perf script has no class of timed shapes")
        self.perf = kinds[-1]()

    def seed(self, seed):
        import random
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

    def run_tests(self, seed, poison, room=False):
        for name in self.left_by_tests:
            self.module.__dict__.pop(name, None)
        self.fresh()
        self.poison = poison
        try:
            run = self.model if self.kind == "kernelbench" else self.results
            found = self.with_room(lambda: run(seed)) if room else run(seed)
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

    def do_test(self, seed, poison, room=False):
        self.launches[0] = 0
        self.counting(True)
        try:
            out = self.run_tests(seed, poison, room)
        finally:
            self.counting(False)
        reply = self.put(out, seed)
        reply.update(self.integrity(), launches=self.launches[0], names=sorted(self.names)[:64])
        return reply

    def put(self, value, seed):
        """Writes the tensors of value to out.bin; of large ones, blocks that seed draws. It is a
        new file: what the file under test has mapped or open is another."""
        torch, leaves, at = self.torch, [], 0
        name = self.scratch + "/out.bin"
        if os.path.isfile(name):
            os.unlink(name)
        with open(name, "xb") as f, torch.no_grad():
            for path, leaf in walk(value):
                if isinstance(leaf, torch.Tensor):
                    if type(leaf) not in (torch.Tensor, torch.nn.Parameter):
                        raise Refusal("cheated", "%s is a %s" % (path, type(leaf).__name__))
                    flat = self.sampled(leaf.detach(), seed)
                    data = flat.contiguous().view(torch.uint8).cpu().numpy().data \
                        if flat.numel() else b""
                    f.write(data)
                    leaves.append(dict(path=path, dtype=str(leaf.dtype), shape=list(leaf.shape),
                                       at=at, n=flat.numel()))
                    at += len(data)
                else:
                    plain = leaf if isinstance(leaf, (bool, int, str, type(None))) else \
                        "nan" if isinstance(leaf, float) and leaf != leaf else \
                        str(leaf) if isinstance(leaf, float) else type(leaf).__name__
                    leaves.append(dict(path=path, value=plain, number=isinstance(leaf, float)))
        return {"leaves": leaves, "bytes": at}

    def sampled(self, t, seed):
        torch = self.torch
        flat = t.reshape(-1)
        if t.layout is not torch.strided or t.numel() * t.element_size() <= WHOLE:
            return flat
        blocks, size = SAMPLE
        g = torch.Generator()
        g.manual_seed(seed)
        starts = torch.randint(0, t.numel() - size, (blocks,), generator=g, device="cpu")
        return flat[(starts.to(t.device)[:, None]
                     + torch.arange(size, device=t.device)).reshape(-1)]

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
            self.result, ns, host, _ = self.timed(self.call, 0, self.lane)
        finally:
            self.poison = None
        return {"ns": ns, "host": host}

    def do_show(self, seed):
        reply = self.put([self.result, self.work], seed)
        return dict(reply, beyond=self.beyond(), **self.integrity())

    def do_facts(self):
        kernels = []
        for name, fn in list(self.module.__dict__.items()):
            for _ in range(4):
                if hasattr(fn, "device_caches"):
                    break
                fn = getattr(fn, "fn", None)
            for cache in list(getattr(fn, "device_caches", {}).values()):
                for k in list(cache[0].values()):
                    m = k.metadata
                    if getattr(k, "n_regs", None) is None:      # compiled, not launched
                        continue
                    kernels.append(dict(name=name, registers=k.n_regs, spills=k.n_spills,
                                        shared=m.shared, warps=m.num_warps, stages=m.num_stages))
        out = {"kernels": kernels[:32]}
        out.update(self.integrity())
        return out
