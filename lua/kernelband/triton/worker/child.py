"""The child: a loop that answers its parent's commands."""
import contextlib
import ctypes
import fcntl
import gc
import os
import resource
import signal
import sys
import tempfile
import traceback
import types

from .frames import read_frame, write_frame

LACKING = "more memory than is free"


class Lost(Exception):
    """No results to compare, or wrong ones: the verdict, its reason, and, as far as that is known,
    the output that is wrong, in what share, and the package that an import lacked."""

    def __init__(self, verdict, reason, path=None, share=0.0, missing=None):
        super().__init__(verdict, reason)
        self.verdict, self.reason, self.missing = verdict, str(reason), missing
        self.path, self.share = path, share

    def lacks_memory(self):
        return self.verdict == "launch_failed" and LACKING in self.reason


def settle_in(scratch, pipe):
    """A process of its own group, with its end of the pipe, a log and nothing else open."""
    os.setpgid(0, 0)
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)
    os.chdir(scratch)
    log = os.open("log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    null = os.open("/dev/null", os.O_RDONLY)
    os.dup2(null, 0), os.dup2(log, 1), os.dup2(log, 2)
    # What is kept is above what the parent has, but for what it was itself given.
    pipe = fcntl.fcntl(pipe, fcntl.F_DUPFD_CLOEXEC, 200)
    for fd in map(int, os.listdir("/proc/self/fd")):
        if fd > 2 and fd != pipe:
            os.closerange(fd, fd + 1)
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as f:
        f.write("1000")                     # not our parent is to go for what this one takes
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (8 << 30, 8 << 30))
    os.environ.update(HOME=scratch, TMPDIR=scratch)
    tempfile.tempdir = scratch
    return pipe


def child_main(make, scratch, cache, pipe):
    pipe = settle_in(scratch, pipe)
    os.environ["TRITON_CACHE_DIR"] = cache
    runner = make()
    for name in [n for n in sys.modules if n.split(".")[0] == __package__]:
        del sys.modules[name]               # what judges a file is none of its modules
    sys.modules["__main__"] = types.ModuleType("__main__")
    while True:
        request = read_frame(pipe)
        try:
            reply = getattr(runner, "do_" + request.pop("op"))(**request) or {}
        except BaseException as e:
            reply = explain(e)
        if LACKING in reply.get("text", ""):    # nor does what it got of it stay with it
            gc.collect()
            runner.give_back()
        write_frame(pipe, reply)


def explain(e):
    """The reply that tells of an exception in a file."""
    if isinstance(e, Lost):
        return {"error": e.verdict, "text": e.reason[:2000]}
    text = "%s: %s" % (type(e).__name__, str(e).strip()[:1500])
    here = os.path.dirname(__file__)
    at = [f for f in traceback.extract_tb(e.__traceback__) if os.path.dirname(f.filename) != here]
    if at:
        text = "%s:%d: %s" % (os.path.basename(at[-1].filename), at[-1].lineno or 0, text)
    if "OutOfMemory" in type(e).__name__ or "out of memory" in text:
        return {"error": "launch_failed", "text": "needs %s: %s" % (LACKING, text[:300])}
    if isinstance(e, ModuleNotFoundError):
        return {"error": "build_failed", "text": text, "missing": e.name}
    kinds = ("CompilationError", "SyntaxError", "IndentationError", "ImportError", "PTXASError")
    return {"error": "build_failed" if type(e).__name__ in kinds else "launch_failed",
            "text": text}
