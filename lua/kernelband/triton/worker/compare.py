"""Compares what a candidate gives with what the untouched file gives, in the process of that."""
import contextlib
import math
import os
import re
import stat

from .frames import finite, some
from .inputs import bytes_of, is_tensor, mapped, name_of, walk

# Bytes of a tensor that is always compared whole; of one that is not, blocks, elements a block.
# Bytes of what a call returns that are compared whole, and of that with its inputs.
PART, SAMPLE = 8 << 20, (1024, 1024)
WHOLE_MOST, INPUTS_WHOLE = 1 << 30, 256 << 20
# Elements that are compared at once; that the CPU compares. MORE runs of the reference before it is
# believed against a candidate, and RACES times as many of a shape whose runs are far apart, if one
# keeps no more than INPUTS_WHOLE. Results of tests stay on the GPU where TESTS_KEPT times as much
# is free. ROUNDED of integers made of floats may be off by one. GROUP: neighbours in a row. The
# mean size leaves out what is OUTLYING times as large as two thirds of the distinct sizes are: a
# mask's fill, which may be in most places.
CHUNK, FEW, MORE, RACES, TESTS_KEPT, ROUNDED, GROUP = 1 << 23, 1 << 14, 4, 4, 32, 0.02, 8
OUTLYING = 1000
# Half a unit in the last place of what is computed with, and how many a sum may be off.
UNITS = {"float64": (2 ** -53, 256), "float32": (2 ** -24, 256), "float16": (2 ** -11, 8),
         "tf32": (2 ** -11, 8), "bfloat16": (2 ** -8, 8)}
FLOAT8 = 2.0 ** -3
# What compiled code multiplies in or rounds to, as PTX has it.
PRECISION = re.compile(r"(?:mma|wgmma)\S*?\.(tf32|f16|bf16)\b"
                       r"|cvt\.r\S*?\.(f16|bf16)(?:x2)?\.f32|cvt\.r\S*?\.(f32)\.f64")
NAMED = {"f16": "float16", "bf16": "bfloat16", "tf32": "tf32", "f32": "float32"}


def in_part(leaves, part=False):
    """Paths of the tensors of which blocks are compared: of large ones where part of all is asked
    for, or where what a call returns, or that with its inputs, [1], is too much."""
    n = {path: bytes_of([x]) for path, x in leaves if is_tensor(x)}
    large = {path for path in n if n[path] > PART}
    own = [path for path in n if not path.startswith("[1]")] or list(n)
    if not part and sum(n.values()) <= INPUTS_WHOLE:
        return set()
    return large if part or sum(n[path] for path in own) > WHOLE_MOST else large - set(own)


def plain(x):
    """What is compared of a value that is no tensor. No method of its own is called."""
    as_is = {bool: bool, float: float.__float__, int: int.__int__, str: str.__str__}
    kind = next((k for k in as_is if issubclass(type(x), k)), None)
    return None if x is None else as_is[kind](x) if kind else name_of(type(x))


def alike(a, b):
    """Two of those: numbers as near as sums of them may be."""
    with contextlib.suppress(TypeError, ValueError, OverflowError):
        if isinstance(a, float):
            return math.isclose(float(b), a, rel_tol=1e-3, abs_tol=1e-6) \
                or float(b) != float(b) and a != a
        return type(a) is type(b) and a == b


class Reference:
    expected = ()                   # of which seed and show, or None for tests; the first runs

    def keep(self, value, seed, where=None, part=False):
        """Copies of all that there is to compare, where it lies or there."""
        leaves = list(walk(value))
        parts = in_part(leaves, part)
        return [(path, (leaf.dtype, list(leaf.shape), self.flat(
            leaf, seed if path in parts else None).to(where or leaf.device, copy=True))
            if isinstance(leaf, self.torch.Tensor) else leaf) for path, leaf in leaves]

    def flat(self, t, seed=None):
        """All elements of t, or blocks that seed draws, the first and the last among them."""
        torch, (n, size), flat = self.torch, SAMPLE, t.detach().resolve_conj().reshape(-1)
        if seed is None:
            return flat
        last, g = flat.numel() - size, torch.Generator().manual_seed(seed)
        starts = torch.randint(0, last + 1, (n,), generator=g, device="cpu")
        starts[0], starts[1] = 0, last
        return flat.unfold(0, size, 1)[starts.to(t.device)].reshape(-1)

    def verify(self, runs, leaves, file, run, ignore=(), allow=None, exact=None, races=1):
        """The candidate's leaves against the reference's, every one. What runs of the reference
        on different poison do not agree on is left to chance by the task itself: where a
        candidate is off, the reference must first agree with itself in MORE further runs, or
        races times as many where runs are far apart, and in one that computes in float64, if
        attempt() gives such a one of exact. allow is a share of an output that it was found to
        differ from itself in when it was opened."""
        want, got, precise = [p for p, _ in runs[0]], [x["path"] for x in leaves], None
        if want != got:
            gone = [p for p in want if p not in got] or [p for p in got if p not in want] or got
            return {"wrong": "the results differ in keys or lengths: %d expected, %d given, "
                             "first %s" % (len(want), len(got), gone[0])}
        out = {"count": 0, "chance": 0, "allowed": 0, "worst": 0.0, "undetermined": [], "told": {}}
        for k, (path, leaf) in enumerate(zip(want, leaves)):
            if path in ignore:
                out["chance"] += 1
                continue
            found = self.compare(runs, k, leaf, file)
            while found.get("path") and len(runs) < 2 + MORE * (races if found.get("raced") else 1):
                runs.append(run(len(runs)))
                found = self.compare(runs, k, leaf, file)
            if found.get("path") and exact:
                precise = self.attempt(*exact) if precise is None else precise
                found = self.compare(runs, k, leaf, file, precise.get(path))
            if found.get("path") and 0 < found["share"] <= (allow or {}).get(path, 0):
                out["allowed"] += found["off"]
            elif "wrong" in found:
                return found
            out["count"], out["chance"] = (out[x] + found[x] for x in ("count", "chance"))
            out["worst"] = max(out["worst"], found["worst"])
            if found.get("told"):
                out["told"].setdefault(found["told"], []).append(path)
            if found.get("whim") or found["count"] and found["chance"] == found["count"]:
                out["undetermined"].append(path)
        self.room.zero_()               # a later candidate does not find it there,
        self.sync()                     # nor is what it shows overwritten
        return dict(out, worst=finite(out["worst"]), undetermined=out["undetermined"][:16])

    def compare(self, runs, k, leaf, file, exact=None):
        """One leaf; path is given with what is wrong where a further run may say otherwise."""
        path, a = runs[0][k]
        others = [r[k][1] for r in runs[1:] if k < len(r) and r[k][0] == path]
        out = {"count": 0, "chance": 0, "worst": 0.0}
        if not isinstance(a, tuple):
            whim = any(not alike(plain(a), plain(b)) for b in others)
            if whim or alike(plain(a), leaf.get("value", leaf)):
                alone = plain(a) == name_of(type(a)) and "compared by its type alone"
                return dict(out, chance=int(whim), whim=whim, told=alone)
            return dict(out, path=path, share=1.0, off=1, wrong="%s is %s, expected %s" % (
                path, leaf.get("value"), plain(a)))
        dtype, shape, want = a
        if str(dtype) != leaf.get("dtype") or shape != leaf.get("shape"):
            return {"wrong": "%s is %s %s, expected %s %s" % (
                path, leaf.get("dtype"), leaf.get("shape"), dtype, shape)}
        if not (n := want.numel()):
            return out
        if (data := self.read(file, leaf, n * want.element_size())) is None:
            return {"wrong": "%s: its bytes are missing" % path}
        where = "cpu" if n <= FEW else self.device      # starting the kernels would take longer
        got, want = data.view(dtype).to(where), want.to(where)
        others = [b[2].to(want.device) for b in others
                  if isinstance(b, tuple) and b[2].shape == want.shape]
        exact = exact[2].to(want.device) if isinstance(exact, tuple) \
            and exact[2].shape == want.shape and exact[0].is_floating_point else None
        out.update(self.differing(want, others, got, exact), count=n)
        if n < math.prod(shape):
            out["told"] = "compared in part"
        off, at = out["off"], out["first"]
        if off:
            out.update(path=path, share=off / n, wrong="%s: %d of %d elements wrong, first [%d] = "
                       "%s, expected %s" % (path, off, n, at, got[at].item(), want[at].item()))
        return out

    def read(self, file, leaf, n):
        """A copy of a leaf's n bytes, on our device: they may change. None where there are none."""
        if leaf.get("room"):
            data = self.room[leaf["at"]:leaf["at"] + n].clone()
            return data if len(data) == n else None
        data = self.torch.empty(n, dtype=self.torch.uint8, device="cpu")
        with open(file, "rb", opener=lambda p, f: os.open(
                p, f | os.O_NOFOLLOW | os.O_NONBLOCK)) as f:
            if not stat.S_ISREG(os.fstat(f.fileno()).st_mode) or f.seek(leaf["at"]) < 0 \
                    or f.readinto(data.numpy()) != n:
                return None
        return data.to(self.device)

    def precision(self):
        """Floating types that the file's kernels were given or, as compiled, compute in."""
        for _, kernel in self.compiled():
            if id(kernel) not in self.looked_at:
                self.looked_at.add(id(kernel))
                for found in PRECISION.findall(str(kernel.asm.get("ptx", ""))):
                    self.types.add(NAMED["".join(found)])
        return self.types

    def differing(self, want, others, got, exact=None):
        """{ off = how many are wrong, first =, chance = how many are that, worst = share of its
        bound, raced = whether runs are far apart, told = what is to be told }. The bound follows
        from the types computed with, from how far the untouched file is from itself, and how far it
        is from its run in float64. Where runs are far apart in at least half of a GROUP, all of it
        is left to chance: blocks race for it, and where the values of two blocks happen to be near
        each other a third's may not be."""
        if not (want.dtype.is_floating_point or want.dtype.is_complex):
            return self.differing_integers(want, others, got)
        torch, n = self.torch, want.numel()
        bits = {1: torch.uint8, 2: torch.int16, 4: torch.int32}.get(want.itemsize, torch.int64)
        if all(torch.equal(want.view(bits), x.view(bits)) for x in (got, *others)):
            return dict(off=0, first=0, chance=0, worst=0.0)
        wide = torch.complex128 if want.dtype.is_complex else torch.float64
        chunks = lambda *tensors: ((at, *(t[at:at + CHUNK].to(wide) for t in tensors))
                                   for at in range(0, n, CHUNK))

        sizes = {x for x in want[::n // FEW | 1].to(wide).abs().tolist() if 0 < x < math.inf}
        most = OUTLYING * sorted(sizes)[2 * (len(sizes) - 1) // 3] if sizes else math.inf

        def average(power, of):
            powers = (x[torch.isfinite(x) & (w.abs() <= most)].abs() ** power for x, w in of)
            total, count = map(sum, zip(*[(float(x.sum()), len(x)) for x in powers]))
            return (total / count) ** (1 / power) if count else 0.0
        mean, own = average(2, ((w, w) for _, w in chunks(want))), 0.0
        if exact is not None:
            if (own := average(1, ((w - e, w) for _, w, e in chunks(want, exact)))) > mean / 64:
                exact = None            # it computes something else in float64
        kind = str(want.dtype).replace("torch.", "").replace("complex64", "float32")
        # A share of a number of this type, or of the tensor's mean, that is rounding's.
        units = [UNITS[x] for x in {kind, *self.precision()} if x in UNITS]
        u = FLOAT8 if "float8" in kind else math.prod(max(units or [UNITS["float64"]]))
        off, first, chance, far_apart, worst = 0, 0, 0, False, 0.0
        # Less than rounding below it infinity is right, too. What is equal to it was put there.
        top = torch.finfo(want.dtype).max if want.itemsize > 1 else math.inf
        for at, w, g, *again in chunks(want, got, *others):
            size = w.abs()
            limit = u * (size + mean) + 1e-30
            far = torch.maximum(limit, (size + mean) / 16)      # runs further apart do not agree
            left, raced, spread = limit < 0, limit < 0, torch.zeros_like(limit)     # none as yet
            for x in again:
                same = (w == x) | (torch.isnan(w) & torch.isnan(x))
                apart = torch.where(same, 0.0, (w - x).abs())
                left |= ~same & ~(apart <= far)
                raced |= apart > far            # NaN is memory that no one wrote, and no race
                spread = torch.maximum(spread, apart.nan_to_num(0.0, 0.0))
            if exact is not None:
                e = exact[at:at + CHUNK].to(wide)
                spread = torch.maximum(spread, (w - e).abs().nan_to_num(0.0, 0.0).clamp(min=own))
            whole, d = len(w) // GROUP * GROUP, (w - g).abs()
            many = raced[:whole].view(-1, GROUP).sum(1) * 2 >= GROUP
            left[:whole].view(-1, GROUP)[many] = True
            far_apart |= bool(raced.any())
            limit += 4 * torch.where(spread > limit / 4, spread, 0.0)
            over = torch.isinf(g) & (g.sgn() == w.sgn()) & (size < top) & (size + limit >= top)
            near = torch.isfinite(w) & (d <= limit) | over
            bad = ~((w == g) | (torch.isnan(w) & torch.isnan(g)) | near) & ~left
            ratio = (d / limit)[torch.isfinite(d) & ~left & ~bad]
            worst = max(worst, float(ratio.max()) if ratio.numel() else 0.0)
            if bool(bad.any()):
                first = first if off else at + int(bad.to(torch.uint8).argmax())
                off += int(bad.sum())
            chance += int(left.sum())
        return dict(off=off, first=first, chance=chance, worst=worst, raced=far_apart)

    def differing_integers(self, want, others, got):
        """Where floats are rounded to small integers, and not to masks, some may be off by one."""
        torch = self.torch
        chance = torch.zeros_like(want, dtype=torch.bool)
        for again in others:
            chance |= want != again
        off, told = (want != got) & ~chance, None
        if want.dtype in (torch.int8, torch.uint8) and self.precision() \
                and int(want.max()) - int(want.min()) > 2:
            told = "may be off by one in a few elements, as floats are rounded to them"
            near = (want.to(torch.int16) - got.to(torch.int16)).abs() <= 1
            size = float(want.to(torch.float32).abs().mean())
            u, n = max((UNITS[x] for x in self.types if x in UNITS), default=(FLOAT8, 1))
            if int((off & near).sum()) <= max(1, min(ROUNDED, 4 * u * n * size) * want.numel()):
                off &= ~near
        return dict(off=int(off.sum()), first=int(off.to(torch.uint8).argmax()),
                    chance=int(chance.sum()), told=told)

    def do_machine(self):
        import triton
        out = {"torch": self.torch.__version__, "triton": triton.__version__, "language": "triton",
               "unjailed": self.unjailed}
        if self.cpu:
            return dict(out, name="Triton's interpreter on the CPU", interpreter=True)
        p = self.torch.cuda.get_device_properties(self.device)
        get = lambda name: finite(getattr(p, name, None)) or 0
        return dict(out, name=p.name, sm_count=p.multi_processor_count, memory_bytes=p.total_memory,
                    capability=[p.major, p.minor], uuid=str(getattr(p, "uuid", "")), **some(
                        dram_gbps=2e3 * get("memory_clock_rate") * get("memory_bus_width") / 8e9,
                        sm_tflops=2 * 128e3 * p.multi_processor_count * get("clock_rate") / 1e12,
                        max_threads_per_sm=get("max_threads_per_multi_processor"),
                        regs_per_sm=get("regs_per_multiprocessor"),
                        smem_per_sm=get("shared_memory_per_multiprocessor")))

    def do_rates(self, ns):
        """GB/s and TFLOP/s by the script's own formulas; absent where they fail."""
        out = {}
        for name in ("get_gbps", "get_tflops"):
            with contextlib.suppress(Exception):
                out[name[4:]] = finite(float(getattr(self.perf, name)(self.work, ns / 1e6)))
        return out

    def keep_tests(self, seed, poison, change=None):
        """On the CPU what is large: a run after this one finds the GPU's memory as this one did."""
        found = self.run_tests(seed, poison, change)
        small = self.cpu or TESTS_KEPT * bytes_of(x for _, x in walk(found)) \
            <= self.torch.cuda.mem_get_info()[0]
        return self.keep(found, seed, None if small else "cpu")

    def do_expect(self, seed, poisons, show=None, part=False, runs=2):
        """The first runs of the tests or, with show, of a shape: what a candidate's results are
        compared with, made while it makes its own."""
        if self.expected[:2] != (seed, show):
            self.expected = seed, show, [self.run_shape(seed, show, x, part) if show
                                         else self.keep_tests(seed, x) for x in poisons[:runs]]

    def do_verify_tests(self, seed, leaves, file, poisons, ignore=(), allow=None, exact=True):
        def run(k):
            self.crowd()
            return self.keep_tests(seed, poisons[k % 2])
        self.do_expect(seed, poisons)
        return self.verify(self.expected[2], leaves, file, run, ignore, allow, exact and (
            "tests", lambda: self.keep_tests(seed, None, self.widened)))

    def run_shape(self, seed, show, poison, part, beside=dict):
        """(what is kept of a checked call, whether it wrote outside of its inputs)"""
        self.do_prepare(seed)
        beside()
        self.do_call(poison)
        return self.keep([self.result, self.work], show, None, part), self.beyond()

    def do_verify_shape(self, seed, show, leaves, file, poisons, part, runs, ignore=(), allow=None,
                        exact=True, timed=True):
        self.do_expect(seed, poisons, show, part, runs)
        done, self.expected = self.expected[2], ()

        def run(k):
            done.append(self.run_shape(seed, show, poisons[k % 2], part, self.crowd))
            return done[k][0]

        def in_float64():
            self.do_prepare(seed)
            self.work = mapped(self.work, self.widened)
            self.result = self.call()
            return self.keep([self.result, self.work], show, None, part)
        small = bytes_of(x[2] for _, x in done[0][0] if isinstance(x, tuple)) <= INPUTS_WHOLE
        out = self.verify([kept for kept, _ in done], leaves, file, run, ignore, allow,
                          exact and ("shape", in_float64), RACES if small else 1)
        if timed:
            self.do_settle()
        return dict(out, beyond=any(beyond for _, beyond in done))

    def attempt(self, what, call):
        """call in float64, where the file can do that: it is asked no more where it cannot."""
        if what not in self.narrow:
            with contextlib.suppress(Exception):
                found = call()
                self.sync()
                return dict(found)
            self.narrow.add(what)
        return {}

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
