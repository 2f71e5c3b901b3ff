"""Records of what ran on the GPU, and its counters, by libkb_inject.so."""
import ctypes

from .frames import finite

COUNTERS = b"search"        # set of core/cuda/counters/cupti_sets.c, one pass
library = None              # path of libkb_inject.so
SUMS = "kernels copies sum_ns union_ns span_ns away_ns streams devices dropped home".split()


class Activity(ctypes.Structure):
    """struct kb_activity of core/cuda/inject/activity.h: what is read of it, the rest as one."""
    _fields_ = [("start_ns", ctypes.c_int64), ("end_ns", ctypes.c_int64), ("kind", ctypes.c_int32),
                ("rest", ctypes.c_int32 * 11), ("name", ctypes.c_char * 192)]


class Recorder:
    """libkb_inject.so, loaded before the GPU is opened: what ran on it during a call. Where it
    can't, why says so and every record is that text."""

    def __init__(self, path):
        self.text = ctypes.create_string_buffer(512)
        self.why = "this build has no libkb_inject.so: CUPTI's headers were missing"
        if not path:
            return
        try:
            ctypes.CDLL("libcuda.so.1")     # beside torch, CUPTI faults where there is no driver
            self.lib = lib = ctypes.CDLL(path)
        except OSError as e:
            self.why = str(e)[:300]
            return
        lib.kb_inject_records.restype = ctypes.POINTER(Activity)
        lib.kb_inject_key.restype, lib.kb_inject_known.restype = ctypes.c_char_p, ctypes.c_void_p
        self.why = self.said() if lib.kb_inject_open(self.text, 512) else None

    def said(self):
        return self.text.value.decode("utf-8", "replace")[:300]

    def start(self, stream=0):
        """None, or why this one call, on the stream of that handle, can't be recorded."""
        if self.why is None and self.lib.kb_inject_start(ctypes.c_uint64(stream), self.text, 512):
            return self.said()
        return self.why

    def stop(self):
        sums, n, kernels = (ctypes.c_int64 * len(SUMS))(), ctypes.c_size_t(), {}
        if self.lib.kb_inject_stop(sums, self.text, 512):
            return {"why": self.said()}
        for r in self.lib.kb_inject_records(ctypes.byref(n))[:n.value]:
            if r.kind == 0:
                kernels[r.name] = kernels.get(r.name, 0) + r.end_ns - r.start_ns
        longest = sorted(kernels.items(), key=lambda k: -k[1])[:64]
        return dict(zip(SUMS, sums), by_name=[{"name": name.decode("utf-8", "replace"), "ns": ns}
                                              for name, ns in longest])

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
                except BaseException as e:
                    failed.append("%s: %s" % (type(e).__name__, str(e)[:200]))
                return len(failed)      # it is called no more after that
            return ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(run)
        before, call, values = safely(prepare), safely(launch), (ctypes.c_double * 64)()
        n, size = ctypes.c_size_t(), ctypes.c_size_t
        if known:
            image = bytes.fromhex(known)
            self.lib.kb_inject_know(image, size(len(image)))
        if self.lib.kb_inject_count(COUNTERS, device, before, call, None, values, size(64),
                                    self.text, size(512)):
            return {"why": (failed or [self.said()])[0]}
        keys = [self.lib.kb_inject_key(COUNTERS, size(k)) for k in range(64)]
        out = {key.decode(): finite(x) for key, x in zip(keys, values) if key}
        image = self.lib.kb_inject_known(ctypes.byref(n))
        return {"values": out, "known": ctypes.string_at(image, n.value).hex() if image else ""}
