"""Answers the engine's frames."""
import contextlib
import ctypes
import importlib.metadata
import os
import signal
import sys
import time

from . import recorder
from .children import Busy, Lost, remove_remains
from .frames import read_frame, write_frame
from .gpu import get_ready
from .jail import clean_start
from .session import Session


def serve(device, library=None):
    """What the process ends with."""
    recorder.library = library
    clean_start()
    remove_remains()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    out = os.dup(1)
    os.dup2(2, 1)
    libc = ctypes.CDLL(None)
    libc.prctl(36, 1, 0, 0, 0)          # what a child started is ours when that ends
    libc.prctl(1, signal.SIGKILL)
    device = "cpu" if os.environ.get("TRITON_INTERPRET") == "1" else "cuda:" + device.split(":")[1]
    session = None
    try:
        while True:
            request = read_frame(0)
            op = request.get("op")
            reply = {"refused": "unknown request"}
            if op in ("open", "warm"):
                reply, session = opened(device, request, session)
            elif op == "evaluate" and session:
                write_frame(out, {"took": request["ticket"]})
                reply = {"ticket": request["ticket"], "evaluation": session.evaluate(
                    request["source"], request.get("options") or {})}
            write_frame(out, reply)
    except EOFError:
        return 0
    except Busy as e:
        return str(e)                   # the engine tries it once more on a fresh worker
    finally:
        if session:
            session.close()


def opened(device, request, session):
    """(the reply, the session there is then)"""
    try:
        import torch
        import triton
    except ImportError as e:
        return refused("%s cannot import %s: %s" % (sys.executable, e.name, e)), session
    if too_old(triton.__version__):
        return refused(TOO_OLD % triton.__version__), session
    if device != "cpu" and not torch.backends.cuda.is_built():
        return refused("this torch is built without CUDA"), session
    if device != "cpu" or "torch._" in str(request.get("task")):
        get_ready()
    if request["op"] == "warm":
        return {"warm": True}, session
    task, begun, made = request["task"], time.monotonic(), None
    try:
        made = Session(device, task)
        return {"ready": made.open(request.get("known")), "machine": made.machine}, made
    except Busy as e:
        return {"refused": str(e)}, made or session
    except Lost as e:
        if not made and e.verdict == "timeout":
            return {"machine": {"language": "triton"}, "ready": dict(
                verdict="timeout", reason=e.reason, shapes=[], screened=False,
                seconds={"total": time.monotonic() - begun})}, session
        why = "it needs the Python package %s, which %s has not" % (e.missing, sys.executable)
        return refused(why if e.missing else e.reason, not e.lacks_memory()), made or session


def refused(why, config=True):
    return {"refused": why, "config": config}


TOO_OLD = "triton %s is too old: 3.4 or later is needed"


def too_old(version):
    return tuple(int("".join(c for c in x if c.isdigit()) or 0)
                 for x in version.split(".")[:2]) < (3, 4)


def probe():
    out = {"python": sys.version.split()[0], "executable": sys.executable}
    for name in ("torch", "triton"):
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            out[name] = importlib.metadata.version(name)
    if "triton" in out and too_old(out["triton"]):
        out["why"] = TOO_OLD % out["triton"]
    return out
