"""Compares what a candidate gives with what the untouched file gives."""
import math
import os
import stat

from .frames import finite
from .inputs import walk

WHOLE = 8 << 20             # bytes of a tensor that are compared whole
SAMPLE = (1024, 1024)       # of a larger one: blocks, elements a block
MORE = 4                    # runs of the reference before it is believed against a candidate


def alike(a, b):
    """Two values that are no tensors: numbers as near as sums of them may be."""
    try:
        if isinstance(a, float):
            return math.isclose(float(b), a, rel_tol=1e-3) or float(b) != float(b) and a != a
        return type(a) is type(b) and a == b
    except (TypeError, ValueError):
        return False


class Compare:
    def keep(self, value, seed, where=None):
        """Of tests on the CPU: a run after this one finds the GPU's memory as this one did."""
        torch = self.torch

        def kept(leaf):
            flat = self.sampled(leaf.detach(), seed)
            return flat.to(where) if where and flat.device.type != where else flat.clone()
        return [(path, (leaf.dtype, list(leaf.shape), kept(leaf))
                 if isinstance(leaf, torch.Tensor) else leaf) for path, leaf in walk(value)]

    def verify(self, runs, leaves, file, run, ignore=(), allow=None):
        """The candidate's leaves against the reference's, every one. What runs of the reference
        on different poison do not agree on is left to chance by the task itself: where a
        candidate is off, the reference must first agree with itself in MORE further runs. allow
        is a share of an output that it was found to differ from itself in when it was opened."""
        first = runs[0]
        if [p for p, _ in first] != [x["path"] for x in leaves]:
            want, got = [p for p, _ in first], [str(x["path"]) for x in leaves]
            gone = [p for p in want if p not in got] or [p for p in got if p not in want] or got
            return {"wrong": "the results differ in keys or lengths: %d expected, %d given, "
                             "first %s" % (len(want), len(got), gone[0])}
        out = {"count": 0, "chance": 0, "allowed": 0, "worst": 0.0, "undetermined": []}
        for k, leaf in enumerate(leaves):
            path = first[k][0]
            if path in ignore:
                out["chance"] += 1
                continue
            found = self.compare(runs, k, leaf, file)
            while found.get("path") and len(runs) < 2 + MORE:
                runs.append(run(len(runs)))
                found = self.compare(runs, k, leaf, file)
            if found.get("path") and 0 < found["share"] <= (allow or {}).get(path, 0):
                out["allowed"] += found["off"]
            elif "wrong" in found:
                return found
            out["count"] += found["count"]
            out["chance"] += found["chance"]
            out["worst"] = max(out["worst"], found["worst"])
            if found.get("whim") or found["count"] and found["chance"] == found["count"]:
                out["undetermined"].append(path)
        out["undetermined"] = out["undetermined"][:16]
        return dict(out, worst=finite(out["worst"]))

    def compare(self, runs, k, leaf, file):
        """One leaf; path is given with what is wrong where a further run may say otherwise."""
        path, a = runs[0][k]
        others = [r[k][1] for r in runs[1:] if k < len(r) and r[k][0] == path]
        if not isinstance(a, tuple):
            def plain(x):
                return x if isinstance(x, (bool, int, str, type(None), float)) else \
                    type(x).__name__
            whim = any(not alike(plain(a), plain(b)) for b in others)
            if whim or alike(plain(a), leaf.get("value")):
                return {"count": 0, "chance": int(whim), "worst": 0.0, "whim": whim}
            return {"wrong": "%s is %s, expected %s" % (path, leaf.get("value"), plain(a)),
                    "path": path, "share": 1.0, "off": 1, "count": 0, "chance": 0, "worst": 0.0}
        dtype, shape, want = a
        if str(dtype) != leaf.get("dtype") or shape != leaf.get("shape"):
            return {"wrong": "%s is %s %s, expected %s %s" % (
                path, leaf.get("dtype"), leaf.get("shape"), dtype, shape)}
        if not want.numel():
            return {"count": 0, "chance": 0, "worst": 0.0}
        data = self.read(file, leaf["at"], want.numel() * want.element_size())
        if data is None:
            return {"wrong": "%s: its bytes are missing" % path}
        want = want.to(self.device)
        got = data.view(dtype)
        others = [b[2].to(want.device) for b in others
                  if isinstance(b, tuple) and b[2].shape == want.shape]
        bad, chance, worst = self.differing(want, others, got)
        out = {"count": want.numel(), "chance": chance, "worst": worst}
        if bad is not None:
            off, i = bad
            out.update(path=path, off=off, share=off / want.numel(), wrong="%s: %d of %d elements "
                       "wrong, first [%d] = %s, expected %s" % (
                           path, off, want.numel(), i, got[i].item(), want[i].item()))
        return out

    def read(self, file, at, n):
        """n bytes of a file, on our device; None where it has no such bytes. They go through
        memory that is kept: that of new pages costs more than to fill them."""
        torch, cpu = self.torch, self.device == "cpu"
        if self.buffer is None or self.buffer.numel() < n:
            self.buffer = torch.empty(max(n, WHOLE), dtype=torch.uint8, device="cpu",
                                      pin_memory=not cpu)
        data = self.buffer[:n]
        with open(file, "rb", opener=lambda p, f: os.open(
                p, f | os.O_NOFOLLOW | os.O_NONBLOCK)) as f:
            regular = stat.S_ISREG(os.fstat(f.fileno()).st_mode)
            f.seek(at if regular else 0)
            if not regular or f.readinto(data.numpy()) != n:
                return None
        return data.clone() if cpu else data.to(self.device)

    def roundoff(self, dtype):
        """Units of a bound: the coarsest type the task computes in, and a factor for sums."""
        text = self.needs
        u = {"torch.float16": 2 ** -11, "torch.bfloat16": 2 ** -8, "torch.float64": 2 ** -53}.get(
            str(dtype), 2 ** -24)
        if "float8" in str(dtype):
            return 2.0 ** -3
        if u < 2 ** -11 and (text["half"] or text["dot"]):
            u = 2 ** -11
        if text["bfloat"]:
            u = max(u, 2 ** -8)
        return u * (8 if u >= 2 ** -11 else 256)

    def differing(self, want, others, got):
        torch = self.torch
        chance = torch.zeros_like(want, dtype=torch.bool)
        if not (want.dtype.is_floating_point or want.dtype.is_complex):
            off = want != got
            for again in others:
                chance |= want != again
            if self.needs["rounds"] and want.dtype in (torch.int8, torch.uint8):
                off = (want.to(torch.int32) - got.to(torch.int32)).abs() > 1
            off = off & ~chance
            bad = (int(off.sum()), int(off.to(torch.uint8).argmax())) if bool(off.any()) else None
            return bad, int(chance.sum()), 0.0
        wide = torch.complex128 if want.dtype.is_complex else torch.float64
        w, g = want.to(wide), got.to(wide)
        known = torch.isfinite(w)
        mean = w[known].abs().square().mean().sqrt() if bool(known.any()) else w.new_zeros(()).abs()
        limit = self.roundoff(want.dtype) * (w.abs() + mean) + 1e-30

        def differ(x, y):
            same = (x == y) | (torch.isnan(x) & torch.isnan(y))
            return ~(same | ((x - y).abs() <= limit))
        for again in others:
            chance |= differ(w, again.to(wide))
        off = differ(w, g) & ~chance
        ratio = ((w - g).abs() / limit)[known & ~chance]
        worst = float(ratio.max()) if ratio.numel() else 0.0
        bad = (int(off.sum()), int(off.to(torch.uint8).argmax())) if bool(off.any()) else None
        return bad, int(chance.sum()), worst if math.isfinite(worst) else 0.0
