"""Commands to the process of the untouched file alone."""
import contextlib

from .compare import Compare
from .frames import finite
from .inputs import mapped, walk


class Reference(Compare):
    def do_machine(self):
        torch = self.torch
        import triton
        out = {"torch": torch.__version__, "triton": triton.__version__, "language": "triton",
               "unjailed": self.unjailed}
        if self.cpu:
            return dict(out, name="Triton's interpreter on the CPU", interpreter=True)
        p = torch.cuda.get_device_properties(self.device)
        get = lambda name: finite(getattr(p, name, None))
        clock, width = get("memory_clock_rate"), get("memory_bus_width")
        if clock and width:
            out["dram_gbps"] = 2 * clock * 1e3 * width / 8 / 1e9
        if get("clock_rate"):
            out["sm_tflops"] = 2 * 128 * p.multi_processor_count * p.clock_rate * 1e3 / 1e12
        return dict(out, name=p.name, sm_count=p.multi_processor_count,
                    memory_bytes=p.total_memory, capability=[p.major, p.minor],
                    uuid=str(getattr(p, "uuid", "")),
                    max_threads_per_sm=get("max_threads_per_multi_processor"),
                    regs_per_sm=get("regs_per_multiprocessor"),
                    smem_per_sm=get("shared_memory_per_multiprocessor"))

    def do_rates(self, ns):
        """GB/s and TFLOP/s by the script's own formulas; absent where they fail."""
        out = {}
        for name in ("get_gbps", "get_tflops"):
            with contextlib.suppress(Exception):
                out[name[4:]] = finite(float(getattr(self.perf, name)(self.work, ns / 1e6)))
        return out

    def do_verify_tests(self, seed, leaves, file, poisons, ignore=(), allow=None, exact=True):
        def run(k):
            return self.keep(self.run_tests(seed, poisons[k % 2]), seed, "cpu")

        def in_float64():
            return self.keep(self.run_tests(seed, None, self.widened), seed, "cpu")
        if seed not in self.cache:
            self.cache.clear()
            self.cache[seed] = [run(0), run(1)]
        return self.verify(self.cache[seed], leaves, file, run, ignore, allow,
                           exact and self.attempt("tests", in_float64))

    expected = None                 # first runs

    def run_shape(self, seed, show, poison, part):
        """(what is kept of a checked call, whether it wrote outside of its inputs)"""
        self.do_prepare(seed)
        self.do_call(poison)
        return self.keep([self.result, self.work], show, None, part), self.beyond()

    def do_expect(self, seed, show, poisons, runs, part):
        """The first runs that do_verify_shape compares with, made while the other is shown."""
        self.expected = seed, show, [self.run_shape(seed, show, poisons[k % 2], part)
                                     for k in range(runs)]

    def do_verify_shape(self, seed, show, leaves, file, poisons, runs=2, ignore=(), allow=None,
                        part=False, exact=True):
        if not self.expected or self.expected[:2] != (seed, show):
            self.do_expect(seed, show, poisons, runs, part)
        done, self.expected = self.expected[2], None

        def run(k):
            done.append(self.run_shape(seed, show, poisons[k % 2], part))
            return done[k][0]

        def in_float64():
            self.do_prepare(seed)
            self.work = mapped(self.work, self.widened)
            self.result = self.call()
            return self.keep([self.result, self.work], show, None, part)
        out = self.verify([kept for kept, _ in done], leaves, file, run, ignore, allow,
                          exact and self.attempt("shape", in_float64))
        self.do_settle()
        return dict(out, beyond=any(beyond for _, beyond in done))

    def attempt(self, what, call):
        """call in float64, where the file can do that: it is asked no more where it cannot."""
        def tried():
            if what in self.narrow:
                return None
            try:
                found = call()
                self.sync()
                return found
            except Exception:
                self.narrow.add(what)
                return None
        return tried

    def widened(self, t):
        """A copy of a floating tensor, in float64."""
        if type(t) is not self.torch.Tensor or not t.dtype.is_floating_point \
                or t.dtype.itemsize == 1:
            return t
        return t.detach().double().requires_grad_(t.requires_grad)

    def note_types(self, args):
        """Floating types of tensors that a kernel is given."""
        for _, x in walk(list(args)):
            if isinstance(x, self.torch.Tensor) and x.dtype.is_floating_point:
                self.types.add(str(x.dtype).replace("torch.", ""))
