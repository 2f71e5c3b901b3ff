"""A worker that answers by the words in a source, for machines without torch and triton:
the engine's half of the protocol is tested with it."""
import json
import os
import re
import struct
import sys
import time


def read():
    head = sys.stdin.buffer.read(4)
    if len(head) < 4:
        sys.exit(0)
    return json.loads(sys.stdin.buffer.read(struct.unpack("<I", head)[0]))


def write(value):
    data = json.dumps(value).encode()
    sys.stdout.buffer.write(struct.pack("<I", len(data)) + data)
    sys.stdout.buffer.flush()


def evaluation(source):
    size = int((re.findall(r"BLOCK_SIZE = (\d+)", source) or [64])[0])
    speedup = 2 - abs(256 - size) / 256 if size < 1024 else 0.5
    if "def " not in source:
        return {"verdict": "build_failed", "reason": "no function", "shapes": [], "seconds": {}}
    shape = {"role": "timed", "label": "n", "shape": {"i": 0}, "time_ns": 1000 / speedup,
             "baseline_ns": 1000, "speedup": speedup, "blocks": 8}
    return {"verdict": "ok", "tier": "host-code", "screened": False, "shapes": [shape],
            "seconds": {"total": 0.001}, "time_ns": 1000 / speedup, "baseline_ns": 1000,
            "speedup": speedup, "speedup_low": speedup * 0.99, "speedup_high": speedup * 1.01}


while True:
    request = read()
    if request["op"] == "open":
        task = request["task"]
        if "import nowhere" in task["source"]:
            write({"refused": "it needs the Python package nowhere", "config": True})
            continue
        if "sleeps" in task["source"]:
            time.sleep(30)
        out = evaluation(task["source"])
        out.update(speedup=1, speedup_low=1, speedup_high=1)
        write({"ready": out, "machine": {"name": "stand-in", "language": "triton"}})
    else:
        source = request["source"]
        write({"took": request["ticket"]})
        if "dies" in source:
            os._exit(3)
        if "garbles" in source:
            sys.stdout.buffer.write(struct.pack("<I", 3) + b"{]x")
            sys.stdout.buffer.flush()
            time.sleep(30)
        out = evaluation(source)
        if "refutes" in sys.argv and (request.get("options") or {}).get("confirm"):
            out = dict(out, verdict="wrong", reason="not this time", shapes=[])
        write({"ticket": request["ticket"], "evaluation": out})
