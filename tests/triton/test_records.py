"""What a record of a call shows of it, and what is held against whom."""
import ctypes
import os
import shutil
import subprocess
import sys

import pytest
from whole import ROOT

MANGLED = "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_15CUDAFunctor_addIfEEEEvif"
SOURCE = "def own_kernel():\n    pass\n"


def record(us=100, names=(("own_kernel", 90),), **given):
    ns = 90000
    r = dict(kernels=1, copies=0, sum_ns=ns, union_ns=ns, span_ns=ns, away_ns=0, streams=1,
             devices=1, dropped=0, home=7, by_name=[dict(
                 name=n, ns=t * 1000, n=1, registers=32, shared=0, block=[1, 1, 1], grid=[1, 1, 1])
                 for n, t in names])
    return dict(us=us, recorded=dict(r, **given))


@pytest.fixture
def judge(gpu):
    """judge(candidate's calls, the reference's, its timed ones) -> ok, or why it is none. Of a
    list each is of another recorded call."""
    def of(mine, known=None, timed=100, **options):
        mine, known = ([x] if isinstance(x, dict) else list(x) for x in (mine, known or record()))

        def kernel(stand, cycles):
            left = known if stand.source == "untouched = 1" else mine
            k = left[0]
            if recorded["next"]:
                recorded["next"] = False
                return left.pop(0) if len(left) > 1 else k
            return dict(k, us=timed if left is mine else 110, wall_us=timed + 100)
        recorded = {"next": False}
        plain = gpu.worker.Session.record

        def noted(self, who, *a):
            recorded["next"] = True
            return plain(self, who, *a)
        gpu.worker.Session.record = noted
        gpu.kernel = kernel
        out = gpu.judge(gpu.session(), SOURCE)
        gpu.worker.Session.record = plain
        assert out["verdict"] in ("ok", "cheated"), out
        return out["reason"] if "reason" in out else out["shapes"][0]["recorded"]
    return of


def test_mangled_names_are_read(worker):
    assert worker.readable(MANGLED) == "at::native::vectorized_elementwise_kernel::CUDAFunctor_add"
    assert worker.readable("own_kernel") == "own_kernel"


BOTH = (("own_kernel", 50), (MANGLED, 40))


@pytest.mark.parametrize("seen, known, timed, words", [
    (record(), None, 100, None),
    (record(kernels=0, sum_ns=0, union_ns=0, span_ns=0, names=()), None, 100, "kept from before"),
    (record(span_ns=500000), None, 100, "its events say 100 us"),
    (record(away_ns=80000), None, 100, "80 us of work ran on a stream of its own"),
    (record(away_ns=80000), record(away_ns=1), 100, None),
    (record(devices=2), None, 100, "2 GPUs"),
    (record(), None, 20, "timed ones say 20 us"),
    (record(home=-1, streams=2), None, 100, "ran on 2 streams"),
    (record(home=-1), None, 100, None),
    (record(names=BOTH), None, 100, "44 % of its kernel time is at::native::vectorized"),
    (record(names=BOTH), record(names=BOTH), 100, None),
    (record(names=(("own_kernel", 9), ("_ZN2at6native18direct_copy_kernelEv", 80))), None, 100,
     None),
    (record(names=(("own_kernel", 80), (MANGLED, 9))), None, 100, None)])
def test_what_a_record_shows_convicts_a_cheat_and_no_honest_file(
        judge, seen, known, timed, words):
    found = judge(seen, known, timed)
    assert words in found if words else isinstance(found, dict), found


def busy(us):
    return record(us, union_ns=us * 1000, span_ns=us * 1000, sum_ns=us * 1000)


@pytest.mark.parametrize("mine, others, expected", [
    ([100], [100], 100000), ([300, 100], [100, 100], 100000),
    ([300, 290, 280], [100, 240, 260], 280000),
    ([300, 290, 280], [100, 100, 105],
     "x: a recorded call kept the GPU busy for 280 us, timed ones say 100 us")])
def test_a_recorded_call_that_others_on_the_gpu_stretch_is_no_cheat(
        judge, mine, others, expected):
    found = judge([busy(x) for x in mine], [busy(x) for x in others])
    if isinstance(expected, str):
        assert found == expected
    else:
        assert found["union_ns"] in (expected, 290000)


def test_counters_are_for_what_may_become_the_best(gpu):
    gpu.labels = ["x", "y"]
    s = gpu.session(counters=True)

    def counted(times, best, **options):
        """times in us of the candidate's two shapes, best of the best so far."""
        shape = {}
        gpu.on["shape"] = lambda stand, request: shape.update(i=request["i"])
        gpu.kernel = lambda stand, cycles: dict(us=times[shape["i"]], wiggle=0) \
            if stand.source == "candidate = 1" else dict(us=60)
        gpu.judge(s, best_times_ns=[x * 1e3 for x in best], **options)
        return bool(gpu.times("count"))
    assert counted([50, 60], [])
    assert counted([50, 60], [51, 60])
    assert not counted([50, 62], [50, 57])
    assert not counted([50, 60], [90, 90], confirm=True)
    assert not counted([150, 160], [90, 90])            # it is dropped after a screen


@pytest.mark.parametrize("us, again", [([50, 90, 70], True), ([50, 70, 90], False)])
def test_what_is_counted_is_the_longest_shape_laid_out_anew_where_another_was_the_last(
        gpu, us, again):
    gpu.labels, shape = ["x", "y", "z"], {}
    gpu.on["shape"] = lambda stand, request: shape.update(i=request["i"])
    gpu.kernel = lambda stand, cycles: dict(us=us[shape["i"]])
    gpu.judge(gpu.session(counters=True))
    ops = [(op, request.get("i")) for stand, op, request in gpu.log
           if op in ("count", "shape") and stand.source == "candidate = 1"]
    at = [op for op, _ in ops].index("count")
    assert (ops[at - 1] == ("shape", 1)) is again and ops[at - 1][1] == (1 if again else 2)
    assert [op for op, _ in ops].count("shape") == 3 + again


def test_the_counters_of_a_gpu_are_listed_by_one_process_and_passed_to_the_others(
        gpu):
    s, told = gpu.session(counters=True), []

    def count(stand, request):
        told.append(request["known"])
        return {"values": {"dram_pct": 5}, "known": says}
    gpu.on["count"] = count
    for says, baseline in (("c0de", False), ("ab01", True), ("c0de", False), ("", False)):
        out = gpu.judge(s, "untouched = 1" if baseline else "candidate = 1", baseline)
        assert out["profile"]["counters"] == {"dram_pct": 5}
    assert told == [None, None, "ab01", "ab01"]


def test_a_process_counts_with_the_list_of_another_process(worker):
    class Library:                  # of one process
        image, counted = None, []

        def kb_inject_know(self, image, n):
            self.image = image[:n.value]

        def kb_inject_count(self, *args):
            self.counted.append(self.image)
            self.image = self.image or b"\1\2"

        def kb_inject_key(self, *args):
            return None

        class Known:
            def __call__(self, n):
                n._obj.value = len(library.image)
                return ctypes.cast(library.image, ctypes.c_void_p).value
        kb_inject_known = Known()
    for known, with_, then in (None, None, "0102"), ("0a0b0c", b"\n\x0b\x0c", "0a0b0c"):
        r, library = worker.Recorder(None), Library()
        r.lib, r.why = library, None
        assert r.count(0, None, None, known) == {"values": {}, "known": then}
        assert library.counted.pop() == with_


def library():
    """libkb_inject.so of the build that asks, beside its binary."""
    where = os.environ.get("KERNELBAND_BUILD", str(ROOT / "build/release"))
    return where + "/libkb_inject.so"


def headers():
    import triton
    found = [os.environ.get("CUDA_HOME", "/usr/local/cuda") + "/include",
             os.path.dirname(triton.__file__) + "/backends/nvidia/include"]
    return next(x for x in found if os.path.exists(x + "/cupti_activity.h"))


@pytest.mark.skipif(not os.path.exists(library()), reason="this build has no libkb_inject.so")
def test_the_id_of_the_stream_a_call_is_on_is_learned_from_a_fill_on_it(scratch):
    cc = [os.environ.get("CC", "cc"), "-shared", "-fPIC", "-I" + headers(),
          str(ROOT / "tests/triton/fake_cupti.c"), "-o"]
    subprocess.run(cc + [scratch + "/libcuda.so.1", "-DDRIVER"], check=True)
    subprocess.run(cc + [scratch + "/libcupti.so.13", "-L" + scratch, "-l:libcuda.so.1",
                         "-Wl,-rpath,$ORIGIN"], check=True)
    text = """
import ctypes, sys
sys.path.insert(0, %r)
from whole import worker
r = worker.Recorder(sys.argv[1])
print(r.why, r.start())
fill = ctypes.CDLL("libcuda.so.1").cuMemsetD8Async
fill(ctypes.c_uint64(4096), 0, ctypes.c_size_t(4), None)
s = r.stop()
print(s["home"], s["copies"], s["away_ns"], s["by_name"])
print(r.stop()["why"], "|", r.start(), r.stop()["copies"])
for home in 32, 0, 32:
    r.start(home)
    fill(ctypes.c_uint64(4096), 0, ctypes.c_size_t(4), ctypes.c_void_p(32))
    s = r.stop()
    print(s["home"], s["copies"], s["away_ns"])
""" % str(ROOT / "tests/triton")
    env = {k: v for k, v in os.environ.items()
           if k not in ("CUDA_HOME", "CUDA_PATH", "KERNELBAND_CUDA")}
    out = subprocess.run([sys.executable, "-B", "-c", text, library()], stdout=subprocess.PIPE,
                         env=dict(env, LD_LIBRARY_PATH=scratch), check=True, text=True).stdout
    assert out == "None None\n7 1 0 []\nnothing is being recorded | None 0\n" \
        "8 1 0\n7 1 100\n8 1 0\n"
    shutil.rmtree(scratch, ignore_errors=True)


def inject(script):
    return subprocess.run([sys.executable, "-B", "-c", "import ctypes, sys\n" + script, library()],
                          stdout=subprocess.PIPE, check=True, text=True).stdout


@pytest.mark.skipif(not os.path.exists(library()), reason="this build has no libkb_inject.so")
def test_the_library_that_records_says_what_is_in_the_way_and_ends_nothing():
    assert inject("""
library = ctypes.CDLL(sys.argv[1])
library.kb_inject_key.restype = ctypes.c_char_p
why, sums = ctypes.create_string_buffer(512), (ctypes.c_int64 * 10)(*range(10))
print(library.kb_inject_stop(sums, why, 512), why.value.decode(), list(sums) == list(range(10)))
print(library.kb_inject_count(b"nothing", 0, None, None, None, None, 0, why, 512))
n = ctypes.c_size_t(7)
library.kb_inject_known.restype = ctypes.c_void_p
print(library.kb_inject_known(ctypes.byref(n)), n.value)
library.kb_inject_know(b"first", ctypes.c_size_t(5))
library.kb_inject_know(b"other process's", ctypes.c_size_t(15))
print(ctypes.string_at(library.kb_inject_known(ctypes.byref(n)), n.value))
print(library.kb_inject_key(b"search", 0).decode(), library.kb_inject_key(b"search", 999))
print(library.kb_inject_ready(b"GH100", b"nothing", why, 512), why.value.decode())
print(library.kb_inject_ready(b"NV1", b"search", why, 512), why.value != b"")
ready = library.kb_inject_ready(b"GH100", b"search", why, 512)
print(ready == 0 or "libcupti" in why.value.decode() or why.value)
if library.kb_inject_open(why, 512) or library.kb_inject_start(ctypes.c_uint64(0), why, 512):
    print("told" if why.value else "silent")
else:
    print("told")
""") == "-1 nothing is being recorded True\n-1\nNone 0\nb\"other process's\"\n" \
        "time_ns None\n-1 there is no set of counters 'nothing'\n-1 True\nTrue\ntold\n"
