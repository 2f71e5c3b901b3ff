"""Records of what ran on the GPU, and its counters, by libkb_inject.so."""
import ctypes

from .frames import finite

COUNTERS = "search"         # set of core/cuda/counters/cupti_sets.c, one pass
library = None              # path of libkb_inject.so
SUMS = ("kernels", "copies", "sum_ns", "union_ns", "span_ns", "away_ns", "streams", "devices",
        "dropped", "home")


class Activity(ctypes.Structure):
    """struct kb_activity of core/cuda/inject/activity.h"""
    _fields_ = [(n, ctypes.c_int64) for n in ("start_ns", "end_ns")] \
        + [(n, ctypes.c_int32) for n in ("kind", "device", "stream", "registers", "shared_bytes",
                                         "local_bytes")] \
        + [("grid", ctypes.c_int32 * 3), ("block", ctypes.c_int32 * 3),
           ("name", ctypes.c_char * 192)]


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
