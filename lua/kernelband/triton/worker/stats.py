"""Intervals of paired times."""
import itertools
import math
from statistics import median

# Pairs whose interval is exact. What a call of one file takes more in one process than in another:
# its standard deviation in ns (H200, kernels of 4 and 14 us), which counts for KNOWN such pairs.
EXACT, PAIR_NS, KNOWN = 64, 40, 8


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


def of_processes(e, low, high, ns):
    """The same, for calls that take ns, with what two processes differ in for as long as they live
    in the interval: repetition within a pair does not average that."""
    own = 1.96 * PAIR_NS / ns
    return (e, None, None) if low is None else (
        e, e - math.hypot(e - low, own), e + math.hypot(high - e, own))


def of_pairs(logs, ns, short):
    """(mean, low, high) of the logarithms that several pairs of new processes gave for calls that
    take ns, at 95 %: Student's t of how far they are apart, where what pairs are known to spread by
    with short calls counts like KNOWN more of them."""
    n, mean, known = len(logs), sum(logs) / len(logs), short * KNOWN
    freedom = known + n - 1
    spread = math.sqrt((known * (PAIR_NS / ns) ** 2 + sum((x - mean) ** 2 for x in logs)) / freedom)
    # Within 1.5 % for any number of degrees of freedom, within 0.5 % from 3 on.
    t = 1.96 + 2.4 / freedom + 2.6 / freedom ** 2 + 3.2 / freedom ** 3 + 2.5 / freedom ** 4
    return mean, mean - t * spread / math.sqrt(n), mean + t * spread / math.sqrt(n)


def half_of(rows, key):
    """How far one end of an interval, key (speedup_low, speedup_high), is from the mean speed-up of
    shapes, as a logarithm. What two processes differ in is the same for all shapes, and of what
    several pairs of them were timed for it is all; the rest of each interval is its own."""
    whole = [abs(math.log(r[key] / r["speedup"])) for r in rows]
    common = [x if "pairs" in r else 1.96 * PAIR_NS / min(r["time_ns"], r["baseline_ns"])
              for r, x in zip(rows, whole)]
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
