"""A task's session: opens it, evaluates candidates."""
import ast
import fcntl
import math
import os
import tempfile
import time

from .checks import Checks
from .children import CALL_S, MOVED, NONSENSE, Child, Lost, Redraw, reap, remove, sweep
from .evidence import Evidence
from .gate import scan
from .gpu import Sharing, know_compiler, lock_file, prepare_counters, prepare_dynamo
from .inputs import secret
from .records import Records
from .stats import Screen
from .timing import BASELINE_S, CONFIRM_S, TIME_S, Timing
from .untouched import KERNEL_S, POISONS, Untouched

OPEN_S, EVALUATE_S = 240, 100       # of a baseline, of a candidate: task.lua waits longer
AHEAD_S = 60                        # of compiling ahead: whoever asks would take no less
AHEAD_MOST, NOTING_MOST = 12, 3     # processes that do so; seconds of finding out what


class Session(Sharing, Untouched, Checks, Timing, Records, Evidence):
    def __init__(self, device, task):
        self.device, self.task = device, task
        text = task["source"] + task.get("tests", "") + task.get("perf", "")
        self.needs = {"half": "float16" in text or ".half()" in text, "dot": "tl.dot" in text,
                      "bfloat": "bfloat16" in text, "rounds": "int8" in text}
        self.spare, self.scout, self.left_out = None, None, {}
        self.ignore, self.allow, self.poisons = {}, {}, POISONS
        self.distinct, self.timed_tests, self.drawn, self.shape = False, False, None, None
        self.room, self.kept = set(), set()     # what has room: "tests", numbers of shapes; or had
        self.tested = False
        self.recorded, self.unrecorded, self.lanes = {}, None, True
        visible = os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")
        at = int(device.split(":")[1]) if ":" in device else 0
        gpu = visible[at] if at < len(visible) and visible[at].strip() else str(at)
        self.lock, self.here = (lock_file("/tmp/kernelband-triton-%s-%s.%s" % (
            device.split(":")[0], "".join(c for c in gpu if c.isalnum() or c == "-"), what))
            for what in ("lock", "here"))
        self.others()
        if "torch._" in text:
            prepare_dynamo()
        self.alone()
        self.reference = Child(device, True)
        self.load(self.reference, task["source"])
        self.machine = self.reference.ask("machine")
        if device != "cpu":
            know_compiler(self.machine)
            if task.get("counters", True):
                prepare_counters(self.machine)
        self.baseline = None
        self.shown = tempfile.mkdtemp(prefix="kernelband-triton-%d-" % os.getpid())

    def loading(self, source):
        t = self.task
        return {"source": source, "tests": t.get("tests", ""), "perf": t.get("perf", ""),
                "kind": t["kind"], "name": t["module"], "seed": secret(), "needs": self.needs}

    def load(self, child, source):
        child.ask("load", seconds=Child.call_s, **self.loading(source))

    def ahead(self, child, source, trusted=False):
        """Has what child will ask for compiled, beside all else. What is returned waits for what
        the tests ask for, or for "all", and may be in vain: that is no time of child's. A kernel
        that takes far longer than the untouched file's is not waited for, and child has little
        time then: enough where what was foreseen is not asked for. Not for a file that draws for
        long on the CPU: that was seen with the untouched one."""
        if self.device == "cpu" or self.noting > NOTING_MOST:
            return lambda what: None
        cpus = max(1, min(AHEAD_MOST, len(os.sched_getaffinity(0)) * 3 // 4))
        try:
            self.scout = scout = Child.scout(self.machine, child, trusted)
        except OSError:
            return lambda what: None
        known, end = {}, time.monotonic() + AHEAD_S
        stall = {} if trusted else {"stall": self.kernel_s}
        noted = scout.begin("ahead", AHEAD_S / 2 if trusted else 2 * NOTING_MOST, processes=cpus,
                            **self.loading(source))

        def until(what):
            begun = time.monotonic()
            try:
                if not known:
                    known.update(noted())
                    self.noting = float(known["seconds"]) if trusted else self.noting
                reply = scout.ask("await", max(0.1, end - time.monotonic()), n=int(known[what]),
                                  **stall)
                if trusted and what == "tests":
                    self.kernel_s = max(KERNEL_S, 4 * (time.monotonic() - begun))
                elif reply.get("stalled") is True and not trusted:
                    known.update(tests=0, all=0)
                    scout.kill()
                    child.hurry(self.haste_s, time.monotonic() - begun)
            except (Lost, KeyError, TypeError, ValueError, OverflowError):
                if not known and trusted:
                    self.noting = AHEAD_S
                known.update(tests=0, all=0)
                scout.kill()
            if Child.deadline:
                Child.deadline += time.monotonic() - begun
        return until

    def no_scout(self):
        """Ends it with all that its file may have started, before anything is timed."""
        if self.scout:
            self.scout.close()
            self.scout = None
            sweep()

    dying = None            # of the evaluation before: its child's pid and folder

    def let_die(self, child):
        """The driver takes 0.1 s to end a process that has the GPU: an answer need not wait for
        it. bury() does, before another candidate is loaded, or while there is nothing else to
        do."""
        if child.pid is None:
            child.close()
        else:
            self.dying = child.strike(), child.scratch

    def bury(self, wait=True):
        """What let_die left. Without wait: if it has ended. Whoever is judged next has as much
        time as without it."""
        begun = time.monotonic()
        if self.dying and (wait or os.waitpid(self.dying[0], os.WNOHANG)[0]):
            if wait:
                reap(self.dying[0])
            Child.living.discard(self.dying[0])
            sweep()
            remove(self.dying[1])
            self.dying = None
            if Child.deadline:
                Child.deadline += time.monotonic() - begun

    def close(self):
        self.bury()
        self.no_scout()
        for child in (self.reference, self.spare):
            if child:
                child.close()
        remove(self.shown)

    def evaluate(self, source, options, baseline=False):
        start = time.monotonic()
        out = {"verdict": "ok", "shapes": [], "screened": False, "seconds": {},
               "tier": "host-code", "checks": {}}
        child = None
        opens = self.task.get("open_s") or OPEN_S       # it compiles all that it is tuned over
        Child.call_s = self.task.get("call_s") or (opens if baseline else CALL_S)
        if not (baseline and Child.deadline):           # which runs since it was loaded
            Child.deadline, self.waited = start + (opens if baseline else EVALUATE_S), 0.0
        try:
            self.alone()
            start = time.monotonic()
            if options.get("confirm") and self.judged:
                self.renew()
            self.judged = self.judged or not baseline
            gate = not baseline and self.task.get("gate", True)
            bad = scan(source, self.task["source"]) if gate else None
            if bad:
                raise Lost(*bad)
            self.revive()
            if baseline:
                begun = time.monotonic()
                try:
                    self.first_runs()
                finally:
                    out["seconds"]["first"] = time.monotonic() - begun
            while True:
                child, self.spare = self.spare or Child(self.device, False,
                                                        self.reference.scratch), None
                if not baseline:            # the next one opens the GPU while this is checked
                    self.spare = Child(self.device, False, self.reference.scratch)
                self.at, self.tested = None, False
                try:
                    self.judge(child, source, options, out, baseline)
                    break
                except (Redraw, Lost) as e:
                    where = "shape %s: " % self.at["label"] if self.at else ""
                    if baseline and e.args[:1] == ("timeout",):
                        raise Lost("timeout", where + e.args[1]) from None
                    if not baseline or not self.goes_on(e):
                        raise
                    what = "%s: %s" % e.args[:2] if e.args else "inputs that no two writes share"
                    out.setdefault("begun_again", []).append((where + what)[:300])
                    child.close()
                    if not self.task.get("alone"):
                        self.give()
                    out["shapes"], self.drawn, self.shape = [], None, None
                    self.recorded.clear()
                    self.revive()
                    try:
                        self.reference.ask("idle")
                    except Lost:                # it had faulted too, and only now says so
                        self.revive()
        except Lost as e:
            out.update(verdict=e.args[0], reason=e.args[1], shapes=[])
            if len(e.args) > 2 and e.args[2] and e.args[0] != "wrong":
                out["missing"] = str(e.args[2])[:100]
        except NONSENSE as e:
            if baseline:
                raise
            out.update(verdict="crashed", shapes=[], reason="its process spoke nonsense: %s: %s" % (
                type(e).__name__, str(e)[:200]))
        finally:
            self.give()
            self.drawn = self.shape = Child.deadline = None
            self.no_scout()
            self.bury()
            if child:
                self.share_cpu(child, False)
                if baseline:
                    child.close()
                else:
                    self.let_die(child)
            sweep(self.dying and self.dying[0])     # what it started must not meet the next one
            self.stale, self.file = (*self.stale, self.file), None
            self.forget_shown()
            self.end_moved()
            if self.reference.pid is not None:
                try:
                    (self.resting or self.rest())()
                except Lost:
                    pass
            self.resting = None
        if not self.task.get("baseline_only"):
            self.spare = self.spare or Child(self.device, False, self.reference.scratch)
        out["seconds"]["total"] = time.monotonic() - start
        return out

    resting = None          # waits for the reference to have given its memory back

    def rest(self):
        until, Child.deadline = Child.deadline, None        # this is no time of a candidate's
        try:
            return self.reference.begin("idle", seconds=20)
        finally:
            Child.deadline = until

    def judge(self, child, source, options, out, baseline):
        seconds, mark = out["seconds"], time.monotonic()

        def lap(name):
            nonlocal mark
            seconds[name], mark = time.monotonic() - mark, time.monotonic()
        until = (lambda what: None) if baseline else self.ahead(child, source)
        self.bury()
        if not baseline:
            child.hurry(self.kernel_s + self.haste_s)
        self.load(child, source)
        self.source, self.unrecorded, self.functions = source, None, {
            n.name for n in ast.walk(ast.parse(source)) if isinstance(n, ast.FunctionDef)}
        until("tests")
        lap("build")
        in_check = -self.waited                 # of waiting for other sessions
        if not (baseline and out["checks"]):    # not again for what a shape showed
            self.check_tests(child, out, baseline)
        self.tested = True
        lap("check")
        in_check += self.waited
        until("all")
        self.no_scout()
        lap("ahead")
        self.await_spare()
        if self.others():           # whoever has the GPU now may need what the tests took
            self.idle(child)
        self.take(fcntl.LOCK_EX)
        lap("wait")
        seconds["check"] -= in_check
        seconds["wait"] += in_check
        labels = self.draw(child)["labels"]
        lap("inputs")
        self.count = len(labels)
        wanted = [i for i in range(len(labels)) if str(i) not in self.left_out]
        best = options.get("best_times_ns") or []
        self.screen = Screen(best if len(best) == len(wanted) and not options.get("confirm")
                             else None)
        self.left_s = CONFIRM_S if options.get("confirm") else BASELINE_S if baseline else TIME_S
        seconds["shapes"], last = 0.0, secret() % max(1, len(wanted))
        for k, i in enumerate(wanted):
            begun = time.monotonic()
            s = {"i": i, "k": k, "label": labels[i], "seed": secret(), "left": len(wanted) - k,
                 "baseline": baseline,      # what confirms a winner looks at all
                 "last": not baseline and (k == last or bool(options.get("confirm")))}
            self.at = s
            try:
                try:
                    self.check_shape(child, s, baseline)
                except Lost as e:
                    if not baseline or e.args[0] != "wrong" or str(i) in self.kept \
                            or self.timed_tests:
                        raise
                    self.roomy(str(i))
                    self.check_shape(child, s, baseline)
            except Lost as e:
                if not baseline or e.args[0] != "wrong" or len(self.left_out) + 1 == len(labels):
                    raise
                # The untouched file does not give the same twice: no shape to judge by.
                self.left_out[str(i)] = "%s: %s" % (labels[i], e.args[1])
                self.room.discard(str(i))
                continue
            seconds["shapes"] += time.monotonic() - begun
            self.time_shape(child, s, out, options)
        self.at = None
        if self.end_moved():
            raise Lost("cheated", MOVED)
        self.resting = self.rest()      # nothing more is asked of it: meanwhile is counted
        lap("time")
        seconds["time"] -= seconds["shapes"]        # what checks them is no timing
        if not out["shapes"]:
            raise Lost("launch_failed", "the task has no timed shape")
        out["screened"] = self.screen.slow
        if self.left_out:
            out["left_out"] = list(self.left_out.values())
        if self.weakened():
            out["weakened"] = self.weakened()
        if baseline:
            out["judged_by"] = self.judged_by()
        self.summary(out)
        if any("recorded" in r for r in out["shapes"]):
            out["recorded"] = {"by": "CUPTI activity records"}
        if self.unrecorded:
            out.setdefault("recorded", {})["why"] = self.unrecorded
        facts = child.ask("facts")
        values, why = {}, "counters are not asked for"
        if not self.contends(out, best, options):
            why = "counters are for what contends for the best"
        elif self.task.get("counters", True):
            values, why = self.counters(child, out, baseline)
            lap("count")
        self.evidence(out, facts.get("kernels"), values, why)

    def draw(self, child):
        """New timed inputs, the same in both processes."""
        given = {"seed": secret(), "distinct": self.distinct}
        drawn = self.patient(lambda: self.reference.ask("inputs", **given))
        self.drawn = dict(given, place=drawn["place"])
        # Also of one that has less time: this takes long where tensors are large.
        self.patient(lambda: child.ask("inputs", seconds=Child.call_s, **self.drawn))
        return drawn

    def await_spare(self):
        """Nothing of ours opens a GPU while another is timed."""
        if self.spare:
            try:
                self.spare.ask("idle", seconds=20)
            except Lost:
                self.spare.close()
                self.spare = None

    def contends(self, out, best, options):
        """Counters cost a second: they are for what may become the best."""
        if out["screened"] or options.get("confirm"):
            return False
        if len(best) != len(out["shapes"]):
            return True
        return sum(math.log(r["time_ns"] / b) for r, b in zip(out["shapes"], best)) \
            <= len(best) * math.log(1.03)

    def open(self, known):
        """The untouched reference through every check, timed against itself."""
        if known:
            self.recall(known)
            self.baseline = known
            return known
        out = self.evaluate(self.task["source"], {}, baseline=True)
        if out["verdict"] == "ok":
            pairs, least = self.task.get("pairs", 1), self.task.get("pairs_from", 0)
            if pairs > 1 and abs(math.log(out["speedup"])) >= least:
                self.more_pairs(out, pairs)
            out["self_speedup"] = out["speedup"]
            out["speedup"] = out["speedup_low"] = out["speedup_high"] = 1
            for r in out["shapes"]:
                r["self_speedup"], r["speedup"] = r["speedup"], 1
        self.baseline = out
        return out
