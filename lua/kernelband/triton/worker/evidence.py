"""Features of a candidate for policies."""
import math

from .frames import finite


def phi_of_counters(m):
    """{ place in phi: value } as lua/kernelband/evaluate/evidence_cuda.lua has it."""
    def ratio(a, b):
        return m[a] / m[b] if m.get(a) is not None and m.get(b) else None
    missed = ratio("l2_tag_misses", "l2_tags")
    sectors = ratio("l2_sectors", "l2_requests")
    busy = [m[k] for k in ("issue_pct", "tensor_pct") if k in m]
    conflicts = 0.0 if m.get("shared_wavefronts") == 0 else \
        ratio("shared_conflicts", "shared_wavefronts")
    part = lambda key, of: m[key] / of if key in m else None
    out = {0: None if missed is None else 1 - missed, 1: part("dram_pct", 100),
           2: max(busy) / 100 if busy else None, 3: part("threads_per_instruction", 32),
           4: part("occupancy_pct", 100), 6: conflicts,
           7: None if sectors is None else sectors / 4, 8: part("tensor_pct", 100)}
    return {i: x for i, x in out.items() if x is not None}


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
        clip = lambda x: min(1.0, max(0.0, x))
        m, good = self.machine, []
        for k in kernels if isinstance(kernels, list) else []:
            if isinstance(k, dict) and all(finite(k.get(x)) is not None for x in
                                           ("registers", "spills", "shared", "warps", "stages")):
                good.append({x: k[x] for x in ("registers", "spills", "shared", "warps", "stages")}
                            | {"name": str(k.get("name"))[:80]})
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
        phi = [None, dram, sm, None, occupancy, regs, None, None, None]
        measured = phi_of_counters(counted)
        rho = [math.log(big["time_ns"]), None, None, threads, 1 if threads else None, occupancy]
        signature = [1 / out["speedup"], regs, shared, threads and clip(threads / 1024), occupancy]
        e = {"kernels": good}
        for name, list_ in (("phi", phi), ("rho", rho), ("signature", signature)):
            e[name] = [0 if x is None else clip(x) if name == "phi" else x for x in list_]
            e[name + "_kind"] = ["missing" if x is None else "derived" for x in list_]
        for i, x in measured.items():
            e["phi"][i], e["phi_kind"][i] = clip(x), "measured"
        e["rho_kind"][0] = e["signature_kind"][0] = "measured"
        e["h"], e["h_kind"] = {}, {"sm": "missing", "dram": "missing", "l2": "missing"}
        for name, x in (("sm", sm), ("dram", dram)):
            if x is not None:
                e["h"][name], e["h_kind"][name] = 100 * clip(x), "derived"
        for name, x in (("sm", measured.get(2)), ("dram", measured.get(1)),
                        ("l2", counted.get("l2_pct", -1) / 100)):
            if x is not None and x >= 0:
                e["h"][name], e["h_kind"][name] = 100 * clip(x), "measured"
        out["evidence"] = e
        if main:
            out["profile"] = {"registers": main["registers"], "shared_bytes": main["shared"],
                              "warps": main["warps"], "stages": main["stages"],
                              "spills": main["spills"], "kernels": good,
                              "counters": counted, "why": why}
