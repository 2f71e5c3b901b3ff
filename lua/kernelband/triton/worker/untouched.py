"""The untouched file: what it can do, how far it differs from itself, and a candidate's results
against its."""
import os
from collections import Counter
from types import SimpleNamespace

from .children import Child, remove, together
from .frames import REDRAW, Lost, some
from .inputs import secret

# Share of an output that the reference may differ from itself in; shapes, once it is judged.
ALLOWED, LEFT_OUT_MOST = 0.02, 8
# Memory that no one wrote: odd NaN and True, even a number and False; integers 12 and 49, or valid
# indices, 2 and 1.
POISONS, TAME = (11, 48), (101, 100)
KERNEL_S, HASTE_S = 20, 10  # of one kernel of a candidate that is compiled ahead; of what then asks
                            # for it; both of any command, but for those that load and draw


class Found(SimpleNamespace):
    """What was found out with the untouched file, as it goes to the engine, and to later workers.
    By shape or "tests": left_out, why; ignore, outputs that are not compared; allow, shares of
    outputs that may be off. views, outputs that lie in an input, or are not contiguous. told,
    outputs of which so much is to be said. noting, seconds that it took to find out what it will
    compile."""

    def __init__(self):
        super().__init__(left_out={}, ignore={}, allow={}, views=[], tame=False, distinct=False,
                         timed_tests=False, told={}, kernel_s=KERNEL_S, haste_s=HASTE_S, noting=0)

    def recall(self, known):
        """Of another worker's. What is empty is of no type once Lua had it: a list of no shares is
        read as a table of none."""
        vars(self).update({k: v for k, v in known.items() if v and k in vars(self)})

    def tell(self, where, told):
        for what, paths in some(**told).items():
            self.told[what] = sorted({*self.told.get(what, ()), *(
                "%s of %s" % (p, where) for p in paths[:8])})

    def allowed(self):
        """Of timed shapes: an output that a race was seen in is one in all of them."""
        shares = sorted((share, path) for where, found in self.allow.items() if where != "tests"
                        for path, share in dict(found).items())
        return {path: share for share, path in shares}      # the largest of each

    def weakened(self, unjailed):
        """What of the judging is weaker than it could be, in sentences."""
        out = [text for told, text in (
            (unjailed, "%s: a candidate can reach files and processes of others" % unjailed),
            (self.tame, "the untouched file takes unwritten memory for indices: valid in checks"),
            (self.timed_tests, "the untouched file can do no timed shape: its tests are timed"),
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
                    for path, share in sorted(dict(self.allow.get(i, {})).items())]
        return out[:24]


class Untouched:
    # Of results: how many were shown, where the last ones are; GPU memory for them, as the process
    # that keeps it says.
    shows, file, room = 0, "", None

    @property
    def poisons(self):
        return TAME if self.found.tame else POISONS

    def revive(self):
        """A reference that a shape took down is made anew: True where that was needed."""
        self.end_scout()            # a candidate's too: nobody asks it again
        if self.reference.pid is not None:
            return False
        fresh = Child(self.device, self.reference.scratch)
        self.gone.append(self.reference)    # its folder stays: others have links to its kernels
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
        faulted = e.verdict in ("launch_failed", "crashed")
        if self.at is None:
            return faulted and not self.tested and not e.lacks_memory() and self.milder()
        return (faulted or e.verdict == "wrong") \
            and self.leave_out("the untouched file: %s" % e.reason[:200])

    def leave_out(self, why):
        """The shape at hand; not the last one, nor many."""
        if (n := len(self.found.left_out)) + 1 < self.count and n < LEFT_OUT_MOST:
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

    def shown_by(self, child, op, **request):
        """What a command shows, its tensors in a folder of ours: the child may write to its own
        while they are compared."""
        reply = self.alike(child, op, room=self.room, **request)
        self.forget_shown()
        self.shows += 1             # a name that is new, whatever lies at those before it
        self.file = "%s/%d.bin" % (self.shown, self.shows)
        try:
            os.replace(child.scratch + "/out.bin", self.file)
            if os.path.islink(self.file) or not os.path.isfile(self.file):
                raise OSError(0, "no file")
        except OSError as e:
            raise Lost("crashed", "its results are not to be had: %s" % e.strerror) from None
        return reply

    def forget_shown(self):
        """By name: where no file may be opened, too."""
        try:
            os.unlink(self.file)
        except OSError:
            remove(self.file)           # a folder, or gone

    def made_ahead(self, op, **request):
        """Has the reference begin what it is then asked for, while a candidate does the same. What
        is returned waits for it: of all but time it is asked once more."""
        expected = self.reference.begin(op, **request)

        def made():
            try:
                expected()
            except Lost as e:
                if e.verdict == "timeout":
                    raise Lost("timeout", "the reference: " + e.reason) from None
        return made

    def verify(self, shown, op, exact=True, **request):
        """What the reference says of what was shown. Files that read where no one wrote fault by
        chance: it is asked twice, and not for float64 the second time."""
        try:
            r = self.reference.ask(op, leaves=shown.get("leaves"), file=self.file, exact=exact,
                                   room=self.room, **request)
        except Lost as e:
            if (late := e.verdict == "timeout") or not exact or self.reference.pid is not None:
                raise Lost("timeout" if late else "launch_failed",
                           "the reference: " + e.reason, missing=e.missing) from None
            self.revive()
            return self.verify(shown, op, False, **request)
        if r.get("wrong"):
            raise Lost("wrong", r["wrong"][:500], r.get("path"), r.get("share"))
        if shown.get("beyond") and not r.get("beyond"):
            raise Lost("wrong", "it writes outside of what it was given")
        return r

    def verify_shape(self, child, s, seed, part):
        """The results of a call; part: of what is too large for a second look, a part."""
        i = str(s["i"])
        # A second look at a shape needs the second run only where two runs have differed.
        what = dict(seed=seed, show=secret(), poisons=self.poisons, part=part,
                    runs=1 if part and not s.get("chance") else 2)
        shown, _ = together(lambda: self.shown_by(child, "show", seed=what["show"], part=part),
                            self.made_ahead("expect", **what))
        s["returns"] = any("dtype" in x and str(x["path"]).startswith("[0]")
                           for x in shown["leaves"])
        views = {"%s %s" % (x["path"], how) for x in shown["leaves"] for how in x.get("view", ())}
        if not s["baseline"] and not views <= {*self.found.views}:
            raise Lost("wrong", "%s, unlike the reference's" % min(views - {*self.found.views}))
        self.found.views = sorted({*self.found.views, *views})
        settled = [who.begin("settle") for who in self.company(child) if who is not self.reference]
        r, *_ = together(lambda: self.patient(lambda: self.verify(
            shown, "verify_shape", ignore=self.found.ignore.get(i, []), allow=self.found.allowed(),
            timed=self.partner is self.reference, **what)), *settled)
        if s["baseline"] and not part:
            self.found.tell("shape " + i, {**r["told"], "left to chance": r.get("undetermined")})
        for key in ("count", "chance", "allowed"):
            s[key] = s.get(key, 0) + r[key]

    def check_tests(self, child, out, baseline):
        (odd, even), first, unknown, total, worst = self.poisons, secret(), [], Counter(), 0.0
        for seed, poison in ((first, odd), (first, even), (secret(), odd)):
            shown = self.patient(lambda: together(
                lambda: self.shown_by(child, "test", seed=seed, poison=poison),
                self.made_ahead("expect", seed=seed, poisons=self.poisons))[0], child)
            if not shown.get("launches") and not baseline:
                raise Lost("cheated", "no Triton kernel ran")
            r = self.patient(lambda: self.verify_tests(shown, seed, baseline), child)
            total.update(elements=r["count"], left_to_chance=r["chance"], allowed=r["allowed"],
                         launches=int(shown.get("launches") or 0))
            worst = max(worst, r["worst"] or 0)
            unknown += [p for p in r["undetermined"] if p not in unknown]
            if baseline:
                self.found.tell("the tests", r["told"])
        ignored = (self.found.ignore.get("tests", []) + unknown)[:32]
        out["checks"] = dict(total, worst_share_of_bound=worst, **some(ignored=ignored))

    def verify_tests(self, shown, seed, baseline):
        """A result that the untouched file does not give twice is no measure of others."""
        while True:
            ignore = self.found.ignore.get("tests", [])
            try:
                return self.verify(shown, "verify_tests", seed=seed, poisons=self.poisons,
                                   ignore=ignore, allow=self.found.allow.get("tests"))
            except Lost as e:
                if not baseline or not e.path or len(ignore) + 1 >= len(shown["leaves"]):
                    raise
                self.learn("tests", e, True)

    def checked_call(self, child, seed, poison):
        self.alike(child, "prepare", seed=seed)
        self.alike(child, "call", poison=poison)

    def alike(self, child, op, **request):
        """A child's reply. Its partner does the same meanwhile: both have the same past when they
        are timed."""
        if self.partner in (None, self.reference):
            return child.ask(op, **request)
        own = dict(request, room=dict(self.room, handle=None)) if request.get("room") else request
        return together(child.begin(op, **request), self.partner.begin(op, **own))[0]

    def first_calls(self, child, s):
        """A timed shape's inputs, and what a call takes, roughly. The process that makes the first
        call may be slower by some percent in all that follow: which one does is drawn by lot."""
        order = -1 if s.setdefault("candidate_first", secret() % 2 == 1) else 1
        self.shape = {"i": s["i"], "seed": s["seed"], "lanes": self.lanes}
        self.patient(lambda: together(*[
            who.begin("shape", **self.shape) for who in list(self.company(child))[::order]]))
        both = (self.partner, child)[::order]
        together(*[who.begin("prepare", seed=s["seed"]) for who in both])
        for who in both:    # it compiles in here, and tunes: with the GPU to itself
            self.patient(lambda: who.ask("go"))
        firsts = {who: self.patient(lambda: self.sample(who, s["seed"])) for who in both}
        s["first"], s["baseline_first"] = firsts[child][0], firsts[self.partner][0]
        s["host"] = max(host for _, _, host, _ in firsts.values())
        return s

    def check_shape(self, child, s):
        """A timed shape's results, compared."""
        self.first_calls(child, s)
        for again, seed in enumerate((s["seed"], secret(), secret())[:3 if s["baseline"] else 1]):
            self.checked_call(child, seed, self.poisons[again % 2])
            self.compare_shape(child, s, seed)
        if s["baseline"] and s["chance"] and s["chance"] >= s["count"] > 0:
            raise Lost("wrong", "the untouched file gives nothing that it would give again")

    def compare_shape(self, child, s, seed, part=False):
        """How far the untouched file differs from itself is learned."""
        for _ in range(8):
            try:
                return self.verify_shape(child, s, seed, part)
            except Lost as e:
                if not s["baseline"] or not e.path:
                    raise
                # What it returns is never left out, only what of its inputs it changes.
                self.learn(str(s["i"]), e, e.path.startswith("[1]") and s.get("returns"))
                self.checked_call(child, seed, self.poisons[0])     # that shown is there no more
        raise Lost("wrong", "the untouched file does not give the same twice")
