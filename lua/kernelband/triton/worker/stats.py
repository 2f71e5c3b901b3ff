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
    """The interval of calls that take ns, with what two processes differ in for as long as they
    live: repetition within a pair does not average that."""
    own = 1.96 * PAIR_NS / ns
    return e - math.hypot(e - low, own), e + math.hypot(high - e, own)


def of_pairs(logs, ns):
    """(mean, low, high) of the logarithms that several pairs of new processes gave for calls that
    take ns, at 95 %: Student's t of how far they are apart, where what such pairs are known to
    spread by counts like KNOWN more of them."""
    n, mean = len(logs), sum(logs) / len(logs)
    freedom = KNOWN + n - 1
    spread = math.sqrt((KNOWN * (PAIR_NS / ns) ** 2 + sum((x - mean) ** 2 for x in logs)) / freedom)
    t = 1.96 + 2.4 / freedom + 3 / freedom ** 2         # within 0.5 % from 5 degrees of freedom on
    return mean, mean - t * spread / math.sqrt(n), mean + t * spread / math.sqrt(n)


def half_of(rows, key):
    """How far one end of an interval, key (speedup_low, speedup_high), is from the mean speed-up of
    shapes, as a logarithm. What two processes differ in is the same for all shapes, the rest of
    each interval is its own."""
    common = [1.96 * PAIR_NS / min(r["time_ns"], r["baseline_ns"])
              / math.sqrt(max(1, len(r.get("pairs", ())))) for r in rows]
    own = sum(max(0, math.log(r[key] / r["speedup"]) ** 2 - x * x) for r, x in zip(rows, common))
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
