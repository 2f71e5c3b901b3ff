"""Children as their parent has them: started, asked, killed."""
import os
import shutil
import signal
import sys
import tempfile
import time

from .child import child_main, lacked_memory
from .frames import read_frame, write_frame
from .runner import Runner
from .scout import Scout

CALL_S = 60                 # deadline of one command to a child
NONSENSE = (KeyError, TypeError, ValueError, IndexError, AttributeError, ArithmeticError)
MOVED = "it gave a process that is not its own another priority or other processors"
SWEEP_S = 5                 # of waiting for what was killed
hopeless = set()            # pids that did not end in that time: the driver keeps a process, as it
                            # may while a kernel hangs


class Redraw(Exception):
    """The inputs of timed shapes are to be drawn otherwise."""


class Lost(Exception):
    """A child that died, hung or broke the protocol: (verdict, reason)."""


class Suspicion(Lost):
    """What a pair of processes looks guilty of, and another pair may not."""


class Child:
    def __init__(self, device, trusted, template=None):
        self.scratch = tempfile.mkdtemp(prefix="kernelband-triton-%d-" % os.getpid())
        if template and os.path.isdir(template + "/cache"):
            shutil.copytree(template + "/cache", self.scratch + "/cache")
        self.start(lambda: Runner(device, self.scratch, trusted), self.scratch + "/cache")

    @classmethod
    def scout(cls, machine, other, trusted):
        """One that compiles ahead what other will ask for."""
        self, cache = cls.__new__(cls), other.scratch + "/cache"
        self.scratch = tempfile.mkdtemp(prefix="ahead-", dir=other.scratch)
        os.makedirs(cache, exist_ok=True)
        self.start(lambda: Scout(self.scratch, cache, machine, trusted), cache)
        return self

    def start(self, make, cache):
        down, up = os.pipe(), os.pipe()
        sys.stdout.flush(), sys.stderr.flush()
        try:
            self.pid = os.fork()
        except OSError:
            for fd in down + up:
                os.close(fd)
            raise
        if self.pid == 0:
            try:
                os.close(down[1]), os.close(up[0])
                child_main(make, self.scratch, cache, down[0], up[1])
            except BaseException as e:
                os.write(2, ("%s: %s\n" % (type(e).__name__, e)).encode())
            os._exit(1)
        Child.living.add(self.pid)
        os.close(down[0]), os.close(up[1])
        self.to, self.reply = down[1], up[0]

    deadline, call_s = None, CALL_S     # of the whole evaluation; of one command
    hurried = ""                        # why the latter is less
    living = set()                      # pids of all

    def ask(self, op, seconds=None, **request):
        return self.begin(op, seconds, **request)()

    def begin(self, op, seconds=None, **request):
        """Sends a command; what is returned waits for its reply, and must be called before the
        next command."""
        wanted = seconds = seconds or self.call_s
        if Child.deadline:
            seconds = min(seconds, Child.deadline - time.monotonic())
        until = time.monotonic() + seconds
        try:
            if seconds > 0 and self.pid is not None:
                write_frame(self.to, dict(request, op=op))
        except OSError:
            until = None            # it is gone: its end says how
        return lambda: self.end(op, seconds, wanted, until)

    def end(self, op, seconds, wanted, until):
        try:
            if seconds <= 0:
                raise TimeoutError
            if until is None or self.pid is None:
                raise EOFError
            # We may be late, not the child: another's reply was waited for first.
            reply = read_frame(self.reply, max(until, time.monotonic() + 1))
            if not isinstance(reply, dict):
                raise ValueError
        except TimeoutError:
            self.kill()
            raise Lost("timeout", "%s took more than %.0f s%s" % (
                op, max(0, seconds), ", all that was left of its time" if seconds < wanted else
                self.hurried)) from None
        except (EOFError, OSError, ValueError, RecursionError):
            how = self.kill()
            tail = self.log_tail()
            raise Lost("crashed", "its process %s%s" % (how, tail and ": " + tail)) from None
        if "error" in reply:
            text = str(reply.get("text", ""))
            if any(w in text for w in ("CUDA error", "Error [CUDA]")) and not lacked_memory(reply):
                self.kill()                 # torch's or Triton's word: its context is of no use
            raise Lost(reply["error"] if reply["error"] in ("build_failed", "cheated") else
                       "launch_failed", text[:2000], reply.get("missing"))
        if reply.get("tampered"):
            raise Lost("cheated", "it %s" % str(reply["tampered"])[:300])
        return reply

    def log_tail(self):
        try:
            with open(self.scratch + "/log", "rb", opener=lambda p, f: os.open(
                    p, f | os.O_NOFOLLOW | os.O_NONBLOCK)) as f:
                f.seek(max(0, f.seek(0, 2) - 2000))
                lines = f.read(2000).decode("utf-8", "replace").split("\n")
                return next((x for x in reversed(lines) if x.strip()), "")[:300]
        except OSError:
            return ""

    def hurry(self, seconds, waited=None):
        """It may take no longer for a command; where what it asks for was waited for in vain, so
        long, that is told."""
        self.call_s = min(Child.call_s, seconds)
        if waited is not None:
            self.hurried = ", and its kernels were not compiled in the %.0f s before" % waited

    def strike(self):
        """Kills the child and its group. The pid that is then to be waited for is still in
        Child.living, so that no sweep() does."""
        try:
            os.killpg(self.pid, signal.SIGKILL)
        except OSError:
            pass
        try:
            os.kill(self.pid, signal.SIGKILL)
        except OSError:
            pass
        pid, self.pid = self.pid, None
        os.close(self.to), os.close(self.reply)
        return pid

    def kill(self):
        """Ends the child with all it started: its group, its session, and what fled to us."""
        if self.pid is None:
            return "is gone"
        pid = self.strike()
        status = reap(pid)
        Child.living.discard(pid)
        if status is None:
            return "ended"
        return "ended by signal %d" % os.WTERMSIG(status) if os.WIFSIGNALED(status) and \
            os.WTERMSIG(status) != signal.SIGKILL else "ended"

    def close(self):
        self.kill()
        remove(self.scratch)


def remove(folder):
    """With all in it; folders that lie too deep in each other for Python are left to rm."""
    try:
        shutil.rmtree(folder, ignore_errors=True)
    except RecursionError:
        os.spawnlp(os.P_WAIT, "rm", "rm", "-rf", "--", folder)


def together(*commands):
    """The replies of commands that several children were given at once. What the first that
    failed says is raised when all have ended."""
    replies, lost = [], None
    for wait in [child.begin(op, **request) for child, op, request in commands]:
        try:
            replies.append(wait())
        except Lost as e:
            lost = lost or e
    if lost:
        raise lost
    return replies


def reap(pid):
    """Its status; None where it does not end: then a later sweep() collects it."""
    end = time.monotonic() + SWEEP_S
    while True:
        gone, status = os.waitpid(pid, os.WNOHANG)
        if gone:
            return status
        if time.monotonic() > end:
            hopeless.add(pid)
            return None
        time.sleep(0.002)


def parents():
    """{ pid: its parent's } of all there are. A process may have any bytes for a name."""
    out = {}
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/stat" % entry, "rb") as f:
                out[int(entry)] = int(f.read().rsplit(b")", 1)[1].split()[1])
        except (OSError, ValueError, IndexError):
            pass
    return out


def children_in(of):
    """Of { pid: its parent's } our children that are not Child.living."""
    return {p for p, parent in of.items() if parent == os.getpid()} - Child.living


def adopted():
    """Pids of our children, ended ones too, that are not Child.living: by the kernel's own list,
    which is quick and may leave out some while others end."""
    out = set()
    try:
        for thread in os.listdir("/proc/self/task"):
            with open("/proc/self/task/%s/children" % thread, "rb") as f:
                out.update(map(int, f.read().split()))
    except OSError:             # a kernel that has none
        return children_in(parents())
    return out - Child.living


def families(of, heads):
    """Of { pid: its parent's } what these have started, and what that has, with them."""
    started, found, new = {}, set(heads), list(heads)
    for pid, parent in of.items():
        started.setdefault(parent, []).append(pid)
    while new:
        fresh = [p for p in started.get(new.pop(), ()) if p not in found]
        found.update(fresh)
        new += fresh
    return found


def sweep(struck=None):
    """Kills what candidates left behind, which as a subreaper we inherit, and all that it has
    started; and what has the process of pid struck, which was killed and is waited for later. Once
    all is killed, as nothing that is can start more, it is waited for."""
    end, killed, looked = time.monotonic() + SWEEP_S, set(), False
    while True:
        ours = adopted()
        fresh = ours - killed
        if not fresh and not looked:
            looked, everyone = True, parents()
            ours = children_in(everyone)
            fresh = families(everyone, ours | {struck}) - killed - {struck}
        for pid in fresh:
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                pass
        killed |= fresh
        for pid in ours:
            try:
                if os.waitpid(pid, os.WNOHANG)[0]:
                    killed.discard(pid), hopeless.discard(pid)
            except ChildProcessError:
                killed.discard(pid)
        waiting = adopted() - hopeless
        if looked and not fresh and not waiting:
            return
        if time.monotonic() > end:
            hopeless.update(waiting)
            return
        if not fresh:
            time.sleep(0.001)
