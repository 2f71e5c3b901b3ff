"""Frames: JSON of a known length, on pipes."""
import json
import math
import os
import select
import struct
import time

FRAME_MAX = 64 << 20


def left_of(deadline):
    """Seconds until then; None is no deadline."""
    left = None if deadline is None else deadline - time.monotonic()
    if left is not None and left <= 0:
        raise TimeoutError
    return left


def write_frame(fd, value, deadline=None):
    """With a deadline fd must not block: whoever should read may have stopped to."""
    data = json.dumps(value, allow_nan=False).encode()
    data = memoryview(struct.pack("<I", len(data)) + data)
    while data:
        if deadline is not None and not select.select([], [fd], [], left_of(deadline))[1]:
            raise TimeoutError
        data = data[os.write(fd, data):]


def read_exactly(fd, n, deadline=None):
    parts = []
    while n:
        if deadline is not None and not select.select([fd], [], [], left_of(deadline))[0]:
            raise TimeoutError
        part = os.read(fd, min(n, 1 << 20))
        if not part:
            raise EOFError
        parts.append(part)
        n -= len(part)
    return b"".join(parts)


def number(text):
    value = float(text)
    if not math.isfinite(value):
        raise ValueError("%s is no number of JSON" % text)
    return value


def read_frame(fd, deadline=None):
    n = struct.unpack("<I", read_exactly(fd, 4, deadline))[0]
    if n > FRAME_MAX:
        raise EOFError
    return json.loads(read_exactly(fd, n, deadline), parse_float=number, parse_constant=number)


def finite(x):
    return x if isinstance(x, (int, float)) and math.isfinite(x) else None
