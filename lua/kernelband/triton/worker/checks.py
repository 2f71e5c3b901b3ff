"""A candidate's results against the untouched file's."""
import collections
import os

from .children import Lost, remove, together
from .frames import some
from .inputs import secret


class Checks:
    shows, files = 0, ()            # of what was shown: how many, and those that are still there

    def shown_by(self, child, op, **request):
        """What a command shows, its tensors in a folder of ours: the child may write to its own
        while they are compared."""
        reply = self.alike(child, op, **request)
        self.shows += 1             # a name that is new, whatever lies at those before it
        self.files = *self.files, "%s/%d.bin" % (self.shown, self.shows)
        try:
            os.replace(child.scratch + "/out.bin", self.files[-1])
            if os.path.islink(self.files[-1]) or not os.path.isfile(self.files[-1]):
                raise OSError(0, "no file")
        except OSError as e:
            raise Lost("crashed", "its results are not to be had: %s" % e.strerror) from None
        return reply

    def forget_shown(self, *but):
        """All but that, by name: where no file may be opened, too."""
        for name in {*self.files} - {*but}:
            try:
                os.unlink(name)
            except OSError:
                remove(name)            # a folder, or gone
        self.files = but

    def verify(self, shown, op, exact=True, **request):
        """What the reference says of what was shown. Files that read where no one wrote fault by
        chance: it is asked twice, and not for float64 the second time."""
        try:
            compared = self.reference.begin(op, leaves=shown.get("leaves"), file=self.files[-1],
                                            exact=exact, **request)
            self.forget_shown(self.files[-1])   # some ms, while that is compared
            r = compared()
        except Lost as e:
            late = e.verdict == "timeout"
            if late or not exact or self.reference.pid is not None:
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
        what = dict(seed=seed, show=secret(), poisons=self.poisons, part=part)
        expected = self.reference.begin("expect", **what)

        def made_ahead():
            try:
                expected()
            except Lost as e:
                if e.verdict == "timeout":      # of all but time it is asked once more
                    raise Lost("timeout", "the reference: " + e.reason) from None
        shown, _ = together(
            lambda: self.shown_by(child, "show", seed=what["show"], part=part), made_ahead)
        s["returns"] = any("dtype" in x and str(x["path"]).startswith("[0]")
                           for x in shown["leaves"])
        settled = [who.begin("settle") for who in self.company(child) if who is not self.reference]
        r, *_ = together(lambda: self.patient(lambda: self.verify(
            shown, "verify_shape", ignore=self.found.ignore.get(i, []),
            allow=self.found.allowed(), **what)), *settled)
        if s["baseline"] and not part:
            self.found.tell("shape " + i, r["told"])
        for key in ("count", "chance", "allowed"):
            s[key] = s.get(key, 0) + r[key]

    def check_tests(self, child, out, baseline):
        first, unknown, total, worst = secret(), [], collections.Counter(), 0.0
        odd, even = self.poisons
        for seed, poison in ((first, odd), (first, even), (secret(), odd)):
            shown = self.patient(lambda: self.shown_by(child, "test", seed=seed, poison=poison),
                                 child)
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
        return together(child.begin(op, **request), self.partner.begin(op, **request))[0]

    def first_calls(self, child, s):
        """A timed shape's inputs, and what a call takes, roughly. The candidate comes first in
        every second pair of processes."""
        order = -1 if s.get("pair", 0) % 2 else 1
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
