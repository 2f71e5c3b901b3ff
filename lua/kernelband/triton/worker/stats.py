"""Intervals of paired times."""
import itertools
import math
from statistics import fmean, median

# Pairs whose interval is exact. What a call of one file takes more in one process than in another:
# its standard deviation in ns (H200s, kernels of 4 to 15 us: 44 to 78 in eight runs), which counts
# for KNOWN such pairs: few, as hosts differ; what it was at most of a call of a millisecond and
# more, as a logarithm.
EXACT, PAIR_NS, KNOWN, APART = 64, 60, 4, 0.08


def paired(logs):
    """Hodges-Lehmann estimate and the Wilcoxon signed-rank interval, at 95 %: exact, of more than
    EXACT pairs by its normal approximation (Hollander, Wolfe, Chicken: Nonparametric Statistical
    Methods, 3.1 and 3.3)."""
    n = len(logs)
    walsh = sorted((logs[i] + logs[j]) / 2 for i in range(n) for j in range(i, n))
    middle = median(walsh)
    if n > EXACT:
        k = int(n * (n + 1) / 4 - 1.96 * math.sqrt(n * (n + 1) * (2 * n + 1) / 24))
        return middle, walsh[k - 1], walsh[-k]
    ways = [1]
    for rank in range(1, n + 1):
        ways = [a + b for a, b in zip(ways + [0] * rank, [0] * rank + ways)]
    k = sum(below <= 0.025 * 2 ** n for below in itertools.accumulate(ways))
    return (middle, walsh[k - 1], walsh[-k]) if k else (middle, None, None)


def of_processes(e, low, high, ns, one):
    """The same, for calls that take ns, with what two processes differ in for as long as they live
    in the interval: repetition within a pair does not average that. one: no other pair was asked
    for that is to tell it from a gain."""
    own = max(APART * one, 1.96 * PAIR_NS / ns)
    return (e, None, None) if low is None else (
        e, e - math.hypot(e - low, own), e + math.hypot(high - e, own))


def of_pairs(sides, ns, short, middle):
    """(mean, low, high) of logarithms that pairs of new processes gave for calls that take ns, at
    95 %. sides: those where one process made the first calls, and where the other did. Of each the
    middle counts, so that what their order is worth cancels out; of what is left there is Student's
    t, where what pairs are known to spread by counts like KNOWN more of them for a short call."""
    mean, known = fmean(map(middle, sides)), KNOWN * short
    off = sum((x - fmean(side)) ** 2 for side in sides for x in side)
    freedom = max(1, known + sum(map(len, sides)) - len(sides))
    # Within 1.5 % for any number of degrees of freedom, within 0.5 % from 3 on.
    t = 1.96 + 2.4 / freedom + 2.6 / freedom ** 2 + 3.2 / freedom ** 3 + 2.5 / freedom ** 4
    half = t * math.sqrt((known * (PAIR_NS / ns) ** 2 + off) / freedom
                         * sum(1 / len(side) for side in sides)) / len(sides)
    return mean, mean - half, mean + half


def half_of(rows, key):
    """How far one end of an interval, key (speedup_low, speedup_high), is from the mean speed-up of
    shapes, as a logarithm. What two processes differ in is the same for all shapes, and of what
    several pairs of them were timed for it is all; so is an interval that one pair's difference
    makes wide. The rest of each interval is its own."""
    whole = [abs(math.log(r[key] / r["speedup"])) for r in rows]
    common = [x if r["interval"] != "wilcoxon" else
              1.96 * PAIR_NS / min(r["time_ns"], r["baseline_ns"]) for r, x in zip(rows, whole)]
    own = sum(max(0, x * x - y * y) for x, y in zip(whole, common))
    return math.hypot(math.sqrt(own), sum(common)) / len(rows)


def log_ratios(times):
    return [math.log(a / b) for a, b in zip(times["A"], times["B"])]


class Screen:
    """Whether a candidate is clearly slower than the best so far: by three shapes, or all there
    are, and as many calls of each as give an interval: later shapes may be where it is faster.
    First calls don't say: most of one is the host's, which the best's times are without."""

    def __init__(self, best):
        self.best, self.logs, self.slow = best, {}, False

    def slower(self, k, ns):
        """As seen with shape k, which takes ns so far, and those before it."""
        if self.best:
            self.logs[k] = math.log(ns / self.best[k])
            self.slow = len(self.logs) >= min(3, len(self.best)) and \
                sum(self.logs.values()) / len(self.logs) > math.log(1.25)
        return self.slow
