"""Frames: JSON of a known length, on pipes; and what one says of a failure."""
import json
import math
import os
import select
import struct
import time
import traceback

# Bytes; how long a child and the parent look before they sleep.
FRAME_MAX, SPIN_S, PARENTS_SPIN_S = 64 << 20, 3e-4, 2e-3
# In a refusal for lack of memory, and what tells of it: torch's words, cuBLAS', the driver's where
# it can't give a process the GPU.
LACKING = "more of the GPU than is free"
LACKS = "OutOfMemory", "out of memory", "ALLOC_FAILED", "busy or unavailable"
REDRAW = "redraw", "inputs that no two writes share"    # timed ones are to be drawn otherwise


class Lost(Exception):
    """No results to compare, or wrong ones: the verdict, its reason, and, as far as that is known,
    the output that is wrong, in what share, and the package that an import lacked."""

    def __init__(self, verdict, reason, path=None, share=0.0, missing=None):
        super().__init__(verdict, reason)
        self.verdict, self.reason, self.missing = verdict, str(reason), missing
        self.path, self.share = path, share

    def lacks_memory(self):
        return self.verdict == "launch_failed" and LACKING in self.reason


def await_ready(deadline, reads=(), writes=()):
    """Until the pipe can be read or written; None is no deadline. It sleeps only after a while, as
    waking up takes as long as many answers do."""
    awake = time.monotonic() + (SPIN_S if deadline is None else PARENTS_SPIN_S)
    while time.monotonic() < awake:
        if any(select.select(reads, writes, [], 0)):
            return
    if deadline is not None:
        left = deadline - time.monotonic()
        if left <= 0 or not any(select.select(reads, writes, [], left)):
            raise TimeoutError


def write_frame(fd, value, deadline=None):
    """With a deadline fd must not block: whoever should read may have stopped to."""
    data = "".join(ENCODE(value, 0)).encode()
    data = memoryview(struct.pack("<I", len(data)) + data)
    while data:
        await_ready(deadline, writes=[fd])
        data = data[os.write(fd, data):]


def read_exactly(fd, n, deadline=None):
    data = bytearray()
    while len(data) < n:
        await_ready(deadline, reads=[fd])
        if not (part := os.read(fd, min(n - len(data), 1 << 20))):
            raise EOFError
        data += part
    return data


def number(text):
    value = float(text)
    if not math.isfinite(value):
        raise ValueError("%s is no number of JSON" % text)
    return value


def read_frame(fd, deadline=None):
    n, = struct.unpack("<I", read_exactly(fd, 4, deadline))
    if n > FRAME_MAX:
        raise EOFError
    return DECODER.decode(read_exactly(fd, n, deadline).decode())


# Made once, which takes as long as a short frame; it calls no Python that a file could replace.
ENCODE = json.encoder.c_make_encoder(None, json.JSONEncoder().default,
    json.encoder.encode_basestring_ascii, None, ":", ",", False, False, False)
DECODER = json.JSONDecoder(parse_float=number, parse_constant=number)


def finite(x):
    return x if isinstance(x, (int, float)) and math.isfinite(x) else None


def some(**given):
    """Those that there are."""
    return {k: v for k, v in given.items() if v}


def explain(e):
    """The reply that tells of an exception in a file."""
    if isinstance(e, Lost):
        return {"error": e.verdict, "text": e.reason[:2000]}
    text = "%s: %s" % (type(e).__name__, str(e).strip()[:1500])
    here = os.path.dirname(__file__)
    at = [f for f in traceback.extract_tb(e.__traceback__) if os.path.dirname(f.filename) != here]
    if at:
        text = "%s:%d: %s" % (os.path.basename(at[-1].filename), at[-1].lineno or 0, text)
    if any(w in text for w in LACKS):
        return {"error": "launch_failed", "text": "needs %s: %s" % (LACKING, text[:300])}
    if isinstance(e, ModuleNotFoundError):
        return {"error": "build_failed", "text": text, "missing": e.name}
    kinds = ("CompilationError", "SyntaxError", "IndentationError", "ImportError", "PTXASError")
    return {"error": "build_failed" if type(e).__name__ in kinds else "launch_failed", "text": text}
