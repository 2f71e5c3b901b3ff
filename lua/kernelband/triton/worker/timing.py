"""Times a candidate beside the untouched file."""
import fcntl
import math
import os
import time

from .child import LACKING
from .children import MOVED, NONSENSE, Child, Lost, Suspicion, sweep
from .inputs import LANES, place_of, secret, turns
from .stats import Screen, log_ratios, median, of_processes, paired

SPIN_GHZ, SPIN_MOST = 2.0, 16e6     # of the wait that lets the host get ahead; its ns at most
TIME_S, NARROW = 0.6, 0.004         # of timing a candidate; an interval that is narrow enough
BASELINE_S, CONFIRM_S = 1.6, 3.2    # of timing a baseline, and a winner again
BOUND_S, BOUND_MOST = 3.0, 768      # of a baseline that the host holds up, whose clock is noisier;
BOUND_LEAST_S = 0.5                 # and of one shape of it
SHORT_NS, SHORT_TURNS = 8e3, 4      # of a call that is timed on every stream, so often
AGAIN = 16                          # pairs of calls, at least, of processes that judge a suspicion
OPINIONS = 3                        # new pairs of processes that must share it
PAIRS_S = 100                       # of more pairs of processes that time a baseline


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
        few = s.get("least", 0)             # no end comes before so many
        n = max(few, n)
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
                    (self.learn_shape if s["baseline"] else self.verify_shape)(child, s, seed, 1)
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
                few = s.get("least", 0)
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
            if k == 3 and not bound and self.device != "cpu" and max(
                    median(t["times"][who]) for who in "AB") < SHORT_NS:
                few = n = max(n, SHORT_TURNS * LANES)
                turn = turns(LANES)
            if k + 1 >= max(few, min(6, n)) and look < 0 and (at < 0 or t["seen"]) \
                    and self.screen.slower(s["k"], median(t["times"]["B"])):
                break
            most_ns = budget if brief and not bound else 2 * budget + 1e8
            if k + 1 >= max(few, 8) and (self.clock() - start) * 1e9 > most_ns:
                break
            if k + 1 >= max(few, 8) and (k + 1) % (4 if k < 64 else 64) == 0 \
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
                    self.verify_shape(child, s, seed, 1)
        if bound:
            self.share_cpu(child, False)
        self.left_s = max(0.01 if brief else 0.2, self.left_s - (self.clock() - start))
        return dict(t, bound=bound)

    def time_shape(self, child, s, out, options):
        try:
            row = self.timed(child, s, options)
        except Suspicion as first:
            row = self.other_opinions(first, s, options)
        out["shapes"].append(row)

    def other_opinions(self, first, given, options):
        """The row of a shape that the clocks of a pair of processes disagree about. Of honest
        files they do so by chance: what two processes differ in, by events or by what the host adds
        to them, they differ in for as long as they live. A new pair is checked and timed as the
        first one was, and where its clocks disagree as well another one, up to OPINIONS. What the
        first to agree shows is all that counts: a file that tells the pairs apart and is honest in
        this one has the times of this one. Where one fails, the first finding stands, but for want
        of time or memory, which prove nothing. Its time is the candidate's."""
        left = self.left_s

        def again(child):
            self.ahead(child, self.source)("all")
            self.no_scout()
            self.check_shape(child, s, s["baseline"])
            row = self.timed(child, s, options)
            if self.end_moved():        # its reference ends with it: later no one could tell
                raise Lost("cheated", MOVED)
            return row
        for k in range(1, OPINIONS + 1):
            # The first process knows whether it was looked at after all that counts, and may tell.
            s = dict(given, seed=secret(), least=AGAIN, count=0, chance=0, allowed=0,
                     last=not given["baseline"])
            try:
                return self.with_new_pair(self.source, again)
            except Suspicion as e:
                if k == OPINIONS:
                    raise Lost(e.args[0], "%s, and so say all of %d pairs of processes" % (
                        e.args[1], k + 1)) from None
            except (Lost, OSError) + NONSENSE as e:
                found = isinstance(e, Lost) and (e.args[0] in ("cheated", "timeout")
                                                 or LACKING in str(e.args[1]))
                raise (e if found else first) from None
            finally:
                self.left_s = left
                sweep()

    def with_new_pair(self, source, call):
        """call(child) beside a new reference, child being a new process that has source. The GPU
        is ours from when their inputs are drawn, and stays so; else all is as before afterwards."""
        before = held, _, _, _ = self.reference, self.drawn, self.shape, Child.deadline
        pair, waited = [], self.waited
        try:
            for trusted in (True, False):
                pair.append(Child(self.device, trusted, held.scratch))
            self.reference, child = pair
            self.load(self.reference, self.task["source"])
            self.load(child, source)
            self.take(fcntl.LOCK_EX)
            self.draw(child)
            return call(child)
        finally:
            if self.reference is not held:
                pair.append(self.reference)         # it may have been revived
            self.reference, self.drawn, self.shape, Child.deadline = before
            if Child.deadline:
                Child.deadline += self.waited - waited
            for who in pair:
                who.close()

    def timed(self, child, s, options):
        t, row = self.in_turns(child, s, options), {}
        times = t["times"]
        base, mine = median(times["A"]), median(times["B"])
        self.check_records(child, s, t["seen"] or {"why": "no call was recorded"}, mine, base, row)
        gap = self.cross_check(s, times, t["walls"])
        e, low, high = paired(log_ratios(times))
        row.update(shape={"i": s["i"]}, label=s["label"], role="timed", iterations=1,
                   blocks=len(times["B"]), time_ns=mine, baseline_ns=base, speedup=math.exp(e),
                   interval="wilcoxon", clock_gap_ns=gap, host_bound=t["bound"],
                   samples={"baseline": times["A"], "candidate": times["B"]},
                   host_ns=median(t["hosts"]["B"]), baseline_host_ns=median(t["hosts"]["A"]))
        if low is not None:
            low, high = of_processes(e, low, high, min(base, mine))
            row.update(speedup_low=math.exp(low), speedup_high=math.exp(high), confidence=0.95)
        rates = self.reference.ask("rates", ns=mine) if self.task.get("perf") else {}
        for name, peak in (("gbps", "dram_gbps"), ("tflops", "sm_tflops")):
            if rates.get(name) and self.machine.get(peak):
                row[name] = rates[name]
        for name in ("chance", "allowed"):
            if s.get(name):
                row["left_to_" + name if name == "chance" else name] = s[name]
        return row

    def more_pairs(self, out, n):
        """The untouched file against itself by n pairs of processes in all, twice as many where
        the host holds calls up, as its time differs more between processes. Each pair is new: what
        two processes differ in for as long as they live (where the driver put what starts a
        kernel, where their memory lies) is worth up to 2 % of a kernel of 5 us, and repetition
        within them does not average it. Each shape's speed-up becomes the median of all pairs':
        one that is far off (1.09 once, where five others were within 0.5 %) does not move it, nor
        that the first may be looked at again for being off. A pair that is not done in time does
        not count. Of waiting for others they have what the first one left: the engine waits no
        longer than for that."""
        n = 2 * n if any(r["host_bound"] for r in out["shapes"]) else n
        left = PAIRS_S
        logs = {r["shape"]["i"]: [math.log(r["speedup"])] for r in out["shapes"]}
        self.screen, self.count = Screen(None), len(logs)
        self.await_spare()

        def timed(child):
            found, self.left_s = {}, BASELINE_S
            for k, row in enumerate(out["shapes"]):
                if time.monotonic() > Child.deadline:
                    break
                s = {"i": row["shape"]["i"], "label": row["label"], "seed": secret(),
                     "left": len(logs) - k, "baseline": True, "known": True, "k": k}
                self.first_calls(child, s)
                found[s["i"]] = paired(log_ratios(self.in_turns(child, s, {})["times"]))[0]
            return found
        for _ in range(n - 1):
            begun, found = self.clock(), {}
            Child.deadline = time.monotonic() + left
            try:
                found = self.with_new_pair(self.task["source"], timed)
            except (Lost, OSError) + NONSENSE:
                pass                    # it was judged: what befalls it now is no verdict
            finally:
                self.give()
                left -= self.clock() - begun
                Child.deadline = None
            if len(found) == len(logs):
                for i, e in found.items():
                    logs[i].append(e)
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

    def end_moved(self):
        """Ends our processes that run with another priority or on other processors than we do,
        which no jail keeps a candidate from changing: True if there was one."""
        def place(pid):
            return (os.getpriority(os.PRIO_PROCESS, pid), os.sched_getscheduler(pid),
                    os.sched_getaffinity(pid))
        ours, found = place(0), False
        for child in (self.reference, self.spare):
            try:
                pid = child and child.pid
                moved = pid and ours != place(pid)
            except OSError:             # it is gone: that is found out elsewhere
                moved = False
            if moved:
                found = True
                child.kill()
        if self.spare and self.spare.pid is None:
            self.spare.close()
            self.spare = None
        return found

    def cross_check(self, s, times, walls):
        """What its events say it saves must be saved by the parent's clock as well: how much
        is not, in ns. Less than a share of the call itself is noise of that clock."""
        pairs = list(zip(times["A"], times["B"], walls["A"], walls["B"]))
        if len(pairs) < 6 or self.device == "cpu":
            return None
        gap, low, _ = paired([(a - b) - (c - d) for a, b, c, d in pairs])
        base, wall = median(times["A"]), median(walls["A"])
        saved = base - median(times["B"])
        if saved > max(20000, 0.05 * base) and low is not None \
                and low > max(20000, 0.3 * saved, 0.03 * wall):
            raise Suspicion("cheated", "%s: its own events save %.0f us a call, the parent's clock "
                            "says %.0f us: work is done outside what is timed" % (
                                s["label"], saved / 1e3, (saved - gap) / 1e3))
        return gap
