"""The same steps by the usual Python libraries, for comparison in one run.

Needs numpy and scikit-learn; make bench skips it where they are absent.
"""
import time
import warnings

import numpy as np
from sklearn.cluster import KMeans, MiniBatchKMeans
from sklearn.linear_model import LogisticRegression

warnings.filterwarnings("ignore")
rng = np.random.default_rng(1)


def report(name, calls, step, batches=15):
    step()
    us = []
    for _ in range(batches):
        start = time.perf_counter()
        for _ in range(calls):
            step()
        us.append((time.perf_counter() - start) / calls * 1e6)
    print(f"{name:<38} numpy/scikit-learn {np.median(us):10.1f} us")


def ucb():
    """The masked score of the published method over 3 clusters x 6 arms."""
    mean, pulls, mask, t = np.full((3, 6), 0.5), np.ones((3, 6)), np.ones((3, 6)), [1]

    def step():
        t[0] += 1
        score = np.where(mask > 0, mean + 2 * np.sqrt(np.log(t[0]) / pulls), -np.inf)
        i, s = np.unravel_index(np.argmax(score), score.shape)
        pulls[i, s] += 1
        mean[i, s] += (0.1 - mean[i, s]) / pulls[i, s]
    return step


points = rng.normal(size=(2000, 5))
x, y = rng.normal(size=(500, 9)), rng.random(500) < 0.5
near = MiniBatchKMeans(3, n_init=1).fit(rng.normal(size=(30, 6)))
head = LogisticRegression(warm_start=True, solver="newton-cholesky").fit(x, y)

report("ucb select+update 3x6 arms", 2000, ucb())
report("cluster assign K=3 6 dims", 50, lambda: near.partial_fit(rng.normal(size=(1, 6))))
report("cluster fit 2000x5 K=3", 3, lambda: KMeans(3, n_init=1).fit(points))
report("logit p 9 dims", 200, lambda: head.predict_proba(x[:1]))
report("logit refit 500x9", 10, lambda: head.fit(x, y))
