"""A task's session: opens it, evaluates candidates."""
import ast
import contextlib
import math
import os
import time

from .children import CALL_S, LOCK_S, NONSENSE, Child, Lost, new_folder, reap, remove, together
from .frames import some
from .gate import scan
from .gpu import Sharing, know_gpu
from .inputs import secret
from .records import Records
from .stats import Screen
from .timing import BASELINE_S, CONFIRM_PAIRS, CONFIRM_S, TIME_S, Timing
from .untouched import KERNEL_S, Found, Untouched

# Seconds of a baseline, of a candidate: task.lua waits longer. Of compiling ahead: seconds (whoever
# asks would take no less), processes, seconds of finding out what to compile.
OPEN_S, EVALUATE_S, AHEAD_S, AHEAD_MOST, NOTING_MOST = 240, 100, 60, 12, 3


class Session(Sharing, Untouched, Timing, Records):
    # partner: the untouched file's process that a candidate is timed beside, as new as its own
    # where the GPU has the memory; resting: waits for the reference to have given its back.
    # gone: former references, and the process that keeps the room.
    scout = partner = resting = drawn = shape = place = unrecorded = None
    judged, tested, lanes = False, False, True

    def __init__(self, device, task):
        self.device, self.task, self.found, self.recorded = device, task, Found(), {}
        # Processes that wait for the next candidate; (pid, folder) of killed ones.
        self.spares, self.dying, self.roomy = [], [], device != "cpu"
        self.patient(self.start, most=LOCK_S)   # holding no lock meanwhile
        (self.reference, *self.gone), self.spares = self.spares, []     # what makes the room, too
        room = self.gone[0].begin("room") if self.gone else dict
        self.load(self.reference, task["source"])()
        with contextlib.suppress(Lost):         # where there is none files will do
            self.room = room()
        self.share(self.machine.get("uuid") or device)
        if device != "cpu":
            know_gpu(self.machine, task.get("counters", True))
        self.shown = new_folder()

    def start(self):
        """The first processes, which open the GPU. The time to open a file runs from here."""
        Child.deadline = time.monotonic() + (self.task.get("open_s") or OPEN_S)
        try:
            self.spares.extend(Child(self.device) for _ in range(1 + self.roomy))
            self.machine = self.spares[0].ask("machine")
        except (Lost, OSError):
            self.end_spares()
            raise

    def loading(self, source):
        return {"source": source, "kind": self.task["kind"], "name": self.task["module"],
                "seed": secret(), **{k: self.task.get(k, "") for k in ("tests", "perf")}}

    def load(self, child, source):
        """Begins to give child a file; what is returned waits until it has it."""
        return child.begin("load", Child.call_s, **self.loading(source))

    def ahead(self, child, source, trusted=False):
        """Has what child will ask for compiled, beside all else. Not for a file that draws for
        long on the CPU: that was seen with the untouched one."""
        if self.device == "cpu" or self.found.noting > NOTING_MOST:
            return
        processes = max(1, min(AHEAD_MOST, len(os.sched_getaffinity(0)) * 3 // 4))
        with contextlib.suppress(OSError):
            self.scout = Child.scout(self.machine, child)
            self.foreseen, self.ahead_until = None, time.monotonic() + AHEAD_S
            self.noted = self.scout.begin("ahead", AHEAD_S / 2 if trusted else 2 * NOTING_MOST,
                                          processes=processes, **self.loading(source))

    def await_ahead(self, child, what, trusted=False):
        """Waits for what the tests ask for, or for "all" and no longer, maybe in vain: that is no
        time of child's. A kernel that takes far longer than the untouched file's is not waited for,
        and child has little time then: enough where what was foreseen is not asked for."""
        begun, found = time.monotonic(), self.found
        if not self.scout:
            return
        try:
            if not self.foreseen:
                self.foreseen = self.noted()
                found.noting = float(self.foreseen["seconds"]) if trusted else found.noting
            left, stall = self.ahead_until - time.monotonic(), None if trusted else found.kernel_s
            reply = self.scout.ask("await", max(0.1, left), n=int(self.foreseen[what]), stall=stall)
            waited = time.monotonic() - begun
            if trusted and what == "tests":
                found.kernel_s = max(KERNEL_S, 4 * waited)
            elif reply.get("stalled") is True:
                child.hurry(found.haste_s, waited)
                what = "all"
        except (Lost, *NONSENSE):
            what, found.noting = "all", found.noting if self.foreseen or not trusted else AHEAD_S
        if what == "all":
            self.end_scout()
        self.is_no_time(begun)

    def end_scout(self):
        """With all that its file may have started."""
        if self.scout:
            self.scout.close()
            self.scout = None

    def make_spares(self):
        """The next candidate's process and its partner's, which open the GPU meanwhile; where there
        is none to be had, that is the next one's matter."""
        with contextlib.suppress(OSError):
            while len(self.spares) < 1 + self.roomy:
                self.spares.append(Child(self.device, self.reference.scratch))

    def await_spares(self):
        """Nothing of ours opens a GPU while another is timed. One that still waits for memory is
        given up soon: other sessions wait for this one's lock."""
        for child in [*self.spares]:
            try:
                child.ask("idle", seconds=5)
            except Lost:
                self.spares.remove(child)
                child.close()

    def end_spares(self, but=0):
        while len(self.spares) > but:
            self.spares.pop().close()

    def let_die(self, child):
        """The driver takes 0.1 s to end a process that has the GPU: an answer need not wait for
        it. bury() does, before another candidate is loaded."""
        self.dying.append((child.pid and child.strike(), child.scratch))

    def bury(self):
        """What let_die left. Whoever is judged next has as much time as without it."""
        begun = time.monotonic()
        while self.dying:
            pid, folder = self.dying.pop()
            if pid:
                reap(pid)
            remove(folder)
        self.is_no_time(begun)

    def close(self):
        self.bury()
        self.end_scout()
        self.spares += self.reference, *self.gone
        self.end_spares()
        remove(self.shown)

    def open(self, known):
        """The untouched reference through every check, timed against itself."""
        if known:
            self.found.recall(known.get("judged_by") or {})
            if self.found.timed_tests:
                self.time_tests()
            self.ahead(self.reference, self.task["source"], True)
            self.await_ahead(self.reference, "all", True)
            return known
        out = self.evaluate(self.task["source"], {}, baseline=True)
        if out["verdict"] == "ok":
            pairs, least = self.task.get("pairs", 1), self.task.get("pairs_from", 0)
            if pairs > 1 and abs(math.log(out["speedup"])) >= least:
                self.more_pairs(self.task["source"], out, pairs, True)
                self.summary(out)
            out["speedup_low"] = out["speedup_high"] = 1
            for r in (out, *out["shapes"]):
                r["self_speedup"], r["speedup"] = r["speedup"], 1
        return out

    def evaluate(self, source, options, baseline=False):
        start, roomy = time.monotonic(), self.roomy
        out = {"verdict": "ok", "shapes": [], "screened": False, "seconds": {},
               "tier": "host-code", "checks": {}}
        opens = self.task.get("open_s") or OPEN_S       # it compiles all that it is tuned over
        Child.call_s = self.task.get("call_s") or (opens if baseline else CALL_S)
        if not (baseline and Child.deadline):           # which runs since it was loaded
            Child.deadline, self.waited = start + (opens if baseline else EVALUATE_S), 0.0
        try:
            cache = self.judge_any(source, options, out, baseline)
            if options.get("confirm") and self.device != "cpu":
                self.more_pairs(source, out, CONFIRM_PAIRS, cache=cache)
            self.summary(out)
        except Lost as e:
            out.update(some(missing=e.missing), verdict=e.verdict, reason=e.reason, shapes=[])
        except OSError as e:
            out.update(verdict="launch_failed", shapes=[], reason="no process to run it in: %s" % e)
        except NONSENSE as e:
            if baseline:
                raise
            out.update(verdict="crashed", shapes=[], reason="its process spoke nonsense: %s: %s" % (
                type(e).__name__, str(e)[:200]))
        finally:
            self.roomy = self.roomy if baseline else roomy
            self.end_scout()
            self.forget_shown()
            with contextlib.suppress(Lost):
                (self.resting or self.reference.begin("idle", 20))()
            self.drawn = self.shape = self.resting = Child.deadline = None
            self.give()
        if not self.task.get("baseline_only"):
            self.make_spares()
        out["seconds"]["total"] = time.monotonic() - start
        return out

    def judge_any(self, source, options, out, baseline):
        """A candidate, or the untouched file, which may be judged more than once."""
        if options.get("confirm") and self.judged:     # by processes that no candidate was beside
            self.bury()
            self.reference.kill()
            self.end_spares()
        self.judged = self.judged or not baseline
        gate = not baseline and self.task.get("gate", True)
        if bad := gate and scan(source, self.task["source"]):
            raise Lost(*bad)
        self.revive()
        if baseline:
            begun = time.monotonic()
            self.first_runs()
            out["seconds"]["first"] = time.monotonic() - begun
        while True:
            self.make_spares()
            own = self.spares or [Child(self.device, self.reference.scratch)]
            (child, self.partner), self.spares = [*own, self.reference][:2], []
            if not baseline:            # the next ones open the GPU while this is checked
                self.make_spares()
            self.at, self.tested = None, False
            try:
                return self.judge(child, source, options, out, baseline)
            except Lost as e:
                where = "shape %s: " % self.at["label"] if self.at else ""
                faulted = self.partner.pid is None and child.pid is not None and not baseline
                if self.without_partner() and (faulted or e.lacks_memory()):
                    self.roomy = False          # of a candidate's word for this evaluation alone
                    self.end_spares(1)
                elif baseline and e.verdict == "timeout":
                    raise Lost("timeout", where + e.reason) from None
                elif not baseline or not self.goes_on(e):
                    raise
                what = e.reason if e.verdict == "redraw" else "%s: %s" % (e.verdict, e.reason)
                out.setdefault("begun_again", []).append((where + what)[:300])
                out["shapes"], self.drawn, self.shape = [], None, None
                self.recorded.clear()
                self.revive()
                self.idle()
            finally:
                self.share_cpu(child, False)
                self.let_die(child)
                self.without_partner()

    def judge(self, child, source, options, out, baseline):
        seconds, mark = out["seconds"], time.monotonic()

        def lap(name):
            nonlocal mark
            seconds[name], mark = time.monotonic() - mark, time.monotonic()
        if not baseline:
            self.ahead(child, source)
            child.hurry(self.found.kernel_s + self.found.haste_s)
        loaded = self.load(self.partner, self.task["source"]) \
            if self.partner is not self.reference else dict
        self.load(child, source)()
        try:
            loaded()
        except Lost:
            self.without_partner()
        self.unrecorded, self.functions = None, {
            n.name for n in ast.walk(ast.parse(source)) if isinstance(n, ast.FunctionDef)}
        self.await_ahead(child, "tests")
        self.bury()
        lap("build")
        self.take()
        lap("wait")
        if not (baseline and out["checks"]):    # not again for what a shape showed
            self.check_tests(child, out, baseline)
        self.tested = True
        lap("check")
        self.await_ahead(child, "all")
        lap("ahead")
        self.await_spares()
        labels = self.draw(child)
        lap("inputs")
        self.check_shapes(child, labels, options, out, baseline)
        if not options.get("confirm"):
            self.time_again(source, out, baseline, child.scratch + "/cache")
            self.take()             # if others got it meanwhile: counters need it
        # Nothing more is asked of it: meanwhile is counted.
        self.resting = self.reference.begin("idle", 20)
        lap("time")
        seconds["time"] -= seconds["shapes"]        # what checks them is no timing
        if not out["shapes"]:
            raise Lost("launch_failed", "the task has no timed shape")
        out["screened"] = self.screen.slow
        by = any("recorded" in r for r in out["shapes"]) and "CUPTI activity records"
        weakened = self.found.weakened(self.machine.get("unjailed"))
        out.update(some(left_out=list(self.found.left_out.values()), weakened=weakened,
                        judged_by=baseline and vars(self.found),
                        recorded=some(by=by, why=self.unrecorded)))
        facts = child.ask("facts")
        values, why = {}, "counters are not asked for"
        best = self.screen.best         # counters cost a second: they are for what may become that
        slower = sum(math.log(r["time_ns"] / b) for r, b in zip(out["shapes"], best))
        if options.get("confirm") or self.screen.slow or slower > len(best) * math.log(1.03):
            why = "counters are for what contends for the best"
        elif self.task.get("counters", True):
            values, why = self.counters(child, out, baseline)
            lap("count")
        self.profile(out, facts["kernels"], values, why)
        return child.scratch + "/cache"

    def check_shapes(self, child, labels, options, out, baseline):
        """Each of the timed shapes: its results, then its times."""
        confirm, self.count = options.get("confirm"), len(labels)
        best = () if confirm else options.get("best_times_ns") or ()
        wanted = [i for i in range(len(labels)) if str(i) not in self.found.left_out]
        # doubts: the next wrong result of a further pair is a verdict; more_pairs forgives one.
        self.screen, self.doubts = Screen(best if len(best) == len(wanted) else ()), 1
        self.left_s = CONFIRM_S if confirm else BASELINE_S if baseline else TIME_S
        out["seconds"]["shapes"], last = 0.0, secret() % max(1, len(wanted))
        for k, i in enumerate(wanted):
            begun = time.monotonic()
            self.at = s = {"i": i, "k": k, "label": labels[i], "seed": secret(),
                           "left": len(wanted) - k, "baseline": baseline,
                           # what confirms a winner looks at all
                           "last": not baseline and (k == last or bool(confirm))}
            try:
                self.check_shape(child, s)
            except Lost as e:
                # The untouched file does not give the same twice: no shape to judge by.
                if not baseline or e.verdict != "wrong" or not self.leave_out(e.reason):
                    raise
                continue
            out["seconds"]["shapes"] += time.monotonic() - begun
            out["shapes"].append(self.timed(child, s, options))
        self.at = None

    def without_partner(self):
        """Ends the partner, whose place the reference takes. Whether there was one."""
        was, self.partner = self.partner, self.reference
        if was is not self.reference:
            self.let_die(was)
        return was is not self.reference

    def draw(self, child):
        """New timed inputs, the same in all processes: where the script lets us draw them the
        reference found out."""
        given = {"seed": secret(), "distinct": self.found.distinct}
        if not self.place:
            self.place = self.patient(lambda: self.reference.ask("inputs", **given))["place"]
        self.drawn = dict(given, place=self.place)
        # Also of one that has less time: this takes long where tensors are large.
        return self.patient(lambda: together(*[who.begin(
            "inputs", Child.call_s, **self.drawn) for who in self.company(child)]))[0]["labels"]

    def company(self, child):
        """The processes that hold a candidate's timed shapes."""
        return dict.fromkeys((self.reference, self.partner, child))
