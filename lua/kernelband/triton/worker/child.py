"""The child: a loop that answers its parent's commands."""
import ctypes
import fcntl
import gc
import os
import resource
import signal
import sys
import tempfile
import types

from .frames import read_frame, write_frame

LACKING = "more memory than is free"


def child_main(make, scratch, cache, requests, replies):
    os.setsid()
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)
    os.chdir(scratch)
    log = os.open(scratch + "/log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    null = os.open("/dev/null", os.O_RDONLY)
    os.dup2(null, 0), os.dup2(log, 1), os.dup2(log, 2)
    # What is kept is above what the parent has, but for what it was itself given.
    requests, replies = (fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 200) for fd in (requests, replies))
    os.closerange(3, min(requests, replies))
    for fd in map(int, os.listdir("/proc/self/fd")):
        if fd > 2 and fd not in (requests, replies):
            os.closerange(fd, fd + 1)
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (2 << 30, 2 << 30))
    for name in ("HOME", "TMPDIR"):
        os.environ[name] = scratch
    tempfile.tempdir = scratch
    os.environ["TRITON_CACHE_DIR"] = cache
    sys.modules["__main__"] = types.ModuleType("__main__")
    runner = make()
    for name in [n for n in sys.modules if n.split(".")[0] == __package__]:
        del sys.modules[name]               # what judges a file is none of its modules
    while True:
        request = read_frame(requests)
        try:
            reply = getattr(runner, "do_" + request.pop("op"))(**request)
        except Refusal as e:
            reply = {"error": e.args[0], "text": str(e.args[1])[:2000]}
        except BaseException as e:
            reply = explain(e)
        if lacked_memory(reply):        # nor does what it got of it stay with it
            gc.collect()
            runner.give_back()
        write_frame(replies, reply)


class Refusal(Exception):
    pass


def lacked_memory(reply):
    return reply.get("error") == "launch_failed" and LACKING in str(reply.get("text"))


def explain(e):
    import traceback
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
