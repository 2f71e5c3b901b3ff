"""Kernel Tuner in its simulation mode on spaces that bench_tuners.lua wrote down.

usage: tuners.py SPACES.json SEEDS RAW T...     appends to RAW: space, strategy, T, seed, share

A space is { name, axes, rows: [[value, .., milliseconds or null]] }. The share is the
best recorded time over the best found, 0 while nothing valid was found. Every strategy
has its default options, starts at a random configuration and may propose any recorded
one at any time. An evaluation is a configuration not met before in that run. A run of
the largest T gives the shares at the smaller ones too, except where a strategy plans by
the number of evaluations it is given. What RAW has already is not run again.
"""
import contextlib
import copy
import inspect
import io
import json
import os
import random
import sys
import tempfile
import warnings

PYATF = ["auc_bandit", "differential_evolution", "pattern_search", "round_robin",
         "simulated_annealing", "torczon"]
STRATEGIES = {name: (name, {}) for name in [
    "random_sample", "greedy_ils", "greedy_mls", "mls", "genetic_algorithm", "diff_evo",
    "simulated_annealing", "dual_annealing", "pso", "firefly_algorithm", "basinhopping",
    "hybrid_vndx", "adaptive_tabu_greywolf", "bayes_opt"]}
STRATEGIES.update({"pyatf_" + t: ("pyatf_strategies", {"searchtechnique": t}) for t in PYATF})
PLANS = {"simulated_annealing"}         # its temperature falls by max_fevals


def once(function, key):
    """function, whose result for a key is computed once."""
    known = {}

    def memo(*args, **kwargs):
        k = key(*args, **kwargs)
        if k not in known:
            known[k] = function(*args, **kwargs)
        return known[k]
    return memo


def pyatf_parameters(self, *_):
    """A Searchspace's parameters for pyATF 0.0.13, whose TP takes fewer arguments than
    Kernel Tuner 1.5.0 gives it: a value must continue a recorded configuration."""
    from pyatf import TP, Set
    axes, known, parameters = list(self.tune_params), self.restrictions[0].known, []
    for i, axis in enumerate(axes):
        some = {c[:i + 1] for c in known}

        def recorded(some=some, names=axes[:i + 1], **values):
            return tuple(values[n] for n in names) in some
        recorded.__signature__ = inspect.Signature(
            [inspect.Parameter(n, inspect.Parameter.POSITIONAL_OR_KEYWORD)
             for n in axes[:i + 1]])
        parameters.append(TP(axis, Set(*self.tune_params[axis]), recorded))
    return parameters


def patch(current):
    """Reading the cache and building a space take seconds: both are done once a space.
    A strategy that only meets what it has measured ends after 100 T calls."""
    import pyatf.search_space
    from kernel_tuner import interface, searchspace, util
    from kernel_tuner.strategies import common, pyatf_strategies
    util.process_cache = once(util.process_cache, lambda file, *_: file)
    util.close_cache = lambda file: None
    for module in interface, pyatf_strategies:
        module.Searchspace = once(searchspace.Searchspace, lambda *_, **__: current["name"])
    searchspace.Searchspace.get_tune_params_pyatf = pyatf_parameters
    pyatf.search_space.SearchSpace = once(pyatf.search_space.SearchSpace,
                                          lambda *_, **__: current["name"])
    run_configs = common.CostFunc._run_configs

    def counted(self, xs, check_restrictions=True):
        current["calls"] += 1
        if current["calls"] > 100 * self.tuning_options.max_fevals:
            raise util.StopCriterionReached("it measures nothing new")
        return run_configs(self, xs, check_restrictions)
    common.CostFunc._run_configs = counted


def restriction_of(space):
    """Only what was recorded; Kernel Tuner reads the source of this function."""
    axes, known = space["axes"], space["known"]

    def recorded(config):
        return tuple(config[name] for name in axes) in known
    recorded.known = known
    return recorded


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
    document = {"device_name": "recorded", "kernel_name": "recorded", "problem_size": 1,
                "tune_params_keys": axes, "tune_params": space["values"],
                "objective": "time", "cache": cache}
    file, path = tempfile.mkstemp(suffix=".json")
    with os.fdopen(file, "w") as out:
        json.dump(document, out)
    return path


def found(kernel_tuner, space, name, steps, seed):
    """The times of one tuning run, in the order in which they were measured."""
    import numpy
    random.seed(seed)
    numpy.random.seed(seed)
    strategy, options = STRATEGIES[name]
    with contextlib.redirect_stdout(io.StringIO()):
        results, _ = kernel_tuner.tune_kernel(
            "recorded", "__global__ void recorded() {}", 1, [], copy.copy(space["values"]),
            restrictions=space["restriction"], strategy=strategy,
            strategy_options=dict(options, max_fevals=steps), simulation_mode=True,
            cache=space["cache"], lang="CUDA", quiet=True, verbose=False)
    times, seen = [], set()
    for r in results:
        key = tuple(r[a] for a in space["axes"])
        if key not in seen and key in space["known"]:
            seen.add(key)
            times.append(space["known"][key])
    return times


def shares(kernel_tuner, space, name, budgets, seed):
    """[(T, share)]: one run of the largest T, or one a T where the strategy plans by it."""
    runs, out = {}, []
    for steps in budgets:
        asked = steps if name in PLANS else max(budgets)
        if asked not in runs:
            runs[asked] = found(kernel_tuner, space, name, asked, seed)
        valid = [t for t in runs[asked][:steps] if t is not None]
        out.append((steps, space["optimum"] / min(valid) if valid else 0.0))
    return out


def done(path):
    if not os.path.exists(path):
        return set()
    with open(path) as raw:
        rows = [line.rstrip("\n").split("\t") for line in raw]
    return {(r[0], r[1], int(r[3])) for r in rows if len(r) == 5}


def main():
    import kernel_tuner
    warnings.filterwarnings("ignore")
    with open(sys.argv[1]) as file:
        spaces = json.load(file)
    seeds, path, budgets = int(sys.argv[2]), sys.argv[3], [int(t) for t in sys.argv[4:]]
    current = {}
    patch(current)
    os.chdir(tempfile.mkdtemp())        # pyatf leaves a folder behind
    known = done(path)
    try:
        for space in spaces:
            rows, axes = space["rows"], space["axes"]
            space["known"] = {tuple(row[:-1]): row[-1] for row in rows}
            space["optimum"] = min(row[-1] for row in rows if row[-1] is not None)
            space["values"] = {a: sorted({row[i] for row in rows})
                               for i, a in enumerate(axes)}
            space["restriction"], space["cache"] = restriction_of(space), cache_of(space)
        with open(path, "a", buffering=1) as raw:
            for seed in range(1, seeds + 1):
                for space in spaces:
                    for name in STRATEGIES:
                        if (space["name"], name, seed) in known:
                            continue
                        current.update(name=space["name"], calls=0)
                        try:
                            lines = shares(kernel_tuner, space, name, budgets, seed)
                        except Exception as why:    # one strategy's fault, not the bench's
                            print(space["name"], name, seed, "error", str(why)[:200],
                                  sep="\t", file=sys.stderr)
                            continue
                        for steps, share in lines:
                            print(space["name"], name, steps, seed, "%.6f" % share,
                                  sep="\t", file=raw)
    finally:
        for space in spaces:
            if "cache" in space:
                os.remove(space["cache"])


if __name__ == "__main__":
    main()
