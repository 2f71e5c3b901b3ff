"""A candidate's results against the untouched file's."""
import os
import stat

from .children import Lost, remove, together
from .inputs import secret


class Checks:
    shows, file, stale = 0, None, ()    # of what was shown: how many, the last, those before it

    def shown_by(self, child, op, **request):
        """What a command shows, its tensors in a folder of ours: the child may write to its own
        while they are compared."""
        reply = child.ask(op, **request)
        self.shows += 1                 # a name that is new, whatever lies at those before it
        self.stale, self.file = (*self.stale, self.file), "%s/%d.bin" % (self.shown, self.shows)
        try:
            os.replace(child.scratch + "/out.bin", self.file)
            if not stat.S_ISREG(os.lstat(self.file).st_mode):
                raise OSError(0, "no file")
        except OSError as e:
            raise Lost("crashed", "its results are not to be had: %s" % e.strerror) from None
        return reply

    def forget_shown(self):
        for name in filter(None, self.stale):
            try:
                os.unlink(name)
            except OSError:
                remove(name)            # a folder, or gone
        self.stale = ()

    def verify(self, shown, op, **request):
        """What the reference says of what was shown. Files that read where no one wrote fault by
        chance: it is asked twice, and not for float64 the second time."""
        for last in (False, True):
            try:
                compared = self.reference.begin(op, leaves=shown.get("leaves"), file=self.file,
                                                exact=not last, **request)
                self.forget_shown()     # some ms, while the last is compared
                r = compared()
                break
            except Lost as e:
                if e.args[0] == "timeout":
                    raise Lost("timeout", "the reference: " + e.args[1]) from None
                if last or self.reference.pid is not None:
                    raise Lost("launch_failed", "the reference: " + e.args[1],
                               *e.args[2:]) from None
                self.revive()
        if r.get("wrong"):
            raise Lost("wrong", str(r["wrong"])[:500], r.get("path"), r.get("share"))
        if shown.get("beyond") and not r.get("beyond"):
            raise Lost("wrong", "it writes outside of what it was given")
        return r

    def tell(self, where, told):
        for what, paths in told.items():
            self.told.setdefault(what, set()).update("%s of %s" % (p, where) for p in paths[:8])

    def verify_shape(self, child, s, seed, runs, part=False):
        """The results of a call; part: of what is too large for a second look, a part."""
        i, late = str(s["i"]), None
        what = {"seed": seed, "show": secret(), "poisons": self.poisons, "runs": runs,
                "part": part}
        expected = self.reference.begin("expect", **what)
        try:
            shown = self.shown_by(child, "show", seed=what["show"], part=part)
        finally:
            try:
                expected()
            except Lost as e:           # of all but time it is asked once more
                late = e.args[1] if e.args[0] == "timeout" else None
        if late:
            raise Lost("timeout", "the reference: " + late)
        s["returns"] = any("dtype" in x and str(x["path"]).startswith("[0]")
                           for x in shown["leaves"])
        settled = child.begin("settle")
        try:
            r = self.patient(lambda: self.verify(shown, "verify_shape", ignore=self.ignore.get(
                i, []), allow=self.allowed(), **what))
        except Lost:
            try:
                settled()
            except Lost:
                pass
            raise
        settled()
        if s["baseline"] and not part:
            self.tell("shape " + i, r["told"])
        for key in ("count", "chance", "allowed"):
            s[key] = s.get(key, 0) + r[key]
        return r

    def check_tests(self, child, out, baseline):
        first = secret()
        total = {"elements": 0, "left_to_chance": 0, "worst_share_of_bound": 0.0, "launches": 0,
                 "allowed": 0}
        odd, even = self.poisons
        unknown = []
        for seed, poison in ((first, odd), (first, even), (secret(), odd)):
            shown = self.patient(lambda: self.shown_by(child, "test", seed=seed, poison=poison),
                                 child)
            if not shown.get("launches") and not baseline:
                raise Lost("cheated", "no Triton kernel ran")
            r = self.patient(lambda: self.verify_tests(shown, seed, baseline), child)
            total["elements"] += r["count"]
            total["left_to_chance"] += r["chance"]
            total["allowed"] += r["allowed"]
            unknown += [p for p in r["undetermined"] if p not in unknown]
            total["worst_share_of_bound"] = max(total["worst_share_of_bound"], r["worst"] or 0)
            total["launches"] += int(shown.get("launches") or 0)
            if baseline:
                self.tell("the tests", r["told"])
        unknown = self.ignore.get("tests", []) + unknown
        if unknown:
            total["ignored"] = unknown[:32]
        out["checks"] = total

    def verify_tests(self, shown, seed, baseline):
        """A result that the untouched file does not give twice is no measure of others."""
        while True:
            ignore = self.ignore.get("tests", [])
            try:
                return self.verify(shown, "verify_tests", seed=seed, poisons=self.poisons,
                                   ignore=ignore, allow=self.allow.get("tests"))
            except Lost as e:
                if not baseline or e.args[0] != "wrong" or len(e.args) < 4 or not e.args[2] \
                        or len(ignore) + 1 >= len(shown["leaves"]):
                    raise
                self.learn("tests", e.args[2], e.args[3], True)

    def first_calls(self, child, s):
        """A timed shape's inputs, and what a call takes, roughly."""
        both, firsts = self.both(child, s), {}
        self.shape = {"i": s["i"], "seed": s["seed"], "lanes": self.lanes}
        prepare = {"seed": s["seed"]}
        self.patient(lambda: together(*((who, "shape", self.shape) for who in both)))
        together(*((who, "prepare", prepare) for who in both))
        for who in both:    # it compiles in here, and tunes: with the GPU to itself
            self.patient(lambda: who.ask("go"))
        for who in both:
            who.ask("prepare", **prepare)
            firsts[who] = self.patient(lambda: who.ask("go"))
        if not 0 <= float(firsts[child]["ns"]) < 1e12:
            raise ValueError("a call of %r ns" % firsts[child]["ns"])
        s["first"] = max(1.0, float(firsts[child]["ns"]))
        s["baseline_first"] = max(1.0, float(firsts[self.reference]["ns"]))
        s["host"] = max(float(r["host"]) for r in firsts.values())

    def both(self, child, s):
        """Who comes first: the candidate, in every second pair of processes."""
        both = (self.reference, child)
        return both[::-1] if s.get("pair", 0) % 2 else both

    def check_shape(self, child, s, baseline):
        """A timed shape's results, compared."""
        self.first_calls(child, s)
        child.ask("prepare", seed=s["seed"])
        child.ask("call", poison=self.poisons[0])
        if not baseline:
            return self.verify_shape(child, s, s["seed"], 2)
        for again in range(3):      # how far the untouched file differs from itself is learned
            seed = secret() if again else s["seed"]
            if again:
                child.ask("prepare", seed=seed)
                child.ask("call", poison=self.poisons[again % 2])
            self.learn_shape(child, s, seed, 2)
        if s["chance"] and s["chance"] >= s["count"] > 0:
            raise Lost("wrong", "the untouched file gives nothing that it would give again")

    def learn_shape(self, child, s, seed, runs, part=False):
        for _ in range(8):
            try:
                return self.verify_shape(child, s, seed, runs, part)
            except Lost as e:
                if e.args[0] != "wrong" or len(e.args) < 4 or not e.args[2]:
                    raise
                # What it returns is never left out, only what of its inputs it changes.
                self.learn(str(s["i"]), e.args[2], e.args[3], e.args[2].startswith("[1]")
                           and s.get("returns"))
                child.ask("prepare", seed=seed)     # what was shown is there no more
                child.ask("call", poison=self.poisons[0])
        raise Lost("wrong", "the untouched file does not give the same twice")
