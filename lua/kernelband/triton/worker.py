#!/usr/bin/env python3
"""worker.py - judges Triton candidates for an engine; frames on stdin and stdout.

    worker.py serve [DEVICE [LIBRARY]]   the frames of lua/kernelband/worker/init.lua;
                                 LIBRARY is libkb_inject.so, which records kernels
    worker.py tunables           a source on stdin, its meta-parameters on stdout
    worker.py compile            a kernel on stdin as JSON, its cubin on stdout
    worker.py probe              what this interpreter has, as one JSON object

The parent imports torch and triton once and never opens the GPU, so it can fork.
One forked child runs the untouched reference and compares; every candidate gets a
child of its own, with its own compile cache, jailed and killed as a group. A
candidate's child is the candidate's: what it says is believed as far as the
parent's clock and the reference's answers bear it out.
"""
import sys

try:
    import ast
    import ctypes
    import fcntl
    import gc
    import importlib.util
    import json
    import math
    import os
    import resource
    import select
    import shutil
    import signal
    import stat
    import struct
    import tempfile
    import time
    import types
except ImportError as e:    # Debian's python3-minimal: an interpreter with a few modules
    sys.exit("%s: %s, which is part of Python: install the whole of it (on Debian the package "
             "python3), or set KERNELBAND_PYTHON to one that is whole" % (sys.executable, e))

FRAME_MAX = 64 << 20
WHOLE = 8 << 20             # bytes of a tensor that are compared whole
SAMPLE = (1024, 1024)       # of a larger one: blocks, elements a block
CALL_S = 60                 # deadline of one command to a child
OPEN_S, EVALUATE_S = 240, 100       # of a baseline, of a candidate: task.lua waits longer
LOCK_S, BESIDE_S = 120, 5           # of waiting for other sessions on the GPU; of making them wait
MEMORY_S, MEMORY_OTHERS_S = 10, 40  # of waiting for memory; where other sessions may have it
FLUSH = 256 << 20
INPUTS_MOST = 2 << 30       # bytes of inputs that lie on the GPU; of more, one shape's at a time
AREAS, SHIFTS = 4, 4                # where inputs lie, in turn: memory of their own, and how far
PLACES = AREAS * SHIFTS             # from its start
PLACED_MOST = 2 << 30               # bytes of inputs that lie in several areas,
LARGE = 256 << 20                   # and of a tensor that lies in one only
SHIFTED_MOST = 32 << 20             # how far, at most
KEPT, KEPT_MOST = 4, 1 << 20        # former results that lie where a new one would; their bytes
LANES, LANED_MOST = 32, 32 << 20    # streams that calls are timed on, in turn; bytes of their inputs
POISONS = (11, 48)          # memory that no one wrote: odd NaN, even a number; 12 and 49
TAME = (101, 100)           # the same with integers that are valid indices: 2 and 1
CLEAN = 0                   # zeros
MORE = 4                    # runs of the reference before it is believed against a candidate
ALLOWED = 0.02              # share of an output that the reference may differ from itself in
FRONT, TAIL, TAIL_MOST = 64 << 10, 256 << 10, 64 << 20      # bytes around every timed input
AFAR, AFAR_LEAST, AFAR_MOST = 64, 4 << 20, 256 << 20    # the same with room: so many times its own
MADE = {"empty", "zeros", "ones", "full", "rand", "randn", "randint", "randperm", "arange", "tensor",
        "linspace", "eye", "normal", "empty_like", "zeros_like", "ones_like", "full_like",
        "rand_like", "randn_like", "randint_like", "empty_strided", "new_empty", "new_zeros",
        "new_ones", "new_full", "new_tensor", "clone", "cuda", "to"}    # what gives a tensor
SPIN_GHZ, SPIN_MOST = 2.0, 16e6     # of the wait that lets the host get ahead; its ns at most
TIME_S, NARROW = 0.6, 0.004         # of timing a candidate; an interval that is narrow enough
BASELINE_S, CONFIRM_S = 1.6, 3.2    # of timing a baseline, and a winner again
BOUND_S, BOUND_MOST = 3.0, 768      # of a baseline that the host holds up, whose clock is noisier;
BOUND_LEAST_S = 0.5                 # and of one shape of it
EXACT = 64                          # pairs whose interval is exact
PAIR_NS = 40                        # what a call of one file takes more in one process than in
                                    # another: standard deviation (H200, kernels of 4 and 14 us)
SHORT_NS, SHORT_TURNS = 8e3, 4      # of a call that is timed on every stream, so often
AGAIN = 16                          # pairs of calls, at least, of processes that judge a suspicion
OPINIONS = 3                        # new pairs of processes that must share it
PAIRS_S = 100                       # of more pairs of processes that time a baseline
AHEAD_S = 60                        # of compiling ahead: whoever asks would take no less
KERNEL_S, HASTE_S = 20, 10          # of one kernel of a candidate there; of what then asks for it;
                                    # both of any command, but for those that load and draw
AHEAD_MOST, NOTING_MOST = 12, 3     # processes that do so; seconds of finding out what
JOBS_MOST = 4096                    # kernels
STRANGE = 0.25              # share of kernel time that is neither Triton's nor the task's own
COUNTERS = "search"         # set of core/cuda/counters/cupti_sets.c, one pass
CHIPS = {(8, 0): "GA100", (8, 6): "GA102", (8, 9): "AD102", (9, 0): "GH100", (10, 0): "GB100",
         (12, 0): "GB202"}  # by compute capability: the first of each
INJECT = None               # path of libkb_inject.so

# Frames -------------------------------------------------------------------------


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


# What a source may not do, by its syntax. A first gate, not the wall. ------------

MODULES = {"torch", "triton", "math", "typing", "functools", "itertools", "operator", "enum",
           "dataclasses", "collections", "numpy", "warnings", "logging", "contextlib",
           "__future__", "time", "copy", "abc", "numbers", "einops", "packaging"}
NAMES = {"exec", "eval", "compile", "open", "__import__", "globals", "vars", "breakpoint",
         "__builtins__", "__loader__"}
ATTRIBUTES = {"__globals__", "__code__", "__closure__", "__subclasses__", "__builtins__",
              "__traceback__", "__dict__", "__bases__", "__mro__", "tb_frame", "tb_next", "f_back",
              "f_locals", "f_globals", "gi_frame", "cr_frame", "_getframe", "modules",
              "Stream", "ExternalStream", "CUDAGraph", "graph", "set_stream", "Event",
              "__torch_function__", "__torch_dispatch__", "_make_subclass", "ctypes", "inline_asm",
              "load_library", "cpp_extension", "multiprocessing", "from_file", "from_blob",
              "elapsed_time", "cudart", "_C", "manual_seed", "set_rng_state", "get_rng_state",
              "initial_seed", "os", "sys", "threading", "_thread", "subprocess", "gc", "inspect",
              "socket", "signal", "builtins", "importlib", "traceback", "pickle", "shutil",
              "tempfile", "attrgetter", "methodcaller", "__getattribute__",
              "inline_asm_elementwise", "globaltimer", "smid", "knobs", "fromfile", "memmap",
              "use_deterministic_algorithms", "DataLoader"}


def absent(name):
    """Why the module name is none that an answer could cheat with, or None where there is one."""
    if name.startswith("."):
        return "imports %s, but the answer is one file" % name
    try:
        there = importlib.util.find_spec(name.split(".")[0])
    except (ImportError, ValueError):
        return None
    return None if there else "imports %s, which %s has not" % (name, sys.executable)


def imported(n):
    """The modules that an import names, relative ones with their dots."""
    return [a.name for a in n.names] if isinstance(n, ast.Import) \
        else ["." * n.level + (n.module or "")]


def scan(source, allowed=""):
    """The first thing in source that no kernel needs, or None. allowed is the text of the
    reference: what the task's own file does is not held against a candidate."""
    def legal(name):
        return name in allowed
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as e:
        return "build_failed", "%s (line %s)" % (getattr(e, "msg", None) or e,
                                                 getattr(e, "lineno", "?"))
    local = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)
             and isinstance(n.ctx, ast.Store)} | {n.arg for n in ast.walk(tree)
                                                  if isinstance(n, ast.arg)}
    plain, missing = set(), None
    for n in ast.walk(tree):
        bad = None
        if isinstance(n, ast.Call) and isinstance(n.func, ast.Name) and n.func.id == "getattr":
            plain.add(n.func)
            name = n.args[1] if len(n.args) > 1 else None
            if not isinstance(name, ast.Constant) or name.value in ATTRIBUTES:
                bad = "asks for an attribute by a computed name"
        if isinstance(n, (ast.Import, ast.ImportFrom)):
            roots = imported(n)
            wanted = roots + ([a.name for a in n.names] if isinstance(n, ast.ImportFrom) else [])
            for root in roots:
                if root.split(".")[0] not in MODULES and not legal("import " + root) \
                        and not legal("from " + root):
                    why = absent(root)
                    missing = missing or why and "line %d %s" % (n.lineno, why)
                    bad = bad if why else "imports " + root
            for name in (p for w in wanted for p in w.split(".")):
                if name in ATTRIBUTES and not legal(name):
                    bad = "imports " + name
        elif isinstance(n, ast.Name) and n.id == "getattr" and n not in plain:
            bad = "hands getattr on"
        elif isinstance(n, ast.Name) and n.id in NAMES - local and not legal(n.id + "("):
            bad = "uses " + n.id
        elif isinstance(n, ast.Attribute):
            if n.attr in ATTRIBUTES and not legal("." + n.attr):
                bad = "uses ." + n.attr
            elif isinstance(n.ctx, (ast.Store, ast.Del)):
                base = n
                while isinstance(base, ast.Attribute):
                    base = base.value
                if isinstance(base, ast.Name) and base.id not in local | {"self", "ctx", "cls"} \
                        and base.id in ("torch", "triton", "tl", "time", "nn", "F", "math", "np") \
                        and not legal(ast.unparse(n)):
                    bad = "assigns to %s" % ast.unparse(n)
        elif isinstance(n, ast.Call) and isinstance(n.func, ast.Name) \
                and n.func.id in ("setattr", "delattr"):
            bad = "uses " + n.func.id
        elif isinstance(n, ast.ClassDef) and any("Tensor" in ast.unparse(b) for b in n.bases):
            bad = "makes a kind of tensor of its own"
        if bad:
            return "cheated", "line %d %s, which no kernel needs" % (n.lineno, bad)
    return ("build_failed", missing) if missing else None


# Meta-parameters of a source, for the built-in generator ---------------------------

def kind_of(name):
    low = name.lower()
    if low in ("num_warps", "num_stages"):
        return low[4:]
    if "group" in low:
        return "group"
    return "tile" if "block" in low or low in ("bt", "bk", "bv", "bs", "bm", "bn", "bd", "bc",
                                               "chunk_size", "tile") else None


def choices(kind, value):
    if kind == "warps":
        return [w for w in (1, 2, 4, 8, 16) if w != value]
    if kind == "stages":
        return [s for s in (1, 2, 3, 4, 5) if s != value]
    low, high = (1, 64) if kind == "group" else (1, min(8192, max(1024, 16 * value)))
    powers = [value * 2 ** k for k in (1, -1, 2, -2, 3, 4, 5, 6, 7, 8)]
    return [int(p) for p in powers if low <= p <= high and p == int(p)]


def tunables(source):
    """[{ name, kind, values (the first is the source's own), sites = [[start, end, text]] }]: a
    value v goes to bytes start..end of every site as text with %d filled in."""
    tree = ast.parse(source)
    starts = [0]
    for line in source.encode().splitlines(True):
        starts.append(starts[-1] + len(line))

    def span(n):
        return starts[n.lineno - 1] + n.col_offset, starts[n.end_lineno - 1] + n.end_col_offset

    found = []

    def add(name, kind, value, start, end, text="%d", extra=None):
        if kind and len(found) < 24 and not any(f["sites"][0][0] == start for f in found
                                                if text == "%d"):
            found.append(dict(name=name, kind=kind, sites=[[start, end, text]],
                              values=[value] + (extra or choices(kind, value))))

    def number(n):
        return isinstance(n, ast.Constant) and type(n.value) is int and n.value > 0

    tuned = set()
    for n in ast.walk(tree):
        if isinstance(n, ast.FunctionDef):
            for d in n.decorator_list:
                if isinstance(d, ast.Call) and "autotune" in ast.unparse(d.func):
                    tuned.add(n.name)
    for n in ast.walk(tree):
        if isinstance(n, ast.Assign) and number(n.value) and len(n.targets) == 1 \
                and isinstance(n.targets[0], ast.Name):
            name = n.targets[0].id
            add(name, kind_of(name), n.value.value, *span(n.value))
        elif isinstance(n, ast.FunctionDef):
            args, defaults = n.args.posonlyargs + n.args.args, n.args.defaults
            for a, d in list(zip(args[len(args) - len(defaults):], defaults)) \
                    + list(zip(n.args.kwonlyargs, n.args.kw_defaults)):
                if d is not None and number(d):
                    add(a.arg, kind_of(a.arg), d.value, *span(d))
        elif isinstance(n, ast.Call) and isinstance(n.func, ast.Subscript):
            given = {k.arg for k in n.keywords}
            for k in n.keywords:
                if k.arg and number(k.value):
                    add(k.arg, kind_of(k.arg), k.value.value, *span(k.value))
            callee = ast.unparse(n.func.value)
            if callee.split(".")[-1] in tuned or None in given:
                continue
            last = max([span(a)[1] for a in n.args] + [span(k.value)[1] for k in n.keywords],
                       default=None)
            for word in ("num_warps", "num_stages"):
                if last and word not in given:
                    add(word, word[4:], 0, last, last, ", %s=%%d" % word,
                        [1, 2, 4, 8, 16] if word == "num_warps" else [1, 2, 3, 4, 5])
        elif isinstance(n, ast.Call) and ast.unparse(n.func).split(".")[-1] == "Config" \
                and n.args and isinstance(n.args[0], ast.Dict):
            for k, v in list(zip(n.args[0].keys, n.args[0].values)) \
                    + [(ast.Constant(w.arg), w.value) for w in n.keywords]:
                if number(v) and isinstance(k, ast.Constant):
                    add(str(k.value), kind_of(str(k.value)), v.value, *span(v))
    return found


# The child: one process that runs a file --------------------------------------------

def landlock(hidden, *writable):
    """Writes only below what is writable, nothing of hidden read, no TCP, no signals out."""
    libc = ctypes.CDLL(None, use_errno=True)
    abi = libc.syscall(444, None, 0, 1)
    if abi < 1:
        return False
    write = sum(1 << b for b in (1, 4, 5, 6, 7, 8, 9, 10, 11, 12)) | (abi > 1) << 13 \
        | (abi > 2) << 14
    read = 1 | 1 << 2 | 1 << 3
    rules = struct.pack("<QQQ", write | read, 3 if abi > 3 else 0, 3 if abi > 5 else 0)
    fd = libc.syscall(444, rules, 24 if abi > 5 else 16 if abi > 3 else 8, 0)
    if fd < 0:
        return False

    def allow(path, rights):
        try:
            at = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except OSError:
            return
        if not os.path.isdir(path):
            rights &= 1 | 2 | 4 | (1 << 14 if abi > 2 else 0)
        libc.syscall(445, fd, 1, struct.pack("<Qi", rights, at), 0)
        os.close(at)
    for top in os.listdir("/"):
        if top not in hidden:
            allow("/" + top, read)
    for path in {sys.prefix, sys.base_prefix} | {p for p in sys.path if os.path.isdir(p)}:
        allow(path, read)
    for path in writable:
        allow(path, read | write)
    allow("/dev", read | 2 | (1 << 14 if abi > 2 else 0))
    libc.prctl(38, 1, 0, 0, 0)
    done = libc.syscall(446, fd, 0) == 0
    os.close(fd)
    return done


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


LACKING = "more memory than is free"


def lacked_memory(reply):
    return reply.get("error") == "launch_failed" and LACKING in str(reply.get("text"))


def explain(e):
    import traceback
    text = "%s: %s" % (type(e).__name__, str(e).strip()[:1500])
    at = [f for f in traceback.extract_tb(e.__traceback__) if f.filename != __file__]
    if at:
        text = "%s:%d: %s" % (os.path.basename(at[-1].filename), at[-1].lineno or 0, text)
    if "OutOfMemory" in type(e).__name__ or "out of memory" in text:
        return {"error": "launch_failed", "text": "needs %s: %s" % (LACKING, text[:300])}
    if isinstance(e, ModuleNotFoundError):
        return {"error": "build_failed", "text": text, "missing": e.name}
    kinds = ("CompilationError", "SyntaxError", "IndentationError", "ImportError", "PTXASError")
    return {"error": "build_failed" if type(e).__name__ in kinds else "launch_failed",
            "text": text}


class Activity(ctypes.Structure):
    """struct kb_activity of core/cuda/inject/activity.h"""
    _fields_ = [(n, ctypes.c_int64) for n in ("start_ns", "end_ns")] \
        + [(n, ctypes.c_int32) for n in ("kind", "device", "stream", "registers", "shared_bytes",
                                         "local_bytes")] \
        + [("grid", ctypes.c_int32 * 3), ("block", ctypes.c_int32 * 3),
           ("name", ctypes.c_char * 192)]


SUMS = ("kernels", "copies", "sum_ns", "union_ns", "span_ns", "away_ns", "streams", "devices",
        "dropped", "home")


class Recorder:
    """libkb_inject.so, loaded before the GPU is opened: what ran on it during a call. Where it
    can't, why says so and every record is that text."""

    def __init__(self, path):
        self.text, self.why = ctypes.create_string_buffer(512), None
        if not path:
            self.why = "this build has no libkb_inject.so: CUPTI's headers were missing"
            return
        try:
            self.lib = ctypes.CDLL(path)
        except OSError as e:
            self.why = str(e)[:300]
            return
        self.lib.kb_inject_records.restype = ctypes.POINTER(Activity)
        self.lib.kb_inject_key.restype = ctypes.c_char_p
        if self.lib.kb_inject_open(self.text, 512):
            self.why = self.said()

    def said(self):
        return self.text.value.decode("utf-8", "replace")[:300]

    def start(self, stream=0):
        """None, or why this one call, on the stream of that handle, can't be recorded."""
        if self.why is None and self.lib.kb_inject_start(ctypes.c_uint64(stream), self.text, 512):
            return self.said()
        return self.why

    def stop(self):
        sums = (ctypes.c_int64 * len(SUMS))()
        if self.lib.kb_inject_stop(sums, self.text, 512):
            return {"why": self.said()}
        out, n, kernels = dict(zip(SUMS, sums)), ctypes.c_size_t(), {}
        records = self.lib.kb_inject_records(ctypes.byref(n))
        for i in range(n.value):
            r = records[i]
            if r.kind == 0:
                k = kernels.setdefault(r.name, dict(
                    name=r.name.decode("utf-8", "replace"), ns=0, n=0, registers=r.registers,
                    shared=r.shared_bytes, local=r.local_bytes, grid=list(r.grid),
                    block=list(r.block)))
                k["ns"], k["n"] = k["ns"] + r.end_ns - r.start_ns, k["n"] + 1
        out["by_name"] = sorted(kernels.values(), key=lambda k: -k["ns"])[:64]
        return out

    def count(self, device, prepare, launch, known=None):
        """Hardware counters of what launch starts: { values = { key: number }, known = }, or
        { why }. known, in hex: what the GPU has to count with, of another process that counted;
        finding it out takes 0.2 s."""
        if self.why is not None:
            return {"why": self.why}
        failed = []

        def safely(call):
            def run(_):
                try:
                    call()
                    return 0
                except BaseException as e:
                    failed.append("%s: %s" % (type(e).__name__, str(e)[:200]))
                    return 1
            return ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(run)
        before, call, values = safely(prepare), safely(launch), (ctypes.c_double * 64)()
        why, n = ctypes.create_string_buffer(512), ctypes.c_size_t()
        if known:
            image = bytes.fromhex(known)
            self.lib.kb_inject_know(image, ctypes.c_size_t(len(image)))
        if self.lib.kb_inject_count(COUNTERS.encode(), device, before, call, None, values,
                                    ctypes.c_size_t(64), why, ctypes.c_size_t(512)):
            return {"why": (failed or [why.value.decode("utf-8", "replace")])[0]}
        out = {}
        for i in range(64):
            key = self.lib.kb_inject_key(COUNTERS.encode(), ctypes.c_size_t(i))
            if not key:
                break
            out[key.decode()] = finite(values[i])
        self.lib.kb_inject_known.restype = ctypes.c_void_p
        image = self.lib.kb_inject_known(ctypes.byref(n))
        return {"values": out, "known": ctypes.string_at(image, n.value).hex() if image else ""}


def apart_from_each_other(torch):
    """torch.randint with no value twice, where there are as many: indices that are written to
    by one alone."""
    real = torch.randint

    def randint(*args, **kwargs):
        ends = [a for a in args if isinstance(a, int)]
        size = kwargs.get("size") or next((a for a in args if isinstance(a, (tuple, list))), ())
        low, high = ([kwargs.get("low", 0)] + ends)[-2:] if ends else (
            kwargs.get("low", 0), kwargs.get("high", 0))
        n = math.prod(size)
        out = real(*args, **kwargs)
        if 1 < n <= high - low <= 1 << 28 and not out.dtype.is_floating_point:
            out.copy_(torch.randperm(high - low, device=out.device)[:n].add_(low).view(out.shape))
        return out
    return randint


def walk(value, path="", depth=0):
    """(path, leaf) of nested results, in an order that does not depend on the run."""
    if depth < 8 and isinstance(value, dict):
        for k in value:
            yield from walk(value[k], "%s[%r]" % (path, k), depth + 1)
    elif depth < 8 and isinstance(value, (list, tuple)):
        for i, v in enumerate(value):
            yield from walk(v, "%s[%d]" % (path, i), depth + 1)
    else:
        yield path, plain_of(value)


def plain_of(value):
    """What numpy holds as torch and Python do: it is compared as theirs is."""
    numpy = sys.modules.get("numpy")
    if numpy and type(value) is numpy.ndarray and value.dtype.kind in "biuf":
        import torch
        try:
            return torch.from_numpy(value.copy())
        except TypeError:
            return value
    return value.item() if numpy and isinstance(value, numpy.generic) else value


def free_remains(segments):
    """Sizes of what is free between live tensors, largest first, as the allocator of torch
    gives them out: small ones, of a mebibyte at most, are a pool of their own."""
    out = []
    for segment in segments:
        small = segment.get("segment_type") == "small"
        for block in segment.get("blocks", ()):
            n = block["size"] if block.get("state") == "inactive" else 0
            while small and n > 0:
                out.append(min(n, 1 << 20))
                n -= 1 << 20
            if not small and n > 1 << 20:
                out.append(n)
    return sorted(out, reverse=True)[:4096]


class Drawn(list):
    """The inputs of all timed shapes; of too many bytes none but the one that is wanted."""
    want, device = None, None

    def __init__(self, items=()):
        list.__init__(self)
        self.labels, self.bytes = [], 0
        for item in items:
            self.append(item)

    def append(self, item):
        tensors = [x for _, x in walk(item) if hasattr(x, "element_size")]
        self.bytes += sum(x.numel() * x.element_size() for x in tensors
                          if x.device.type == Drawn.device)
        shapes = ["x".join(map(str, x.shape)) if hasattr(x, "element_size") else str(x)[:20]
                  for _, x in walk(item)]
        self.labels.append(" ".join(shapes)[:60])
        list.append(self, item)
        if Drawn.want is not None or self.bytes > INPUTS_MOST:
            for i in range(len(self)):
                self[i] = self[i] if i == Drawn.want else None

    def extend(self, items):
        for item in items:
            self.append(item)


class Runner:
    """Runs a file's tests and timed calls. Everything of torch that matters is taken hold of
    before the file is loaded."""

    def __init__(self, device, scratch, trusted):
        import torch
        self.torch, self.device, self.scratch, self.trusted = torch, device, scratch, trusted
        self.recorder = Recorder(INJECT) if device != "cpu" else None
        if not self.device == "cpu":
            try:
                torch.cuda.set_device(device)
                torch.zeros(1, device=device)   # the driver opens its files now
            except (RuntimeError, AssertionError) as e:
                raise RuntimeError("no GPU to run Triton kernels on: torch says: %s"
                                   % str(e).split("\n")[0]) from None
            if not self.recorder.start():       # what the first record costs is paid by all alike
                torch.zeros(1, device=device)
                torch.cuda.synchronize()
                self.recorder.stop()
        if not trusted:
            landlock({"root", "home"}, scratch)
        self.cpu = device == "cpu"
        self.launches, self.names, self.streams, self.poison = [0], set(), set(), None
        self.cache, self.pristine, self.slack, self.large, self.perf = {}, None, [], {}, None
        self.plugs, self.lazy, self.places, self.former, self.area = None, None, [], [], {}
        self.lanes, self.laned, self.lane, self.strayed = [], False, 0, False
        if self.cpu:
            self.pretend()
        else:
            self.flush = torch.empty(FLUSH, dtype=torch.int8, device=device)
        self.count_launches()
        self.hold()

    def pretend(self, where="cpu", capability=(9, 0)):
        """Triton's interpreter on CPU tensors: what asks for a GPU gets the CPU; or nothing but
        shapes, on the device meta."""
        torch = self.torch
        there = torch.device(where)
        asked = {torch.Tensor.cpu: lambda t: t, torch.Tensor.item: some,    # of contents
                 torch.Tensor.__bool__: lambda t: True, torch.Tensor.__int__: lambda t: 1,
                 torch.Tensor.__float__: lambda t: 1.0, torch.Tensor.__index__: lambda t: 1}

        def plain(x):
            return there if isinstance(x, (str, torch.device)) and str(x).startswith("cuda") else x

        class Elsewhere(torch.overrides.TorchFunctionMode):
            def __torch_function__(self, func, types_, args=(), kwargs=None):
                if func is torch.Tensor.cuda:
                    return args[0].to(there)
                if where == "meta" and func in asked:
                    return asked[func](args[0])
                if getattr(func, "__name__", "") == "__get__" and func == torch.Tensor.is_cuda.__get__:
                    return True
                return func(*(plain(a) for a in args),
                            **{k: plain(v) for k, v in (kwargs or {}).items()})
        Elsewhere().__enter__()
        torch.cuda.current_device = lambda: 0
        torch.cuda.synchronize = lambda *a: None
        torch.cuda.is_available = lambda: True
        torch.cuda.get_device_capability = lambda *a: tuple(capability)
        torch.cuda.device = __import__("contextlib").nullcontext
        torch.nn.Module.cuda = lambda self, *a: self

    def count_launches(self):
        import triton
        launches, names, streams = self.launches, self.names, self.streams
        if self.cpu:
            from triton.runtime import interpreter
            call = interpreter.GridExecutor.__call__

            def counted(grid, *args, **kwargs):
                launches[0] += 1
                names.add(grid.fn.__name__)
                return call(grid, *args, **kwargs)
            interpreter.GridExecutor.__call__ = counted
        else:
            def enter(metadata):
                m = metadata.get()
                launches[0] += 1
                names.add(str(m["name"]))
                if m.get("stream"):                 # the one that is timed is 0
                    streams.add(m["stream"])
            self.enter, self.knobs = enter, triton.knobs.runtime

    def counting(self, on):
        if not self.cpu:
            (self.knobs.launch_enter_hook.add if on else self.knobs.launch_enter_hook.remove)(
                self.enter)

    def hold(self):
        torch, cpu, device = self.torch, self.cpu, self.device
        self.zeros, self.real_empty = torch.zeros, torch.empty
        # The zeros that fresh() leaves around what is made are not given back by a file.
        self.empty_cache = torch.cuda.empty_cache
        torch.cuda.empty_cache = torch.cuda.memory.empty_cache = lambda: None
        try:                                # which calls a default device is put into is found
            from torch.utils import _device     # out once: before some are wrapped
            _device._device_constructors()
        except (ImportError, AttributeError):
            pass
        self.wrap_empty()
        # torch.manual_seed also keeps a call, with a traceback, for each kind of device it has not.
        self.generators = [g.manual_seed for g in (torch.default_generator,)
                           + (() if cpu else tuple(torch.cuda.default_generators))]
        if not cpu:
            import triton
            Event, record, elapsed = torch.cuda.Event, torch.cuda.Event.record, \
                torch.cuda.Event.elapsed_time
            query = torch.cuda.Event.query
            sync, sleep = torch._C._cuda_synchronize, torch.cuda._sleep
            stream, index = torch.cuda.default_stream(device), torch.cuda.current_device()
            current, switch = torch._C._cuda_getCurrentStream, torch._C._cuda_setStream
            lanes = [stream] + [torch.cuda.Stream(device) for _ in range(LANES)]
            self.lanes = lanes

            def onto(s):
                switch(stream_id=s.stream_id, device_index=s.device_index,
                       device_type=s.device_type)
            self.onto = onto
            bench = triton.testing.do_bench     # tuning runs of a file are short
            triton.runtime.driver.active.get_benchmarker = lambda: (
                lambda call, quantiles: bench(call, warmup=2, rep=8, quantiles=quantiles))
        now, threads = time.perf_counter_ns, sys.modules["_thread"]._count

        def timed(call, cycles, lane=0):
            if cpu:
                start = now()
                out = call()
                ns = now() - start
                return out, ns, ns, True
            a, b, s = Event(enable_timing=True), Event(enable_timing=True), lanes[lane]
            if lane:
                onto(s)
            try:
                if cycles:
                    sleep(cycles)
                start = now()
                record(a, s)
                out = call()
                record(b, s)
                host = now() - start
                ahead = not query(a)        # the GPU still waits: no gap between launches
                self.strayed = self.strayed or current(index)[0] != s.stream_id
            finally:
                if lane:
                    onto(stream)
            sync()
            return out, elapsed(a, b) * 1e6, host, ahead
        self.timed = timed
        self.sync = (lambda: None) if cpu else sync
        self.threads = threads
        self.other_stream = (lambda: False) if cpu else (
            lambda: self.strayed or current(torch.cuda.current_device())[0] != stream.stream_id)
        spaces = [torch, torch.cuda, torch.cuda.Event, torch.Tensor, torch.nn.functional, torch.nn,
                  torch.nn.Module, time, json, os, sys, torch.autograd, torch.linalg, torch.random]
        if not cpu:
            import triton
            spaces += [triton, triton.runtime, triton.testing, triton.language,
                       triton.runtime.JITFunction, triton.runtime.driver]
        fixed = types.FunctionType, types.BuiltinFunctionType, type
        self.before = [(getattr(s, "__name__", "?"), s, {k: v for k, v in list(vars(s).items())
                       if isinstance(v, fixed) or type(v).__name__.endswith("_descriptor")})
                       for s in spaces]
        self.threads_before = threads()

    def wrap_empty(self):
        """Memory that no one wrote holds NaN, a number or an integer in the runs that are checked,
        zeros where inputs are drawn."""
        torch = self.torch

        def fill(t):
            if self.poison is None or not t.numel():
                return t
            if self.poison == CLEAN:
                with torch.no_grad():
                    t.zero_()
            elif t.dtype.is_floating_point or t.dtype.is_complex:
                with torch.no_grad():
                    t.fill_(float("nan") if self.poison % 2 else 777.25)
            elif t.dtype is not torch.bool:
                t.fill_(self.poison % 100 + 1)
            return t

        def wrap(space, name):
            real = getattr(space, name)

            def made(*args, **kwargs):
                t = real(*args, **kwargs)
                return fill(t) if self.poison is not None else t
            made.__name__ = name
            setattr(space, name, made)
        for name in ("empty", "empty_like", "empty_strided"):
            wrap(torch, name)
        wrap(torch.Tensor, "new_empty")

    def with_room(self, call):
        """call, where every tensor that is made lies apart, as timed inputs do: what a file reads
        or writes beyond one is none of another's."""
        runner, torch, kept = self, self.torch, (self.slack, self.large, self.area)

        class Apart(torch.overrides.TorchFunctionMode):
            def __torch_function__(self, func, types_, args=(), kwargs=None):
                out = func(*args, **(kwargs or {}))
                if getattr(func, "__name__", "") not in MADE or type(out) is not torch.Tensor \
                        or out.layout is not torch.strided:
                    return out
                at = out.untyped_storage().data_ptr()
                if any(type(a) is torch.Tensor and a.layout is torch.strided
                       and a.untyped_storage().data_ptr() == at for a in args):
                    return out                      # what it was given, or a view of it
                with torch.no_grad():
                    out = runner.apart(out, {})
                runner.slack, runner.large, runner.area = [], {}, {}    # they end with it
                return out
        space, engine = torch.autograd, torch.autograd._engine_run_backward

        def passing(*args, **kwargs):       # what calls it is a function of torch: no mode there
            with Apart():
                return engine(*args, **kwargs)
        self.slack, self.large, self.area = [], {}, {}
        self.room, space._engine_run_backward = True, passing
        try:                                # a backward pass in this thread, where the mode is
            with space.set_multithreading_enabled(False), Apart():
                return call()
        finally:
            self.slack, self.large, self.area = kept
            self.room, space._engine_run_backward = False, engine

    def fresh(self):
        """Memory as a new process has it, zeros and some of it in a row: files that read past
        the end of what they were given do so in a plain run of them as well. What is free
        between tensors that live on is taken for the while."""
        if self.cpu:
            return
        torch = self.torch
        self.plugs, self.former, self.result = None, [], None
        gc.collect()
        self.empty_cache()
        try:
            self.plugs = [self.zeros(n, dtype=torch.uint8, device=self.device)
                          for n in free_remains(torch.cuda.memory_snapshot())]
            room = min(1 << 30, torch.cuda.mem_get_info()[0] // 16)
            held = [self.zeros(n, dtype=torch.uint8, device=self.device)
                    for n in [1 << 20] * 8 + [room]]
            del held
        except RuntimeError:
            self.empty_cache()

    room = False    # what is made or given has far more behind it: for what reaches far
    reach = 0       # bytes of a shape's largest input: a file that takes a small one for as large

    def apart(self, value, seen):
        """A copy of inputs with zeros before and after every tensor: what is read there is the
        same in every process, what is written there is seen. Views share as they did."""
        torch = self.torch
        if type(value) in (tuple, list):
            return type(value)(self.apart(x, seen) for x in value)
        if type(value) is dict:
            return {k: self.apart(x, seen) for k, x in value.items()}
        if type(value) not in (torch.Tensor, torch.nn.Parameter) or value.grad_fn is not None \
                or value.layout is not torch.strided or value.is_quantized \
                or value.device.type != ("cpu" if self.cpu else "cuda") or not value.numel():
            return value
        if id(value) in seen:
            return seen[id(value)][1]
        key = ("storage", value.untyped_storage().data_ptr())
        if key not in seen:
            seen[key] = self.lay(value, key)
        whole, at = seen[key]
        t = self.real_empty(0, dtype=value.dtype, device=value.device)
        t.set_(whole.untyped_storage(), at // value.element_size() + value.storage_offset(),
               value.shape, value.stride())
        if type(value) is torch.nn.Parameter:
            t = torch.nn.Parameter(t, requires_grad=value.requires_grad)
        elif value.requires_grad:
            t.requires_grad_()
        seen[id(value)] = value, t
        return t

    def lay(self, value, key):
        """(memory with zeros in it, where in it value's storage is copied to): how far from its
        start is another in each place, if all of the storage is value's and drawn anew."""
        torch, storage = self.torch, value.untyped_storage()
        n = storage.nbytes()
        least, far, most = (AFAR_LEAST, AFAR, AFAR_MOST) if self.room else (TAIL, 8, TAIL_MOST)
        tail = min(most, max(least, far * n, self.reach)) // 512 * 512
        # What is repeated (a stride of 0) is not drawn anew, and of half a storage as long.
        whole = value.nbytes == n and 0 not in value.stride()
        spare = min(tail, SHIFTED_MOST) if whole and not self.room else 0
        at = FRONT + (spare // PLACES // 1024 * 1024 + 512) * len(self.places) if spare else FRONT
        held = self.large if n > LARGE else self.area
        if key not in held:
            held[key] = self.zeros(FRONT + spare + n + tail, dtype=torch.uint8,
                                   device=value.device)
        memory = held[key]
        old = self.real_empty(0, dtype=torch.uint8, device=value.device)
        memory[at:at + n].copy_(old.set_(storage, 0, (n,), (1,)))
        self.slack += [memory[:at], memory[at + n:]]
        return memory, at

    def beyond(self):
        """Has the last call written outside its inputs?"""
        return bool(self.slack) and bool(self.torch.stack([z.any() for z in self.slack]).any())

    def do_idle(self):
        """Gives back what others may need while nothing is judged."""
        self.forget()
        self.cache.clear()
        self.give_back()
        return {}

    def give_back(self):
        if not self.cpu:
            try:
                self.empty_cache()
            except RuntimeError:        # what went wrong before shows here: it was told
                pass

    def forget(self):
        self.inputs = self.pristine = self.work = self.result = self.expected = None
        self.slack, self.places, self.former, self.large, self.area = [], [], [], {}, {}
        if self.perf:
            self.perf.input_tensors = []

    def do_load(self, source, tests, perf, kind, name, seed, needs):
        torch, scratch = self.torch, self.scratch
        self.kind, self.name, self.needs, self.perf = kind, name, needs, None
        path = "%s/%s.py" % (scratch, name)
        with open(path, "w", encoding="utf-8") as f:
            f.write(source)
        self.file = path
        module = types.ModuleType(name)
        module.__file__ = path
        sys.modules[name] = self.module = module
        self.seed(seed)
        gc.collect()
        gc.freeze()                         # what is ours is not found by gc.get_objects
        exec(compile(source, path, "exec"), module.__dict__)
        self.left_by_tests = ()
        if tests:
            self.left_by_tests = stored_names(tests) - set(module.__dict__)
            tests_path = "%s/%s_test.py" % (scratch, name)
            with open(tests_path, "w", encoding="utf-8") as f:
                f.write(tests)
            self.tests = compile(tests, tests_path, "exec")
            self.test_names = result_names(tests)
        if perf:
            self.load_perf(perf)
        return self.integrity()

    def load_perf(self, text):
        stub = types.ModuleType("performance_utils")

        class Performance_Metrics:
            def __init__(self, op_name="", dtype=None, is_backward=False, **kwargs):
                self.op_name, self.dtype, self.is_backward = op_name, dtype, is_backward
                self.kwargs, self.input_tensors = kwargs, []

            @property
            def input_tensors(self):
                return self.drawn

            @input_tensors.setter
            def input_tensors(self, value):
                self.drawn = Drawn(value)
        stub.Performance_Metrics = Performance_Metrics
        stub.do_bench_config = type("do_bench_config", (), {})
        own, module = self.name, self.module

        class Finder:
            """The modules a perf script names: the file under test, and the stub above."""
            @staticmethod
            def find_spec(full, path=None, target=None):
                last = full.split(".")[-1]
                real = {own: module, "performance_utils": stub}.get(last)
                if real is None and full.split(".")[0] not in ("TritonBench_v1", "geak_eval"):
                    return None
                import importlib.machinery

                class Loader:
                    def create_module(self, spec):
                        if real is None:
                            made = types.ModuleType(full)
                            made.__path__ = []
                            return made
                        return real

                    def exec_module(self, made):
                        pass
                return importlib.machinery.ModuleSpec(full, Loader(), is_package=real is None)
        sys.meta_path.insert(0, Finder)
        sys.modules["performance_utils"] = stub
        space = {"__name__": "perf", "__file__": self.scratch + "/perf.py"}
        try:
            exec(compile(text, self.scratch + "/perf.py", "exec"), space)
        except ImportError as e:
            if e.name and e.name.split(".")[-1] == own:
                raise Refusal("build_failed", "it does not define what is timed: %s" % e)
            raise
        finally:
            sys.meta_path.remove(Finder)
        kinds = [c for c in space.values() if isinstance(c, type)
                 and issubclass(c, Performance_Metrics) and c is not Performance_Metrics]
        if not kinds:
            raise Refusal("build_failed", "the perf script has no class of timed shapes")
        self.perf = kinds[-1]()

    def seed(self, seed):
        import random
        random.seed(seed)
        for manual_seed in self.generators:
            manual_seed(seed)
        if "numpy" in sys.modules:
            sys.modules["numpy"].random.seed(seed % 2 ** 32)

    def integrity(self):
        """What of the ground it stands on the file has changed; None is as it should be."""
        for where, space, then in self.before:
            for k, v in then.items():
                if vars(space).get(k, v) is not v:
                    return {"tampered": "replaced %s.%s" % (where, k)}
        if self.threads() > self.threads_before:
            return {"tampered": "left a thread running"}
        if self.streams:
            return {"tampered": "launched a kernel on a stream of its own"}
        if self.other_stream():
            return {"tampered": "left another stream current"}
        return {}

    # Checked runs -----------------------------------------------------------------

    def run_tests(self, seed, poison, room=False):
        for name in self.left_by_tests:
            self.module.__dict__.pop(name, None)
        self.fresh()
        self.poison = poison
        try:
            run = self.model if self.kind == "kernelbench" else self.results
            found = self.with_room(lambda: run(seed)) if room else run(seed)
            self.sync()
            return found
        finally:
            self.poison = self.plugs = None

    def results(self, seed):
        self.seed(seed)
        space = self.module.__dict__
        exec(self.tests, space)
        found = {n: space[n] for n in self.test_names if n in space}
        calls = [n for n in self.tests.co_names if n.startswith("test") and callable(space.get(n))]
        if not found and not calls:
            raise Refusal("build_failed", "the tests give no result")
        if not found:
            self.seed(seed)
            found = {n: space[n]() for n in calls[:1]}
        return found

    def model(self, seed, inputs=None):
        space = self.module.__dict__
        made = space.get("ModelNew") or space["Model"]
        self.seed(seed)
        net = made(*[self.to(x) for x in space["get_init_inputs"]()])
        net = net.cuda().eval() if isinstance(net, self.torch.nn.Module) else net
        inputs = [self.to(x) for x in space["get_inputs"]()] if inputs is None else inputs
        with self.torch.no_grad():
            return net(*inputs)

    def to(self, x):
        return x.cuda() if isinstance(x, self.torch.Tensor) else x

    def do_test(self, seed, poison, room=False):
        self.launches[0] = 0
        self.counting(True)
        try:
            out = self.run_tests(seed, poison, room)
        finally:
            self.counting(False)
        reply = self.put(out, seed)
        reply.update(self.integrity(), launches=self.launches[0], names=sorted(self.names)[:64])
        return reply

    def put(self, value, seed):
        """Writes the tensors of value to out.bin; of large ones, blocks that seed draws. It is a
        new file: what the file under test has mapped or open is another."""
        torch, leaves, at = self.torch, [], 0
        name = self.scratch + "/out.bin"
        if os.path.isfile(name):
            os.unlink(name)
        with open(name, "xb") as f, torch.no_grad():
            for path, leaf in walk(value):
                if isinstance(leaf, torch.Tensor):
                    if type(leaf) not in (torch.Tensor, torch.nn.Parameter):
                        raise Refusal("cheated", "%s is a %s" % (path, type(leaf).__name__))
                    flat = self.sampled(leaf.detach(), seed)
                    data = flat.contiguous().view(torch.uint8).cpu().numpy().data \
                        if flat.numel() else b""
                    f.write(data)
                    leaves.append(dict(path=path, dtype=str(leaf.dtype), shape=list(leaf.shape),
                                       at=at, n=flat.numel()))
                    at += len(data)
                else:
                    plain = leaf if isinstance(leaf, (bool, int, str, type(None))) else \
                        "nan" if isinstance(leaf, float) and leaf != leaf else \
                        str(leaf) if isinstance(leaf, float) else type(leaf).__name__
                    leaves.append(dict(path=path, value=plain, number=isinstance(leaf, float)))
        return {"leaves": leaves, "bytes": at}

    def sampled(self, t, seed):
        torch = self.torch
        flat = t.reshape(-1)
        if t.layout is not torch.strided or t.numel() * t.element_size() <= WHOLE:
            return flat
        blocks, size = SAMPLE
        g = torch.Generator()
        g.manual_seed(seed)
        starts = torch.randint(0, t.numel() - size, (blocks,), generator=g, device="cpu")
        return flat[(starts.to(t.device)[:, None]
                     + torch.arange(size, device=t.device)).reshape(-1)]

    # Timed calls --------------------------------------------------------------------

    def do_inputs(self, seed, place=None, distinct=False):
        """Draws all timed inputs, on the GPU where the script lets us: that is quicker."""
        torch = self.torch
        self.forget()
        self.lazy, self.distinct = None, distinct
        if self.kind != "kernelbench" and not self.perf:
            self.inputs = [None]
            return {"labels": ["tests"], "place": "cpu"}
        for where in ([place] if place else ["cpu"] if self.cpu else [str(self.device), "cpu"]):
            try:
                labels = self.draw(where, seed, None)
                break
            except Exception:
                if where == "cpu" or place:
                    raise
        return {"labels": labels, "place": where}

    def draw(self, where, seed, want):
        torch = self.torch
        self.seed(seed)
        self.poison = CLEAN             # what the script leaves unwritten is alike in all
        Drawn.want, Drawn.device = want, "cuda" if where != "cpu" else "none"
        randint = torch.randint
        if self.distinct:
            torch.randint = apart_from_each_other(torch)
        try:
            torch.set_default_device(where if where != "cpu" else None)
            if self.kind == "kernelbench":
                drawn = Drawn([self.module.get_inputs()])
            else:
                self.perf.input_tensors = []
                self.perf.get_input_tensors()
                drawn, self.perf.input_tensors = self.perf.input_tensors, []
        finally:
            torch.set_default_device(None)
            torch.randint = randint
            self.poison = Drawn.want = None
        if drawn.bytes > INPUTS_MOST:
            self.lazy = (where, seed)
        self.inputs = list(drawn)
        return drawn.labels

    def do_shape(self, i, seed, lanes=False, room=False):
        torch = self.torch
        with torch.no_grad():               # what lies in the list is as it was drawn
            for t, kept in self.pristine or []:
                t.detach().copy_(kept)
        self.work = self.pristine = self.result = drawn = None
        self.slack, self.places, self.former = [], [], []
        self.large, self.area = {}, {}      # what is too large to lie in more than one; what is not
        if self.lazy:
            self.inputs = None
            self.draw(*self.lazy, i)
        self.seed(seed)
        if self.kind == "kernelbench":
            drawn = [self.to(x) for x in self.inputs[i]]
            space = self.module.__dict__
            net = (space.get("ModelNew") or space["Model"])(*space["get_init_inputs"]())
            net = net.cuda().eval()

            def call():
                with torch.no_grad():
                    return net(*self.work)
            self.call = call
        elif not self.perf:                 # no script of shapes: the tests are what is timed
            self.call = lambda: self.with_room(lambda: self.results(self.timed_seed)) \
                if room else self.results(self.timed_seed)
        else:
            drawn = self.perf.to_cuda(self.inputs[i])
            self.call = lambda: self.perf.call_op(self.work)
        self.reach = max((t.untyped_storage().nbytes() for _, t in walk(drawn)
                          if type(t) is torch.Tensor and t.layout is torch.strided), default=0)
        several = True
        for k in range(PLACES):
            if k % SHIFTS == 0 and several:
                self.area = {}
            self.slack, self.room = [], room
            with torch.no_grad():
                work = self.apart(drawn, {})
            self.room = False
            tensors, own = {}, True
            for (_, t), (_, old) in zip(walk(work), walk(drawn)):
                if isinstance(t, torch.Tensor) and 0 not in t.stride():
                    own = own and old is not t
                    if t.data_ptr() not in tensors or \
                            t.nbytes > tensors[t.data_ptr()][0].nbytes:
                        tensors[t.data_ptr()] = (t, old.detach().clone() if old is t
                                                 else old.detach())
            tensors = list(tensors.values())
            self.places.append((work, tensors, self.slack))
            size = sum(t.numel() * t.element_size() for t, _ in tensors)
            if not own or not size:
                break
            if k % SHIFTS == SHIFTS - 1:
                several = sum(w.numel() for w in self.area.values()) <= PLACED_MOST \
                    and not self.short_of_memory()
        self.work, self.pristine, self.slack = self.places[0]
        self.laned = lanes and not self.cpu and size <= LANED_MOST
        return {"bytes": size}

    def short_of_memory(self):
        free, whole = (1, 1) if self.cpu else self.torch.cuda.mem_get_info()
        return free < whole // 4

    def do_prepare(self, seed):
        """The inputs as drawn, with the rows of the floating ones rolled: an answer kept from
        an earlier call is wrong in this one."""
        torch, self.timed_seed = self.torch, seed
        self.turn(seed)
        with torch.no_grad():
            for i, (t, kept) in enumerate(self.pristine):
                dim = next((d for d, n in enumerate(kept.shape) if n > 1), None)
                if kept.is_floating_point() and dim is not None:
                    n = kept.shape[dim]
                    by = (seed >> 8) * (i + 1) % n
                    to = t.detach()         # two copies: torch.roll is ten times as slow
                    to.narrow(dim, by, n - by).copy_(kept.narrow(dim, 0, n - by))
                    if by:
                        to.narrow(dim, 0, by).copy_(kept.narrow(dim, n - by, by))
                else:
                    t.detach().copy_(kept)
                t.grad = None
            if self.slack:
                torch._foreach_zero_(self.slack)
        self.seed(seed)
        if not self.cpu:
            self.flush.zero_()
        self.sync()
        return {}

    def turn(self, seed):
        """Where inputs and results lie and which stream a call is on differ from call to call.
        Where a process happened to get its memory and its channels to the GPU is worth some
        percent of a short call: measured on an H200 with one kernel of 6 us in five processes,
        a standard deviation between them of 1.0 to 3.0 % on one stream, of 0.3 to 0.6 % on 8 and
        0.3 % on 32 that take turns. More connections (CUDA_DEVICE_MAX_CONNECTIONS) give no more
        and cost seconds when the GPU is opened."""
        self.lane = 1 + lane_of(seed) if self.laned else 0
        self.work, self.pristine, self.slack = self.places[place_of(seed) % len(self.places)]
        self.former.append(self.result)
        kept = (seed >> 12) % KEPT if self.keeps(self.result) else 0
        del self.former[:max(0, len(self.former) - kept)]
        self.result = None

    def keeps(self, result):
        """Whether results as small as this one are kept, so that the next lies elsewhere."""
        tensors = [x for _, x in walk(result) if isinstance(x, self.torch.Tensor)]
        small = sum(x.numel() * x.element_size() for x in tensors) <= KEPT_MOST
        return small and len(self.places) > 1

    def do_settle(self):
        """After checked calls what no one wrote holds zeros again, in both processes: what a
        file prints of it or computes with it takes as long in one as in the other."""
        if self.cpu:
            return {}
        self.former, held = [], []
        try:
            self.do_prepare(self.timed_seed)
            self.former, self.poison = [], CLEAN
            while not held or len(held) < KEPT and self.keeps(held[0]):
                held.append(self.timed(self.call, 0, self.lane)[0])
        finally:
            self.poison = None
        self.result = None
        return {}

    def do_go(self, cycles=0, record=False):
        why = self.recorder.start(self.lanes[self.lane].cuda_stream) \
            if record and self.recorder else None
        self.result, ns, host, ahead = self.timed(self.call, cycles, self.lane)
        reply = {"ns": ns, "host": host, "ahead": ahead}
        if record and self.recorder:
            reply["recorded"] = {"why": why} if why else self.recorder.stop()
        return reply

    def do_count(self, seed, known=None):
        def launch():
            self.result = self.call()
            self.sync()
        if not self.recorder:
            return {"why": "Triton's interpreter has no counters"}
        return self.recorder.count(self.torch.cuda.current_device(),
                                   lambda: self.do_prepare(seed), launch, known)

    def do_call(self, poison):
        """A call that is checked, not timed."""
        self.former = []
        self.poison = poison
        try:
            self.result, ns, host, _ = self.timed(self.call, 0, self.lane)
        finally:
            self.poison = None
        return {"ns": ns, "host": host}

    def do_show(self, seed):
        reply = self.put([self.result, self.work], seed)
        return dict(reply, beyond=self.beyond(), **self.integrity())

    def do_facts(self):
        kernels = []
        for name, fn in list(self.module.__dict__.items()):
            for _ in range(4):
                if hasattr(fn, "device_caches"):
                    break
                fn = getattr(fn, "fn", None)
            for cache in list(getattr(fn, "device_caches", {}).values()):
                for k in list(cache[0].values()):
                    m = k.metadata
                    if getattr(k, "n_regs", None) is None:      # compiled, not launched
                        continue
                    kernels.append(dict(name=name, registers=k.n_regs, spills=k.n_spills,
                                        shared=m.shared, warps=m.num_warps, stages=m.num_stages))
        out = {"kernels": kernels[:32]}
        out.update(self.integrity())
        return out

    # Of the reference alone ------------------------------------------------------------

    def do_machine(self):
        torch = self.torch
        import triton
        out = {"torch": torch.__version__, "triton": triton.__version__, "language": "triton"}
        if self.cpu:
            return dict(out, name="Triton's interpreter on the CPU", interpreter=True)
        p = torch.cuda.get_device_properties(self.device)
        get = lambda name: finite(getattr(p, name, None))
        clock, width = get("memory_clock_rate"), get("memory_bus_width")
        if clock and width:
            out["dram_gbps"] = 2 * clock * 1e3 * width / 8 / 1e9
        if get("clock_rate"):
            out["sm_tflops"] = 2 * 128 * p.multi_processor_count * p.clock_rate * 1e3 / 1e12
        return dict(out, name=p.name, sm_count=p.multi_processor_count,
                    memory_bytes=p.total_memory, capability=[p.major, p.minor],
                    max_threads_per_sm=get("max_threads_per_multi_processor"),
                    regs_per_sm=get("regs_per_multiprocessor"),
                    smem_per_sm=get("shared_memory_per_multiprocessor"))

    def do_rates(self, ns):
        """GB/s and TFLOP/s by the script's own formulas; absent where they fail."""
        out = {}
        for name in ("get_gbps", "get_tflops"):
            try:
                out[name[4:]] = finite(float(getattr(self.perf, name)(self.work, ns / 1e6)))
            except Exception:
                pass
        return out

    def do_verify_tests(self, seed, leaves, file, poisons, ignore=(), allow=None, room=False):
        key = ("tests", seed)

        def run(k):
            return self.keep(self.run_tests(seed, poisons[k % 2], room), seed, "cpu")
        if key not in self.cache:
            self.cache.clear()
            self.cache[key] = [run(0), run(1)]
        return self.verify(self.cache[key], leaves, file, run, ignore, allow)

    expected = buffer = None        # first runs; memory that what is read goes through

    def run_shape(self, seed, show, poison):
        """(what is kept of a checked call, whether it wrote outside of its inputs)"""
        self.do_prepare(seed)
        self.do_call(poison)
        return self.keep([self.result, self.work], show), self.beyond()

    def do_expect(self, seed, show, poisons, runs):
        """The first runs that do_verify_shape compares with, made while the other is shown."""
        self.expected = seed, show, [self.run_shape(seed, show, poisons[k % 2])
                                     for k in range(runs)]
        return {}

    def do_verify_shape(self, seed, show, leaves, file, poisons, runs=2, ignore=(), allow=None):
        if not self.expected or self.expected[:2] != (seed, show):
            self.do_expect(seed, show, poisons, runs)
        done, self.expected = self.expected[2], None

        def run(k):
            done.append(self.run_shape(seed, show, poisons[k % 2]))
            return done[k][0]
        out = self.verify([kept for kept, _ in done], leaves, file, run, ignore, allow)
        self.do_settle()
        return dict(out, beyond=any(beyond for _, beyond in done))

    def keep(self, value, seed, where=None):
        """Of tests on the CPU: a run after this one finds the GPU's memory as this one did."""
        torch = self.torch

        def kept(leaf):
            flat = self.sampled(leaf.detach(), seed)
            return flat.to(where) if where and flat.device.type != where else flat.clone()
        return [(path, (leaf.dtype, list(leaf.shape), kept(leaf))
                 if isinstance(leaf, torch.Tensor) else leaf) for path, leaf in walk(value)]

    def verify(self, runs, leaves, file, run, ignore=(), allow=None):
        """The candidate's leaves against the reference's, every one. What runs of the reference
        on different poison do not agree on is left to chance by the task itself: where a
        candidate is off, the reference must first agree with itself in MORE further runs. allow
        is a share of an output that it was found to differ from itself in when it was opened."""
        first = runs[0]
        if [p for p, _ in first] != [x["path"] for x in leaves]:
            want, got = [p for p, _ in first], [str(x["path"]) for x in leaves]
            gone = [p for p in want if p not in got] or [p for p in got if p not in want] or got
            return {"wrong": "the results differ in keys or lengths: %d expected, %d given, "
                             "first %s" % (len(want), len(got), gone[0])}
        out = {"count": 0, "chance": 0, "allowed": 0, "worst": 0.0, "undetermined": []}
        for k, leaf in enumerate(leaves):
            path = first[k][0]
            if path in ignore:
                out["chance"] += 1
                continue
            found = self.compare(runs, k, leaf, file)
            while found.get("path") and len(runs) < 2 + MORE:
                runs.append(run(len(runs)))
                found = self.compare(runs, k, leaf, file)
            if found.get("path") and 0 < found["share"] <= (allow or {}).get(path, 0):
                out["allowed"] += found["off"]
            elif "wrong" in found:
                return found
            out["count"] += found["count"]
            out["chance"] += found["chance"]
            out["worst"] = max(out["worst"], found["worst"])
            if found.get("whim") or found["count"] and found["chance"] == found["count"]:
                out["undetermined"].append(path)
        out["undetermined"] = out["undetermined"][:16]
        return dict(out, worst=finite(out["worst"]))

    def compare(self, runs, k, leaf, file):
        """One leaf; path is given with what is wrong where a further run may say otherwise."""
        torch, (path, a) = self.torch, runs[0][k]
        others = [r[k][1] for r in runs[1:] if k < len(r) and r[k][0] == path]
        if not isinstance(a, tuple):
            def plain(x):
                return x if isinstance(x, (bool, int, str, type(None), float)) else \
                    type(x).__name__
            whim = any(not alike(plain(a), plain(b)) for b in others)
            if whim or alike(plain(a), leaf.get("value")):
                return {"count": 0, "chance": int(whim), "worst": 0.0, "whim": whim}
            return {"wrong": "%s is %s, expected %s" % (path, leaf.get("value"), plain(a)),
                    "path": path, "share": 1.0, "off": 1, "count": 0, "chance": 0, "worst": 0.0}
        dtype, shape, want = a
        if str(dtype) != leaf.get("dtype") or shape != leaf.get("shape"):
            return {"wrong": "%s is %s %s, expected %s %s" % (
                path, leaf.get("dtype"), leaf.get("shape"), dtype, shape)}
        if not want.numel():
            return {"count": 0, "chance": 0, "worst": 0.0}
        data = self.read(file, leaf["at"], want.numel() * want.element_size())
        if data is None:
            return {"wrong": "%s: its bytes are missing" % path}
        want = want.to(self.device)
        got = data.view(dtype)
        others = [b[2].to(want.device) for b in others
                  if isinstance(b, tuple) and b[2].shape == want.shape]
        bad, chance, worst = self.differing(want, others, got)
        out = {"count": want.numel(), "chance": chance, "worst": worst}
        if bad is not None:
            off, i = bad
            out.update(path=path, off=off, share=off / want.numel(), wrong="%s: %d of %d elements "
                       "wrong, first [%d] = %s, expected %s" % (
                           path, off, want.numel(), i, got[i].item(), want[i].item()))
        return out

    def read(self, file, at, n):
        """n bytes of a file, on our device; None where it has no such bytes. They go through
        memory that is kept: that of new pages costs more than to fill them."""
        torch, cpu = self.torch, self.device == "cpu"
        if self.buffer is None or self.buffer.numel() < n:
            self.buffer = torch.empty(max(n, WHOLE), dtype=torch.uint8, device="cpu",
                                      pin_memory=not cpu)
        data = self.buffer[:n]
        with open(file, "rb", opener=lambda p, f: os.open(
                p, f | os.O_NOFOLLOW | os.O_NONBLOCK)) as f:
            regular = stat.S_ISREG(os.fstat(f.fileno()).st_mode)
            f.seek(at if regular else 0)
            if not regular or f.readinto(data.numpy()) != n:
                return None
        return data.clone() if cpu else data.to(self.device)

    def roundoff(self, dtype):
        """Units of a bound: the coarsest type the task computes in, and a factor for sums."""
        text = self.needs
        u = {"torch.float16": 2 ** -11, "torch.bfloat16": 2 ** -8, "torch.float64": 2 ** -53}.get(
            str(dtype), 2 ** -24)
        if "float8" in str(dtype):
            return 2.0 ** -3
        if u < 2 ** -11 and (text["half"] or text["dot"]):
            u = 2 ** -11
        if text["bfloat"]:
            u = max(u, 2 ** -8)
        return u * (8 if u >= 2 ** -11 else 256)

    def differing(self, want, others, got):
        torch = self.torch
        chance = torch.zeros_like(want, dtype=torch.bool)
        if not (want.dtype.is_floating_point or want.dtype.is_complex):
            off = want != got
            for again in others:
                chance |= want != again
            if self.needs["rounds"] and want.dtype in (torch.int8, torch.uint8):
                off = (want.to(torch.int32) - got.to(torch.int32)).abs() > 1
            off = off & ~chance
            bad = (int(off.sum()), int(off.to(torch.uint8).argmax())) if bool(off.any()) else None
            return bad, int(chance.sum()), 0.0
        wide = torch.complex128 if want.dtype.is_complex else torch.float64
        w, g = want.to(wide), got.to(wide)
        known = torch.isfinite(w)
        mean = w[known].abs().square().mean().sqrt() if bool(known.any()) else w.new_zeros(()).abs()
        limit = self.roundoff(want.dtype) * (w.abs() + mean) + 1e-30

        def differ(x, y):
            same = (x == y) | (torch.isnan(x) & torch.isnan(y))
            return ~(same | ((x - y).abs() <= limit))
        for again in others:
            chance |= differ(w, again.to(wide))
        off = differ(w, g) & ~chance
        ratio = ((w - g).abs() / limit)[known & ~chance]
        worst = float(ratio.max()) if ratio.numel() else 0.0
        bad = (int(off.sum()), int(off.to(torch.uint8).argmax())) if bool(off.any()) else None
        return bad, int(chance.sum()), worst if math.isfinite(worst) else 0.0


def stored_names(tests):
    """Names that the tests' top level gives to anything."""
    return {n.id for part in ast.parse(tests).body
            if not isinstance(part, (ast.FunctionDef, ast.ClassDef))
            for n in ast.walk(part) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}


def alike(a, b):
    """Two values that are no tensors: numbers as near as sums of them may be."""
    try:
        if isinstance(a, float):
            return math.isclose(float(b), a, rel_tol=1e-3) or float(b) != float(b) and a != a
        return type(a) is type(b) and a == b
    except (TypeError, ValueError):
        return False


def result_names(tests):
    """Names that the tests' top level gives to what a call of a test returns."""
    out = []
    for n in ast.parse(tests).body:
        if isinstance(n, ast.Assign) and isinstance(n.value, ast.Call) \
                and "test" in ast.unparse(n.value.func).lower():
            out += [t.id for t in n.targets if isinstance(t, ast.Name)]
    return out


# What is compiled ahead ---------------------------------------------------------------

def some(t):
    """What a tensor without contents might hold: so that a test goes on."""
    return 1.0 if t.dtype.is_floating_point or t.dtype.is_complex else 1


def target_of(machine):
    from triton.backends.compiler import GPUTarget
    major, minor = machine["capability"]
    return GPUTarget("cuda", 10 * major + minor, 32)


class NoGpu:
    """What Triton asks of a driver before it compiles, for a GPU that is not opened."""

    def __init__(self, torch, machine):
        self.target, self.meta = target_of(machine), torch.device("meta")
        self.facts = {"max_shared_mem": int(machine["smem_per_sm"]) - 1024, "warpSize": 32,
                      "max_num_regs": 65536, "multiprocessor_count": machine["sm_count"]}
        self.utils = self

    def get_device_properties(self, device=0):
        return self.facts

    def get_current_device(self):
        return 0

    def get_current_stream(self, device=0):
        return 0

    def get_current_target(self):
        return self.target

    def get_active_torch_device(self):
        return self.meta


class Scout(Runner):
    """Runs a file's tests and timed calls on tensors that have shapes and no contents, on no GPU,
    and notes the kernels they would start. Those are compiled ahead by several processes into the
    cache of the child that will ask for them: while others time, and not one after another. What
    can't be foreseen so (grids that hang on contents) is compiled when it is asked for. Nothing
    of this is believed or judged: what is foreseen wrongly is compiled in vain."""

    def __init__(self, scratch, cache, machine, trusted):
        import torch
        import triton
        self.torch, self.scratch, self.cpu, self.device = torch, scratch, True, "meta"
        os.environ["CUDA_VISIBLE_DEVICES"] = ""     # what we don't pretend is not to be had
        if not trusted:
            landlock({"root", "home"}, scratch, cache)
        self.generators, self.distinct = (torch.default_generator.manual_seed,), False
        self.left_by_tests, self.poison, self.jobs, self.compiled = (), None, {}, set()
        self.inputs, self.sync = [], lambda: None
        self.pretend("meta", machine["capability"])
        facts = types.SimpleNamespace(
            name=machine["name"], major=machine["capability"][0], minor=machine["capability"][1],
            multi_processor_count=machine["sm_count"], total_memory=machine["memory_bytes"])
        torch.cuda.get_device_properties = lambda *a: facts
        triton.runtime.driver.set_active(NoGpu(torch, machine))
        self.note(triton.runtime.JITFunction, triton.runtime.Autotuner)

    def integrity(self):
        return {}

    def note(self, JITFunction, Autotuner):
        jobs, compiles, keys = self.jobs, JITFunction._do_compile, set()

        def noted(fn, key, *args):
            if len(jobs) < JOBS_MOST:
                jobs.setdefault((id(fn), key), lambda: compiles(fn, key, *args))

        def tuned(tuner, *args, **kwargs):
            tuner.nargs = dict(zip(tuner.arg_names, args))
            given = {**tuner.nargs, **kwargs}       # it is tuned once for each of these
            key = str([id(tuner)] + [given.get(k) for k in tuner.keys]
                      + [str(x.dtype) for x in given.values() if hasattr(x, "dtype")])
            if key in keys and len(tuner.configs) > 1:
                return
            keys.add(key)
            for config in tuner.prune_configs(kwargs):
                tuner.fn.run(*args, **kwargs, **config.all_kwargs())
        JITFunction._do_compile, Autotuner.run = noted, tuned   # nothing is launched that is None

    def do_ahead(self, processes, **what):
        """Loads, notes and starts to compile. { tests = kernels that the tests ask for, all =,
        seconds = that it took to find out }"""
        begun = time.monotonic()
        self.do_load(**what)

        def tried(call):
            try:
                call()
            except Exception:
                pass                    # it asks for contents: that is all that can be foreseen
        tried(lambda: self.run_tests(1, None))
        tests = len(self.jobs)
        if self.perf or self.kind == "kernelbench":
            tried(lambda: self.draw("meta", 1, None))
            for drawn in self.inputs:
                tried(lambda: self.model(1, drawn) if self.kind == "kernelbench" else
                      self.perf.call_op(self.perf.to_cuda(drawn)))
        self.start(processes)
        return {"tests": tests, "all": len(self.jobs), "seconds": time.monotonic() - begun}

    def start(self, processes):
        (todo, into), (done, told) = os.pipe(), os.pipe()
        jobs = list(self.jobs.values())
        os.write(into, b"".join(struct.pack("<H", i) for i in range(len(jobs))))
        os.close(into)
        for _ in range(min(processes, len(jobs))):
            if os.fork() == 0:
                try:
                    os.close(done)
                    self.compile_some(jobs, todo, told)
                finally:
                    os._exit(0)         # whatever befell it: it is no scout
        os.close(todo), os.close(told)
        self.done = done

    def compile_some(self, jobs, todo, told):
        from triton.backends.nvidia.driver import CudaLauncher
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)      # a fork does not inherit it
        os.nice(10)                     # others are timed
        while True:
            which = os.read(todo, 2)
            if len(which) < 2:
                return
            try:
                kernel = jobs[struct.unpack("<H", which)[0]]()
                CudaLauncher(kernel.src, kernel.metadata)   # C of its own, a compiler's work too
            except Exception:
                pass                    # who asks for it will be told
            os.write(told, which)

    def do_await(self, n, stall=None):
        """Until the first n are compiled, whatever else was before them, or all that can be, or
        none was for stall seconds."""
        while not self.compiled.issuperset(range(n)):
            if not select.select([self.done], [], [], stall)[0]:
                return {"stalled": True}
            more = os.read(self.done, 4096)
            if not more:
                break
            self.compiled.update(i for i, in struct.iter_unpack("<H", more))
        return {}


# The parent -------------------------------------------------------------------------

class Redraw(Exception):
    """The inputs of timed shapes are to be drawn otherwise."""


class Lost(Exception):
    """A child that died, hung or broke the protocol: (verdict, reason)."""


class Suspicion(Lost):
    """What a pair of processes looks guilty of, and another pair may not."""


NONSENSE = (KeyError, TypeError, ValueError, IndexError, AttributeError, ArithmeticError)
MOVED = "it gave a process that is not its own another priority or other processors"


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


SWEEP_S = 5                 # of waiting for what was killed
hopeless = set()            # pids that did not end in that time: the driver keeps a process, as it
                            # may while a kernel hangs


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


def paired(logs):
    """Hodges-Lehmann estimate and the Wilcoxon signed-rank interval, at 95 %: exact, of more than
    EXACT pairs by its normal approximation (Hollander, Wolfe, Chicken: Nonparametric Statistical
    Methods, 3.1 and 3.3)."""
    n = len(logs)
    walsh = sorted((logs[i] + logs[j]) / 2 for i in range(n) for j in range(i, n))
    middle = (walsh[(len(walsh) - 1) // 2] + walsh[len(walsh) // 2]) / 2
    if n > EXACT:
        k = int(n * (n + 1) / 4 - 1.96 * math.sqrt(n * (n + 1) * (2 * n + 1) / 24))
        return middle, walsh[k - 1], walsh[-k]
    ways = [1]
    for rank in range(1, n + 1):
        ways = [(ways[s] if s < len(ways) else 0)
                + (ways[s - rank] if 0 <= s - rank < len(ways) else 0)
                for s in range(len(ways) + rank)]
    below, k = 0, 0
    while k < len(ways) and below + ways[k] <= 0.025 * 2 ** n:
        below, k = below + ways[k], k + 1
    return (middle, walsh[k - 1], walsh[-k]) if k else (middle, None, None)


def of_processes(e, low, high, ns):
    """The interval of calls that take ns, with what two processes differ in for as long as they
    live: repetition within a pair does not average that."""
    own = 1.96 * PAIR_NS / ns
    return e - math.hypot(e - low, own), e + math.hypot(high - e, own)


def log_ratios(times):
    return [math.log(a / b) for a, b in zip(times["A"], times["B"])]


def median(values):
    v = sorted(values)
    return (v[(len(v) - 1) // 2] + v[len(v) // 2]) / 2


def secret(turn=None):
    """A seed; turn is (which stream it puts a call on, of LANES, where its inputs lie, of
    PLACES)."""
    seed = int.from_bytes(os.urandom(6), "little")
    if turn is None:
        return seed
    return seed & ~(LANES - 1 << 20 | PLACES - 1 << 4) | turn[0] << 20 | turn[1] << 4


def lane_of(seed):
    return (seed >> 20) % LANES


def place_of(seed):
    return (seed >> 4) % PLACES


def turns(lanes):
    """Without end, in secret order: each of so many streams as often as another, and each place."""
    def cycle(n):
        while True:
            yield from sorted(range(n), key=lambda _: secret())
    return zip(cycle(lanes), cycle(PLACES))


class Screen:
    """Whether a candidate is clearly slower than the best so far: by three shapes, or all there
    are, and as many calls of each as give an interval: later shapes may be where it is faster.
    First calls don't say: most of one is the host's, which the best's times are without."""

    def __init__(self, best):
        self.best, self.logs, self.slow = best, {}, False

    def slower(self, k, ns):
        """As seen with shape k, which takes ns so far, and those before it."""
        if self.best:
            self.logs[k] = math.log(ns / self.best[k])
            self.slow = len(self.logs) >= min(3, len(self.best)) and \
                sum(self.logs.values()) / len(self.logs) > math.log(1.25)
        return self.slow


def get_ready():
    """What every child would do for itself before it compiles: read all of the compiler for the key
    of the cache, which takes a second, and import what tensors without contents need."""
    for name in ("triton.runtime.cache", "triton.compiler.compiler"):   # the latter before 3.6
        triton_key = getattr(sys.modules.get(name), "triton_key", None)
        if triton_key:
            triton_key()
            break
    try:
        import torch.fx.experimental.symbolic_shapes    # noqa: F401
    except Exception:
        pass
    prepare_dynamo()
    gc.collect()
    gc.freeze()             # nor need children look through what is ours


def know_compiler(machine):
    """The version of ptxas, asked once for all children."""
    try:
        from triton.compiler.compiler import make_backend
        make_backend(target_of(machine)).hash()
    except Exception:
        pass                # whoever compiles will be told


def prepare_counters(machine):
    """What counting needs of the host: CUPTI takes a tenth of a second to find it out."""
    chip = CHIPS.get(tuple(machine["capability"]))
    if INJECT and chip:
        try:
            why = ctypes.create_string_buffer(512)
            ctypes.CDLL(INJECT).kb_inject_ready(chip.encode(), COUNTERS.encode(), why,
                                                ctypes.c_size_t(512))
        except (OSError, AttributeError):
            pass                # whoever counts will be told


def prepare_dynamo():
    """It replaces functions of torch when it is first imported: before they are taken hold of."""
    try:
        import torch._dynamo    # noqa: F401
    except Exception:
        pass


def lock_file(path):
    """A file that processes of any user lock, whoever made it."""
    how = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
    try:
        fd = os.open(path, how | os.O_CREAT, 0o644)
        os.fchmod(fd, 0o644)            # whatever the umask
    except PermissionError:             # another user did
        fd = os.open(path, how)
    return os.fdopen(fd, "rb")


class Session:
    def __init__(self, device, task):
        self.device, self.task = device, task
        text = task["source"] + task.get("tests", "") + task.get("perf", "")
        self.needs = {"half": "float16" in text or ".half()" in text, "dot": "tl.dot" in text,
                      "bfloat": "bfloat16" in text, "rounds": "int8" in text}
        self.spare, self.scout, self.left_out = None, None, {}
        self.ignore, self.allow, self.poisons = {}, {}, POISONS
        self.distinct, self.timed_tests, self.drawn, self.shape = False, False, None, None
        self.room, self.kept = set(), set()     # what has room: "tests", numbers of shapes; or had
        self.tested = False
        self.recorded, self.unrecorded, self.lanes = {}, None, True
        visible = os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")
        at = int(device.split(":")[1]) if ":" in device else 0
        gpu = visible[at] if at < len(visible) and visible[at].strip() else str(at)
        self.lock, self.here = (lock_file("/tmp/kernelband-triton-%s-%s.%s" % (
            device.split(":")[0], "".join(c for c in gpu if c.isalnum() or c == "-"), what))
            for what in ("lock", "here"))
        self.others()
        if "torch._" in text:
            prepare_dynamo()
        self.alone()
        self.reference = Child(device, True)
        self.load(self.reference, task["source"])
        self.machine = self.reference.ask("machine")
        if device != "cpu":
            know_compiler(self.machine)
            if task.get("counters", True):
                prepare_counters(self.machine)
        self.baseline = None
        self.shown = tempfile.mkdtemp(prefix="kernelband-triton-%d-" % os.getpid())

    def alone(self):
        """For a task that asks for it the GPU is its own for more than the timing."""
        if self.task.get("alone"):
            self.take(fcntl.LOCK_EX)

    waited, slow, noting, judged, held = 0.0, False, 0.0, False, None
    kernel_s, haste_s = KERNEL_S, HASTE_S

    def take(self, how):
        """Waits for other sessions, so long in all and no longer: that is no time of a candidate's."""
        start = time.monotonic()
        while True:
            try:
                fcntl.flock(self.lock, how | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if self.waited + time.monotonic() - start > LOCK_S:
                    raise Lost("timeout", "other sessions had the GPU for %d s" % LOCK_S) from None
                time.sleep(0.002)
        self.held = how
        self.has_waited(time.monotonic() - start)

    def give(self):
        fcntl.flock(self.lock, fcntl.LOCK_UN)
        self.held = None

    def has_waited(self, seconds):
        self.waited += seconds
        if Child.deadline:
            Child.deadline += seconds

    def clock(self):
        """Seconds, but for those of waiting for others."""
        return time.monotonic() - self.waited

    def others(self):
        """Whether there are other sessions on this GPU, as far as can be told at once: each has a
        shared lock on the file here."""
        try:
            fcntl.flock(self.here, fcntl.LOCK_EX | fcntl.LOCK_NB)
            found = False
        except BlockingIOError:
            found = True
        for _ in range(100):        # another asks, or someone who is no session has it
            try:
                fcntl.flock(self.here, fcntl.LOCK_SH | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                time.sleep(0.001)
        return found

    def patient(self, call, alone_s=MEMORY_S, idle=None):
        """call(), again while it lacks memory: others may give it back soon. Other sessions can
        only if the GPU is theirs meanwhile, and what the child idle and the reference don't need;
        only waiting for them is no time of a candidate's. Where there are none, other programs may
        have it: they are waited for alone_s."""
        begun = time.monotonic()
        while True:
            try:
                return call()
            except Lost as e:
                if e.args[0] != "launch_failed" or LACKING not in str(e.args[1]):
                    raise
                # One that asks at the same moment may be missed, not twice.
                others = not self.task.get("alone") and (self.others() or self.others())
                if self.waited > LOCK_S or \
                        time.monotonic() - begun >= (MEMORY_OTHERS_S if others else alone_s):
                    raise
            held, start = None if self.task.get("alone") else self.held, time.monotonic()
            if idle:
                self.idle(idle)
            if held:
                self.give()
            time.sleep(2.5)
            if others:
                self.has_waited(time.monotonic() - start)
            if held:
                self.take(held)

    def idle(self, child):
        """Between commands it and the reference give back what they have of the GPU's memory."""
        done = child.begin("idle")
        try:
            self.reference.ask("idle")
        except Lost:                # it had faulted before, and only now says so
            self.revive()
        finally:
            done()

    def beside(self, call):
        """call while no other session times anything; several may do this at once. What compiles
        first is not called so, or all would wait for it: the first runs of the untouched file,
        with all that they tune, and a candidate's first run of the tests go on while others time,
        as does the opening of contexts, and the tests of a file once they were seen to be slow.
        EX is only asked for with SH given back: no deadlock."""
        if self.task.get("alone") or self.slow:
            return call()
        self.take(fcntl.LOCK_SH)
        start = time.monotonic()
        try:
            return call()
        finally:
            self.slow = time.monotonic() - start > BESIDE_S
            self.give()

    def has_room(self, i):
        return ("tests" if self.timed_tests else str(i)) in self.room

    def weakened(self):
        """What of the judging is weaker than it could be, in sentences; all of it was found out
        with the untouched file alone."""
        out = []
        if self.poisons is TAME:
            out.append("the untouched file takes memory that no one wrote for indices: it holds "
                       "valid ones in checked runs")
        if self.room:
            out.append("the untouched file reaches past what it is given (%s): more of what lies "
                       "around it holds zeros" % ", ".join(
                           x if x == "tests" else "shape " + x for x in sorted(self.room)[:8]))
        if self.timed_tests:
            out.append("the untouched file can do none of its timed shapes: its tests are timed")
        if self.distinct:
            out.append("random integers of timed shapes are drawn without repeats: the untouched "
                       "file writes to one place more than once, in no order")
        for i in sorted(set(self.ignore) | set(self.allow)):
            where = "the tests" if i == "tests" else "shape %s" % i
            if self.ignore.get(i):
                out.append("%s: not compared, as the untouched file does not give them twice: %s"
                           % (where, " ".join(self.ignore[i])[:200]))
            for path, share in sorted(self.allow.get(i, {}).items()):
                out.append("%s: %s of %s may be off: the untouched file differs from itself"
                           % (where, "%.3g %%" % (100 * share), path))
        if self.left_out:
            out.append("%d shapes left out" % len(self.left_out))
        return out[:24]

    def judged_by(self):
        return {"left_out": self.left_out, "ignore": self.ignore, "allow": self.allow,
                "tame": self.poisons is TAME, "distinct": self.distinct, "room": sorted(self.room),
                "timed_tests": self.timed_tests, "noting": self.noting,
                "kernel_s": self.kernel_s, "haste_s": self.haste_s}

    def recall(self, known):
        """What an earlier worker found out of the untouched file."""
        by = known.get("judged_by") or {}
        self.left_out, self.ignore, self.allow = (
            dict(by.get(k) or {}) for k in ("left_out", "ignore", "allow"))
        self.distinct, self.room = by.get("distinct") is True, set(by.get("room") or ())
        if by.get("timed_tests") is True:
            self.time_tests()
        if by.get("tame"):
            self.poisons = TAME
        self.noting = finite(by.get("noting")) or 0.0
        self.kernel_s = max(KERNEL_S, finite(by.get("kernel_s")) or 0.0)
        self.haste_s = max(HASTE_S, finite(by.get("haste_s")) or 0.0)

    def loading(self, source):
        t = self.task
        return {"source": source, "tests": t.get("tests", ""), "perf": t.get("perf", ""),
                "kind": t["kind"], "name": t["module"], "seed": secret(), "needs": self.needs}

    def load(self, child, source):
        child.ask("load", seconds=Child.call_s, **self.loading(source))

    def ahead(self, child, source, trusted=False):
        """Has what child will ask for compiled, beside all else. What is returned waits for what
        the tests ask for, or for "all", and may be in vain: that is no time of child's. A kernel
        that takes far longer than the untouched file's is not waited for, and child has little
        time then: enough where what was foreseen is not asked for. Not for a file that draws for
        long on the CPU: that was seen with the untouched one."""
        if self.device == "cpu" or self.noting > NOTING_MOST:
            return lambda what: None
        cpus = max(1, min(AHEAD_MOST, len(os.sched_getaffinity(0)) * 3 // 4))
        try:
            self.scout = scout = Child.scout(self.machine, child, trusted)
        except OSError:
            return lambda what: None
        known, end = {}, time.monotonic() + AHEAD_S
        stall = {} if trusted else {"stall": self.kernel_s}
        noted = scout.begin("ahead", AHEAD_S / 2 if trusted else 2 * NOTING_MOST, processes=cpus,
                            **self.loading(source))

        def until(what):
            begun = time.monotonic()
            try:
                if not known:
                    known.update(noted())
                    self.noting = float(known["seconds"]) if trusted else self.noting
                reply = scout.ask("await", max(0.1, end - time.monotonic()), n=int(known[what]),
                                  **stall)
                if trusted and what == "tests":
                    self.kernel_s = max(KERNEL_S, 4 * (time.monotonic() - begun))
                elif reply.get("stalled") is True and not trusted:
                    known.update(tests=0, all=0)
                    scout.kill()
                    child.hurry(self.haste_s, time.monotonic() - begun)
            except (Lost, KeyError, TypeError, ValueError, OverflowError):
                if not known and trusted:
                    self.noting = AHEAD_S
                known.update(tests=0, all=0)
                scout.kill()
            if Child.deadline:
                Child.deadline += time.monotonic() - begun
        return until

    def no_scout(self):
        """Ends it with all that its file may have started, before anything is timed."""
        if self.scout:
            self.scout.close()
            self.scout = None
            sweep()

    dying = None            # of the evaluation before: its child's pid and folder

    def let_die(self, child):
        """The driver takes 0.1 s to end a process that has the GPU: an answer need not wait for
        it. bury() does, before another candidate is loaded, or while there is nothing else to
        do."""
        if child.pid is None:
            child.close()
        else:
            self.dying = child.strike(), child.scratch

    def bury(self, wait=True):
        """What let_die left. Without wait: if it has ended. Whoever is judged next has as much
        time as without it."""
        begun = time.monotonic()
        if self.dying and (wait or os.waitpid(self.dying[0], os.WNOHANG)[0]):
            if wait:
                reap(self.dying[0])
            Child.living.discard(self.dying[0])
            sweep()
            remove(self.dying[1])
            self.dying = None
            if Child.deadline:
                Child.deadline += time.monotonic() - begun

    def close(self):
        self.bury()
        self.no_scout()
        for child in (self.reference, self.spare):
            if child:
                child.close()
        remove(self.shown)

    def revive(self):
        """A reference that a shape took down is made anew: True where that was needed."""
        if self.reference.pid is not None:
            return False
        self.no_scout()
        cache = self.reference.scratch + "/cache"
        fresh = Child(self.device, True, self.reference.scratch if os.path.isdir(cache) else None)
        self.reference.close()
        self.reference = fresh
        self.load(self.reference, self.task["source"])
        if self.drawn:
            self.reference.ask("inputs", **self.drawn)
        if self.shape:
            self.reference.ask("shape", **self.shape)
        return True

    def renew(self):
        """What confirms a winner are processes that no candidate was beside."""
        self.bury()
        self.reference.kill()
        if self.spare:
            self.spare.close()
            self.spare = None

    def first_runs(self):
        """The untouched file's tests and shapes, once: compiled for all that copy its cache. What
        it cannot do itself is asked of no one: where it reads memory that no one wrote as an
        index, that memory holds valid ones, where it reaches past what it was given, there are
        zeros, and shapes that fault all the same, or do not compile, are left out."""
        until = self.ahead(self.reference, self.task["source"], True)
        until("tests")
        while True:
            begun = self.clock()
            try:
                self.patient(lambda: self.reference.ask(
                    "test", seed=secret(), poison=self.poisons[0], room="tests" in self.room))
                self.haste_s = max(HASTE_S, 4 * (self.clock() - begun))
                break
            except Lost as e:
                if self.reference.pid is not None or e.args[0] not in ("launch_failed", "crashed") \
                        or not self.milder():
                    raise
                self.revive()
        until("all")
        self.no_scout()
        seed, faults, hopeless = secret(), 0, 0

        def inputs():
            return self.patient(lambda: self.reference.ask(
                "inputs", seed=seed, distinct=self.distinct))["labels"]
        labels = inputs()
        for i, label in enumerate(labels):
            before = self.poisons
            while str(i) not in self.left_out:
                where = "plain"
                try:
                    self.patient(lambda: self.reference.ask(
                        "shape", i=i, seed=seed, room=str(i) in self.room))
                    self.reference.ask("prepare", seed=seed)
                    begun = self.clock()
                    self.patient(lambda: self.reference.ask("go"))
                    self.haste_s = max(self.haste_s, 4 * (self.clock() - begun))
                    where = "poisoned"
                    self.reference.ask("prepare", seed=seed)
                    self.reference.ask("call", poison=self.poisons[0])
                    break
                except Lost as e:
                    gone = self.reference.pid is None
                    faults += gone
                    if faults > 16 or e.args[0] == "timeout":
                        raise
                    if where == "poisoned" and self.poisons is not TAME:
                        self.poisons = TAME
                    elif gone and str(i) not in self.room and hopeless < 2:
                        self.room.add(str(i))
                    elif len(self.left_out) + 1 < len(labels):
                        hopeless += str(i) in self.room
                        self.room.discard(str(i))
                        self.poisons = before           # it did not help
                        self.left_out[str(i)] = "%s: the untouched file: %s" % (
                            label, e.args[1][:200])
                    elif self.task.get("tests") and self.task.get("perf"):
                        self.poisons = before
                        return self.time_tests()
                    else:
                        raise
                    if self.revive():
                        inputs()
        self.reference.ask("idle")

    def milder(self):
        """What the tests of the untouched file, which faults, are tried with next."""
        if self.poisons is TAME and "tests" in self.room:
            return False
        if self.poisons is TAME:
            self.room.add("tests")
        self.poisons = TAME if self.poisons is POISONS else POISONS
        return True

    def time_tests(self):
        """Of timed shapes that the untouched file can't do, not one: its tests are timed."""
        self.task, self.left_out, self.timed_tests = dict(self.task, perf=""), {}, True
        self.room &= {"tests"}
        self.reference.kill()
        self.revive()

    def evaluate(self, source, options, baseline=False):
        start = time.monotonic()
        out = {"verdict": "ok", "shapes": [], "screened": False, "seconds": {},
               "tier": "host-code", "checks": {}}
        child = None
        opens = self.task.get("open_s") or OPEN_S       # it compiles all that it is tuned over
        Child.call_s = self.task.get("call_s") or (opens if baseline else CALL_S)
        if not (baseline and Child.deadline):           # which runs since it was loaded
            Child.deadline, self.waited = start + (opens if baseline else EVALUATE_S), 0.0
        try:
            self.alone()
            start = time.monotonic()
            if options.get("confirm") and self.judged:
                self.renew()
            self.judged = self.judged or not baseline
            gate = not baseline and self.task.get("gate", True)
            bad = scan(source, self.task["source"]) if gate else None
            if bad:
                raise Lost(*bad)
            self.revive()
            if baseline:
                begun = time.monotonic()
                try:
                    self.first_runs()
                finally:
                    out["seconds"]["first"] = time.monotonic() - begun
            while True:
                child, self.spare = self.spare or Child(self.device, False,
                                                        self.reference.scratch), None
                if not baseline:            # the next one opens the GPU while this is checked
                    self.spare = Child(self.device, False, self.reference.scratch)
                self.at, self.tested = None, False
                try:
                    self.judge(child, source, options, out, baseline)
                    break
                except (Redraw, Lost) as e:
                    where = "shape %s: " % self.at["label"] if self.at else ""
                    if baseline and e.args[:1] == ("timeout",):
                        raise Lost("timeout", where + e.args[1]) from None
                    if not baseline or not self.goes_on(e):
                        raise
                    what = "%s: %s" % e.args[:2] if e.args else "inputs that no two writes share"
                    out.setdefault("begun_again", []).append((where + what)[:300])
                    child.close()
                    if not self.task.get("alone"):
                        self.give()
                    out["shapes"], self.drawn, self.shape = [], None, None
                    self.recorded.clear()
                    self.revive()
                    try:
                        self.reference.ask("idle")
                    except Lost:                # it had faulted too, and only now says so
                        self.revive()
        except Lost as e:
            out.update(verdict=e.args[0], reason=e.args[1], shapes=[])
            if len(e.args) > 2 and e.args[2] and e.args[0] != "wrong":
                out["missing"] = str(e.args[2])[:100]
        except NONSENSE as e:
            if baseline:
                raise
            out.update(verdict="crashed", shapes=[], reason="its process spoke nonsense: %s: %s" % (
                type(e).__name__, str(e)[:200]))
        finally:
            self.give()
            self.drawn = self.shape = Child.deadline = None
            self.no_scout()
            self.bury()
            if child:
                self.share_cpu(child, False)
                if baseline:
                    child.close()
                else:
                    self.let_die(child)
            sweep(self.dying and self.dying[0])     # what it started must not meet the next one
            self.stale, self.file = (*self.stale, self.file), None
            self.forget_shown()
            self.end_moved()
            if self.reference.pid is not None:
                try:
                    (self.resting or self.rest())()
                except Lost:
                    pass
            self.resting = None
        if not self.task.get("baseline_only"):
            self.spare = self.spare or Child(self.device, False, self.reference.scratch)
        out["seconds"]["total"] = time.monotonic() - start
        return out

    resting = None          # waits for the reference to have given its memory back

    def rest(self):
        until, Child.deadline = Child.deadline, None        # this is no time of a candidate's
        try:
            return self.reference.begin("idle", seconds=20)
        finally:
            Child.deadline = until

    def goes_on(self, e):
        """Whether the untouched file is judged once more: milder, with indices that no two writes
        share, or without the shape that it cannot do."""
        if isinstance(e, Redraw):
            self.allow, self.ignore = ({k: v for k, v in x.items() if k == "tests"}
                                       for x in (self.allow, self.ignore))
            return True
        if e.args[0] not in ("launch_failed", "crashed", "wrong") or self.at is None and self.tested:
            return False
        full = LACKING in str(e.args[1])
        i = "tests" if self.at is None or self.timed_tests else str(self.at["i"])
        if i not in self.kept and not full:     # it did run once: what it faults by is chance
            self.roomy(i)
            return True
        if self.at is None:
            return e.args[0] != "wrong" and not full and self.milder()
        if len(self.left_out) + 1 >= self.count or len(self.left_out) >= 8:
            return False
        self.room.discard(i)
        self.left_out[i] = "%s: the untouched file: %s" % (self.at["label"], str(e.args[1])[:200])
        return True

    def roomy(self, i):
        """Tests or a shape that fault, or that the untouched file gives otherwise each time, are
        tried once with more that is alike around them; what was learned of them is forgotten."""
        self.kept.add(i)
        self.room.add(i)
        self.allow.pop(i, None), self.ignore.pop(i, None)

    def judge(self, child, source, options, out, baseline):
        seconds, mark = out["seconds"], time.monotonic()

        def lap(name):
            nonlocal mark
            seconds[name], mark = time.monotonic() - mark, time.monotonic()
        until = (lambda what: None) if baseline else self.ahead(child, source)
        self.bury()
        if not baseline:
            child.hurry(self.kernel_s + self.haste_s)
        self.load(child, source)
        self.source, self.unrecorded, self.functions = source, None, {
            n.name for n in ast.walk(ast.parse(source)) if isinstance(n, ast.FunctionDef)}
        until("tests")
        lap("build")
        in_check = -self.waited                 # of waiting for other sessions
        if not (baseline and out["checks"]):    # not again for what a shape showed
            self.check_tests(child, out, baseline)
        self.tested = True
        lap("check")
        in_check += self.waited
        until("all")
        self.no_scout()
        lap("ahead")
        self.await_spare()
        if self.others():           # whoever has the GPU now may need what the tests took
            self.idle(child)
        self.take(fcntl.LOCK_EX)
        lap("wait")
        seconds["check"] -= in_check
        seconds["wait"] += in_check
        labels = self.draw(child)["labels"]
        lap("inputs")
        self.count = len(labels)
        wanted = [i for i in range(len(labels)) if str(i) not in self.left_out]
        best = options.get("best_times_ns") or []
        self.screen = Screen(best if len(best) == len(wanted) and not options.get("confirm")
                             else None)
        self.left_s = CONFIRM_S if options.get("confirm") else BASELINE_S if baseline else TIME_S
        seconds["shapes"], last = 0.0, secret() % max(1, len(wanted))
        for k, i in enumerate(wanted):
            begun = time.monotonic()
            s = {"i": i, "k": k, "label": labels[i], "seed": secret(), "left": len(wanted) - k,
                 "baseline": baseline,      # what confirms a winner looks at all
                 "last": not baseline and (k == last or bool(options.get("confirm")))}
            self.at = s
            try:
                try:
                    self.check_shape(child, s, baseline)
                except Lost as e:
                    if not baseline or e.args[0] != "wrong" or str(i) in self.kept \
                            or self.timed_tests:
                        raise
                    self.roomy(str(i))
                    self.check_shape(child, s, baseline)
            except Lost as e:
                if not baseline or e.args[0] != "wrong" or len(self.left_out) + 1 == len(labels):
                    raise
                # The untouched file does not give the same twice: no shape to judge by.
                self.left_out[str(i)] = "%s: %s" % (labels[i], e.args[1])
                self.room.discard(str(i))
                continue
            seconds["shapes"] += time.monotonic() - begun
            self.time_shape(child, s, out, options)
        self.at = None
        if self.end_moved():
            raise Lost("cheated", MOVED)
        self.resting = self.rest()      # nothing more is asked of it: meanwhile is counted
        lap("time")
        seconds["time"] -= seconds["shapes"]        # what checks them is no timing
        if not out["shapes"]:
            raise Lost("launch_failed", "the task has no timed shape")
        out["screened"] = self.screen.slow
        if self.left_out:
            out["left_out"] = list(self.left_out.values())
        if self.weakened():
            out["weakened"] = self.weakened()
        if baseline:
            out["judged_by"] = self.judged_by()
        self.summary(out)
        if any("recorded" in r for r in out["shapes"]):
            out["recorded"] = {"by": "CUPTI activity records"}
        if self.unrecorded:
            out.setdefault("recorded", {})["why"] = self.unrecorded
        facts = child.ask("facts")
        values, why = {}, "counters are not asked for"
        if not self.contends(out, best, options):
            why = "counters are for what contends for the best"
        elif self.task.get("counters", True):
            values, why = self.counters(child, out, baseline)
            lap("count")
        self.evidence(out, facts.get("kernels"), values, why)

    def draw(self, child):
        """New timed inputs, the same in both processes."""
        given = {"seed": secret(), "distinct": self.distinct}
        drawn = self.patient(lambda: self.reference.ask("inputs", **given))
        self.drawn = dict(given, place=drawn["place"])
        # Also of one that has less time: this takes long where tensors are large.
        self.patient(lambda: child.ask("inputs", seconds=Child.call_s, **self.drawn))
        return drawn

    def await_spare(self):
        """Nothing of ours opens a GPU while another is timed."""
        if self.spare:
            try:
                self.spare.ask("idle", seconds=20)
            except Lost:
                self.spare.close()
                self.spare = None

    def contends(self, out, best, options):
        """Counters cost a second: they are for what may become the best."""
        if out["screened"] or options.get("confirm"):
            return False
        if len(best) != len(out["shapes"]):
            return True
        return sum(math.log(r["time_ns"] / b) for r, b in zip(out["shapes"], best)) \
            <= len(best) * math.log(1.03)

    shows, file, stale = 0, None, ()    # of what was shown: how many, the last, those before it

    def shown_by(self, child, op, **request):
        """What a command shows, its tensors in a folder of ours: the child may write to its own
        while they are compared."""
        reply = child.ask(op, **request)
        self.shows += 1                 # a name that is new, whatever lies at those before it
        self.stale, self.file = (*self.stale, self.file), "%s/%d.bin" % (self.shown, self.shows)
        try:
            os.replace(child.scratch + "/out.bin", self.file)
            if not stat.S_ISREG(os.lstat(self.file).st_mode):
                raise OSError(0, "no file")
        except OSError as e:
            raise Lost("crashed", "its results are not to be had: %s" % e.strerror) from None
        return reply

    def forget_shown(self):
        for name in filter(None, self.stale):
            try:
                os.unlink(name)
            except OSError:
                remove(name)            # a folder, or gone
        self.stale = ()

    def verify(self, shown, op, **request):
        for last in (False, True):
            try:
                compared = self.reference.begin(op, leaves=shown.get("leaves"), file=self.file,
                                                **request)
                self.forget_shown()     # some ms, while the last is compared
                r = compared()
                break
            except Lost as e:
                if e.args[0] == "timeout":
                    raise Lost("timeout", "the reference: " + e.args[1]) from None
                if last or self.reference.pid is not None:
                    raise Lost("launch_failed", "the reference: " + e.args[1],
                               *e.args[2:]) from None
                self.revive()               # files that read where no one wrote fault by chance
        if r.get("wrong"):
            raise Lost("wrong", str(r["wrong"])[:500], r.get("path"), r.get("share"))
        if shown.get("beyond") and not r.get("beyond"):
            raise Lost("wrong", "it writes outside of what it was given")
        return r

    def verify_shape(self, child, s, seed, runs):
        i, late = str(s["i"]), None
        what = {"seed": seed, "show": secret(), "poisons": self.poisons, "runs": runs}
        expected = self.reference.begin("expect", **what)
        try:
            shown = self.shown_by(child, "show", seed=what["show"])
        finally:
            try:
                expected()
            except Lost as e:           # of all but time it is asked once more
                late = e.args[1] if e.args[0] == "timeout" else None
        if late:
            raise Lost("timeout", "the reference: " + late)
        s["returns"] = any("dtype" in x and str(x["path"]).startswith("[0]")
                           for x in shown["leaves"])
        settled = child.begin("settle")
        try:
            r = self.patient(lambda: self.verify(shown, "verify_shape", ignore=self.ignore.get(
                i, []), allow=self.allowed(), **what))
        except Lost:
            try:
                settled()
            except Lost:
                pass
            raise
        settled()
        for key in ("count", "chance", "allowed"):
            s[key] = s.get(key, 0) + r[key]
        return r

    def check_tests(self, child, out, baseline):
        first = secret()
        total = {"elements": 0, "left_to_chance": 0, "worst_share_of_bound": 0.0, "launches": 0,
                 "allowed": 0}
        odd, even = self.poisons
        unknown = []
        for seed, poison in ((first, odd), (first, even), (secret(), odd)):
            def test():
                return self.shown_by(child, "test", seed=seed, poison=poison,
                                     room="tests" in self.room)
            shown = self.patient(test if poison == odd and seed == first else
                                 lambda: self.beside(test), 0, child)
            if not shown.get("launches") and not baseline:
                raise Lost("cheated", "no Triton kernel ran")
            r = self.patient(lambda: self.beside(lambda: self.verify_tests(shown, seed, baseline)),
                             idle=child)
            total["elements"] += r["count"]
            total["left_to_chance"] += r["chance"]
            total["allowed"] += r["allowed"]
            unknown += [p for p in r["undetermined"] if p not in unknown]
            total["worst_share_of_bound"] = max(total["worst_share_of_bound"], r["worst"] or 0)
            total["launches"] += int(shown.get("launches") or 0)
        unknown = self.ignore.get("tests", []) + unknown
        if unknown:
            total["ignored"] = unknown[:32]
        out["checks"] = total

    def verify_tests(self, shown, seed, baseline):
        """A result that the untouched file does not give twice is no measure of others."""
        while True:
            ignore = self.ignore.get("tests", [])
            try:
                return self.verify(shown, "verify_tests", seed=seed, poisons=self.poisons,
                                   ignore=ignore, allow=self.allow.get("tests"),
                                   room="tests" in self.room)
            except Lost as e:
                if not baseline or e.args[0] != "wrong" or len(e.args) < 4 or not e.args[2] \
                        or len(ignore) + 1 >= len(shown["leaves"]):
                    raise
                self.learn("tests", e.args[2], e.args[3], True)

    def allowed(self):
        """Of timed shapes: an output that a race was seen in is one in all of them."""
        out = {}
        for where, found in self.allow.items():
            for path, share in found.items() if where != "tests" else ():
                out[path] = max(share, out.get(path, 0))
        return out

    def learn(self, where, path, share, may_ignore):
        """The untouched file differs from itself in share of an output: that much, with room, is
        allowed to all; more, and the output is no measure of others. Random indices that repeat
        are a race: first they are drawn without."""
        if where != "tests" and not self.distinct and "randint" in self.task.get("perf", ""):
            self.distinct = True
            raise Redraw()
        allow = self.allow.setdefault(where, {})
        if share <= ALLOWED and allow.get(path, 0) < share:
            allow[path] = min(2 * ALLOWED, max(ALLOWED / 2, 4 * share))
            return
        if not may_ignore:
            raise Lost("wrong", "the untouched file differs from itself in %.3g %% of %s" % (
                100 * share, path))
        allow.pop(path, None)
        self.ignore.setdefault(where, []).append(path)

    def first_calls(self, child, s):
        """A timed shape's inputs, and what a call takes, roughly."""
        both, firsts = (self.reference, child), {}
        self.shape = {"i": s["i"], "seed": s["seed"], "lanes": self.lanes,
                      "room": self.has_room(s["i"])}
        prepare = {"seed": s["seed"]}
        self.patient(lambda: together(*((who, "shape", self.shape) for who in both)))
        together(*((who, "prepare", prepare) for who in both))
        for who in both:    # it compiles in here, and tunes: with the GPU to itself
            self.patient(lambda: who.ask("go"))
        for who in both:
            who.ask("prepare", **prepare)
            firsts[who] = self.patient(lambda: who.ask("go"))
        if not 0 <= float(firsts[child]["ns"]) < 1e12:
            raise ValueError("a call of %r ns" % firsts[child]["ns"])
        s["first"] = max(1.0, float(firsts[child]["ns"]))
        s["baseline_first"] = max(1.0, float(firsts[self.reference]["ns"]))
        s["host"] = max(float(r["host"]) for r in firsts.values())

    def check_shape(self, child, s, baseline):
        """A timed shape's results, compared."""
        self.first_calls(child, s)
        child.ask("prepare", seed=s["seed"])
        child.ask("call", poison=self.poisons[0])
        if not baseline:
            return self.verify_shape(child, s, s["seed"], 2)
        for again in range(3):      # how far the untouched file differs from itself is learned
            seed = secret() if again else s["seed"]
            if again:
                child.ask("prepare", seed=seed)
                child.ask("call", poison=self.poisons[again % 2])
            self.learn_shape(child, s, seed, 2)
        if s["chance"] and s["chance"] >= s["count"] > 0:
            raise Lost("wrong", "the untouched file gives nothing that it would give again")

    def learn_shape(self, child, s, seed, runs):
        for _ in range(8):
            try:
                return self.verify_shape(child, s, seed, runs)
            except Lost as e:
                if e.args[0] != "wrong" or len(e.args) < 4 or not e.args[2]:
                    raise
                # What it returns is never left out, only what of its inputs it changes.
                self.learn(str(s["i"]), e.args[2], e.args[3], e.args[2].startswith("[1]")
                           and s.get("returns"))
                child.ask("prepare", seed=seed)     # what was shown is there no more
                child.ask("call", poison=self.poisons[0])
        raise Lost("wrong", "the untouched file does not give the same twice")

    def sample(self, who, seed, cycles):
        who.ask("prepare", seed=seed)
        start = time.perf_counter_ns()
        r = who.ask("go", cycles=cycles)
        wall, ns, host = time.perf_counter_ns() - start, float(r["ns"]), float(r["host"])
        if not (0 <= ns < 1e12 and 0 <= host < 1e12):
            raise ValueError("a call of %r ns, %r of them the host's" % (ns, host))
        return max(1.0, ns), float(wall), max(1.0, host), r["ahead"] is True

    def in_turns(self, child, s, options):
        """Calls of the reference, A, and of the child, B, in turn; of a shape whose results were
        compared one is recorded and one is compared again: where those lay that were checked,
        so that an answer kept by address is wrong, or, as likely, where its turn puts it, so
        that one given elsewhere alone is. Of one shape that no one can tell beforehand two
        more are compared after all that count: one in its turn, which nothing tells from those
        before it, and one of the other kind."""
        start = self.clock()
        budget = self.left_s * 1e9 / s["left"]
        spin = 0 if self.device == "cpu" else min(SPIN_MOST, 2 * s["host"] + 1e5)
        cost = s["first"] + s["baseline_first"] + 2 * (spin + 500000)
        most, narrow = (2 * LANES, NARROW / 2) if s["baseline"] else (LANES, NARROW)
        # Of six one honest call would be enough for the parent's clock to say nothing.
        n = 3 if cost > 5e8 else int(max(8, min(most, budget / cost)))
        few = s.get("least", 0)             # no end comes before so many
        n = max(few, n)
        # A stream's first call of a size asks for memory and is made again: few for a candidate
        # whose calls are long beside what streams differ in.
        turn = turns(LANES if s["baseline"] or options.get("confirm") else LANES // 4)
        t = {x: {"A": [], "B": []} for x in ("times", "walls", "hosts")}
        # No one can tell beforehand which call is recorded or looked at.
        look, at, late, t["seen"] = secret() % min(n, 6), secret() % min(n, 6), 0, None
        if s.get("known"):
            look = at = -1
        back = not s.get("last") and secret() % 2
        brief = not s["baseline"] and not options.get("confirm")    # it is one of many
        bound = False               # the host can't get ahead: the call itself waits for the GPU
        first, here = -1, None
        while len(t["times"]["B"]) < n:
            k = len(t["times"]["B"])
            if k == at and t["seen"] is None:
                t["seen"] = self.record(child, s)
            got, here = {}, here or next(turn)      # what is made again is so on its own stream
            if k == look and back:
                here = here[0], place_of(s["seed"])
            for who in ("AB", "BA")[secret() % 2]:
                seed = secret(here)
                got[who] = self.sample(child if who == "B" else self.reference, seed,
                                       int(spin * SPIN_GHZ))
                if who == "B" and k == look:
                    (self.learn_shape if s["baseline"] else self.verify_shape)(child, s, seed, 1)
                    look = -1
            if not bound and not all(g[3] for g in got.values()):
                if k != first and k < LANES:    # the first call on a stream asks for its memory
                    first = k
                    continue
                late += 1
                # In a gap between launches nothing is measured but the host: once more. A host
                # that others hold up now and then is not what a call waits for each time.
                if late <= max(k, 8 if spin < SPIN_MOST else 3):
                    spin = min(SPIN_MOST, 2 * spin) if late > k else spin
                    continue
                bound = True
                self.share_cpu(child, True)
                few = s.get("least", 0)
                spin, n = 0, min(n, 24)
                t.update((x, {"A": [], "B": []}) for x in ("times", "walls", "hosts"))
                if s["baseline"]:       # the host is a noisier clock: what all are held against
                    least_ns = max(BOUND_LEAST_S, BOUND_S / self.count) * 1e9
                    n = max(n, min(BOUND_MOST, int(least_ns / cost)))
                    budget = max(budget, least_ns)
                continue
            here = None
            for who, sample in got.items():
                for x, value in zip(("times", "walls", "hosts"), sample):
                    t[x][who].append(value)
            if k == 3 and not bound and self.device != "cpu" and max(
                    median(t["times"][who]) for who in "AB") < SHORT_NS:
                few = n = max(n, SHORT_TURNS * LANES)
                turn = turns(LANES)
            if k + 1 >= max(few, min(6, n)) and look < 0 and (at < 0 or t["seen"]) \
                    and self.screen.slower(s["k"], median(t["times"]["B"])):
                break
            most_ns = budget if brief and not bound else 2 * budget + 1e8
            if k + 1 >= max(few, 8) and (self.clock() - start) * 1e9 > most_ns:
                break
            if k + 1 >= max(few, 8) and (k + 1) % (4 if k < 64 else 64) == 0 \
                    and not options.get("confirm"):
                _, low, high = paired(log_ratios(t["times"]))
                if low is not None and (high - low) / 2 < narrow:
                    break
        if s.get("last"):
            there = [(lane, place_of(s["seed"])) for lane, _ in (next(turn), next(turn))]
            for k, here in enumerate([next(turn)] + there):
                seed = secret(here)
                self.sample(child, seed, int(spin * SPIN_GHZ))
                if k != 1:              # an answer may be kept only once asked for often
                    self.verify_shape(child, s, seed, 1)
        if bound:
            self.share_cpu(child, False)
        self.left_s = max(0.01 if brief else 0.2, self.left_s - (self.clock() - start))
        return dict(t, bound=bound)

    def time_shape(self, child, s, out, options):
        try:
            row = self.timed(child, s, options)
        except Suspicion as first:
            row = self.other_opinions(first, s, options)
        out["shapes"].append(row)

    def other_opinions(self, first, given, options):
        """The row of a shape that the clocks of a pair of processes disagree about. Of honest
        files they do so by chance: what two processes differ in, by events or by what the host adds
        to them, they differ in for as long as they live. A new pair is checked and timed as the
        first one was, and where its clocks disagree as well another one, up to OPINIONS. What the
        first to agree shows is all that counts: a file that tells the pairs apart and is honest in
        this one has the times of this one. Where one fails, the first finding stands, but for want
        of time or memory, which prove nothing. Its time is the candidate's."""
        left = self.left_s

        def again(child):
            self.ahead(child, self.source)("all")
            self.no_scout()
            self.check_shape(child, s, s["baseline"])
            row = self.timed(child, s, options)
            if self.end_moved():        # its reference ends with it: later no one could tell
                raise Lost("cheated", MOVED)
            return row
        for k in range(1, OPINIONS + 1):
            # The first process knows whether it was looked at after all that counts, and may tell.
            s = dict(given, seed=secret(), least=AGAIN, count=0, chance=0, allowed=0,
                     last=not given["baseline"])
            try:
                return self.with_new_pair(self.source, again)
            except Suspicion as e:
                if k == OPINIONS:
                    raise Lost(e.args[0], "%s, and so say all of %d pairs of processes" % (
                        e.args[1], k + 1)) from None
            except (Lost, OSError) + NONSENSE as e:
                found = isinstance(e, Lost) and (e.args[0] in ("cheated", "timeout")
                                                 or LACKING in str(e.args[1]))
                raise (e if found else first) from None
            finally:
                self.left_s = left
                sweep()

    def with_new_pair(self, source, call):
        """call(child) beside a new reference, child being a new process that has source. The GPU
        is ours from when their inputs are drawn, and stays so; else all is as before afterwards."""
        before = held, _, _, _ = self.reference, self.drawn, self.shape, Child.deadline
        pair, waited = [], self.waited
        try:
            for trusted in (True, False):
                pair.append(Child(self.device, trusted, held.scratch))
            self.reference, child = pair
            self.load(self.reference, self.task["source"])
            self.load(child, source)
            self.take(fcntl.LOCK_EX)
            self.draw(child)
            return call(child)
        finally:
            if self.reference is not held:
                pair.append(self.reference)         # it may have been revived
            self.reference, self.drawn, self.shape, Child.deadline = before
            if Child.deadline:
                Child.deadline += self.waited - waited
            for who in pair:
                who.close()

    def timed(self, child, s, options):
        t, row = self.in_turns(child, s, options), {}
        times = t["times"]
        base, mine = median(times["A"]), median(times["B"])
        self.check_records(child, s, t["seen"] or {"why": "no call was recorded"}, mine, base, row)
        gap = self.cross_check(s, times, t["walls"])
        e, low, high = paired(log_ratios(times))
        row.update(shape={"i": s["i"]}, label=s["label"], role="timed", iterations=1,
                   blocks=len(times["B"]), time_ns=mine, baseline_ns=base, speedup=math.exp(e),
                   interval="wilcoxon", clock_gap_ns=gap, host_bound=t["bound"],
                   samples={"baseline": times["A"], "candidate": times["B"]},
                   host_ns=median(t["hosts"]["B"]), baseline_host_ns=median(t["hosts"]["A"]))
        if low is not None:
            low, high = of_processes(e, low, high, min(base, mine))
            row.update(speedup_low=math.exp(low), speedup_high=math.exp(high), confidence=0.95)
        rates = self.reference.ask("rates", ns=mine) if self.task.get("perf") else {}
        for name, peak in (("gbps", "dram_gbps"), ("tflops", "sm_tflops")):
            if rates.get(name) and self.machine.get(peak):
                row[name] = rates[name]
        for name in ("chance", "allowed"):
            if s.get(name):
                row["left_to_" + name if name == "chance" else name] = s[name]
        return row

    def more_pairs(self, out, n):
        """The untouched file against itself by n pairs of processes in all, twice as many where
        the host holds calls up, as its time differs more between processes. Each pair is new: what
        two processes differ in for as long as they live (where the driver put what starts a
        kernel, where their memory lies) is worth up to 2 % of a kernel of 5 us, and repetition
        within them does not average it. Each shape's speed-up becomes the median of all pairs':
        one that is far off (1.09 once, where five others were within 0.5 %) does not move it, nor
        that the first may be looked at again for being off. A pair that is not done in time does
        not count. Of waiting for others they have what the first one left: the engine waits no
        longer than for that."""
        n = 2 * n if any(r["host_bound"] for r in out["shapes"]) else n
        left = PAIRS_S
        logs = {r["shape"]["i"]: [math.log(r["speedup"])] for r in out["shapes"]}
        self.screen, self.count = Screen(None), len(logs)
        self.await_spare()

        def timed(child):
            found, self.left_s = {}, BASELINE_S
            for k, row in enumerate(out["shapes"]):
                if time.monotonic() > Child.deadline:
                    break
                s = {"i": row["shape"]["i"], "label": row["label"], "seed": secret(),
                     "left": len(logs) - k, "baseline": True, "known": True, "k": k}
                self.first_calls(child, s)
                found[s["i"]] = paired(log_ratios(self.in_turns(child, s, {})["times"]))[0]
            return found
        for _ in range(n - 1):
            begun, found = self.clock(), {}
            Child.deadline = time.monotonic() + left
            try:
                found = self.with_new_pair(self.task["source"], timed)
            except (Lost, OSError) + NONSENSE:
                pass                    # it was judged: what befalls it now is no verdict
            finally:
                self.give()
                left -= self.clock() - begun
                Child.deadline = None
            if len(found) == len(logs):
                for i, e in found.items():
                    logs[i].append(e)
            if left <= 0:
                break
        mean = lambda x: math.exp(sum(x) / len(x))
        for r in out["shapes"]:
            r["speedup"] = math.exp(median(logs[r["shape"]["i"]]))
        out["speedup"] = mean([median(x) for x in logs.values()])
        out["pairs"] = [mean(x) for x in zip(*logs.values())]

    def share_cpu(self, child, on):
        """One CPU for both while they are timed in turn: a busy neighbour is one to both."""
        cpus = sorted(os.sched_getaffinity(0))
        for pid in (self.reference.pid, child.pid):
            try:
                os.sched_setaffinity(pid, {cpus[self.drawn["seed"] % len(cpus)]} if on else cpus)
            except (OSError, TypeError):
                pass

    def end_moved(self):
        """Ends our processes that run with another priority or on other processors than we do, which
        no jail keeps a candidate from changing: True if there was one."""
        def place(pid):
            return (os.getpriority(os.PRIO_PROCESS, pid), os.sched_getscheduler(pid),
                    os.sched_getaffinity(pid))
        ours, found = place(0), False
        for child in (self.reference, self.spare):
            try:
                pid = child and child.pid
                moved = pid and ours != place(pid)
            except OSError:             # it is gone: that is found out elsewhere
                moved = False
            if moved:
                found = True
                child.kill()
        if self.spare and self.spare.pid is None:
            self.spare.close()
            self.spare = None
        return found

    def cross_check(self, s, times, walls):
        """What its events say it saves must be saved by the parent's clock as well: how much
        is not, in ns. Less than a share of the call itself is noise of that clock."""
        pairs = list(zip(times["A"], times["B"], walls["A"], walls["B"]))
        if len(pairs) < 6 or self.device == "cpu":
            return None
        gap, low, _ = paired([(a - b) - (c - d) for a, b, c, d in pairs])
        base, wall = median(times["A"]), median(walls["A"])
        saved = base - median(times["B"])
        if saved > max(20000, 0.05 * base) and low is not None \
                and low > max(20000, 0.3 * saved, 0.03 * wall):
            raise Suspicion("cheated", "%s: its own events save %.0f us a call, the parent's clock "
                            "says %.0f us: work is done outside what is timed" % (
                                s["label"], saved / 1e3, (saved - gap) / 1e3))
        return gap

    def record(self, who, s):
        """One call's record: { ns = what its events say, kernels, union_ns .., by_name }."""
        seed = secret()
        who.ask("prepare", seed=seed)
        reply = who.ask("go", record=True)
        r = reply.get("recorded")
        if self.device == "cpu":
            return {"why": "Triton's interpreter launches nothing on a GPU"}
        if not isinstance(r, dict) or r.get("why"):
            return {"why": str((r or {}).get("why") or "the child gave no record")[:300]}
        out = {k: int(r[k]) for k in SUMS}
        out["ns"] = float(reply["ns"])
        out["by_name"] = [{"name": str(k["name"])[:200], "ns": int(k["ns"]), "n": int(k["n"]),
                           "registers": int(k["registers"]), "shared": int(k["shared"]),
                           "block": [int(x) for x in k["block"][:3]],
                           "grid": [int(x) for x in k["grid"][:3]]} for k in r["by_name"][:64]]
        if out["dropped"]:
            return {"why": "%d records of a call were lost" % out["dropped"]}
        return out

    def check_records(self, child, s, seen, timed_ns, base_ns, row):
        """What was recorded must bear the events out. What looks wrong is recorded twice more:
        only what is wrong each time is held against a candidate. Other processes on the GPU
        stretch kernels: as much as the reference's own are just then is no one's fault."""
        known = self.recorded.get(s["i"])
        if known is None and not seen.get("why"):
            known = self.record(self.reference, s)
            if not known.get("why"):
                self.recorded[s["i"]] = known
                if known["away_ns"] and self.lanes and s["baseline"]:
                    self.lanes = False      # it names a stream itself: all calls are on that
                    raise Redraw()
        why = seen.get("why") or known.get("why")
        if why:
            self.unrecorded = why
            return
        bad, stretch = None, 1.0
        for again in range(3):
            bad = self.suspicion(seen, known, timed_ns * stretch)
            if not bad or again == 2:
                break
            seen, now = self.record(child, s), self.record(self.reference, s)
            if seen.get("why") or now.get("why"):
                self.unrecorded = seen.get("why") or now["why"]
                return
            stretch = max(stretch, now["union_ns"] / max(base_ns, known["union_ns"]))
        if bad:
            raise Lost("cheated", "%s: %s" % (s["label"], bad))
        row["recorded"] = {k: seen[k] for k in ("kernels", "copies", "union_ns", "span_ns",
                                                "streams")}
        row["recorded"].update(events_ns=seen["ns"], baseline_union_ns=known["union_ns"],
                               strange_share=self.strangers(seen, known)[0],
                               names=[readable(k["name"]) for k in seen["by_name"][:4]])
        s["by_name"] = seen["by_name"]

    def suspicion(self, seen, known, timed_ns):
        busy, us = seen["union_ns"], 1e-3
        if seen["kernels"] + seen["copies"] == 0 and known["kernels"]:
            return "nothing ran on the GPU in a recorded call: its answer is kept from before"
        if seen["span_ns"] > 1.05 * seen["ns"] + 20000:
            return "the GPU worked for %.0f us from first to last kernel, its events say %.0f us" \
                % (seen["span_ns"] * us, seen["ns"] * us)
        if seen["away_ns"] and not known["away_ns"]:
            return "%.0f us of work ran on a stream of its own" % (seen["away_ns"] * us)
        if seen["home"] < 0 and seen["streams"] > max(1, known["streams"]):
            return "it ran on %d streams" % seen["streams"]
        if seen["devices"] > max(1, known["devices"]):
            return "it ran on %d GPUs" % seen["devices"]
        if 0.6 * busy > timed_ns + 10000:
            return "a recorded call kept the GPU busy for %.0f us, timed ones say %.0f us" % (
                busy * us, timed_ns * us)
        share, name = self.strangers(seen, known)
        if share > STRANGE:
            return "%.0f %% of its kernel time is %s, which is no Triton kernel of the file and " \
                "none that the reference starts" % (100 * share, readable(name))
        return None

    def strangers(self, seen, known):
        """Share of kernel time in kernels that are neither functions of the candidate's own file
        nor started by the reference, copies and fills aside; and the longest of them."""
        usual = {readable(k["name"]) for k in known["by_name"]}
        strange = [k for k in seen["by_name"]
                   if (k["name"].startswith("_Z") or k["name"] not in self.functions)
                   and readable(k["name"]) not in usual
                   and not any(w in k["name"].lower() for w in ("copy", "fill"))]
        whole = sum(k["ns"] for k in seen["by_name"])
        return (sum(k["ns"] for k in strange) / whole if whole else 0.0,
                strange[0]["name"] if strange else "")

    counters_known = None       # what the GPU has to count with, as the untouched file's child says

    def counters(self, child, out, baseline):
        """Counters of the longest shape, after everything else: none is ever a verdict."""
        big = max(out["shapes"], key=lambda r: r["time_ns"])["shape"]["i"]
        try:
            if self.shape["i"] != big:          # else its inputs still lie there
                child.ask("shape", seconds=20, i=big, seed=secret(), room=self.has_room(big))
            r = child.ask("count", seconds=20, seed=secret(), known=self.counters_known)
            if baseline and isinstance(r.get("known"), str):
                self.counters_known = r["known"]
            values = r.get("values")
            if not isinstance(values, dict):
                return {}, str(r.get("why") or "the child gave none")[:300]
            return {str(k)[:40]: v for k, v in list(values.items())[:64]
                    if finite(v) is not None and v >= 0}, None
        except Lost as e:
            return {}, str(e.args[1])[:300]

    def summary(self, out):
        rows = out["shapes"]
        n = len(rows)
        mean = lambda key: math.exp(sum(math.log(r[key]) for r in rows) / n)
        out.update(time_ns=mean("time_ns"), baseline_ns=mean("baseline_ns"), speedup=mean("speedup"),
                   # Of the Python around the kernels, which events do not see.
                   host_ns=mean("host_ns"), host_speedup=mean("baseline_host_ns") / mean("host_ns"),
                   speedup_of_sums=sum(r["baseline_ns"] for r in rows)
                   / sum(r["time_ns"] for r in rows))
        if all("speedup_low" in r for r in rows):
            e = math.log(out["speedup"])
            half = lambda key: math.sqrt(sum(math.log(r[key] / r["speedup"]) ** 2
                                             for r in rows)) / n
            out.update(speedup_low=math.exp(e - half("speedup_low")),
                       speedup_high=math.exp(e + half("speedup_high")), confidence=0.95)

    def evidence(self, out, kernels, counted, why):
        """Features for policies: of counters where there are some, else of the compiled kernel's
        own metadata and the task's own count of bytes and operations."""
        clip = lambda x: min(1.0, max(0.0, x))
        m, good = self.machine, []
        for k in kernels if isinstance(kernels, list) else []:
            if isinstance(k, dict) and all(finite(k.get(x)) is not None for x in
                                           ("registers", "spills", "shared", "warps", "stages")):
                good.append({x: k[x] for x in ("registers", "spills", "shared", "warps", "stages")}
                            | {"name": str(k.get("name"))[:80]})
        main = max(good, key=lambda k: (k["shared"], k["registers"]), default=None)
        big = max(out["shapes"], key=lambda r: r["time_ns"])
        dram = big["gbps"] / m["dram_gbps"] if "gbps" in big else None
        sm = big["tflops"] / m["sm_tflops"] if "tflops" in big else None
        occupancy = regs = shared = threads = None
        if main:
            regs, threads = clip(main["registers"] / 255), 32 * main["warps"]
            if m.get("max_threads_per_sm"):
                blocks = [m["max_threads_per_sm"] // max(1, threads)]
                if m.get("regs_per_sm"):
                    blocks.append(m["regs_per_sm"] // max(1, main["registers"] * threads))
                if m.get("smem_per_sm"):
                    shared = clip(main["shared"] / m["smem_per_sm"])
                    blocks.append(m["smem_per_sm"] // (main["shared"] + 1024))
                occupancy = clip(min(blocks) * threads / m["max_threads_per_sm"])
        phi = [None, dram, sm, None, occupancy, regs, None, None, None]
        measured = phi_of_counters(counted)
        rho = [math.log(big["time_ns"]), None, None, threads, 1 if threads else None, occupancy]
        signature = [1 / out["speedup"], regs, shared, threads and clip(threads / 1024), occupancy]
        e = {"kernels": good}
        for name, list_ in (("phi", phi), ("rho", rho), ("signature", signature)):
            e[name] = [0 if x is None else clip(x) if name == "phi" else x for x in list_]
            e[name + "_kind"] = ["missing" if x is None else "derived" for x in list_]
        for i, x in measured.items():
            e["phi"][i], e["phi_kind"][i] = clip(x), "measured"
        e["rho_kind"][0] = e["signature_kind"][0] = "measured"
        e["h"], e["h_kind"] = {}, {"sm": "missing", "dram": "missing", "l2": "missing"}
        for name, x in (("sm", sm), ("dram", dram)):
            if x is not None:
                e["h"][name], e["h_kind"][name] = 100 * clip(x), "derived"
        for name, x in (("sm", measured.get(2)), ("dram", measured.get(1)),
                        ("l2", counted.get("l2_pct", -1) / 100)):
            if x is not None and x >= 0:
                e["h"][name], e["h_kind"][name] = 100 * clip(x), "measured"
        out["evidence"] = e
        if main:
            out["profile"] = {"registers": main["registers"], "shared_bytes": main["shared"],
                              "warps": main["warps"], "stages": main["stages"],
                              "spills": main["spills"], "kernels": good,
                              "counters": counted, "why": why}

    def open(self, known):
        """The untouched reference through every check, timed against itself."""
        if known:
            self.recall(known)
            self.baseline = known
            return known
        out = self.evaluate(self.task["source"], {}, baseline=True)
        if out["verdict"] == "ok":
            pairs, least = self.task.get("pairs", 1), self.task.get("pairs_from", 0)
            if pairs > 1 and abs(math.log(out["speedup"])) >= least:
                self.more_pairs(out, pairs)
            out["self_speedup"] = out["speedup"]
            out["speedup"] = out["speedup_low"] = out["speedup_high"] = 1
            for r in out["shapes"]:
                r["self_speedup"], r["speedup"] = r["speedup"], 1
        self.baseline = out
        return out


def phi_of_counters(m):
    """{ place in phi: value } as lua/kernelband/evaluate/evidence_cuda.lua has it."""
    def ratio(a, b):
        return m[a] / m[b] if m.get(a) is not None and m.get(b) else None
    missed = ratio("l2_tag_misses", "l2_tags")
    sectors = ratio("l2_sectors", "l2_requests")
    busy = [m[k] for k in ("issue_pct", "tensor_pct") if k in m]
    conflicts = 0.0 if m.get("shared_wavefronts") == 0 else \
        ratio("shared_conflicts", "shared_wavefronts")
    part = lambda key, of: m[key] / of if key in m else None
    out = {0: None if missed is None else 1 - missed, 1: part("dram_pct", 100),
           2: max(busy) / 100 if busy else None, 3: part("threads_per_instruction", 32),
           4: part("occupancy_pct", 100), 6: conflicts,
           7: None if sectors is None else sectors / 4, 8: part("tensor_pct", 100)}
    return {i: x for i, x in out.items() if x is not None}


def readable(name):
    """The identifiers of a mangled C++ name, joined; any other name as it is."""
    if not name.startswith("_Z"):
        return name
    out, i = [], 2
    while i < len(name):
        if not name[i].isdigit():
            i += 1
            continue
        j = i
        while j < len(name) and name[j].isdigit():
            j += 1
        n = int(name[i:j][:4])
        if name[i - 2] != "L" and name[j:j + n].isidentifier():     # no number that is meant
            out.append(name[j:j + n])
            i = j + n
        else:
            i = j
    return "::".join(out)


# Device code alone: a file of @triton.jit functions to a cubin -------------------------

def device_only(source):
    """The verdict on a file that is more than kernels, and why; None: then importing it runs
    nothing of its own."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as e:
        return "build_failed", "line %s: %s" % (getattr(e, "lineno", "?"),
                                                getattr(e, "msg", None) or e)
    for n in tree.body:
        what = None
        if isinstance(n, ast.Expr) and isinstance(n.value, ast.Constant):
            continue
        if isinstance(n, (ast.Import, ast.ImportFrom)):
            other = next((m for m in imported(n) if m not in ("triton", "triton.language")), None)
            why = other and absent(other)
            if why:
                return "build_failed", "line %d %s" % (n.lineno, why)
            what = other and "imports " + other
        elif isinstance(n, ast.FunctionDef):
            if [ast.unparse(d) for d in n.decorator_list] != ["triton.jit"]:
                what = "%s is no plain @triton.jit function" % n.name
            elif not all(d is None or isinstance(d, ast.Constant)
                         for d in n.args.defaults + n.args.kw_defaults):
                what = "%s has a default that is computed" % n.name
        elif isinstance(n, ast.Assign):
            value = n.value
            if isinstance(value, ast.Call) and ast.unparse(value.func) == "tl.constexpr" \
                    and len(value.args) == 1 and not value.keywords:
                value = value.args[0]
            if not isinstance(value, ast.Constant):
                what = "an assignment that computes"
        else:
            what = "a statement"
        if what:
            return "cheated", "line %d: %s; device code is @triton.jit functions and " \
                "constants" % (n.lineno, what)
    return scan(source)


def compile_kernel(request):
    """{ source, name, args = types, constants, warps, stages, arch } -> { cubin, shared .. }"""
    import base64
    import triton
    from triton.backends.compiler import GPUTarget
    source, name = request["source"], request["name"]
    scratch = os.getcwd()
    path = scratch + "/candidate.py"
    with open(path, "w", encoding="utf-8") as f:
        f.write(source)
    module = types.ModuleType("candidate")
    module.__file__ = path
    sys.modules["candidate"] = module
    exec(compile(source, path, "exec"), module.__dict__)
    fn = getattr(module, name, None)
    if not isinstance(fn, triton.runtime.JITFunction):
        raise Refusal("build_failed", "it has no @triton.jit function %s" % name)
    constants, given = request.get("constants") or {}, list(request["args"])
    signature, attrs = {}, {}
    for i, arg in enumerate(fn.arg_names):
        if arg in constants:
            signature[arg] = "constexpr"
        elif not given:
            raise Refusal("build_failed", "%s takes more than the launch line passes: %s is not "
                          "given" % (name, arg))
        else:
            signature[arg] = given.pop(0)
            if signature[arg].startswith("*"):
                attrs[(i,)] = [["tt.divisibility", 16]]
    if given or any(c not in fn.arg_names for c in constants):
        raise Refusal("build_failed", "the launch line passes more than %s takes" % name)
    src = triton.compiler.ASTSource(fn, signature, {
        (fn.arg_names.index(c),): v for c, v in constants.items()}, attrs)
    options = {k: request[v] for k, v in (("num_warps", "warps"), ("num_stages", "stages"))
               if request.get(v)}
    out = triton.compile(src, target=GPUTarget("cuda", request["arch"], 32), options=options)
    m = out.metadata
    if getattr(m, "global_scratch_size", 0) or getattr(m, "num_ctas", 1) != 1:
        raise Refusal("build_failed", "it needs scratch memory or clusters, which are not given")
    return {"cubin": base64.b64encode(out.asm["cubin"]).decode(), "name": m.name,
            "shared": m.shared, "warps": m.num_warps, "ptx": out.asm["ptx"]}


def compile_main():
    """One kernel, in a jail: the request on stdin, the answer on stdout."""
    clean_start()
    request = json.loads(sys.stdin.read())
    bad = device_only(request["source"])
    if bad:
        print(json.dumps(dict(zip(("error", "text"), bad))))
        return 0
    out = fcntl.fcntl(1, fcntl.F_DUPFD_CLOEXEC, 100)
    os.dup2(2, 1)
    scratch = tempfile.mkdtemp(prefix="kernelband-triton-")
    pid = os.fork()
    if pid:
        status = os.waitpid(pid, 0)[1]
        remove(scratch)
        return 0 if status == 0 else 1
    try:
        os.chdir(scratch)
        for name in ("HOME", "TMPDIR"):
            os.environ[name] = scratch
        os.environ["TRITON_CACHE_DIR"] = scratch + "/cache"
        tempfile.tempdir = scratch
        resource.setrlimit(resource.RLIMIT_CPU, (60, 60))
        import triton                           # before the jail: it reads its own files
        landlock({"root", "home"}, scratch)
        try:
            reply = compile_kernel(request)
        except Refusal as e:
            reply = {"error": e.args[0], "text": str(e.args[1])[:2000]}
        except BaseException as e:
            reply = dict(explain(e), error="build_failed")
        os.write(out, json.dumps(reply).encode())
    finally:
        os._exit(0)


def clean_start():
    """Again, with an environment that holds no one's keys."""
    keep = ("PATH", "LD_LIBRARY_PATH", "HOME", "TMPDIR", "LANG", "CUDA_VISIBLE_DEVICES",
            "CUDA_HOME", "CC", "TRITON_INTERPRET", "TRITON_PTXAS_PATH", "TRITON_LIBCUDA_PATH", "VIRTUAL_ENV",
            "CUDA_DEVICE_ORDER", "NVIDIA_VISIBLE_DEVICES", "PYTHONPATH")
    if os.environ.get("KERNELBAND_CLEAN") != "1":
        env = {k: os.environ[k] for k in keep if k in os.environ}
        env.update(KERNELBAND_CLEAN="1", PYTHONDONTWRITEBYTECODE="1", TRITON_CACHE_AUTOTUNING="1",
                   PYTORCH_NVML_BASED_CUDA_CHECK="1", OMP_NUM_THREADS="1",
                   CUDA_MODULE_LOADING="LAZY")
        os.execve(sys.executable, [sys.executable, "-u"] + sys.argv, env)


def remove_remains():
    """Folders of workers that were killed: their names tell whose they were."""
    top = tempfile.gettempdir()
    for name in os.listdir(top):
        part = name.split("-")
        if name.startswith("kernelband-triton-") and len(part) == 4 and part[2].isdigit() \
                and not os.path.exists("/proc/" + part[2]):
            remove(os.path.join(top, name))


def serve(device, library=None):
    global INJECT
    INJECT = library
    clean_start()
    remove_remains()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    out = fcntl.fcntl(1, fcntl.F_DUPFD_CLOEXEC, 100)
    os.dup2(2, 1)
    libc = ctypes.CDLL(None)
    libc.prctl(36, 1, 0, 0, 0)
    libc.prctl(1, signal.SIGKILL)
    device = "cpu" if os.environ.get("TRITON_INTERPRET") == "1" else \
        "cuda:" + (device.split(":") + ["0"])[1]
    session = None
    try:
        while True:
            end = time.monotonic() + SWEEP_S        # some never end
            while session and session.dying and time.monotonic() < end \
                    and not select.select([0], [], [], 0.002)[0]:
                session.bury(wait=False)
            try:
                request = read_frame(0)
            except EOFError:
                return 0
            op = request.get("op")
            if op in ("open", "warm"):
                write_frame(out, refuse_or(lambda: open_task(device, request)))
                session = open_task.session
            elif op == "evaluate" and session:
                write_frame(out, {"took": request["ticket"]})
                write_frame(out, {"ticket": request["ticket"], "evaluation": session.evaluate(
                    request["source"], request.get("options") or {})})
            else:
                write_frame(out, {"refused": "unknown request"})
    finally:
        if session:
            session.close()


def open_task(device, request):
    import torch
    import triton
    if too_old(triton.__version__):
        return {"refused": "triton %s is too old: 3.4 or later is needed" % triton.__version__,
                "config": True}
    if device != "cpu" and not torch.backends.cuda.is_built():
        return {"refused": "this torch is built without CUDA", "config": True}
    if device != "cpu":
        get_ready()
    if request["op"] == "warm":
        return {"warm": True}
    task, begun = request["task"], time.monotonic()
    Child.deadline = begun + (task.get("open_s") or OPEN_S)
    try:
        session = Session(device, task)
    except Lost as e:
        if e.args[0] != "timeout":
            raise
        return {"machine": {"language": "triton"}, "ready": dict(
            verdict="timeout", reason=e.args[1], shapes=[], screened=False,
            seconds={"total": time.monotonic() - begun})}
    open_task.session = session
    ready = session.open(request.get("known"))
    return {"ready": ready, "machine": session.machine}


open_task.session = None


def refuse_or(call):
    try:
        return call()
    except ImportError as e:
        return {"refused": "%s cannot import %s: %s" % (sys.executable, e.name, e), "config": True}
    except Lost as e:
        what = str(e.args[1])
        if len(e.args) > 2 and e.args[2]:
            what = "it needs the Python package %s, which %s has not" % (e.args[2], sys.executable)
        return {"refused": what, "config": True}


def too_old(version):
    return tuple(int("".join(c for c in x if c.isdigit()) or 0)
                 for x in version.split(".")[:2]) < (3, 4)


def probe():
    out = {"python": sys.version.split()[0], "executable": sys.executable}
    import importlib.metadata as meta
    for name in ("torch", "triton"):
        try:
            out[name] = meta.version(name)
        except meta.PackageNotFoundError:
            pass
    if "triton" in out and too_old(out["triton"]):
        out["why"] = "triton %s is too old: 3.4 or later is needed" % out["triton"]
    return out


def main():
    what = sys.argv[1] if len(sys.argv) > 1 else "serve"
    if what == "tunables":
        try:
            print(json.dumps(tunables(sys.stdin.read())))
        except (SyntaxError, ValueError, RecursionError) as e:
            print(json.dumps({"error": str(e)}))
    elif what == "compile":
        return compile_main()
    elif what == "probe":
        print(json.dumps(probe()))
    else:
        return serve(sys.argv[2] if len(sys.argv) > 2 else "triton:0", *sys.argv[3:4])
    return 0


if __name__ == "__main__":
    sys.exit(main())
