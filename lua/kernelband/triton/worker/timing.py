"""Times a candidate beside the untouched file."""
import math
import os
import time

from .child import LACKING
from .children import NONSENSE, Child, Lost, together
from .inputs import LANES, place_of, secret, turns
from .stats import Screen, log_ratios, median, of_pairs, of_processes, paired

SPIN_GHZ, SPIN_MOST = 2.0, 16e6     # of the wait that lets the host get ahead; its ns at most
TIME_S, NARROW = 0.6, 0.004         # of timing a candidate; an interval that is narrow enough
BASELINE_S, CONFIRM_S = 1.6, 3.2    # of timing a baseline, and a winner again
BOUND_S, BOUND_MOST = 3.0, 768      # of a baseline that the host holds up, whose clock is noisier;
BOUND_LEAST_S = 0.5                 # and of one shape of it
SHORT_NS = 8e3                      # of a call that differs between processes by a percent: it is
SHORT_PAIRS, SHORT_TURNS = 4, 2     # timed in so many pairs of new ones, so often on every stream,
LOOKS = 32                          # and one result of so many is compared
HOPELESS = 1.05                     # but for what is so much slower by the first pair's interval
PAIRS_S = 100                       # of all further pairs of processes


class Timing:
    def sample(self, who, seed, cycles):
        who.ask("prepare", seed=seed)
        start = time.perf_counter_ns()
        r = who.ask("go", cycles=cycles)
        wall, ns, host = time.perf_counter_ns() - start, float(r["ns"]), float(r["host"])
        if not (0 <= ns < 1e12 and 0 <= host < 1e12):
            raise ValueError("a call of %r ns, %r of them the host's" % (ns, host))
        return max(1.0, ns), float(wall), max(1.0, host), r["ahead"] is True

    def in_turns(self, child, s, options):
        """Calls of the reference, A, and of the child, B, in turn; of a shape whose results were
        compared one is recorded and one is compared again: where those lay that were checked,
        so that an answer kept by address is wrong, or, as likely, where its turn puts it, so
        that one given elsewhere alone is. Of one shape that no one can tell beforehand two
        more are compared after all that count: one in its turn, which nothing tells from those
        before it, and one of the other kind."""
        start = self.clock()
        budget = self.left_s * 1e9 / s["left"]
        spin = 0 if self.device == "cpu" else min(SPIN_MOST, 2 * s["host"] + 1e5)
        cost = s["first"] + s["baseline_first"] + 2 * (spin + 500000)
        most, narrow = (2 * LANES, NARROW / 2) if s["baseline"] else (LANES, NARROW)
        # Of six one honest call would be enough for the parent's clock to say nothing.
        n = 3 if cost > 5e8 else int(max(8, min(most, budget / cost)))
        # A stream's first call of a size asks for memory and is made again: few for a candidate
        # whose calls are long beside what streams differ in.
        turn = turns(LANES if s["baseline"] or options.get("confirm") else LANES // 4)
        t = {x: {"A": [], "B": []} for x in ("times", "walls", "hosts")}
        # No one can tell beforehand which call is recorded or looked at.
        look, at, late, t["seen"] = secret() % min(n, 6), secret() % min(n, 6), 0, None
        if s.get("known"):
            look = at = -1
        back = not s.get("last") and secret() % 2
        brief = not s["baseline"] and not options.get("confirm")    # it is one of many
        bound = False               # the host can't get ahead: the call itself waits for the GPU
        first, here = -1, None
        while len(t["times"]["B"]) < n:
            k = len(t["times"]["B"])
            if k == at and t["seen"] is None:
                t["seen"] = self.record(child, s)
            got, here = {}, here or next(turn)      # what is made again is so on its own stream
            if k == look and back:
                here = here[0], place_of(s["seed"])
            for who in ("AB", "BA")[secret() % 2]:
                seed = secret(here)
                got[who] = self.sample(child if who == "B" else self.reference, seed,
                                       int(spin * SPIN_GHZ))
                if who == "B" and k == look:
                    (self.learn_shape if s["baseline"] else self.verify_shape)(
                        child, s, seed, 1, part=True)
                    look = -1
            if not bound and not all(g[3] for g in got.values()):
                if k != first and k < LANES:    # the first call on a stream asks for its memory
                    first = k
                    continue
                late += 1
                # In a gap between launches nothing is measured but the host: once more. A host
                # that others hold up now and then is not what a call waits for each time.
                if late <= max(k, 8 if spin < SPIN_MOST else 3):
                    spin = min(SPIN_MOST, 2 * spin) if late > k else spin
                    continue
                bound = True
                self.share_cpu(child, True)
                spin, n = 0, min(n, 24)
                t.update((x, {"A": [], "B": []}) for x in ("times", "walls", "hosts"))
                if s["baseline"]:       # the host is a noisier clock: what all are held against
                    least_ns = max(BOUND_LEAST_S, BOUND_S / self.count) * 1e9
                    n = max(n, min(BOUND_MOST, int(least_ns / cost)))
                    budget = max(budget, least_ns)
                continue
            here = None
            for who, sample in got.items():
                for x, value in zip(("times", "walls", "hosts"), sample):
                    t[x][who].append(value)
            if k == 3 and not bound and self.is_short(t["times"]):
                n = 8                   # new pairs of processes time it
            if k + 1 >= min(6, n) and look < 0 and (at < 0 or t["seen"]) \
                    and self.screen.slower(s["k"], median(t["times"]["B"])):
                break
            most_ns = budget if brief and not bound else 2 * budget + 1e8
            if k + 1 >= 8 and (self.clock() - start) * 1e9 > most_ns:
                break
            if k + 1 >= 8 and (k + 1) % (4 if k < 64 else 64) == 0 \
                    and not options.get("confirm"):
                _, low, high = paired(log_ratios(t["times"]))
                if low is not None and (high - low) / 2 < narrow:
                    break
        if s.get("last"):
            there = [(lane, place_of(s["seed"])) for lane, _ in (next(turn), next(turn))]
            for k, here in enumerate([next(turn)] + there):
                seed = secret(here)
                self.sample(child, seed, int(spin * SPIN_GHZ))
                if k != 1:              # an answer may be kept only once asked for often
                    self.verify_shape(child, s, seed, 1, part=True)
        if bound:
            self.share_cpu(child, False)
        self.left_s = max(0.01 if brief else 0.2, self.left_s - (self.clock() - start))
        return dict(t, bound=bound)

    def is_short(self, times):
        return self.device != "cpu" and max(median(times[who]) for who in "AB") < SHORT_NS

    def timed(self, child, s, options):
        t, row = self.in_turns(child, s, options), {}
        times = t["times"]
        base, mine = median(times["A"]), median(times["B"])
        self.check_records(child, s, t["seen"] or {"why": "no call was recorded"}, mine, base, row)
        gap = self.cross_check(times, t["walls"], row)
        row.update(shape={"i": s["i"]}, label=s["label"], role="timed", iterations=1,
                   interval="wilcoxon", clock_gap_ns=gap, host_bound=t["bound"],
                   host_ns=median(t["hosts"]["B"]), baseline_host_ns=median(t["hosts"]["A"]))
        self.fill(row, times, *paired(log_ratios(times)))
        if "speedup_low" in row:
            low, high = of_processes(*(math.log(row[k]) for k in (
                "speedup", "speedup_low", "speedup_high")), min(base, mine))
            row.update(speedup_low=math.exp(low), speedup_high=math.exp(high))
        rates = self.reference.ask("rates", ns=mine) if self.task.get("perf") else {}
        for name, peak in (("gbps", "dram_gbps"), ("tflops", "sm_tflops")):
            if rates.get(name) and self.machine.get(peak):
                row[name] = rates[name]
        for name in ("chance", "allowed"):
            if s.get(name):
                row["left_to_" + name if name == "chance" else name] = s[name]
        return row

    def fill(self, row, times, e, low, high):
        row.update(time_ns=median(times["B"]), baseline_ns=median(times["A"]),
                   blocks=len(times["B"]), speedup=math.exp(e),
                   samples={"baseline": times["A"], "candidate": times["B"]})
        if low is not None:
            row.update(speedup_low=math.exp(low), speedup_high=math.exp(high), confidence=0.95)

    def with_new_pairs(self, source, n, call):
        """What call(child, k) gives beside each of n new references, child being a new process that
        has source. All are made and given their file at once, and in every second pair the
        candidate comes first: nothing tells one from the other. The GPU is ours from when inputs
        are drawn; else all is as before afterwards."""
        before = held, _, _, _ = self.reference, self.drawn, self.shape, Child.deadline
        begun, made, pairs, out = time.monotonic(), [], [], []
        try:
            for k in range(n):
                pair = {}
                for who in ("AB", "BA")[k % 2]:
                    pair[who] = Child(self.device, held.scratch)
                    made.append(pair[who])
                pairs.append(pair)
            together(*((who, "load", dict(self.loading(
                source if who is pair["B"] else self.task["source"]), seconds=Child.call_s))
                for pair in pairs for who in pair.values()))
            self.take()
            for k, pair in enumerate(pairs):
                self.reference = pair["A"]
                self.draw(*pair.values())
                out.append(call(pair["B"], k))
            return out
        finally:
            if self.reference is not held and self.reference not in made:
                made.append(self.reference)     # it was revived
            self.reference, self.drawn, self.shape, Child.deadline = before
            if Child.deadline:
                Child.deadline += time.monotonic() - begun
            for who in made:
                self.let_die(who)

    def again(self, child, rows, pair, **given):
        """{ i: times } of shapes that were judged, in a new pair of processes."""
        found = {}
        for k, row in enumerate(rows):
            s = dict({"i": row["shape"]["i"], "label": row["label"], "seed": secret(), "k": k,
                      "left": len(rows) - k, "known": True, "pair": pair}, **given)
            self.first_calls(child, s)
            found[s["i"]] = self.short_turns(child, s) if row.get("pairs") is not None \
                else self.in_turns(child, s, {})["times"]
        return found

    def short_turns(self, child, s):
        """Times of a short call on every stream. No one can tell which results are compared."""
        times, turn = {"A": [], "B": []}, turns(LANES)
        spin = min(SPIN_MOST, 2 * s["host"] + 1e5)
        for k in range((SHORT_TURNS + 1) * LANES):      # a stream's first asks for its memory
            here, got = next(turn), {}
            for who in ("AB", "BA")[secret() % 2]:
                seed = secret(here)
                got[who] = self.sample(child if who == "B" else self.reference, seed,
                                       int(spin * SPIN_GHZ))
                if who == "B" and not s["baseline"] and secret() % LOOKS == 0:
                    self.verify_shape(child, s, seed, 1, part=True)
            if k >= LANES and all(g[3] for g in got.values()):
                for who, sample in got.items():
                    times[who].append(sample[0])
        return times

    def time_short(self, source, out, baseline):
        """Short calls once more, by SHORT_PAIRS pairs of new processes. What two processes differ
        in for as long as they live (where the driver put what starts a kernel, where their memory
        lies) is worth a percent and more of them, and repetition in one pair does not average it:
        their interval is that of the pairs. What befalls a candidate in a new process is its
        verdict, but for want of time, memory or processes: the first pair's times stand then."""
        rows = [r for r in out["shapes"] if not r["host_bound"] and self.is_short(
            {"A": [r["baseline_ns"]], "B": [r["time_ns"]]})
            and r.get("speedup_high", 1) * HOPELESS > 1]
        if not rows or self.screen.slow:
            return
        for r in rows:
            r["pairs"] = []
        self.await_spare()
        screen, self.screen = self.screen, Screen(None)
        try:
            found = self.with_new_pairs(source, SHORT_PAIRS, lambda child, k: self.again(
                child, rows, k, baseline=baseline))
        except (Lost, OSError) as e:
            if isinstance(e, Lost) and e.args[0] != "timeout" and LACKING not in str(e.args[1]) \
                    and not baseline:
                raise
            found = []
        finally:
            self.screen = screen
        for r in rows:
            several = [f[r["shape"]["i"]] for f in found]
            several = [t for t in several if len(t["B"]) >= LANES // 2]
            if len(several) < 2:
                del r["pairs"]
                continue
            logs = [paired(log_ratios(t))[0] for t in several]
            times = {who: [x for t in several for x in t[who]] for who in "AB"}
            self.fill(r, times, *of_pairs(logs, min(median(times[who]) for who in "AB")))
            r.update(interval="pairs of processes", pairs=[math.exp(x) for x in logs])

    def more_pairs(self, out, n):
        """The untouched file against itself by n pairs of processes in all, twice as many where
        the host holds calls up, as its time differs more between processes. Each shape's speed-up
        becomes the median of all pairs': one that is far off (1.09 once, where five others were
        within 0.5 %) does not move it. A pair that is not done in time does not count. Of waiting
        for others they have what the first one left: the engine waits no longer than for that."""
        n = 2 * n if any(r["host_bound"] for r in out["shapes"]) else n
        left = PAIRS_S
        logs = {r["shape"]["i"]: [math.log(r["speedup"])] for r in out["shapes"]}
        self.screen, self.count = Screen(None), len(logs)
        self.await_spare()
        for k in range(1, n):
            begun, found = self.clock(), [{}]
            Child.deadline, self.left_s = time.monotonic() + left, BASELINE_S
            try:
                found = self.with_new_pairs(self.task["source"], 1, lambda child, _: self.again(
                    child, out["shapes"], k, baseline=True))
            except (Lost, OSError) + NONSENSE:
                pass                    # it was judged: what befalls it now is no verdict
            finally:
                self.give()
                left -= self.clock() - begun
                Child.deadline = None
            if len(found[0]) == len(logs):
                for i, times in found[0].items():
                    logs[i].append(paired(log_ratios(times))[0])
            if left <= 0:
                break
        mean = lambda x: math.exp(sum(x) / len(x))
        for r in out["shapes"]:
            r["speedup"] = math.exp(median(logs[r["shape"]["i"]]))
        out["speedup"] = mean([median(x) for x in logs.values()])
        out["pairs"] = [mean(x) for x in zip(*logs.values())]

    def share_cpu(self, child, on):
        """One CPU for both while they are timed in turn: a busy neighbour is one to both."""
        cpus = sorted(os.sched_getaffinity(0))
        for pid in (self.reference.pid, child.pid):
            try:
                os.sched_setaffinity(pid, {cpus[self.drawn["seed"] % len(cpus)]} if on else cpus)
            except (OSError, TypeError):
                pass

    def cross_check(self, times, walls, row):
        """How much less a call saves by the parent's clock than by its events, in ns. Where that is
        more than noise of that clock its times become longer by it: the smaller gain counts."""
        pairs = list(zip(times["A"], times["B"], walls["A"], walls["B"]))
        if len(pairs) < 6 or self.device == "cpu":
            return None
        gap, low, _ = paired([(a - b) - (c - d) for a, b, c, d in pairs])
        base, wall = median(times["A"]), median(walls["A"])
        saved = base - median(times["B"])
        if saved > max(20000, 0.05 * base) and low is not None \
                and low > max(20000, 0.3 * saved, 0.03 * wall):
            times["B"] = [b + gap for b in times["B"]]
            row["by_parents_clock"] = True
        return gap
