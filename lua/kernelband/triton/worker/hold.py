"""Takes hold of what the judging needs of torch and Triton before a file is loaded."""
import contextlib
import json
import os
import random
import sys
import time
import types

from .inputs import CLEAN, FLUSH, LANES


class Hold:
    def pretend(self, where="cpu", capability=(9, 0)):
        """Triton's interpreter on CPU tensors: what asks for a GPU gets the CPU; or nothing but
        shapes, on the device meta."""
        torch, Tensor = self.torch, self.torch.Tensor
        there = torch.device(where)
        instead = {Tensor.cuda: lambda t: t.to(there), Tensor.is_cuda.__get__: lambda t: True}
        if where == "meta":             # what there might be of contents: so that a test goes on
            same, yes = lambda t: t, lambda t: True
            instead.update({
                Tensor.cpu: same, Tensor.numpy: same, Tensor.__bool__: yes, Tensor.equal: yes,
                torch.equal: yes, Tensor.__int__: lambda t: 1, Tensor.__float__: lambda t: 1.0,
                Tensor.__index__: lambda t: 1, Tensor.item: lambda t: (
                    1.0 if t.dtype.is_floating_point or t.dtype.is_complex else 1)})

        def plain(x):
            return there if isinstance(x, (str, torch.device)) and str(x).startswith("cuda") else x

        class Elsewhere(torch.overrides.TorchFunctionMode):
            def __torch_function__(self, func, types_, args=(), kwargs=None):
                if func in instead:
                    return instead[func](args[0])
                return func(*map(plain, args), **{k: plain(v) for k, v in (kwargs or {}).items()})
        Elsewhere().__enter__()
        vars(torch.cuda).update(
            current_device=lambda: 0, synchronize=lambda *a: None, is_available=lambda: True,
            get_device_capability=lambda *a: tuple(capability), device=contextlib.nullcontext)
        torch.nn.Module.cuda = lambda self, *a: self

    def crowd(self):
        """Other work beside a call that is made again: blocks that race do not end in the order of
        before."""
        if not self.cpu:
            with self.torch.cuda.stream(self.lanes[self.lane - 1]):
                for _ in range(64):         # some ms
                    self.flush.zero_()

    def enter(self, metadata):
        self.launches += 1
        if stream := metadata.get().get("stream"):      # the one that is timed is 0
            self.streams.add(stream)

    @contextlib.contextmanager
    def counting(self, launches=True):
        """While calls are checked what their kernels are given is noted, and those of tests, which
        are on no stream of ours, are counted."""
        space, name = self.launcher
        real = getattr(space, name)

        def noted(fn, *args, **kwargs):
            self.launches += self.cpu        # on a GPU the hook does
            self.note_types((*args, *kwargs.values()))
            return real(fn, *args, **kwargs)
        with contextlib.ExitStack() as ends:
            setattr(space, name, noted)
            ends.callback(setattr, space, name, real)
            if launches and not self.cpu:
                self.knobs.launch_enter_hook.add(self.enter)
                ends.callback(self.knobs.launch_enter_hook.remove, self.enter)
            yield

    def hold(self):
        torch, cpu = self.torch, self.cpu
        self.zeros, self.real_empty = torch.zeros, torch.empty
        # The zeros that fresh() leaves around what is made are not given back by a file.
        self.empty_cache = torch.cuda.empty_cache
        torch.cuda.empty_cache = torch.cuda.memory.empty_cache = lambda: None
        # Which calls a default device is put into is found out once: before some are wrapped.
        with contextlib.suppress(ImportError, AttributeError):
            from torch.utils import _device
            _device._device_constructors()

        # Memory that no one wrote holds NaN, a number or an integer in the runs that are checked,
        # zeros where inputs are drawn.
        def filled(real, name):
            def made(*args, **kwargs):
                t, poison = real(*args, **kwargs), self.poison
                if poison is not None and t.numel():
                    with torch.no_grad():
                        if poison == CLEAN:
                            t.zero_()
                        elif t.dtype.is_floating_point or t.dtype.is_complex:
                            t.fill_(float("nan") if poison % 2 else 777.25)
                        else:
                            t.fill_(poison % 2 if t.dtype is torch.bool else poison % 100 + 1)
                return t
            made.__name__ = name
            return made
        for space, name in ((torch, "empty"), (torch, "empty_like"), (torch, "empty_strided"),
                            (torch.Tensor, "new_empty")):
            setattr(space, name, filled(getattr(space, name), name))
        # torch.manual_seed also keeps a call, with a traceback, for each kind of device it has not.
        numpy = sys.modules.get("numpy")        # torch loads it, where it is there
        self.generators = [random.seed, *([numpy.random.seed] if numpy else ())] + [
            g.manual_seed for g in (torch.default_generator,
                                    *(() if cpu else torch.cuda.default_generators))]
        spaces = [torch, torch.cuda, torch.cuda.Event, torch.Tensor, torch.nn.functional, torch.nn,
                  torch.nn.Module, torch.no_grad, torch.autograd, torch.linalg, torch.random,
                  time, json, os, sys]
        if cpu:
            from triton.runtime import interpreter
            now = time.perf_counter_ns

            def timed(call, cycles, lane=0):
                start = now()
                out = call()
                ns = now() - start
                return out, ns, ns, True
            self.timed, self.sync, self.other_stream = timed, lambda: None, lambda: False
            self.launcher = interpreter.GridExecutor, "__call__"
        else:
            import triton
            self.launcher, self.knobs = (triton.runtime.JITFunction, "run"), triton.knobs.runtime
            self.hold_gpu(triton.testing.do_bench, triton.runtime.driver.active)
            spaces += [triton, triton.runtime, triton.testing, triton.language,
                       triton.runtime.JITFunction, triton.runtime.driver]
        fixed = types.FunctionType, types.BuiltinFunctionType, type
        self.before = []
        for s in spaces:                # of a class also what it inherits, which it may shadow
            names = list(dir(s) if isinstance(s, type) else vars(s))
            self.before.append((getattr(s, "__name__", "?"), s, {
                k: v for k in names for v in [getattr(s, k, None)] if getattr(s, k, None) is v and (
                    isinstance(v, fixed) or type(v).__name__.endswith("_descriptor"))}))
        inner, default = torch._C, torch.utils._device.DeviceContext
        # How many modes of torch are open; a default device is none that counts.
        self.modes = lambda: inner._len_torch_dispatch_stack() + sum(
            type(inner._get_function_stack_at(i)) is not default
            for i in range(inner._len_torch_function_stack()))
        self.threads = sys.modules["_thread"]._count
        self.threads_before = self.threads()

    def hold_gpu(self, bench, driver):
        torch, device, now = self.torch, self.device, time.perf_counter_ns
        Event, sync, sleep = torch.cuda.Event, torch._C._cuda_synchronize, torch.cuda._sleep
        record, elapsed, query = Event.record, Event.elapsed_time, Event.query
        current, switch = torch._C._cuda_getCurrentStream, torch._C._cuda_setStream
        current_device, stream = torch.cuda.current_device, torch.cuda.default_stream(device)
        index = current_device()
        self.lanes = lanes = [stream] + [torch.cuda.Stream(device) for _ in range(LANES)]

        def onto(s):
            switch(stream_id=s.stream_id, device_index=s.device_index, device_type=s.device_type)
        # A file that tunes itself does so briefly; most of that time empties the L2 cache.
        driver.get_empty_cache_for_benchmark = lambda: self.flush[:FLUSH // 2]
        driver.get_benchmarker = lambda: lambda *a, **k: bench(*a, warmup=0.5, rep=2, **k)

        def timed(call, cycles, lane=0):
            a, b, s = Event(enable_timing=True), Event(enable_timing=True), lanes[lane]
            if lane:
                onto(s)
            try:
                if cycles:
                    sleep(cycles)
                start = now()
                record(a, s)
                out = call()
                record(b, s)
                host = now() - start
                ahead = not query(a)        # the GPU still waits: no gap between launches
                self.strayed = self.strayed or current(index)[0] != s.stream_id
            finally:
                if lane:
                    onto(stream)
            sync()
            return out, elapsed(a, b) * 1e6, host, ahead
        self.timed, self.sync = timed, sync
        self.other_stream = lambda: self.strayed or current(current_device())[0] != stream.stream_id
