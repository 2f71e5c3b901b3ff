"""Inputs: how they are drawn, where they lie, what is around them."""
import gc
import math
import os
import sys

FLUSH = 256 << 20
INPUTS_MOST = 2 << 30       # bytes of inputs that lie on the GPU; of more, one shape's at a time
AREAS, SHIFTS = 4, 4                # where inputs lie, in turn: memory of their own, and how far
PLACES = AREAS * SHIFTS             # from its start
PLACED_MOST = 2 << 30               # bytes of inputs that lie in several areas,
LARGE = 256 << 20                   # and of a tensor that lies in one only
SHIFTED_MOST = 32 << 20             # how far, at most
KEPT, KEPT_MOST = 4, 1 << 20        # former results that lie where a new one would; their bytes
LANES, LANED_MOST = 32, 32 << 20    # streams that calls are timed on, in turn; their inputs' bytes
CLEAN = 0                   # zeros
FRONT = 64 << 10            # bytes before every input; after it, where files reach past its end:
AROUND, AROUND_LEAST, AROUND_MOST = 64, 4 << 20, 128 << 20      # so many times its own
MADE = {"empty", "zeros", "ones", "full", "rand", "randn", "randint", "randperm", "arange",
        "tensor", "linspace", "eye", "normal", "empty_like", "zeros_like", "ones_like", "full_like",
        "rand_like", "randn_like", "randint_like", "empty_strided", "new_empty", "new_zeros",
        "new_ones", "new_full", "new_tensor", "clone", "cuda", "to"}    # what gives a tensor


def apart_from_each_other(torch):
    """torch.randint with no value twice, where there are as many: indices that are written to
    by one alone."""
    real = torch.randint

    def randint(*args, **kwargs):
        ends = [a for a in args if isinstance(a, int)]
        size = kwargs.get("size") or next((a for a in args if isinstance(a, (tuple, list))), ())
        low, high = ([kwargs.get("low", 0)] + ends)[-2:] if ends else (
            kwargs.get("low", 0), kwargs.get("high", 0))
        n = math.prod(size)
        out = real(*args, **kwargs)
        if 1 < n <= high - low <= 1 << 28 and not out.dtype.is_floating_point:
            out.copy_(torch.randperm(high - low, device=out.device)[:n].add_(low).view(out.shape))
        return out
    return randint


def walk(value, path="", depth=0):
    """(path, leaf) of nested results, in an order that does not depend on the run."""
    if depth < 8 and isinstance(value, dict):
        for k in value:
            yield from walk(value[k], "%s[%r]" % (path, k), depth + 1)
    elif depth < 8 and isinstance(value, (list, tuple)):
        for i, v in enumerate(value):
            yield from walk(v, "%s[%d]" % (path, i), depth + 1)
    else:
        yield path, plain_of(value)


def plain_of(value):
    """What numpy holds as torch and Python do: it is compared as theirs is."""
    numpy = sys.modules.get("numpy")
    if numpy and type(value) is numpy.ndarray and value.dtype.kind in "biuf":
        import torch
        try:
            return torch.from_numpy(value.copy())
        except TypeError:
            return value
    return value.item() if numpy and isinstance(value, numpy.generic) else value


def free_remains(segments):
    """Sizes of what is free between live tensors, largest first, as the allocator of torch
    gives them out: small ones, of a mebibyte at most, are a pool of their own."""
    out = []
    for segment in segments:
        small = segment.get("segment_type") == "small"
        for block in segment.get("blocks", ()):
            n = block["size"] if block.get("state") == "inactive" else 0
            while small and n > 0:
                out.append(min(n, 1 << 20))
                n -= 1 << 20
            if not small and n > 1 << 20:
                out.append(n)
    return sorted(out, reverse=True)[:4096]


class Drawn(list):
    """The inputs of all timed shapes; of too many bytes none but the one that is wanted."""
    want, device = None, None

    def __init__(self, items=()):
        list.__init__(self)
        self.labels, self.bytes = [], 0
        for item in items:
            self.append(item)

    def append(self, item):
        tensors = [x for _, x in walk(item) if hasattr(x, "element_size")]
        self.bytes += sum(x.numel() * x.element_size() for x in tensors
                          if x.device.type == Drawn.device)
        shapes = ["x".join(map(str, x.shape)) if hasattr(x, "element_size") else str(x)[:20]
                  for _, x in walk(item)]
        self.labels.append(" ".join(shapes)[:60])
        list.append(self, item)
        if Drawn.want is not None or self.bytes > INPUTS_MOST:
            for i in range(len(self)):
                self[i] = self[i] if i == Drawn.want else None

    def extend(self, items):
        for item in items:
            self.append(item)


def secret(turn=None):
    """A seed; turn is (which stream it puts a call on, of LANES, where its inputs lie, of
    PLACES)."""
    seed = int.from_bytes(os.urandom(6), "little")
    if turn is None:
        return seed
    return seed & ~(LANES - 1 << 20 | PLACES - 1 << 4) | turn[0] << 20 | turn[1] << 4


def lane_of(seed):
    return (seed >> 20) % LANES


def place_of(seed):
    return (seed >> 4) % PLACES


def turns(lanes):
    """Without end, in secret order: each of so many streams as often as another, and each place."""
    def cycle(n):
        while True:
            yield from sorted(range(n), key=lambda _: secret())
    return zip(cycle(lanes), cycle(PLACES))


class Inputs:
    reach = 0       # bytes of a shape's largest input: a file that takes a small one for as large

    def with_made(self, call, change):
        """call, where every tensor that is made is what change gives for it."""
        torch = self.torch

        class Changed(torch.overrides.TorchFunctionMode):
            def __torch_function__(self, func, types_, args=(), kwargs=None):
                out = func(*args, **(kwargs or {}))
                if getattr(func, "__name__", "") not in MADE or type(out) is not torch.Tensor \
                        or out.layout is not torch.strided:
                    return out
                at = out.untyped_storage().data_ptr()
                if any(type(a) is torch.Tensor and a.layout is torch.strided
                       and a.untyped_storage().data_ptr() == at for a in args):
                    return out                      # what it was given, or a view of it
                with torch.no_grad():
                    return change(out)
        space, engine = torch.autograd, torch.autograd._engine_run_backward

        def passing(*args, **kwargs):       # what calls it is a function of torch: no mode there
            with Changed():
                return engine(*args, **kwargs)
        space._engine_run_backward = passing
        try:                                # a backward pass in this thread, where the mode is
            with space.set_multithreading_enabled(False), Changed():
                return call()
        finally:
            space._engine_run_backward = engine

    def alone(self, t):
        """t with room of its own: what a file reads or writes beyond it is none of another's."""
        kept = self.slack, self.large, self.area
        self.slack, self.large, self.area = [], {}, {}      # they end with it
        try:
            return self.apart(t, {})
        finally:
            self.slack, self.large, self.area = kept

    def fresh(self):
        """Memory as a new process has it, zeros and some of it in a row: files that read past
        the end of what they were given do so in a plain run of them as well. What is free
        between tensors that live on is taken for the while."""
        if self.cpu:
            return
        torch = self.torch
        self.plugs, self.former, self.result = None, [], None
        gc.collect()
        self.empty_cache()
        try:
            self.plugs = [self.zeros(n, dtype=torch.uint8, device=self.device)
                          for n in free_remains(torch.cuda.memory_snapshot())]
            room = min(1 << 30, torch.cuda.mem_get_info()[0] // 16)
            held = [self.zeros(n, dtype=torch.uint8, device=self.device)
                    for n in [1 << 20] * 8 + [room]]
            del held
        except RuntimeError:
            self.empty_cache()

    def apart(self, value, seen):
        """A copy of inputs with zeros before and after every tensor: what is read there is the
        same in every process, what is written there is seen. Views share as they did."""
        torch = self.torch
        if type(value) in (tuple, list):
            return type(value)(self.apart(x, seen) for x in value)
        if type(value) is dict:
            return {k: self.apart(x, seen) for k, x in value.items()}
        if type(value) not in (torch.Tensor, torch.nn.Parameter) or value.grad_fn is not None \
                or value.layout is not torch.strided or value.is_quantized \
                or value.device.type != ("cpu" if self.cpu else "cuda") or not value.numel():
            return value
        if id(value) in seen:
            return seen[id(value)][1]
        key = ("storage", value.untyped_storage().data_ptr())
        if key not in seen:
            seen[key] = self.lay(value, key)
        whole, at = seen[key]
        t = self.real_empty(0, dtype=value.dtype, device=value.device)
        t.set_(whole.untyped_storage(), at // value.element_size() + value.storage_offset(),
               value.shape, value.stride())
        if type(value) is torch.nn.Parameter:
            t = torch.nn.Parameter(t, requires_grad=value.requires_grad)
        elif value.requires_grad:
            t.requires_grad_()
        seen[id(value)] = value, t
        return t

    def lay(self, value, key):
        """(memory with zeros in it, where in it value's storage is copied to): how far from its
        start is another in each place, if all of the storage is value's and drawn anew."""
        torch, storage = self.torch, value.untyped_storage()
        n = storage.nbytes()
        tail = min(AROUND_MOST, max(AROUND_LEAST, AROUND * n, self.reach)) // 512 * 512
        # What is repeated (a stride of 0) is not drawn anew, and of half a storage as long.
        spare = min(tail, SHIFTED_MOST) if value.nbytes == n and 0 not in value.stride() else 0
        at = FRONT + (spare // PLACES // 1024 * 1024 + 512) * len(self.places) if spare else FRONT
        held = self.large if n > LARGE else self.area
        if key not in held:
            held[key] = self.zeros(FRONT + spare + n + tail, dtype=torch.uint8,
                                   device=value.device)
        memory = held[key]
        old = self.real_empty(0, dtype=torch.uint8, device=value.device)
        memory[at:at + n].copy_(old.set_(storage, 0, (n,), (1,)))
        self.slack += [memory[:at], memory[at + n:]]
        return memory, at

    def beyond(self):
        """Has the last call written outside its inputs?"""
        return bool(self.slack) and bool(self.torch.stack([z.any() for z in self.slack]).any())

    def do_inputs(self, seed, place=None, distinct=False):
        """Draws all timed inputs, on the GPU where the script lets us: that is quicker."""
        self.forget()
        self.lazy, self.distinct = None, distinct
        if self.kind != "kernelbench" and not self.perf:
            self.inputs = [None]
            return {"labels": ["tests"], "place": "cpu"}
        for where in ([place] if place else ["cpu"] if self.cpu else [str(self.device), "cpu"]):
            try:
                labels = self.draw(where, seed, None)
                break
            except Exception:
                if where == "cpu" or place:
                    raise
        return {"labels": labels, "place": where}

    def draw(self, where, seed, want):
        torch = self.torch
        self.seed(seed)
        self.poison = CLEAN             # what the script leaves unwritten is alike in all
        Drawn.want, Drawn.device = want, "cuda" if where != "cpu" else "none"
        randint = torch.randint
        if self.distinct:
            torch.randint = apart_from_each_other(torch)
        try:
            torch.set_default_device(where if where != "cpu" else None)
            if self.kind == "kernelbench":
                drawn = Drawn([self.module.get_inputs()])
            else:
                self.perf.input_tensors = []
                self.perf.get_input_tensors()
                drawn, self.perf.input_tensors = self.perf.input_tensors, []
        finally:
            torch.set_default_device(None)
            torch.randint = randint
            self.poison = Drawn.want = None
        if drawn.bytes > INPUTS_MOST:
            self.lazy = (where, seed)
        self.inputs = list(drawn)
        return drawn.labels

    def do_shape(self, i, seed, lanes=False):
        torch = self.torch
        with torch.no_grad():               # what lies in the list is as it was drawn
            for t, kept in self.pristine or []:
                t.detach().copy_(kept)
        self.work = self.pristine = self.result = drawn = None
        self.slack, self.places, self.former = [], [], []
        self.large, self.area = {}, {}      # what is too large to lie in more than one; what is not
        if self.lazy:
            self.inputs = None
            self.draw(*self.lazy, i)
        self.seed(seed)
        if self.kind == "kernelbench":
            drawn = [self.to(x) for x in self.inputs[i]]
            space = self.module.__dict__
            net = (space.get("ModelNew") or space["Model"])(*space["get_init_inputs"]())
            net = net.cuda().eval()

            def call():
                with torch.no_grad():
                    return net(*self.work)
            self.call = call
        elif not self.perf:                 # no script of shapes: the tests are what is timed
            self.call = lambda: self.results(self.timed_seed)
        else:
            drawn = self.perf.to_cuda(self.inputs[i])
            self.call = lambda: self.perf.call_op(self.work)
        self.reach = max((t.untyped_storage().nbytes() for _, t in walk(drawn)
                          if type(t) is torch.Tensor and t.layout is torch.strided), default=0)
        several = True
        for k in range(PLACES):
            if k % SHIFTS == 0 and several:
                self.area = {}
            self.slack = []
            with torch.no_grad():
                work = self.apart(drawn, {})
            tensors, own = {}, True
            for (_, t), (_, old) in zip(walk(work), walk(drawn)):
                if isinstance(t, torch.Tensor) and 0 not in t.stride():
                    own = own and old is not t
                    if t.data_ptr() not in tensors or \
                            t.nbytes > tensors[t.data_ptr()][0].nbytes:
                        tensors[t.data_ptr()] = (t, old.detach().clone() if old is t
                                                 else old.detach())
            tensors = list(tensors.values())
            self.places.append((work, tensors, self.slack))
            size = sum(t.numel() * t.element_size() for t, _ in tensors)
            if not own or not size:
                break
            if k % SHIFTS == SHIFTS - 1:
                several = sum(w.numel() for w in self.area.values()) <= PLACED_MOST \
                    and not self.short_of_memory()
        self.work, self.pristine, self.slack = self.places[0]
        self.laned = lanes and not self.cpu and size <= LANED_MOST
        return {"bytes": size}

    def short_of_memory(self):
        free, whole = (1, 1) if self.cpu else self.torch.cuda.mem_get_info()
        return free < whole // 4

    def do_prepare(self, seed):
        """The inputs as drawn, with the rows of the floating ones rolled: an answer kept from
        an earlier call is wrong in this one."""
        torch, self.timed_seed = self.torch, seed
        self.turn(seed)
        with torch.no_grad():
            for i, (t, kept) in enumerate(self.pristine):
                dim = next((d for d, n in enumerate(kept.shape) if n > 1), None)
                if kept.is_floating_point() and dim is not None:
                    n = kept.shape[dim]
                    by = (seed >> 8) * (i + 1) % n
                    to = t.detach()         # two copies: torch.roll is ten times as slow
                    to.narrow(dim, by, n - by).copy_(kept.narrow(dim, 0, n - by))
                    if by:
                        to.narrow(dim, 0, by).copy_(kept.narrow(dim, n - by, by))
                else:
                    t.detach().copy_(kept)
                t.grad = None
            if self.slack:
                torch._foreach_zero_(self.slack)
        self.seed(seed)
        if not self.cpu:
            self.flush.zero_()
        self.sync()
        return {}

    def turn(self, seed):
        """Where inputs and results lie and which stream a call is on differ from call to call.
        Where a process happened to get its memory and its channels to the GPU is worth some
        percent of a short call: measured on an H200 with one kernel of 6 us in five processes,
        a standard deviation between them of 1.0 to 3.0 % on one stream, of 0.3 to 0.6 % on 8 and
        0.3 % on 32 that take turns. More connections (CUDA_DEVICE_MAX_CONNECTIONS) give no more
        and cost seconds when the GPU is opened."""
        self.lane = 1 + lane_of(seed) if self.laned else 0
        self.work, self.pristine, self.slack = self.places[place_of(seed) % len(self.places)]
        self.former.append(self.result)
        kept = (seed >> 12) % KEPT if self.keeps(self.result) else 0
        del self.former[:max(0, len(self.former) - kept)]
        self.result = None

    def keeps(self, result):
        """Whether results as small as this one are kept, so that the next lies elsewhere."""
        tensors = [x for _, x in walk(result) if isinstance(x, self.torch.Tensor)]
        small = sum(x.numel() * x.element_size() for x in tensors) <= KEPT_MOST
        return small and len(self.places) > 1
