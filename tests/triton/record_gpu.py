"""record_gpu.py LIBRARY - libkb_inject.so on a GPU, by the worker's own class: what is recorded
of calls whose work is known, what that costs, and counters. One line a fact; status 1 when one is
not as it must be."""
import os
import sys
import time

sys.path.insert(0, os.environ.get("KERNELBAND_WORKER_DIR") or os.path.join(
    os.path.dirname(os.path.abspath(__file__)), "../../lua/kernelband/triton"))
from worker.recorder import Recorder  # noqa: E402
from worker.records import readable  # noqa: E402
from worker.stats import median  # noqa: E402

failed = 0


def fact(name, ok, *words):
    global failed
    failed += not ok
    print("%-9s %-44s %s" % ("ok" if ok else "NOT OK", name, " ".join(map(str, words))), flush=True)


import torch  # noqa: E402

# As in a child of the worker: torch is loaded, with a libcupti of its own, the GPU is not open.
recorder = Recorder(sys.argv[1])
fact("opens before the GPU does", recorder.why is None, recorder.why or "")
with open("/proc/self/maps") as f:
    print("          libcupti:", sorted({x.split()[-1] for x in f if "libcupti" in x}))
x = torch.randn(64 << 20, device="cuda")
y = torch.empty_like(x)
torch.cuda.synchronize()
side = torch.cuda.Stream()


def recorded(call):
    a, b = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    t0 = time.perf_counter()
    why = recorder.start()
    t1 = time.perf_counter()
    a.record()
    call()
    b.record()
    torch.cuda.synchronize()
    t2 = time.perf_counter()
    out = {"why": why} if why else recorder.stop()
    t3 = time.perf_counter()
    out["events_ns"] = a.elapsed_time(b) * 1e6
    out["cost"] = "start %.2f ms, stop %.2f ms" % (1e3 * (t1 - t0), 1e3 * (t3 - t2))
    return out


def brief(r):
    return {k: v for k, v in r.items() if k != "by_name"}


def on_side():
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        torch.add(x, x, out=y)


def twice():
    torch.add(x, x, out=y)
    torch.sin(x, out=y)


for name, call, kernels, away in (("first", twice, 2, False), ("two kernels", twice, 2, False),
                                  ("two kernels again", twice, 2, False),
                                  ("nothing", lambda: None, 0, False),
                                  ("a copy", lambda: y.copy_(x), 0, False),
                                  ("a side stream", on_side, 1, True)):
    r = recorded(call)
    if r.get("why"):
        fact(name, False, r)
        continue
    names = [readable(k["name"])[:90] for k in r["by_name"]]
    fact(name, r["kernels"] == kernels and r["dropped"] == 0, brief(r), names)
    if kernels and not away:        # the host is late here: events are longer than what ran
        fact(name + ": within its events", 0 < r["union_ns"] <= r["span_ns"]
             <= 1.05 * r["events_ns"] + 20000)
    fact(name + ": streams", bool(r["away_ns"]) == away and r["home"] >= 0, "home", r["home"])
    if away:
        fact(name + ": all of it is away", r["away_ns"] == r["union_ns"] > 0)


def timed(n=50):
    ns = []
    for _ in range(n):
        a, b = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        a.record()
        torch.add(x, x, out=y)
        b.record()
        torch.cuda.synchronize()
        ns.append(a.elapsed_time(b) * 1e6)
    return median(ns)


print("          a call of torch.add: %.1f us with records off again" % (timed() / 1e3))
print("          sums:", brief(recorded(twice)))
for i in range(2):
    t0 = time.perf_counter()
    r = recorder.count(0, torch.cuda.synchronize,
                       lambda: (torch.add(x, x, out=y), torch.cuda.synchronize()))
    v = r.get("values") or {}
    fact("counters %d" % i, v.get("dram_pct") is not None and v["dram_pct"] > 30,
         "%.0f ms" % (1e3 * (time.perf_counter() - t0)), r)
r = recorded(twice)
fact("records after counters", r.get("kernels") == 2, brief(r))
print("          a call of torch.add: %.1f us after counters" % (timed() / 1e3))
sys.exit(1 if failed else 0)
