"""Defects of the Triton worker that were mended: each of these failed before. Whole files are
judged through its frames, on Triton's CPU interpreter."""
import fcntl
import json
import math
import os
import resource
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile
import time

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FOLDER = os.environ.get("KERNELBAND_WORKER", ROOT + "/lua/kernelband/triton/worker")
HERE = ROOT + "/tests/triton/"

with open(HERE + "kernels/scaled_add.py") as f:
    SOURCE, TESTS = f.read().split("#" * 146)
with open(HERE + "perf/scaled_add_perf.py") as f:
    PERF = f.read()


class Judge:
    """A worker, with a task that is open."""

    def __init__(self, folder=FOLDER, **given):
        self.process = subprocess.Popen(
            [sys.executable, folder, "serve", "triton:0"], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, env=dict(os.environ, TRITON_INTERPRET="1"))
        self.write({"op": "open", "task": dict(dict(
            kind="tritonbench", module="scaled_add", source=SOURCE, tests=TESTS, perf=PERF,
            call_s=20), **given)})
        self.baseline = self.read()["ready"]
        assert self.baseline["verdict"] == "ok", self.baseline

    def write(self, value):
        data = json.dumps(value).encode()
        self.process.stdin.write(struct.pack("<I", len(data)) + data)
        self.process.stdin.flush()

    def read(self):
        return json.loads(self.process.stdout.read(struct.unpack(
            "<I", self.process.stdout.read(4))[0]))

    def __call__(self, source):
        self.write({"op": "evaluate", "ticket": 1, "source": source, "options": {}})
        assert self.read() == {"took": 1}
        return self.read()["evaluation"]

    def close(self):
        self.process.stdin.close()
        self.process.wait()


@pytest.fixture
def judge():
    made = []

    def open_one(**given):
        made.append(Judge(**given))
        return made[-1]
    yield open_one
    for one in made:
        one.close()


def returning(change, when="n == 64"):
    """The file, with what it returns changed for one size."""
    return SOURCE.replace("    return out\n", "    if %s:\n        %s\n    return out\n" % (
        when, change))


def results(*lines):
    """Tests of one size, which give what these lines put into out."""
    return "\n".join(["import torch", "def test_it():",
                      "    x = torch.randn(64, device='cuda')",
                      "    y = torch.randn(64, device='cuda')",
                      "    made, out = scaled_add(x, y), {}",
                      *("    " + x for x in lines), "    return out", "result_gold = test_it()"])


def test_the_last_element_of_a_large_output_is_compared(judge):
    j = judge(tests=results("large = torch.zeros(3 << 20)", "large[-1] = made[0]",
                            "out['large'] = large"))
    assert j(SOURCE + "# again\n")["verdict"] == "ok"
    out = j(returning("out[0] += 1"))
    assert out["verdict"] == "wrong" and "large" in out["reason"]


def test_a_mask_of_zeros_does_not_pass_as_rounding(judge):
    j = judge(tests=results("out['mask'] = (made > 0).to(torch.int8)"))
    assert j(returning("out = -out.abs()"))["verdict"] == "wrong"


def test_integers_rounded_from_floats_may_be_off_by_one_in_few_places_which_is_reported(judge):
    j = judge(tests=results("out['q'] = (made * 20).round().clamp(-127, 127).to(torch.int8)"))
    assert "off by one" in " ".join(j.baseline["weakened"])
    assert j(returning("out[5] += 0.05"))["verdict"] == "ok"
    assert j(returning("out += 0.05"))["verdict"] == "wrong"


def test_a_word_in_a_comment_loosens_no_bound(judge):
    j = judge(source=SOURCE + "# in bfloat16 and float16 one might use tl.dot\n")
    assert j(returning("out *= 1.002"))["verdict"] == "wrong"


def test_a_bound_follows_from_the_types_that_kernels_are_given(judge):
    j = judge(tests=results("out['half'] = scaled_add(x.half(), y.half())"))
    assert j(returning("out *= 1.001"))["verdict"] == "ok"
    assert j(returning("out *= 1.02"))["verdict"] == "wrong"


def test_what_cancels_may_be_as_far_off_as_the_untouched_file_is_from_float64(judge):
    # All that is left of it is rounding: of 0.1 * 3, and of sums in another order.
    j = judge(tests=results("big = made.sum() * 1e4",
                            "out['rest'] = (made * 1e4).sum() - big + 1e-6 * x.sum()"))
    honest = returning("out = (out.double() * (1 + 2e-8)).to(out.dtype)")
    assert j(honest)["verdict"] == "ok"


def test_numbers_that_are_nearly_zero_are_equal(judge):
    tiny = "\n\ndef tiny():\n    return %s\n"
    j = judge(source=SOURCE + tiny % "0.0", tests=results("out['tiny'] = tiny()"))
    assert j(SOURCE + tiny % "1e-9")["verdict"] == "ok"
    assert j(SOURCE + tiny % "1e-3")["verdict"] == "wrong"


def test_words_in_a_comment_of_the_reference_permit_no_import(judge):
    j = judge(source=SOURCE + "# cos, position, import osmosis\n")
    out = j("from logging import os\n" + SOURCE)
    assert out["verdict"] == "cheated" and "imports os" in out["reason"]


def test_an_answer_may_use_what_its_tests_import_in_every_process(judge):
    lacking = SOURCE.replace("import torch\n", "", 1)
    assert "import torch\n" not in lacking
    j = judge(source=lacking, tests="import torch\n" + TESTS, pairs=2, baseline_only=True)
    assert len(j.baseline["pairs"]) == 2
    assert j(lacking + "# again\n")["verdict"] == "ok"


def test_a_candidate_is_ended_before_its_worker_where_memory_is_short(judge):
    j = judge(gate=False)
    out = j(SOURCE + "raise RuntimeError('adj ' + open('/proc/self/oom_score_adj').read())\n")
    assert "adj 1000" in out["reason"]


def test_a_worker_survives_a_fork_that_fails(judge):
    j = judge()
    assert j(SOURCE)["verdict"] == "ok"
    pid = j.process.pid
    before = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (3, before[1]))
    assert j(SOURCE + "# spare\n")["verdict"] in ("ok", "launch_failed")
    assert j(SOURCE + "# none\n")["verdict"] == "launch_failed"
    resource.prlimit(pid, resource.RLIMIT_NOFILE, before)
    assert j(SOURCE + "# again\n")["verdict"] == "ok"


def test_a_worker_without_a_jail_says_so(judge, tmp_path):
    shutil.copytree(FOLDER, tmp_path / "a/b/c/d/worker")
    j = judge(folder=str(tmp_path / "a/b/c/d/worker"))
    assert "libkb_jail.so" in " ".join(j.baseline["weakened"])


def test_a_process_stays_in_the_group_that_is_killed(judge):
    j = judge(gate=False)
    assert not any("no lib" in x for x in j.baseline.get("weakened", ()))
    out = j(SOURCE + "import os\nos.setsid()\n")
    assert out["verdict"] == "launch_failed" and "PermissionError" in out["reason"]
    out = j(SOURCE + "import os\nos.setpriority(os.PRIO_PROCESS, os.getppid(), 19)\n")
    assert out["verdict"] == "crashed" and "signal 31" in out["reason"]


# Parts of it ---------------------------------------------------------------------------------

sys.path.insert(0, os.path.dirname(FOLDER))


def part(name):
    return __import__("worker." + name, fromlist=["worker"])


def test_a_frame_holds_neither_nan_nor_infinity():
    frames = part("frames")
    for text in (b'{"ns": NaN}', b'{"ns": -Infinity}', b'{"ns": 1e999}'):
        down, up = os.pipe()
        os.write(up, struct.pack("<I", len(text)) + text)
        with pytest.raises(ValueError):
            frames.read_frame(down)


def test_a_child_that_reads_no_more_is_a_timeout():
    children = part("children")
    child = children.Child.__new__(children.Child)
    child.scratch = tempfile.mkdtemp()
    child.start(lambda: time.sleep(60), child.scratch)
    start = time.monotonic()
    with pytest.raises(children.Lost) as e:
        child.ask("test", seconds=0.3, text="x" * (1 << 22))
    assert e.value.args[0] == "timeout" and time.monotonic() - start < 10
    child.close()


def test_waiting_for_the_gpu_is_no_verdict_and_first_come_is_first_served(monkeypatch):
    gpu, children = part("gpu"), part("children")
    name = "test%d" % os.getpid()

    def session():
        s = gpu.Sharing()
        s.share(name)
        return s
    a, b = session(), session()
    a.take()
    monkeypatch.setattr(gpu, "LOCK_S", 0.2)
    with pytest.raises(children.Busy):
        b.take()
    assert not issubclass(children.Busy, children.Lost)
    a.give()
    b.waited = 0.0
    b.take()
    b.give()
    # One that waits is next: whoever had the GPU does not get it again before that one.
    monkeypatch.setattr(gpu, "LOCK_S", 30)
    order, (down, up) = [], os.pipe()
    a.waited = 0.0
    a.take()
    waiting = os.fork()
    if waiting == 0:
        c = session()
        os.write(up, b"w")
        c.take()
        os.write(up, b"c")
        time.sleep(0.3)
        os.write(up, b"g")
        os._exit(0)
    assert os.read(down, 1) == b"w"
    while True:                             # until it holds the turn
        try:
            fcntl.flock(b.next, fcntl.LOCK_EX | fcntl.LOCK_NB)
            fcntl.flock(b.next, fcntl.LOCK_UN)
            time.sleep(0.01)
        except BlockingIOError:
            break
    a.give()
    a.take()
    while len(order) < 2:
        order.append(os.read(down, 1))
    assert order == [b"c", b"g"]
    os.waitpid(waiting, 0)
    for what in ("", ".next"):
        os.unlink("/tmp/kernelband-gpu-" + name + what)


def test_a_folder_that_is_in_use_is_kept_whatever_its_name_says(monkeypatch, tmp_path):
    children = part("children")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(os, "getpid", lambda: 4194303999)
    used = children.new_folder()
    left = tmp_path / "kernelband-triton-1-left"        # of a process that is, but not there
    left.mkdir()
    children.remove_remains()
    assert os.path.isdir(used) and not left.exists()
    children.remove(used)
    assert not os.path.exists(used)


def session(name):
    made = part("session").Session
    s = made.__new__(made)
    s.device, s.unrecorded, s.lanes, s.functions, s.recorded = "cuda:0", None, True, {"k"}, {}
    return s


RECORD = {"kernels": 1, "copies": 0, "union_ns": 1e5, "span_ns": 1e5, "ns": 1e5, "streams": 1,
          "devices": 1, "away_ns": 0, "home": 7, "by_name": [{"name": "k", "ns": 1e5}]}


def test_a_call_that_cannot_be_recorded_where_the_reference_can_is_not_ok():
    s = session("records")
    s.reference, lost = "A", {"why": "9 records of a call were lost"}
    s.record = lambda who: RECORD if who == "A" else lost
    with pytest.raises(part("children").Lost) as e:
        s.check_records("B", {"i": 0, "label": "x", "baseline": False}, lost, 1e5, 1e5, {})
    assert e.value.args[0] == "cheated"
    replies = [lost, RECORD]            # by chance: once more is enough
    s.record = lambda who: RECORD if who == "A" else replies.pop(0)
    s.check_records("B", {"i": 0, "label": "x", "baseline": False}, lost, 1e5, 1e5, {})
    s.record = lambda *_: lost          # nobody is: as on machines without counters
    s.recorded = {}
    s.check_records("B", {"i": 0, "label": "x", "baseline": False}, lost, 1e5, 1e5, {})
    assert s.unrecorded


@pytest.mark.parametrize("mine, wall, expected", [
    (10e3, 180e3, 100 / 80), (98e3, 198e3, 100 / 98), (50e3, 150e3, 2.0)])
def test_clocks_that_disagree_give_the_smaller_gain(mine, wall, expected):
    s = session("timing")
    wiggle = [1 + (i * 7 % 5 - 2) * 1e-5 for i in range(12)]
    times = {"A": [100e3 * w for w in wiggle], "B": [mine * w for w in wiggle]}
    walls = {"A": [200e3 * w for w in wiggle], "B": [wall * w for w in wiggle]}
    s.cross_check(times, walls, {})
    found = sum(times["A"]) / sum(times["B"])
    assert math.isclose(found, expected, rel_tol=1e-2)


def test_the_interval_of_short_calls_is_that_of_pairs_of_processes():
    stats = part("stats")
    _, low, high = stats.of_pairs([[0.00, -0.01], [0.01, 0.004]], 3500, True, statistics.fmean)
    assert (high - low) / 2 < 0.02
    _, low, high = stats.of_pairs([[0.10, -0.10], [0.01, 0.004]], 3500, True, statistics.fmean)
    assert (high - low) / 2 > 0.04


@pytest.mark.parametrize("n, t", [(2, 4.303), (3, 2.776), (4, 2.447), (6, 2.228)])
def test_the_interval_of_long_calls_is_students_t_of_pairs_in_both_orders(n, t):
    """95 %, two-sided, two times n - 1 degrees of freedom; what the order is worth is no noise."""
    one = [k * 1e-3 for k in range(n)]
    mean, low, high = part("stats").of_pairs(
        [one, [0.05 + x for x in one]], 1e6, False, statistics.fmean)
    expected = t * statistics.stdev(one) / (2 * n) ** 0.5
    assert math.isclose(mean, 0.025 + (n - 1) / 2e3)
    assert math.isclose(high - mean, expected, rel_tol=0.015)
    assert math.isclose(mean - low, expected, rel_tol=0.015)


def test_the_interval_of_a_mean_of_shapes_counts_what_pairs_of_processes_have_in_common():
    """All shapes of one pair are slower at once: more shapes say no more than one does."""
    row = {"time_ns": 1e6, "baseline_ns": 1e6, "speedup": 1.0, "speedup_high": 1.05,
           "interval": "wilcoxon"}
    half_of = part("stats").half_of
    assert math.isclose(half_of(
        [dict(row, interval="pairs of processes")] * 7, "speedup_high"), math.log(1.05))
    assert half_of([row] * 7, "speedup_high") < 0.4 * math.log(1.05)
    # So is what one pair of processes may have had by chance, where no other was asked.
    assert math.isclose(half_of([dict(row, interval="one pair")] * 7, "speedup_high"),
                        math.log(1.05))


HEAD = SOURCE[:SOURCE.index("def scaled_add(")]
LATER = """

def launch(x, y, out, n, scale):
    scaled_add_kernel[(triton.cdiv(n, 64),)](x, y, out, n, scale, BLOCK_SIZE=64)


def scaled_add(x, y, scale=2.5):
    out = torch.empty_like(x)
    launch(x, y, out, 1, scale)
    %s
    return out
"""


@pytest.mark.parametrize("head, body, what", [
    ("T = torch.Tensor\nreal = T.detach\n", """
    def later(t):
        T.detach = real
        if t is out:
            launch(x, y, out, x.numel(), scale)
        return real(t)
    T.detach = later""", "replaced Tensor.detach"),
    ("T = torch.Tensor\nreal = T.contiguous\n", """
    def later(t):
        T.contiguous = real
        launch(x, y, out, x.numel(), scale)
        return real(t)
    T.contiguous = later""", "replaced Tensor.contiguous"),
    ("N = torch.no_grad\nreal = N.__exit__\n", """
    def later(self, *args):
        N.__exit__ = real
        launch(x, y, out, x.numel(), scale)
        return real(self, *args)
    N.__exit__ = later""", "replaced no_grad.__exit__"),
    ("""
class Mode(torch.overrides.TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))
""", """
    launch(x, y, out, x.numel(), scale)
    Mode().__enter__()""", "left a mode of torch open")])
def test_what_a_file_leaves_behind_is_seen_before_its_results_are(judge, head, body, what):
    """A hook that computes the result when it is shown may take itself away then."""
    out = judge()(HEAD + head + LATER % body)
    assert out["verdict"] == "cheated" and what in out["reason"]


def test_a_test_may_set_a_default_device(judge):
    j = judge(tests=TESTS.replace("    results = {}\n",
                                  "    results = {}\n    torch.set_default_device('cpu')\n", 1))
    assert j(SOURCE)["verdict"] == "ok"
