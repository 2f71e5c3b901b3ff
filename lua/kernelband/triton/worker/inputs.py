"""Inputs: how they are drawn, where they lie, what is around them."""
import contextlib
import gc
import os
import sys

# Bytes that empty the caches; of inputs that lie on the GPU: of more, one shape's at a time.
FLUSH, INPUTS_MOST = 256 << 20, 2 << 30
# Where inputs lie, in turn: in four areas of memory, each in SHIFTS places.
SHIFTS, PLACES = 4, 4 * 4
# Bytes of inputs that lie in several areas, of a tensor that lies in one only; how far, at most.
PLACED_MOST, LARGE, SHIFTED_MOST = 2 << 30, 256 << 20, 32 << 20
# Former results that lie where a new one would; their bytes; ns of a call too long to depend on it.
KEPT, KEPT_MOST, LONG_NS = 4, 1 << 20, 1e6
LANES, LANED_MOST = 32, 32 << 20    # streams that calls are timed on, in turn; their inputs' bytes
# Zeros. Bytes before every input; after it, where files reach past its end:
CLEAN, FRONT = 0, 64 << 10
AROUND, AROUND_LEAST, AROUND_MOST = 64, 4 << 20, 128 << 20      # so many times its own
name_of = type.__dict__["__name__"].__get__     # of a type, whatever that says of itself
# What gives a tensor.
MADE = set("empty zeros ones full rand randn randint randperm arange tensor linspace eye normal "
           "empty_like zeros_like ones_like full_like rand_like randn_like randint_like clone cuda "
           "empty_strided new_empty new_zeros new_ones new_full new_tensor to".split())


def apart_from_each_other(torch):
    """torch.randint with no value twice, where there are as many: indices that are written to
    by one alone."""
    real = torch.randint

    def randint(*args, **kwargs):
        out = real(*args, **kwargs)
        ends = [kwargs.get("low", 0), *(a for a in args if isinstance(a, int))]
        low, high = (ends + [kwargs["high"]] if "high" in kwargs else ends)[-2:]
        n = out.numel()
        if 1 < n <= high - low <= 1 << 28 and not out.dtype.is_floating_point:
            out.copy_(torch.randperm(high - low, device=out.device)[:n].add_(low).view(out.shape))
        return out
    return randint


def walk(value, path="", depth=0):
    """(path, leaf) of nested results, in an order that does not depend on the run. No method of
    a file's own class is called: it might compute then what was to be timed."""
    kind = next((x for x in (dict, list, tuple) if issubclass(type(value), x)), None)
    if depth < 8 and kind:
        for k, v in dict.items(value) if kind is dict else enumerate(kind.__iter__(value)):
            name = repr(k) if type(k) in (str, int, bool, float, bytes) else name_of(type(k))
            yield from walk(v, "%s[%s]" % (path, name), depth + 1)
    else:
        yield path, plain_of(value)


def is_tensor(x):
    """By its type, whatever it says of itself."""
    return issubclass(type(x), sys.modules["torch"].Tensor)


def mapped(value, change):
    """Nested inputs, with what change gives for each that is no container."""
    if type(value) in (tuple, list):
        return type(value)(mapped(x, change) for x in value)
    if type(value) is dict:
        return {k: mapped(x, change) for k, x in value.items()}
    return change(value)


def plain_of(value):
    """What numpy holds as torch and Python do: it is compared as theirs is."""
    numpy = sys.modules.get("numpy")
    if numpy and type(value) is numpy.ndarray and value.dtype.kind in "biuf":
        import torch
        with contextlib.suppress(TypeError):
            return torch.from_numpy(value.copy())
    generic = numpy and issubclass(type(value), numpy.generic)
    return numpy.generic.item(value) if generic else value


def bytes_of(leaves):
    """Of those that are tensors."""
    return sum(type(x).numel(x) * x.itemsize for x in leaves if is_tensor(x))


def free_remains(segments):
    """Sizes of what is free between live tensors, largest first, as the allocator of torch
    gives them out: small ones, of a mebibyte at most, are a pool of their own."""
    out = []
    for segment in segments:
        small = segment.get("segment_type") == "small"
        for block in segment.get("blocks", ()):
            n = block["size"] if block.get("state") == "inactive" else 0
            most = 1 << 20 if small else n
            if small or n > 1 << 20:
                out += [min(most, n - at) for at in range(0, n, most)]
    return sorted(out, reverse=True)[:4096]


class Drawn(list):
    """The inputs of all timed shapes; of too many bytes none but the one that is wanted."""
    want, device = None, None

    def __init__(self, items=()):
        self.labels, self.bytes = [], 0
        self.extend(items)

    def append(self, item):
        leaves = [x for _, x in walk(item)]
        self.bytes += bytes_of(x for x in leaves if is_tensor(x) and x.device.type == Drawn.device)
        self.labels.append(" ".join("x".join(map(str, x.shape)) if is_tensor(x) else str(x)[:20]
                                    for x in leaves)[:60])
        super().append(item)
        if Drawn.want is not None or self.bytes > INPUTS_MOST:
            self[:] = [x if i == Drawn.want else None for i, x in enumerate(self)]

    def extend(self, items):
        for item in items:
            self.append(item)


def secret(turn=None):
    """A seed; turn is (which stream it puts a call on, of LANES, where its inputs lie, of
    PLACES)."""
    seed = int.from_bytes(os.urandom(6), "little")
    return seed if turn is None else \
        seed & ~(LANES - 1 << 20 | PLACES - 1 << 4) | turn[0] << 20 | turn[1] << 4


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

        def start(x):
            if type(x) is torch.Tensor and x.layout is torch.strided:
                return x.untyped_storage().data_ptr()

        class Changed(torch.overrides.TorchFunctionMode):
            def __torch_function__(self, func, types_, args=(), kwargs=None):
                out = func(*args, **(kwargs or {}))
                if getattr(func, "__name__", "") not in MADE or start(out) is None \
                        or start(out) in map(start, args):      # what it was given, or a view
                    return out
                with torch.no_grad():
                    return change(out)

        def within(call, *args, **kwargs):
            with Changed():
                return call(*args, **kwargs)
        space, engine = torch.autograd, torch.autograd._engine_run_backward
        # What calls it is a function of torch, where no mode is.
        space._engine_run_backward = lambda *args, **kwargs: within(engine, *args, **kwargs)
        try:                                # a backward pass in this thread, where the mode is
            with space.set_multithreading_enabled(False):
                return within(call)
        finally:
            space._engine_run_backward = engine

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
        zeros = lambda *sizes: [self.zeros(n, dtype=torch.uint8, device=self.device) for n in sizes]
        try:
            self.plugs = zeros(*free_remains(torch.cuda.memory_snapshot()))
            zeros(*[1 << 20] * 8, min(1 << 30, torch.cuda.mem_get_info()[0] // 16))
        except RuntimeError:
            self.empty_cache()

    def apart(self, value, slack, large, area, place=0):
        """A copy of inputs with zeros before and after every tensor: what is read there is the
        same in every process, what is written there is seen, as it goes to slack. Views share as
        they did. Memory that large or area has for them is used again. How far from its start a
        storage is copied to is another in each place, if all of it is one tensor's and drawn
        anew."""
        torch, done, laid = self.torch, {}, {}

        def moved(t):
            if type(t) not in (torch.Tensor, torch.nn.Parameter) or t.grad_fn is not None \
                    or t.layout is not torch.strided or t.is_quantized or not t.numel() \
                    or t.device.type != ("cpu" if self.cpu else "cuda"):
                return t
            if id(t) in done:
                return done[id(t)]
            storage, raw = t.untyped_storage(), dict(dtype=torch.uint8, device=t.device)
            key, n = storage.data_ptr(), storage.nbytes()
            held = large if n > LARGE else area
            if key not in laid:
                tail = min(AROUND_MOST, max(AROUND_LEAST, AROUND * n, self.reach)) // 512 * 512
                # What is repeated (a stride of 0) is not drawn anew, and of half a storage as long.
                spare = min(tail, SHIFTED_MOST) if t.nbytes == n and 0 not in t.stride() else 0
                at = FRONT + (spare // PLACES // 1024 * 1024 + 512) * place if spare else FRONT
                if key not in held:
                    held[key] = self.zeros(FRONT + spare + n + tail, **raw)
                old = self.real_empty(0, **raw).set_(storage, 0, (n,), (1,))
                held[key][at:at + n].copy_(old)
                slack.extend([held[key][:at], held[key][at + n:]])
                laid[key] = at
            new = self.real_empty(0, dtype=t.dtype, device=t.device).set_(
                held[key].untyped_storage(), laid[key] // t.element_size() + t.storage_offset(),
                t.shape, t.stride())
            as_t = torch.nn.Parameter if type(t) is torch.nn.Parameter \
                else torch.Tensor.requires_grad_
            done[id(t)] = as_t(new, requires_grad=t.requires_grad)
            return done[id(t)]
        return mapped(value, moved)

    def beyond(self):
        """Has the last call written outside its inputs?"""
        return any(x.item() for x in [z.any() for z in self.slack])

    def do_inputs(self, seed, place=None, distinct=False):
        """Draws all timed inputs, on the GPU where the script lets us: that is quicker."""
        self.forget()
        self.lazy, self.distinct = None, distinct
        if self.kind != "kernelbench" and not self.perf:
            self.inputs = [None]
            return {"labels": ["tests"], "place": "cpu"}
        for where in ([place] if place else ["cpu"] if self.cpu else [str(self.device), "cpu"]):
            try:
                return {"labels": self.draw(where, seed, None), "place": where}
            except Exception:
                if where == "cpu" or place:
                    raise

    def draw(self, where, seed, want):
        torch, randint = self.torch, self.torch.randint
        self.seed(seed)
        self.poison = CLEAN             # what the script leaves unwritten is alike in all
        Drawn.want, Drawn.device = want, "cuda" if where != "cpu" else "none"
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
        self.lazy = (where, seed) if drawn.bytes > INPUTS_MOST else None
        self.inputs = list(drawn)
        return drawn.labels

    def do_shape(self, i, seed, lanes=False):
        for t, kept in self.pristine or []:     # what lies in the list is as it was drawn
            self.torch.Tensor.detach(t).copy_(kept)
        self.leave_shape()
        if self.lazy:
            self.inputs = None
            self.draw(*self.lazy, i)
        self.seed(seed)
        drawn, self.call = None, lambda: self.results(self.timed_seed)
        if self.kind == "kernelbench":
            drawn, net = [self.to(x) for x in self.inputs[i]], self.net()
            self.call = self.torch.no_grad()(lambda: net(*self.work))
        elif self.perf:                     # else there is no script of shapes: the tests are timed
            drawn = self.perf.to_cuda(self.inputs[i])
            self.call = lambda: self.perf.call_op(self.work)
        self.laned = self.place(drawn) <= LANED_MOST and lanes and not self.cpu
        self.work, self.pristine, self.slack = self.places[0]

    def place(self, drawn):
        """Lays inputs in each of PLACES, or in one, where some can't be moved. Their bytes."""
        torch = self.torch
        self.reach = max((t.untyped_storage().nbytes() for _, t in walk(drawn)
                          if type(t) is torch.Tensor and t.layout is torch.strided), default=0)
        large, area = {}, {}            # memory for what is too large for several areas
        for k in range(PLACES):
            if k % SHIFTS == 0:
                free, whole = (1, 1) if self.cpu else torch.cuda.mem_get_info()
                if sum(w.numel() for w in area.values()) <= PLACED_MOST and free >= whole // 4:
                    area = {}
            slack, pairs, own = [], {}, True
            with torch.no_grad():
                work = self.apart(drawn, slack, large, area, k)
            for (_, t), (_, old) in zip(walk(work), walk(drawn)):
                if isinstance(t, torch.Tensor) and 0 not in t.stride():
                    own, at = own and old is not t, t.data_ptr()
                    if at not in pairs or t.nbytes > pairs[at][0].nbytes:
                        pairs[at] = t, old.detach().clone() if old is t else old.detach()
            self.places.append((work, list(pairs.values()), slack))
            size = bytes_of(t for t, _ in pairs.values())
            if not own or not size:
                break
        return size

    def leave_shape(self):
        self.pristine = self.work = self.result = None
        self.slack, self.places, self.former = [], [], []

    def do_prepare(self, seed):
        """The inputs as drawn, with the rows of the floating ones rolled: an answer kept from
        an earlier call is wrong in this one."""
        torch, self.timed_seed = self.torch, seed
        self.turn(seed)
        with torch.no_grad():
            for i, (t, kept) in enumerate(self.pristine):
                to, t.grad = torch.Tensor.detach(t), None   # not by a method that t was given
                dim = next((d for d, n in enumerate(kept.shape) if n > 1), None)
                if not kept.is_floating_point() or dim is None:
                    to.copy_(kept)
                    continue
                n = kept.shape[dim]         # two copies: torch.roll is ten times as slow
                by = (seed >> 8) * (i + 1) % n
                to.narrow(dim, by, n - by).copy_(kept.narrow(dim, 0, n - by))
                to.narrow(dim, 0, by).copy_(kept.narrow(dim, n - by, by))
            self.wipe(self.slack)
        self.seed(seed)
        self.flush.zero_()
        self.sync()

    def turn(self, seed):
        """Where inputs and results lie and which stream a call is on differ from call to call.
        Where a process happened to get its memory and its channels to the GPU is worth some
        percent of a short call: on an H200, for a kernel of 6 us, a standard deviation between
        processes of 1 to 3 % on one stream, of 0.3 % on 32 that take turns. More connections
        (CUDA_DEVICE_MAX_CONNECTIONS) give no more and cost seconds when the GPU is opened."""
        self.lane = 1 + lane_of(seed) if self.laned else 0
        self.work, self.pristine, self.slack = self.places[place_of(seed) % len(self.places)]
        kept = (seed >> 12) % KEPT if self.keeps(self.result) else 0
        self.former = [*self.former, self.result][-kept:] if kept else []
        self.result = None

    def keeps(self, result):
        """Whether results as small as this one are kept, so that the next lies elsewhere: that is
        for short calls."""
        return bytes_of(x for _, x in walk(result)) <= KEPT_MOST and len(self.places) > 1 \
            and self.took_ns < LONG_NS
