"""What records of a call, counters and compiled kernels show of a candidate."""
import math
import re
from statistics import geometric_mean

from .frames import REDRAW, Lost, finite
from .inputs import secret
from .recorder import SUMS
from .stats import half_of

STRANGE = 0.25              # share of kernel time that is neither Triton's nor the task's own
METADATA = ("registers", "spills", "shared", "warps", "stages")     # of a compiled kernel


def readable(name):
    """The identifiers of a mangled C++ name, joined; any other name as it is."""
    if not name.startswith("_Z"):
        return name
    out, i = [], 2
    while found := re.compile(r"[0-9]+").search(name, i):
        i = found.end()
        word = name[i:i + int(found[0][:4])]
        if name[found.start() - 2] != "L" and word.isidentifier():  # no number that is meant
            out.append(word)
            i += len(word)
    return "::".join(out)


class Records:
    def record(self, who):
        """One call's record: { ns = what its events say, kernels, union_ns .., by_name }."""
        who.ask("prepare", seed=secret())
        reply = who.ask("go", record=True)
        r = reply.get("recorded")
        if self.device == "cpu":
            return {"why": "Triton's interpreter launches nothing on a GPU"}
        if not isinstance(r, dict) or r.get("why"):
            return {"why": str((r or {}).get("why") or "the child gave no record")[:300]}
        out = {k: int(r[k]) for k in SUMS} | {"ns": float(reply["ns"]), "by_name": [
            {"name": str(k["name"])[:200], "ns": int(k["ns"])} for k in r["by_name"][:64]]}
        return {"why": "%d records of a call were lost" % out["dropped"]} if out["dropped"] else out

    def check_records(self, child, s, seen, timed_ns, base_ns, row):
        """What was recorded must bear the events out. What looks wrong is recorded twice more:
        only what is wrong each time is held against a candidate. Other processes on the GPU
        stretch kernels: as much as the reference's own are just then is no one's fault."""
        known = self.recorded.get(s["i"]) or self.record(self.reference)
        if known.get("why"):
            self.unrecorded = known["why"]
            return
        self.recorded[s["i"]] = known
        if known["away_ns"] and self.lanes and s["baseline"]:
            self.lanes = False              # it names a stream itself: all calls are on that
            raise Lost(*REDRAW)
        for _ in range(3):                  # some are lost by chance
            seen = self.record(child) if seen.get("why") else seen
        if seen.get("why"):
            raise Lost("cheated", "%s: its calls cannot be recorded, those of the untouched file "
                       "can: %s" % (s["label"], seen["why"]))
        stretch = 1.0
        for again in range(3):
            if not (bad := self.suspicion(seen, known, timed_ns * stretch)) or again == 2:
                break
            seen, now = self.record(child), self.record(self.reference)
            if now.get("why"):
                self.unrecorded = now["why"]
                return
            if seen.get("why"):
                bad = seen["why"]
                break
            stretch = max(stretch, now["union_ns"] / max(base_ns, known["union_ns"]))
        if bad:
            raise Lost("cheated", "%s: %s" % (s["label"], bad))
        row["recorded"] = dict(
            {k: seen[k] for k in ("kernels", "copies", "union_ns", "span_ns", "streams")},
            events_ns=seen["ns"], baseline_union_ns=known["union_ns"],
            strange_share=self.strangers(seen, known)[0],
            names=[readable(k["name"]) for k in seen["by_name"][:4]])

    def suspicion(self, seen, known, timed_ns):
        busy, us, (share, name) = seen["union_ns"], 1e-3, self.strangers(seen, known)
        return next((what for wrong, what in (
            (seen["kernels"] + seen["copies"] == 0 and known["kernels"],
             "nothing ran on the GPU in a recorded call: its answer is kept from before"),
            (seen["span_ns"] > 1.05 * seen["ns"] + 20000,
             "the GPU worked for %.0f us from first to last kernel, its events say %.0f us"
             % (seen["span_ns"] * us, seen["ns"] * us)),
            (seen["away_ns"] and not known["away_ns"],
             "%.0f us of work ran on a stream of its own" % (seen["away_ns"] * us)),
            (seen["home"] < 0 and seen["streams"] > max(1, known["streams"]),
             "it ran on %d streams" % seen["streams"]),
            (seen["devices"] > max(1, known["devices"]), "it ran on %d GPUs" % seen["devices"]),
            (0.6 * busy > timed_ns + 10000, "a recorded call kept the GPU busy for %.0f us, "
             "timed ones say %.0f us" % (busy * us, timed_ns * us)),
            (share > STRANGE, "%.0f %% of its kernel time is %s, which is no Triton kernel of the "
             "file and none that the reference starts" % (100 * share, readable(name))))
            if wrong), None)

    def strangers(self, seen, known):
        """Share of kernel time in kernels that are neither functions of the candidate's own file
        nor started by the reference, copies and fills aside; and the longest of them."""
        usual = {readable(k["name"]) for k in known["by_name"]}
        strange = [k for k in seen["by_name"] if readable(k["name"]) not in usual
                   and (k["name"].startswith("_Z") or k["name"] not in self.functions)
                   and not any(w in k["name"].lower() for w in ("copy", "fill"))]
        whole, own = (sum(k["ns"] for k in names) for names in (seen["by_name"], strange))
        return own / whole if whole else 0.0, strange[0]["name"] if strange else ""

    counters_known = None       # what the GPU has to count with, as the untouched file's child says

    def counters(self, child, out, baseline):
        """Counters of the longest shape, after everything else: none is ever a verdict."""
        big = max(out["shapes"], key=lambda r: r["time_ns"])["shape"]["i"]
        try:
            if self.shape["i"] != big:          # else its inputs still lie there
                child.ask("shape", seconds=20, i=big, seed=secret())
            r = child.ask("count", seconds=20, seed=secret(), known=self.counters_known)
            if baseline and isinstance(r.get("known"), str):
                self.counters_known = r["known"]
            values = r.get("values")
            if not isinstance(values, dict):
                return {}, str(r.get("why") or "the child gave none")[:300]
            return {str(k)[:40]: v for k, v in list(values.items())[:64]
                    if finite(v) is not None and v >= 0}, None
        except Lost as e:
            return {}, e.reason[:300]

    def summary(self, out):
        rows = out["shapes"]
        mean = lambda key: geometric_mean(r[key] for r in rows)
        out.update(time_ns=mean("time_ns"), baseline_ns=mean("baseline_ns"),
                   speedup=mean("speedup"),
                   # Of the Python around the kernels, which events do not see.
                   host_ns=mean("host_ns"), host_speedup=mean("baseline_host_ns") / mean("host_ns"),
                   speedup_of_sums=sum(r["baseline_ns"] for r in rows)
                   / sum(r["time_ns"] for r in rows))
        if all("speedup_low" in r for r in rows):
            out.update(speedup_low=out["speedup"] * math.exp(-half_of(rows, "speedup_low")),
                       speedup_high=out["speedup"] * math.exp(half_of(rows, "speedup_high")),
                       confidence=0.95)

    def profile(self, out, kernels, counted, why):
        """What is known of the compiled kernels: evidence_triton.lua makes features of it."""
        out["profile"] = dict(counters=counted, why=why, kernels=[
            {x: k[x] for x in METADATA} | {"name": str(k.get("name"))[:80]} for k in kernels
            if all(finite(k.get(x)) is not None for x in METADATA)])
