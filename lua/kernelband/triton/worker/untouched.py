"""The untouched file: what it can do, and how far it differs from itself."""
from types import SimpleNamespace

from .children import Child
from .frames import REDRAW, Lost
from .inputs import secret

ALLOWED = 0.02              # share of an output that the reference may differ from itself in
POISONS = (11, 48)          # memory that no one wrote: odd NaN, even a number; 12 and 49
TAME = (101, 100)           # the same with integers that are valid indices: 2 and 1
KERNEL_S, HASTE_S = 20, 10  # of one kernel of a candidate that is compiled ahead; of what then asks
                            # for it; both of any command, but for those that load and draw
LEFT_OUT_MOST = 8           # shapes, once it is judged


class Found(SimpleNamespace):
    """What was found out with the untouched file, as it goes to the engine, and to later workers.
    By shape or "tests": left_out, why; ignore, outputs that are not compared; allow, shares of
    outputs that may be off. told, outputs of which so much is to be said. noting, seconds that it
    took to find out what it will compile."""

    def __init__(self):
        super().__init__(left_out={}, ignore={}, allow={}, tame=False, distinct=False, told={},
                         timed_tests=False, noting=0.0, kernel_s=KERNEL_S, haste_s=HASTE_S)

    def recall(self, known):
        """Of another worker's; what is empty is of no type once Lua had it."""
        vars(self).update({k: v for k, v in known.items() if v and k in vars(self)})

    def tell(self, where, told):
        for what, paths in told.items():
            self.told[what] = sorted({*self.told.get(what, ()), *(
                "%s of %s" % (p, where) for p in paths[:8])})

    def allowed(self):
        """Of timed shapes: an output that a race was seen in is one in all of them."""
        shares = sorted((share, path) for where, found in self.allow.items() if where != "tests"
                        for path, share in found.items())
        return {path: share for share, path in shares}      # the largest of each

    def weakened(self, unjailed):
        """What of the judging is weaker than it could be, in sentences."""
        out = [text for told, text in (
            (unjailed, "%s: files and processes of others are not kept from a candidate"
             % unjailed),
            (self.tame, "the untouched file takes memory that no one wrote for indices: it holds "
             "valid ones in checked runs"),
            (self.timed_tests, "the untouched file can do none of its timed shapes: its tests are "
             "timed"),
            (self.distinct, "random integers of timed shapes are drawn without repeats: the "
             "untouched file writes to one place more than once, in no order"),
            (self.left_out, "%d shapes left out" % len(self.left_out))) if told]
        out += ["%s: %s" % (", ".join(where)[:200], what)
                for what, where in sorted(self.told.items())]
        for i in sorted({*self.ignore, *self.allow}):
            where = "the tests" if i == "tests" else "shape %s" % i
            if self.ignore.get(i):
                out.append("%s: not compared, as the untouched file does not give them twice: %s"
                           % (where, " ".join(self.ignore[i])[:200]))
            out += ["%s: %.3g %% of %s may be off: the untouched file differs from itself"
                    % (where, 100 * share, path)
                    for path, share in sorted(self.allow.get(i, {}).items())]
        return out[:24]


class Untouched:
    @property
    def poisons(self):
        return TAME if self.found.tame else POISONS

    def revive(self):
        """A reference that a shape took down is made anew: True where that was needed."""
        if self.reference.pid is not None:
            return False
        self.end_scout()
        fresh = Child(self.device, self.reference.scratch)
        self.reference.close()
        self.partner = fresh if self.partner is self.reference else self.partner
        self.reference = fresh
        self.load(self.reference, self.task["source"])()
        for op, request in (("inputs", self.drawn), ("shape", self.shape)):
            if request:
                self.reference.ask(op, **request)
        return True

    def asked(self, op, **request):
        """The reference's reply, waited for while it lacks memory. How long a test or a call takes
        says how long those of others may."""
        begun = self.clock()
        reply = self.patient(lambda: self.reference.ask(op, **request))
        if op in ("test", "go"):
            self.found.haste_s = max(self.found.haste_s, 4 * (self.clock() - begun))
        return reply

    def first_runs(self):
        """The untouched file's tests and shapes, once: compiled for all that copy its cache. What
        it cannot do itself is asked of no one: where it reads memory that no one wrote as an
        index, that memory holds valid ones, and shapes that fault all the same, or do not
        compile, are left out."""
        self.ahead(self.reference, self.task["source"], True)
        self.await_ahead(self.reference, "tests", True)
        while True:
            try:
                self.asked("test", seed=secret(), poison=self.poisons[0])
                break
            except Lost as e:
                if self.reference.pid is not None or e.verdict not in ("launch_failed", "crashed") \
                        or not self.milder():
                    raise
                self.revive()
        self.await_ahead(self.reference, "all", True)
        self.end_scout()
        seed, faults = secret(), 0
        labels = self.asked("inputs", seed=seed, distinct=self.found.distinct)["labels"]
        for i, label in enumerate(labels):
            before = self.found.tame
            while str(i) not in self.found.left_out:
                poisoned = False
                try:
                    self.asked("shape", i=i, seed=seed)
                    self.reference.ask("prepare", seed=seed)
                    self.asked("go")
                    poisoned = True
                    self.checked_call(self.reference, seed, self.poisons[0])
                    break
                except Lost as e:
                    faults += self.reference.pid is None
                    if faults > 16 or e.verdict == "timeout":
                        raise
                    if not (poisoned and self.milder()):
                        self.found.tame = before        # it did not help
                        if len(self.found.left_out) + 1 < len(labels):
                            self.found.left_out[str(i)] = "%s: the untouched file: %s" % (
                                label, e.reason[:200])
                        elif self.task.get("tests") and self.task.get("perf"):
                            return self.time_tests()
                        else:
                            raise
                    if self.revive():
                        self.asked("inputs", seed=seed, distinct=self.found.distinct)
        self.reference.ask("idle")

    def milder(self):
        """Whether what faults can be tried otherwise: with valid indices where no one wrote."""
        was, self.found.tame = self.found.tame, True
        return not was

    def time_tests(self):
        """Of timed shapes that the untouched file can't do, not one: its tests are timed."""
        self.task, self.found.left_out = dict(self.task, perf=""), {}
        self.found.timed_tests = True
        self.reference.kill()
        self.revive()

    def goes_on(self, e):
        """Whether the untouched file is judged once more: milder, with indices that no two writes
        share, or without the shape that it cannot do."""
        if e.verdict == "redraw":
            self.found.allow, self.found.ignore = ({k: v for k, v in x.items() if k == "tests"}
                                                   for x in (self.found.allow, self.found.ignore))
            return True
        if e.verdict not in ("launch_failed", "crashed", "wrong"):
            return False
        if self.at is None:
            return not self.tested and e.verdict != "wrong" and not e.lacks_memory() \
                and self.milder()
        return self.leave_out("the untouched file: %s" % e.reason[:200])

    def leave_out(self, why):
        """The shape at hand; not the last one, nor many."""
        n = len(self.found.left_out)
        if n + 1 < self.count and n < LEFT_OUT_MOST:
            self.found.left_out[str(self.at["i"])] = "%s: %s" % (self.at["label"], why)
            return True

    def learn(self, where, e, may_ignore):
        """The untouched file differs from itself in a share of an output: that much, with room, is
        allowed to all; more, and the output is no measure of others. Random indices that repeat
        are a race: first they are drawn without."""
        if where != "tests" and not self.found.distinct and "randint" in self.task.get("perf", ""):
            self.found.distinct = True
            raise Lost(*REDRAW)
        allow = self.found.allow.get(where, {})
        if e.share <= ALLOWED and allow.get(e.path, 0) < e.share:
            allow[e.path] = min(2 * ALLOWED, max(ALLOWED / 2, 4 * e.share))
            self.found.allow[where] = allow
            return
        if not may_ignore:
            raise Lost("wrong", "the untouched file differs from itself in %.3g %% of %s" % (
                100 * e.share, e.path))
        allow.pop(e.path, None)
        self.found.ignore.setdefault(where, []).append(e.path)
