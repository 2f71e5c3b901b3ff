"""Compiles ahead what a file will ask for, on no GPU."""
import contextlib
import ctypes
import os
import select
import signal
import struct
import time
import types

from . import jail
from .runner import Runner

JOBS_MOST = 4096                    # kernels


def target_of(machine):
    from triton.backends.compiler import GPUTarget
    major, minor = machine["capability"]
    return GPUTarget("cuda", 10 * major + minor, 32)


def no_gpu(torch, machine):
    """What Triton asks of a driver before it compiles, for a GPU that is not opened."""
    facts = {"max_shared_mem": int(machine["smem_per_sm"]) - 1024, "warpSize": 32,
             "max_num_regs": 65536, "multiprocessor_count": machine["sm_count"]}
    target, meta = target_of(machine), torch.device("meta")
    return types.SimpleNamespace(
        get_current_device=lambda: 0, get_current_stream=lambda device=0: 0,
        get_current_target=lambda: target, get_active_torch_device=lambda: meta,
        utils=types.SimpleNamespace(get_device_properties=lambda device=0: facts))


class Scout(Runner):
    """Runs a file's tests and timed calls on tensors that have shapes and no contents, on no GPU,
    and notes the kernels they would start. Those are compiled ahead by several processes into the
    cache of the child that will ask for them: while others time, and not one after another. What
    can't be foreseen so (grids that hang on contents) is compiled when it is asked for. Nothing
    of this is believed or judged: what is foreseen wrongly is compiled in vain."""

    cpu, device = True, "meta"
    # Nothing of it is judged.
    integrity, counting = dict, contextlib.nullcontext

    def __init__(self, scratch, cache, machine):
        import torch
        import triton
        self.torch, self.scratch, self.jobs, self.done = torch, scratch, {}, set()
        os.environ["CUDA_VISIBLE_DEVICES"] = ""     # what we don't pretend is not to be had
        jail.enter(scratch, cache)
        self.forget()
        self.generators, self.sync = (torch.default_generator.manual_seed,), lambda: None
        self.pretend("meta", machine["capability"])
        torch.cuda.get_device_properties = lambda *a: types.SimpleNamespace(
            name=machine["name"], major=machine["capability"][0], minor=machine["capability"][1],
            multi_processor_count=machine["sm_count"], total_memory=machine["memory_bytes"])
        triton.runtime.driver.set_active(no_gpu(torch, machine))
        JITFunction, Autotuner = triton.runtime.JITFunction, triton.runtime.Autotuner
        jobs, compiles, keys = self.jobs, JITFunction._do_compile, set()

        def noted(fn, key, *args):
            if len(jobs) < JOBS_MOST:
                jobs.setdefault((id(fn), key), lambda: compiles(fn, key, *args))

        def tuned(tuner, *args, **kwargs):
            tuner.nargs = dict(zip(tuner.arg_names, args))
            given = {**tuner.nargs, **kwargs}       # it is tuned once for each of these
            key = str([id(tuner)] + [given.get(k) for k in tuner.keys]
                      + [str(x.dtype) for x in given.values() if hasattr(x, "dtype")])
            if key in keys and len(tuner.configs) > 1:
                return
            keys.add(key)
            for config in tuner.prune_configs(kwargs):
                tuner.fn.run(*args, **kwargs, **config.all_kwargs())
        JITFunction._do_compile, Autotuner.run = noted, tuned   # nothing is launched that is None

    def do_ahead(self, processes, **what):
        """Loads, notes and starts to compile. { tests = kernels that the tests ask for, all =,
        seconds = that it took to find out }"""
        begun = time.monotonic()
        self.do_load(**what)
        foreseen = contextlib.suppress(Exception)   # until it asks for contents
        with foreseen:
            self.run_tests(1, None, lambda t: t)
        tests = len(self.jobs)
        with foreseen:
            self.draw("meta", 1, None)
        for drawn in self.inputs or ():
            with foreseen:
                self.model(1, drawn) if self.kind == "kernelbench" else \
                    self.perf.call_op(self.perf.to_cuda(drawn))
        (todo, into), (self.told, told) = os.pipe(), os.pipe()
        jobs = list(self.jobs.values())
        os.write(into, b"".join(struct.pack("<H", i) for i in range(len(jobs))))
        os.close(into)
        for _ in range(min(processes, len(jobs))):
            if os.fork() == 0:
                try:
                    from triton.backends.nvidia.driver import CudaLauncher
                    os.close(self.told)
                    ctypes.CDLL(None).prctl(1, signal.SIGKILL)      # a fork does not inherit it
                    os.nice(10)         # others are timed
                    while which := os.read(todo, 2):
                        with contextlib.suppress(Exception):   # who asks for it will be told
                            kernel = jobs[struct.unpack("<H", which)[0]]()
                            # C of its own, a compiler's work too.
                            CudaLauncher(kernel.src, kernel.metadata)
                        os.write(told, which)
                finally:
                    os._exit(0)         # whatever befell it: it is no scout
        os.close(todo), os.close(told)
        return {"tests": tests, "all": len(jobs), "seconds": time.monotonic() - begun}

    def do_await(self, n, stall=None):
        """Until the first n are compiled, whatever else was before them, or all that can be, or
        none was for stall seconds."""
        while not self.done.issuperset(range(n)):
            if not select.select([self.told], [], [], stall)[0]:
                return {"stalled": True}
            if not (more := os.read(self.told, 4096)):
                break
            self.done.update(i for i, in struct.iter_unpack("<H", more))
