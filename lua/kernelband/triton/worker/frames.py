"""Frames: JSON of a known length, on pipes."""
import json
import math
import os
import select
import struct
import time

FRAME_MAX = 64 << 20


def write_frame(fd, value):
    data = json.dumps(value, allow_nan=False).encode()
    data = memoryview(struct.pack("<I", len(data)) + data)
    while data:
        data = data[os.write(fd, data):]


def read_exactly(fd, n, deadline=None):
    parts = []
    while n:
        if deadline is not None:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([fd], [], [], left)[0]:
                raise TimeoutError
        part = os.read(fd, min(n, 1 << 20))
        if not part:
            raise EOFError
        parts.append(part)
        n -= len(part)
    return b"".join(parts)


def read_frame(fd, deadline=None):
    n = struct.unpack("<I", read_exactly(fd, 4, deadline))[0]
    if n > FRAME_MAX:
        raise EOFError
    return json.loads(read_exactly(fd, n, deadline))


def finite(x):
    return x if isinstance(x, (int, float)) and math.isfinite(x) else None
