"""Frames: JSON of a known length, on pipes."""
import json
import math
import os
import select
import struct
import time

FRAME_MAX = 64 << 20


def await_ready(deadline, reads=(), writes=()):
    """Until the pipe can be read or written; None is no deadline."""
    if deadline is not None:
        left = deadline - time.monotonic()
        if left <= 0 or not any(select.select(reads, writes, [], left)):
            raise TimeoutError


def write_frame(fd, value, deadline=None):
    """With a deadline fd must not block: whoever should read may have stopped to."""
    data = json.dumps(value, allow_nan=False).encode()
    data = memoryview(struct.pack("<I", len(data)) + data)
    while data:
        await_ready(deadline, writes=[fd])
        data = data[os.write(fd, data):]


def read_exactly(fd, n, deadline=None):
    data = bytearray()
    while len(data) < n:
        await_ready(deadline, reads=[fd])
        part = os.read(fd, min(n - len(data), 1 << 20))
        if not part:
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
    return json.loads(read_exactly(fd, n, deadline), parse_float=number, parse_constant=number)


def finite(x):
    return x if isinstance(x, (int, float)) and math.isfinite(x) else None
