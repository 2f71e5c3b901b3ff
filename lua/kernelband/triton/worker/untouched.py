"""The untouched file: what it can do, and how far it differs from itself."""
import os

from .child import LACKING
from .children import Child, Lost, Redraw
from .frames import finite
from .inputs import secret

ALLOWED = 0.02              # share of an output that the reference may differ from itself in
POISONS = (11, 48)          # memory that no one wrote: odd NaN, even a number; 12 and 49
TAME = (101, 100)           # the same with integers that are valid indices: 2 and 1
KERNEL_S, HASTE_S = 20, 10  # of one kernel of a candidate that is compiled ahead; of what then asks
                            # for it; both of any command, but for those that load and draw


class Untouched:
    def weakened(self):
        """What of the judging is weaker than it could be, in sentences; all of it was found out
        with the untouched file alone."""
        out = []
        if self.machine.get("unjailed"):
            out.append("%s: files and processes of others are not kept from a candidate"
                       % self.machine["unjailed"])
        if self.poisons is TAME:
            out.append("the untouched file takes memory that no one wrote for indices: it holds "
                       "valid ones in checked runs")
        if self.timed_tests:
            out.append("the untouched file can do none of its timed shapes: its tests are timed")
        if self.distinct:
            out.append("random integers of timed shapes are drawn without repeats: the untouched "
                       "file writes to one place more than once, in no order")
        for what, where in sorted(self.told.items()):
            out.append("%s: %s" % (", ".join(sorted(where))[:200], what))
        for i in sorted(set(self.ignore) | set(self.allow)):
            where = "the tests" if i == "tests" else "shape %s" % i
            if self.ignore.get(i):
                out.append("%s: not compared, as the untouched file does not give them twice: %s"
                           % (where, " ".join(self.ignore[i])[:200]))
            for path, share in sorted(self.allow.get(i, {}).items()):
                out.append("%s: %s of %s may be off: the untouched file differs from itself"
                           % (where, "%.3g %%" % (100 * share), path))
        if self.left_out:
            out.append("%d shapes left out" % len(self.left_out))
        return out[:24]

    def judged_by(self):
        return {"left_out": self.left_out, "ignore": self.ignore, "allow": self.allow,
                "tame": self.poisons is TAME, "distinct": self.distinct,
                "told": {k: sorted(v) for k, v in self.told.items()},
                "timed_tests": self.timed_tests, "noting": self.noting,
                "kernel_s": self.kernel_s, "haste_s": self.haste_s}

    def recall(self, known):
        """What an earlier worker found out of the untouched file."""
        by = known.get("judged_by") or {}
        self.left_out, self.ignore, self.allow = (
            dict(by.get(k) or {}) for k in ("left_out", "ignore", "allow"))
        self.told = {k: set(v) for k, v in dict(by.get("told") or {}).items()}
        self.distinct = by.get("distinct") is True
        if by.get("timed_tests") is True:
            self.time_tests()
        if by.get("tame"):
            self.poisons = TAME
        self.noting = finite(by.get("noting")) or 0.0
        self.kernel_s = max(KERNEL_S, finite(by.get("kernel_s")) or 0.0)
        self.haste_s = max(HASTE_S, finite(by.get("haste_s")) or 0.0)

    def revive(self):
        """A reference that a shape took down is made anew: True where that was needed."""
        if self.reference.pid is not None:
            return False
        self.no_scout()
        cache = self.reference.scratch + "/cache"
        fresh = Child(self.device, self.reference.scratch if os.path.isdir(cache) else None)
        self.reference.close()
        self.reference = fresh
        self.load(self.reference, self.task["source"])
        if self.drawn:
            self.reference.ask("inputs", **self.drawn)
        if self.shape:
            self.reference.ask("shape", **self.shape)
        return True

    def renew(self):
        """What confirms a winner are processes that no candidate was beside."""
        self.bury()
        self.reference.kill()
        self.no_spare()

    def first_runs(self):
        """The untouched file's tests and shapes, once: compiled for all that copy its cache. What
        it cannot do itself is asked of no one: where it reads memory that no one wrote as an
        index, that memory holds valid ones, and shapes that fault all the same, or do not
        compile, are left out."""
        until = self.ahead(self.reference, self.task["source"], True)
        until("tests")
        while True:
            begun = self.clock()
            try:
                self.patient(lambda: self.reference.ask(
                    "test", seed=secret(), poison=self.poisons[0]))
                self.haste_s = max(HASTE_S, 4 * (self.clock() - begun))
                break
            except Lost as e:
                if self.reference.pid is not None or e.args[0] not in ("launch_failed", "crashed") \
                        or not self.milder():
                    raise
                self.revive()
        until("all")
        self.no_scout()
        seed, faults = secret(), 0

        def inputs():
            return self.patient(lambda: self.reference.ask(
                "inputs", seed=seed, distinct=self.distinct))["labels"]
        labels = inputs()
        for i, label in enumerate(labels):
            before = self.poisons
            while str(i) not in self.left_out:
                poisoned = False
                try:
                    self.patient(lambda: self.reference.ask("shape", i=i, seed=seed))
                    self.reference.ask("prepare", seed=seed)
                    begun = self.clock()
                    self.patient(lambda: self.reference.ask("go"))
                    self.haste_s = max(self.haste_s, 4 * (self.clock() - begun))
                    poisoned = True
                    self.reference.ask("prepare", seed=seed)
                    self.reference.ask("call", poison=self.poisons[0])
                    break
                except Lost as e:
                    faults += self.reference.pid is None
                    if faults > 16 or e.args[0] == "timeout":
                        raise
                    if poisoned and self.poisons is not TAME:
                        self.poisons = TAME
                    elif len(self.left_out) + 1 < len(labels):
                        self.poisons = before           # it did not help
                        self.left_out[str(i)] = "%s: the untouched file: %s" % (
                            label, e.args[1][:200])
                    elif self.task.get("tests") and self.task.get("perf"):
                        self.poisons = before
                        return self.time_tests()
                    else:
                        raise
                    if self.revive():
                        inputs()
        self.reference.ask("idle")

    def milder(self):
        """What the tests of the untouched file, which faults, are tried with next."""
        if self.poisons is TAME:
            return False
        self.poisons = TAME
        return True

    def time_tests(self):
        """Of timed shapes that the untouched file can't do, not one: its tests are timed."""
        self.task, self.left_out, self.timed_tests = dict(self.task, perf=""), {}, True
        self.reference.kill()
        self.revive()

    def goes_on(self, e):
        """Whether the untouched file is judged once more: milder, with indices that no two writes
        share, or without the shape that it cannot do."""
        if isinstance(e, Redraw):
            self.allow, self.ignore = ({k: v for k, v in x.items() if k == "tests"}
                                       for x in (self.allow, self.ignore))
            return True
        if e.args[0] not in ("launch_failed", "crashed", "wrong") \
                or self.at is None and self.tested:
            return False
        if self.at is None:
            return e.args[0] != "wrong" and LACKING not in str(e.args[1]) and self.milder()
        return self.leave_out("the untouched file: %s" % str(e.args[1])[:200])

    def leave_out(self, why):
        """The shape at hand; not the last one, nor many."""
        if len(self.left_out) + 1 >= self.count or len(self.left_out) >= 8:
            return False
        self.left_out[str(self.at["i"])] = "%s: %s" % (self.at["label"], why)
        return True

    def allowed(self):
        """Of timed shapes: an output that a race was seen in is one in all of them."""
        out = {}
        for where, found in self.allow.items():
            for path, share in found.items() if where != "tests" else ():
                out[path] = max(share, out.get(path, 0))
        return out

    def learn(self, where, path, share, may_ignore):
        """The untouched file differs from itself in share of an output: that much, with room, is
        allowed to all; more, and the output is no measure of others. Random indices that repeat
        are a race: first they are drawn without."""
        if where != "tests" and not self.distinct and "randint" in self.task.get("perf", ""):
            self.distinct = True
            raise Redraw()
        allow = self.allow.setdefault(where, {})
        if share <= ALLOWED and allow.get(path, 0) < share:
            allow[path] = min(2 * ALLOWED, max(ALLOWED / 2, 4 * share))
            return
        if not may_ignore:
            raise Lost("wrong", "the untouched file differs from itself in %.3g %% of %s" % (
                100 * share, path))
        allow.pop(path, None)
        self.ignore.setdefault(where, []).append(path)
