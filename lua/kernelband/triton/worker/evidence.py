"""Features of a candidate for policies."""
import math

from .frames import finite

METADATA = ("registers", "spills", "shared", "warps", "stages")     # of a compiled kernel


def clip(x):
    return min(1.0, max(0.0, x))


def best_known(measured, derived, scale=1):
    """(value, kind) of a feature"""
    x, kind = (derived, "derived") if measured is None else (measured, "measured")
    return (0, "missing") if x is None else (scale * clip(x), kind)


def phi_of_counters(m):
    """{ place in phi: value, or None } as lua/kernelband/evaluate/evidence_cuda.lua has it."""
    def ratio(a, b):
        return m[a] / m[b] if m.get(a) is not None and m.get(b) else None
    missed = ratio("l2_tag_misses", "l2_tags")
    sectors = ratio("l2_sectors", "l2_requests")
    busy = [m[k] for k in ("issue_pct", "tensor_pct") if k in m]
    conflicts = 0.0 if m.get("shared_wavefronts") == 0 else \
        ratio("shared_conflicts", "shared_wavefronts")
    part = lambda key, of: m[key] / of if key in m else None
    return {0: None if missed is None else 1 - missed, 1: part("dram_pct", 100),
            2: max(busy) / 100 if busy else None, 3: part("threads_per_instruction", 32),
            4: part("occupancy_pct", 100), 6: conflicts,
            7: None if sectors is None else sectors / 4, 8: part("tensor_pct", 100)}


class Evidence:
    def summary(self, out):
        rows = out["shapes"]
        n = len(rows)
        mean = lambda key: math.exp(sum(math.log(r[key]) for r in rows) / n)
        out.update(time_ns=mean("time_ns"), baseline_ns=mean("baseline_ns"),
                   speedup=mean("speedup"),
                   # Of the Python around the kernels, which events do not see.
                   host_ns=mean("host_ns"), host_speedup=mean("baseline_host_ns") / mean("host_ns"),
                   speedup_of_sums=sum(r["baseline_ns"] for r in rows)
                   / sum(r["time_ns"] for r in rows))
        if all("speedup_low" in r for r in rows):
            e = math.log(out["speedup"])
            half = lambda key: math.sqrt(sum(math.log(r[key] / r["speedup"]) ** 2
                                             for r in rows)) / n
            out.update(speedup_low=math.exp(e - half("speedup_low")),
                       speedup_high=math.exp(e + half("speedup_high")), confidence=0.95)

    def evidence(self, out, kernels, counted, why):
        """Features for policies: of counters where there are some, else of the compiled kernel's
        own metadata and the task's own count of bytes and operations."""
        m, good = self.machine, []
        for k in kernels if isinstance(kernels, list) else []:
            if isinstance(k, dict) and all(finite(k.get(x)) is not None for x in METADATA):
                good.append({x: k[x] for x in METADATA} | {"name": str(k.get("name"))[:80]})
        main = max(good, key=lambda k: (k["shared"], k["registers"]), default=None)
        big = max(out["shapes"], key=lambda r: r["time_ns"])
        dram = big["gbps"] / m["dram_gbps"] if "gbps" in big else None
        sm = big["tflops"] / m["sm_tflops"] if "tflops" in big else None
        occupancy = regs = shared = threads = None
        if main:
            regs, threads = clip(main["registers"] / 255), 32 * main["warps"]
            if m.get("max_threads_per_sm"):
                blocks = [m["max_threads_per_sm"] // max(1, threads)]
                if m.get("regs_per_sm"):
                    blocks.append(m["regs_per_sm"] // max(1, main["registers"] * threads))
                if m.get("smem_per_sm"):
                    shared = clip(main["shared"] / m["smem_per_sm"])
                    blocks.append(m["smem_per_sm"] // (main["shared"] + 1024))
                occupancy = clip(min(blocks) * threads / m["max_threads_per_sm"])
        measured = phi_of_counters(counted)
        l2 = counted.get("l2_pct", -1) / 100
        derived = {1: dram, 2: sm, 4: occupancy, 5: regs}
        plain = lambda *values: [(0, "missing") if x is None else (x, "derived") for x in values]
        lists = {"phi": [best_known(measured.get(i), derived.get(i)) for i in range(9)],
                 "rho": [(math.log(big["time_ns"]), "measured"), *plain(
                     None, None, threads, 1 if threads else None, occupancy)],
                 "signature": [(1 / out["speedup"], "measured"), *plain(
                     regs, shared, threads and clip(threads / 1024), occupancy)]}
        h = {"sm": best_known(measured[2], sm, 100), "dram": best_known(measured[1], dram, 100),
             "l2": best_known(None if l2 < 0 else l2, None, 100)}
        out["evidence"] = e = {"kernels": good, "h_kind": {k: kind for k, (_, kind) in h.items()},
                               "h": {k: x for k, (x, kind) in h.items() if kind != "missing"}}
        for name, known in lists.items():
            e[name], e[name + "_kind"] = zip(*known)
        if main:
            out["profile"] = {x: main[x] for x in METADATA if x != "shared"} | {
                "shared_bytes": main["shared"], "kernels": good, "counters": counted, "why": why}
