"""Kernel Tuner in its simulation mode on spaces that bench_tuners.lua wrote down.

usage: tuners.py SPACES.json SEEDS T...      prints: strategy, T, space, seed, share

A space is { name, axes, rows: [[value, .., milliseconds or null]] }. The share is the
best recorded time over the best found, 0 while nothing valid was found. Kernel Tuner
may propose any configuration of the space at any time and starts where it likes.
"""
import contextlib
import io
import json
import os
import sys
import tempfile
import warnings

STRATEGIES = ["random_sample", "greedy_ils", "mls", "genetic_algorithm", "diff_evo",
              "simulated_annealing", "dual_annealing", "pso", "firefly_algorithm",
              "basinhopping"]


def cache_of(space):
    """The recorded rows as Kernel Tuner's own cache file; returns its path."""
    axes, cache = space["axes"], {}
    for row in space["rows"]:
        entry = dict(zip(axes, row))
        time = row[-1]
        entry["time"] = "RuntimeFailedConfig" if time is None else time
        if time is not None:
            entry["times"] = [time]
        for name in ("compile_time", "verification_time", "benchmark_time",
                     "strategy_time", "framework_time"):
            entry[name] = 0.0
        entry["timestamp"] = "2024-01-01 00:00:00+00:00"
        cache[",".join(str(v) for v in row[:-1])] = entry
    values = {a: sorted({row[i] for row in space["rows"]}) for i, a in enumerate(axes)}
    document = {"device_name": "recorded", "kernel_name": "recorded", "problem_size": 1,
                "tune_params_keys": axes, "tune_params": values, "objective": "time",
                "cache": cache}
    file, path = tempfile.mkstemp(suffix=".json")
    with os.fdopen(file, "w") as out:
        json.dump(document, out)
    return path, values


def best_share(kernel_tuner, space, cache, values, strategy, steps, seed):
    """One tuning run; what share of the optimum its best configuration has."""
    import random

    import numpy
    random.seed(seed)
    numpy.random.seed(seed)
    axes = space["axes"]
    known = space["known"]

    def recorded(config):
        return tuple(config[name] for name in axes) in known

    with contextlib.redirect_stdout(io.StringIO()):
        results, _ = kernel_tuner.tune_kernel(
            "recorded", "__global__ void recorded() {}", 1, [], dict(values),
            restrictions=recorded,
            strategy=strategy, strategy_options={"max_fevals": steps},
            simulation_mode=True, cache=cache, lang="CUDA", quiet=True, verbose=False)
    times = [r["time"] for r in results if isinstance(r["time"], (int, float))]
    return space["optimum"] / min(times) if times else 0.0


def main():
    import kernel_tuner
    warnings.filterwarnings("ignore")
    spaces, seeds, budgets = json.load(open(sys.argv[1])), int(sys.argv[2]), sys.argv[3:]
    for space in spaces:
        space["known"] = {tuple(row[:-1]) for row in space["rows"]}
        space["optimum"] = min(row[-1] for row in space["rows"] if row[-1] is not None)
        cache, values = cache_of(space)
        try:
            for strategy in STRATEGIES:
                for steps in budgets:
                    for seed in range(1, seeds + 1):
                        try:
                            share = best_share(kernel_tuner, space, cache, values, strategy,
                                               int(steps), seed)
                        except Exception as why:      # one strategy's fault, not the bench's
                            print(strategy, steps, space["name"], seed, "error",
                                  str(why)[:80], sep="\t", file=sys.stderr)
                            continue
                        print(strategy, steps, space["name"], seed, "%.6f" % share, sep="\t",
                              flush=True)
        finally:
            os.remove(cache)


main()
