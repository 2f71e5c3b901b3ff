"""Children: started, asked, killed as a group by their parent; a loop that answers it."""
import contextlib
import ctypes
import fcntl
import gc
import glob
import os
import resource
import shutil
import signal
import socket
import sys
import tempfile
import time
import types

from .frames import LACKING, LACKS, Lost, explain, read_frame, write_frame
from .runner import Runner
from .scout import Scout

MEMORY_S, LOCK_S = 10, 120  # of waiting for memory of a GPU that others have, for other sessions
# Deadlines of a command to a child, and of waiting for what was killed: the driver keeps a process,
# as it may while a kernel hangs.
CALL_S, REAP_S = 60, 5
NONSENSE = (KeyError, TypeError, ValueError, IndexError, AttributeError, ArithmeticError)
FOLDER = "kernelband-triton-"


class Busy(Exception):
    """Other sessions have the GPU: no verdict on anyone."""


held = {}                   # by folder: what our lock on it is held by


def new_folder():
    """That it is locked tells other workers, whatever process ids they see, that it is in use."""
    folder = tempfile.mkdtemp(prefix="%s%d-" % (FOLDER, os.getpid()))
    held[folder] = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    fcntl.flock(held[folder], fcntl.LOCK_SH)
    return folder


def remove_remains():
    """Folders of workers that were killed."""
    for folder in glob.glob("%s/%s*" % (glob.escape(tempfile.gettempdir()), FOLDER)):
        with contextlib.suppress(OSError):      # a lock's file, another user's, or one in use
            fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                remove(folder)
            finally:
                os.close(fd)


def child_main(make, scratch, cache, pipe):
    """A process of its own group, with its end of the pipe, a log and nothing else open."""
    os.setpgid(0, 0)
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)
    os.chdir(scratch)
    log = os.open("log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(os.open("/dev/null", os.O_RDONLY), 0), os.dup2(log, 1), os.dup2(log, 2)
    # What is kept is above what the parent has, but for what it was itself given.
    pipe = fcntl.fcntl(pipe, fcntl.F_DUPFD_CLOEXEC, 200)
    os.closerange(3, pipe)
    os.closerange(pipe + 1, max(map(int, os.listdir("/proc/self/fd"))) + 1)
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as f:
        f.write("1000")                     # not our parent is to go for what this one takes
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (8 << 30, 8 << 30))
    os.environ.update(HOME=scratch, TMPDIR=scratch, TRITON_CACHE_DIR=cache)
    tempfile.tempdir = scratch
    runner, until = None, time.monotonic() + MEMORY_S
    while not runner:
        try:
            runner = make()
        except RuntimeError as e:           # others may give back what it lacks
            if not any(w in str(e) for w in LACKS) or time.monotonic() > until:
                raise
            time.sleep(MEMORY_S / 20)
    for name in [n for n in sys.modules if n.split(".")[0] == __package__]:
        del sys.modules[name]               # what judges a file is none of its modules
    sys.modules["__main__"] = types.ModuleType("__main__")
    while True:
        request = read_frame(pipe)
        try:
            if room := request.pop("room", None):
                runner.open_room(**room)
            reply = getattr(runner, "do_" + request.pop("op"))(**request) or {}
        except BaseException as e:
            reply = explain(e)
        if LACKING in reply.get("text", ""):    # nor does what it got of it stay with it
            gc.collect()
            runner.give_back()
        write_frame(pipe, reply)


class Child:
    deadline, call_s = None, CALL_S     # of the whole evaluation; of one command
    hurried = ""                        # why the latter is less

    def __init__(self, device, template=None, runner=None, cache=None):
        """It finds the kernels of the child whose folder is template, or shares a cache."""
        self.scratch = new_folder()
        own = cache or self.scratch + "/cache"
        if template and not cache and os.path.isdir(template + "/cache"):
            # Links: copies of a hundred files took 0.07 s. None is written through, and none leads
            # to another link (jail.enter).
            shutil.copytree(template + "/cache", own,
                            copy_function=lambda a, b: os.symlink(os.path.realpath(a), b))
        self.start(lambda: (runner or Runner)(device, self.scratch, own), own)

    @classmethod
    def scout(cls, machine, other):
        """One that compiles ahead what other will ask for."""
        self, cache = cls.__new__(cls), other.scratch + "/cache"
        self.scratch = tempfile.mkdtemp(prefix="ahead-", dir=other.scratch)
        self.start(lambda: Scout(self.scratch, cache, machine), cache)
        return self

    def start(self, make, cache):
        os.makedirs(cache, exist_ok=True)
        ours, its = socket.socketpair()
        ours.setblocking(False)
        sys.stdout.flush(), sys.stderr.flush()
        with ours, its:
            self.pid = os.fork()
            if self.pid == 0:
                try:
                    child_main(make, self.scratch, cache, its.fileno())
                except BaseException as e:
                    os.write(2, (explain(e)["text"].replace("\n", " ") + "\n").encode())
                os._exit(1)
            self.pipe = ours.detach()
        with contextlib.suppress(OSError):
            os.setpgid(self.pid, self.pid)      # as it does itself: whoever is first

    def ask(self, op, seconds=None, **request):
        return self.begin(op, seconds, **request)()

    def begin(self, op, seconds=None, **request):
        """Sends a command; what is returned waits for its reply, and must be called before the
        next command."""
        now, wanted, failed = time.monotonic(), seconds or self.call_s, None
        # Its rest is no time of a candidate's.
        until = min(now + wanted, op != "idle" and Child.deadline or float("inf"))
        try:
            if until <= now:
                raise TimeoutError
            if self.pid is not None:
                write_frame(self.pipe, dict(request, op=op), until)
        except OSError as e:            # it reads no more, or is gone: its end says how
            failed = e

        def end():
            try:
                if failed or self.pid is None:
                    raise failed or EOFError
                # We may be late, not the child: another's reply was waited for first.
                reply = read_frame(self.pipe, max(until, time.monotonic() + 1))
                if not isinstance(reply, dict):
                    raise ValueError
            except TimeoutError:
                self.kill()
                why = ", all that was left of its time" if until < now + wanted else self.hurried
                raise Lost("timeout", "%s took more than %.0f s%s" % (
                    op, max(0, until - now), why)) from None
            except (EOFError, OSError, ValueError, RecursionError):
                how, tail = self.kill(), self.log_tail()
                raise Lost("launch_failed" if LACKING in tail else "crashed",
                           "its process %s%s" % (how, tail and ": " + tail)) from None
            # What it says of a failure is the file's word, as the file may forge it.
            if "error" in reply:
                said, text = reply["error"], str(reply.get("text", ""))
                lost = Lost(said if said in ("build_failed", "cheated") else "launch_failed",
                            text[:2000], missing=str(reply.get("missing") or "")[:100])
                if not lost.lacks_memory() and ("CUDA error" in text or "Error [CUDA]" in text):
                    self.kill()             # torch's or Triton's word: its context is of no use
                raise lost
            if reply.get("tampered"):
                raise Lost("cheated", "it %s" % str(reply["tampered"])[:300])
            return reply
        return end

    def log_tail(self):
        with contextlib.suppress(OSError), open(self.scratch + "/log", "rb", opener=lambda p, f: (
                os.open(p, f | os.O_NOFOLLOW | os.O_NONBLOCK))) as f:
            f.seek(max(0, f.seek(0, 2) - 2000))
            return f.read(2000).decode("utf-8", "replace").rstrip().rpartition("\n")[2][:300]
        return ""

    def hurry(self, seconds, waited=None):
        """It may take no longer for a command; where what it asks for was waited for in vain, so
        long, that is told."""
        self.call_s = min(Child.call_s, seconds)
        if waited is not None:
            self.hurried = ", and its kernels were not compiled in the %.0f s before" % waited

    def strike(self):
        """Kills the child's group, which no file of it can leave. Its pid is for reap()."""
        os.killpg(self.pid, signal.SIGKILL)
        os.close(self.pipe)
        pid, self.pid = self.pid, None
        return pid

    def kill(self):
        if self.pid is None:
            return "is gone"
        code = os.waitstatus_to_exitcode(reap(self.strike()))
        return "ended by signal %d" % -code if code < 0 and code != -signal.SIGKILL else "ended"

    def close(self):
        self.kill()
        remove(self.scratch)


def reap(group):
    """Waits for a group that was killed, not for what of it never ends: its leader's status, 0 if
    that is not known. What it started is ours, as we are a subreaper."""
    end, status = time.monotonic() + REAP_S, 0
    with contextlib.suppress(ChildProcessError):
        while time.monotonic() < end:
            pid, ended = os.waitpid(-group, os.WNOHANG)
            status = ended if pid == group else status
            if not pid:
                time.sleep(0.001)
    return status


def remove(folder):
    """With all in it, and our lock; what lies too deep for Python is left to rm."""
    try:
        shutil.rmtree(folder, ignore_errors=True)
    except RecursionError:
        os.spawnlp(os.P_WAIT, "rm", "rm", "-rf", "--", folder)
    if folder in held:
        os.close(held.pop(folder))


def together(*waits):
    """The replies to commands that were begun at once. What the first that failed says is raised
    when all have ended."""
    replies, lost = [], None
    for wait in waits:
        try:
            replies.append(wait())
        except (Lost, *NONSENSE) as e:
            lost = lost or e
    if lost:
        raise lost
    return replies
