"""Times a candidate beside the untouched file."""
import contextlib
import math
import os
import time
from statistics import fmean, geometric_mean, median

from .children import LOCK_S, NONSENSE, Busy, Child, Lost, together
from .frames import some
from .inputs import LANES, place_of, secret, turns
from .stats import Screen, half_of, log_ratios, of_pairs, of_processes, paired

SPIN_GHZ, SPIN_MOST = 2.0, 16e6     # of the wait that lets the host get ahead; its ns at most
# Seconds of timing a candidate, a baseline, a winner again, of all further pairs of processes; an
# interval that is narrow enough.
TIME_S, BASELINE_S, CONFIRM_S, PAIRS_S, NARROW = 0.5, 1.6, 3.2, 100, 0.004
# Of a baseline that the host holds up, whose clock is noisier; and of one shape of it.
BOUND_S, BOUND_LEAST_S, BOUND_MOST = 3.0, 0.5, 768
# A call of less than SHORT_NS differs between processes by a percent. Where that leaves an interval
# of the whole with more than SHORT_HALF on each side, it is timed in MORE_PAIRS more pairs of
# processes; not what is HOPELESS times as slow by the first pair's interval. A winner is timed by
# CONFIRM_PAIRS in all. One of LOOKS results is compared where no one can tell which.
SHORT_NS, SHORT_HALF, MORE_PAIRS, HOPELESS, CONFIRM_PAIRS, LOOKS = 8e3, 0.03, 3, 1.05, 6, 32


def column(samples, k):
    """One of what samples of both hold."""
    return {who: [both[who][k] for both in samples] for who in "AB"}


class Timing:
    def sample(self, who, seed, **how):
        """Of a call: ns, ns by our clock, the host's, whether the GPU waited for no launch."""
        who.ask("prepare", seed=seed)
        start = time.perf_counter_ns()
        r = who.ask("go", **how)
        wall, ns, host = time.perf_counter_ns() - start, float(r["ns"]), float(r["host"])
        if not (0 <= ns < 1e12 and 0 <= host < 1e12):
            raise ValueError("a call of %r ns, %r of them the host's" % (ns, host))
        return max(1.0, ns), float(wall), max(1.0, host), r["ahead"] is True

    def pair(self, child, s, here, spin_ns, looks):
        """A sample of the reference, A, and of child, B, on one stream and in one place, in secret
        order. looks: what B's call gave is compared."""
        got = {}
        for who in ("AB", "BA")[secret() % 2]:
            seed = secret(here)
            got[who] = self.sample(child if who == "B" else self.partner, seed,
                                   cycles=int(spin_ns * SPIN_GHZ))
            if who == "B" and looks:
                self.compare_shape(child, s, seed, part=True)
        return got

    def in_turns(self, child, s, options):
        """Calls of the reference, A, and of the child, B, in turn; of a shape whose results were
        compared one is recorded and one is compared again: where those lay that were checked,
        so that an answer kept by address is wrong, or, as likely, where its turn puts it, so
        that one given elsewhere alone is. So is one of LOOKS of those that follow. Of one shape
        that no one can tell beforehand two more are compared after all that count: one in its
        turn, which nothing tells from those before it, and one of the other kind."""
        start, baseline, confirm = self.clock(), s["baseline"], options.get("confirm")
        budget, lanes = self.left_s * 1e9 / s["left"], s.get("lanes")
        # ns that the GPU is kept busy for, so that the host gets ahead.
        spin = 0 if self.device == "cpu" else min(SPIN_MOST, 2 * s["host"] + 1e5)
        cost = s["first"] + s["baseline_first"] + 2 * (spin + 500000)
        most, narrow = (2 * LANES, NARROW / 2) if baseline else (LANES, NARROW)
        # Of six one honest call would be enough for the parent's clock to say nothing.
        n = lanes or (3 if cost > 5e8 else int(max(8, min(most, budget / cost))))
        # A stream's first call of a size asks for memory and is made again: few for a candidate
        # whose calls are long beside what streams differ in.
        turn = turns(lanes or (LANES if baseline or confirm else LANES // 4))
        samples, seen, late, first, here = [], None, 0, -1, None
        # No one can tell beforehand which call is recorded or looked at.
        look, at = (-1, -1) if s.get("known") else (secret() % min(n, 6), secret() % min(n, 6))
        back = not s.get("last") and secret() % 2
        brief = not baseline and not confirm    # it is one of many
        bound = False               # the host can't get ahead: the call itself waits for the GPU
        while len(samples) < n:
            k = len(samples)
            if k == at and seen is None:
                seen = self.record(child)
            here = here or next(turn)       # what is made again is so on its own stream
            if k == look and back:
                here = here[0], place_of(s["seed"])
            got = self.pair(child, s, here, spin, k == look or (
                look < 0 and not s.get("known") and secret() % LOOKS == 0))
            look = -1 if k == look else look
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
                spin, n, samples = 0, min(n, 24), []
                if baseline:            # the host is a noisier clock: what all are held against
                    least_ns = max(BOUND_LEAST_S, BOUND_S / self.count) * 1e9
                    n = max(n, min(BOUND_MOST, int(least_ns / cost)))
                    budget = max(budget, least_ns)
                continue
            samples.append(got)
            here, k, times = None, k + 1, column(samples, 0)
            if lanes and not bound:     # each as often as another
                continue
            if k == 4 and not bound and self.is_short(median(times["A"]), median(times["B"])):
                n, turn = LANES // 2, turns(LANES // 2)     # calls on one stream are alike
            if k >= min(6, n) and look < 0 and (at < 0 or seen) \
                    and self.screen.slower(s["k"], median(times["B"])):
                break
            most_ns = budget if brief and not bound else 2 * budget + 1e8
            if k >= 8 and (self.clock() - start) * 1e9 > most_ns:
                break
            if k >= 8 and k % (4 if k <= 64 else 64) == 0 and not confirm:
                _, low, high = paired(log_ratios(times))    # of six or more there is an interval
                if (high - low) / 2 < narrow:
                    break
        if s.get("last"):
            there = [(lane, place_of(s["seed"])) for lane, _ in (next(turn), next(turn))]
            for k, here in enumerate([next(turn), *there]):
                seed = secret(here)
                self.sample(child, seed, cycles=int(spin * SPIN_GHZ))
                if k != 1:              # an answer may be kept only once asked for often
                    self.compare_shape(child, s, seed, part=True)
        self.share_cpu(child, False)
        self.left_s = max(0.01 if brief else 0.2, self.left_s - (self.clock() - start))
        return samples, bound, seen

    def is_short(self, *ns):
        return self.device != "cpu" and max(ns) < SHORT_NS

    def timed(self, child, s, options):
        samples, bound, seen = self.in_turns(child, s, options)
        times, walls, hosts = (column(samples, k) for k in range(3))
        base, mine, row = median(times["A"]), median(times["B"]), {}
        one = bool(options.get("confirm")) and self.device != "cpu"
        self.check_records(child, s, seen or {"why": "no call was recorded"}, mine, base, row)
        gap = self.cross_check(times, walls, row)
        row.update(shape={"i": s["i"]}, label=s["label"], role="timed", iterations=1,
                   candidate_first=s["candidate_first"], host_bound=bound, clock_gap_ns=gap,
                   short=self.is_short(base, mine) and not bound,
                   interval="one pair" if one else "wilcoxon",
                   host_ns=median(hosts["B"]), baseline_host_ns=median(hosts["A"]))
        self.fill(row, [{"baseline": times["A"], "candidate": times["B"]}], *of_processes(
            *paired(log_ratios(times)), min(base, mine), one))
        rates = self.reference.ask("rates", ns=mine) if self.task.get("perf") else {}
        row.update(some(gbps=self.machine.get("dram_gbps") and rates.get("gbps"),
                        tflops=self.machine.get("sm_tflops") and rates.get("tflops"),
                        left_to_chance=s.get("chance"), allowed=s.get("allowed")))
        return row

    def fill(self, row, samples, e, low, high):
        """samples: of each pair of processes."""
        a, b = ([each[who] for each in samples] for who in ("baseline", "candidate"))
        row.update(time_ns=fmean(map(median, b)), baseline_ns=fmean(map(median, a)),
                   blocks=sum(map(len, b)), speedup=math.exp(e),
                   samples={"baseline": sum(a, []), "candidate": sum(b, [])})
        if low is not None:
            row.update(speedup_low=math.exp(low), speedup_high=math.exp(high), confidence=0.95)

    def by_new_pairs(self, source, rows, numbers, baseline, cache=None):
        """{ number: { i: its row } } of shapes that were judged, rows, by a new pair of processes
        for each of numbers: a reference, and one that has source, whose kernels are in cache. All
        are made and given their file at once, and in every second pair the other one comes first:
        nothing tells one from the other. The GPU is ours from when inputs are drawn; else all is
        as before afterwards. A pair that is not done does not count. That is no verdict where time,
        memory or processes lacked, where the reference alone ended, and, in more_pairs, the first
        time that a result is wrong: blocks that race may end as never before. All else is."""
        held, begun, pairs, found = self.reference, time.monotonic(), {}, {}
        before = self.partner, self.drawn, self.shape, self.screen, Child.deadline
        self.screen = Screen(None)
        self.await_spares()
        try:
            for k in numbers:
                pairs[k] = {}
                for who in ("AB", "BA")[k % 2]:
                    pairs[k][who] = Child(self.device, held.scratch,
                                          cache=cache if who == "B" else None)
            together(*[self.load(child, source if who == "B" else self.task["source"])
                       for pair in pairs.values() for who, child in pair.items()])
            self.take()
            for k, pair in pairs.items():
                self.reference = self.partner = pair["A"]
                self.left_s = BASELINE_S
                self.draw(pair["B"])
                found[k] = self.again(pair["B"], rows, k, baseline)
                pair["A"] = self.reference          # it may have been revived
        except (Busy, Lost, OSError, *NONSENSE) as e:
            ended = {who for pair in pairs.values() for who, child in pair.items() if not child.pid}
            said = getattr(e, "verdict", "")
            self.doubts += said == "wrong"
            if not (baseline or isinstance(e, (Busy, OSError)) or said == "timeout" or said and (
                    e.lacks_memory() or ended == {"A"} and said not in ("wrong", "cheated")
                    or said == "wrong" and self.doubts < 2)):
                raise
        finally:
            made = [*(child for pair in pairs.values() for child in pair.values()), self.reference]
            self.reference = held
            self.partner, self.drawn, self.shape, self.screen, Child.deadline = before
            self.is_no_time(begun)
            for who in dict.fromkeys(x for x in made if x is not held):     # none twice
                self.let_die(who)
        return found

    def again(self, child, rows, pair, baseline):
        """{ i: its row } of such shapes, in the pair of processes of that number."""
        return {row["shape"]["i"]: self.timed(child, self.first_calls(child, dict(
            i=row["shape"]["i"], label=row["label"], seed=secret(), k=k, left=len(rows) - k,
            baseline=baseline, known=baseline, last=not baseline and secret() % len(rows) == 0,
            candidate_first=row["candidate_first"] != (pair % 2 == 1),
            lanes=row["short"] and LANES // min(2, len(rows)))), {}) for k, row in enumerate(rows)}

    def time_again(self, source, out, baseline, cache):
        """Short calls once more, by MORE_PAIRS pairs of new processes. What two processes differ
        in for as long as they live (where the driver put what starts a kernel, where their memory
        lies) is worth a percent and more of them, and repetition in one pair does not average it:
        their interval is that of the pairs. A candidate needs none where one pair tells the mean of
        its shapes to SHORT_HALF."""
        rows = [r for r in out["shapes"] if r["short"] and r.get("speedup_high", 1) * HOPELESS > 1]
        if not rows or self.screen.slow or not baseline \
                and all("speedup_low" in r for r in out["shapes"]) \
                and half_of(out["shapes"], "speedup_low") <= SHORT_HALF:
            return
        found = self.by_new_pairs(source, rows, range(1, 1 + MORE_PAIRS), baseline, cache)
        for r in rows:
            self.combine(r, found, fmean)

    def combine(self, row, found, middle):
        """Adds further pairs of processes to a row, where there are enough of both orders of first
        calls. Two of each are enough; one is for short calls, as it is known what pairs of them
        spread by, and for the untouched file, of which no interval is wanted: there the median
        counts, which one pair that is far off does not move."""
        i, enough = row["shape"]["i"], 1 if row["short"] or middle is median else 2
        more = {k: rows[i] for k, rows in found.items()
                if middle is fmean or rows[i]["host_bound"] is row["host_bound"]}
        sides = [[*side, *(r["speedup"] for k, r in more.items() if k % 2 == order)]
                 for order, side in enumerate(row.get("pairs", [[row["speedup"]], []]))]
        if min(map(len, sides)) >= enough:
            ns = min(row["time_ns"], row["baseline_ns"])
            self.fill(row, [row["samples"], *(r["samples"] for r in more.values())], *of_pairs(
                [[*map(math.log, side)] for side in sides], ns, row["short"], middle))
            row.update(interval="pairs of processes", pairs=sides)      # of each order

    def more_pairs(self, source, out, n, baseline=False, cache=None):
        """All shapes by n pairs of new processes, one pair after another; n is rounded up to an
        even number. The untouched file has twice as many where the host holds calls up: the host's
        time differs more between processes. A winner has them however long its calls are: the
        process that makes a shape's first call was seen to be up to 8 % slower in all others, and
        one pair does not tell that from a gain. They wait for other sessions only as long as the
        first pair left: the engine waits no longer."""
        n = 2 * n if baseline and any(r["host_bound"] for r in out["shapes"]) else n + n % 2
        until, found, self.doubts = self.clock() + PAIRS_S, {}, 0
        for k in range(1, n):
            Child.deadline = time.monotonic() + until - self.clock()
            found.update(self.by_new_pairs(source, out["shapes"], [k], baseline, cache))
            self.give()
            if self.clock() >= until or self.waited >= LOCK_S:
                break
        out["pairs"] = [geometric_mean(r["speedup"] for r in rows) for rows in (
            out["shapes"], *(more.values() for more in found.values()))]
        for row in out["shapes"]:
            self.combine(row, found, median if baseline else fmean)

    def share_cpu(self, child, on):
        """One CPU for both while they are timed in turn: a busy neighbour is one to both."""
        cpus = sorted(os.sched_getaffinity(0))
        for pid in (self.partner.pid, child.pid):
            with contextlib.suppress(OSError, TypeError):
                os.sched_setaffinity(pid, {cpus[self.drawn["seed"] % len(cpus)]} if on else cpus)

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
