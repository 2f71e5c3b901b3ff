"""Commands to the process of the untouched file alone."""

from .frames import finite


class Reference:
    def do_machine(self):
        torch = self.torch
        import triton
        out = {"torch": torch.__version__, "triton": triton.__version__, "language": "triton"}
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
                    max_threads_per_sm=get("max_threads_per_multi_processor"),
                    regs_per_sm=get("regs_per_multiprocessor"),
                    smem_per_sm=get("shared_memory_per_multiprocessor"))

    def do_rates(self, ns):
        """GB/s and TFLOP/s by the script's own formulas; absent where they fail."""
        out = {}
        for name in ("get_gbps", "get_tflops"):
            try:
                out[name[4:]] = finite(float(getattr(self.perf, name)(self.work, ns / 1e6)))
            except Exception:
                pass
        return out

    def do_verify_tests(self, seed, leaves, file, poisons, ignore=(), allow=None, room=False):
        key = ("tests", seed)

        def run(k):
            return self.keep(self.run_tests(seed, poisons[k % 2], room), seed, "cpu")
        if key not in self.cache:
            self.cache.clear()
            self.cache[key] = [run(0), run(1)]
        return self.verify(self.cache[key], leaves, file, run, ignore, allow)

    expected = buffer = None        # first runs; memory that what is read goes through

    def run_shape(self, seed, show, poison):
        """(what is kept of a checked call, whether it wrote outside of its inputs)"""
        self.do_prepare(seed)
        self.do_call(poison)
        return self.keep([self.result, self.work], show), self.beyond()

    def do_expect(self, seed, show, poisons, runs):
        """The first runs that do_verify_shape compares with, made while the other is shown."""
        self.expected = seed, show, [self.run_shape(seed, show, poisons[k % 2])
                                     for k in range(runs)]
        return {}

    def do_verify_shape(self, seed, show, leaves, file, poisons, runs=2, ignore=(), allow=None):
        if not self.expected or self.expected[:2] != (seed, show):
            self.do_expect(seed, show, poisons, runs)
        done, self.expected = self.expected[2], None

        def run(k):
            done.append(self.run_shape(seed, show, poisons[k % 2]))
            return done[k][0]
        out = self.verify([kept for kept, _ in done], leaves, file, run, ignore, allow)
        self.do_settle()
        return dict(out, beyond=any(beyond for _, beyond in done))
