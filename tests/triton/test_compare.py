"""A candidate's results against what the untouched file gives."""
import math
import os
import tempfile

import numpy
import pytest
import torch
from conftest import called, perf_of

nan = float("nan")
base = torch.arange(100).float()
ints = torch.arange(100)
# The untouched file returns what is listed, run by run.
LISTED = """
import torch
def op():
    with open("{0}/ran", "a") as f:
        f.write("x")
    runs = torch.load("{0}/runs", weights_only=False)
    return runs[min(len(open("{0}/ran").read()), len(runs)) - 1]
"""


def with_(x, *changes):
    x = x.clone()
    for i, v in changes:
        x[i] = v
    return x


@pytest.fixture
def judge(runner, scratch):
    """judge(runs, mine, ...) -> (what is wrong, what is left to chance, outputs that are
    undetermined, how many more runs were asked for)"""
    def of(runs, mine, more=(), **given):
        runs = list(runs[:2]) + list(more) + 9 * list(runs[len(more) % 2:] + runs[:len(more) % 2])
        torch.save([[x] for x in runs], scratch + "/runs")
        r = runner(LISTED.format(scratch), "def test_op():\n    return op()\nresult = test_op()\n")
        leaves = r.put({"result": [mine]}, 7)["leaves"]
        out = r.do_verify_tests(seed=3, leaves=leaves, file=scratch + "/out.bin", poisons=(11, 48),
                                **given)
        asked = len(open(scratch + "/ran").read()) - 2
        return out.get("wrong", "fine"), out.get("chance"), out.get("undetermined"), asked
    return of


AT = "['result'][0]"
ONE = AT + ": %d of 100 elements wrong, first [%d] = %s, expected %s"
share = {"allow": {AT: .01}}


@pytest.mark.parametrize("runs, mine, more, given, expected", [
    ([base, base], base, [], {}, ("fine", 0, [], 0)),
    ([with_(base, (3, nan)), with_(base, (3, 777.25))], with_(base, (3, 5)), [], {},
     ("fine", 1, [], 0)),
    # Steady, so it is wrong.
    ([base, base], with_(base, (7, 8)), [], {}, (ONE % (1, 7, 8.0, 7.0), None, None, 5)),
    # A race that is seen late.
    ([base, base], with_(base, (7, 8)), [base, with_(base, (7, 1))], {}, ("fine", 1, [], 2)),
    ([base, base], with_(base, (7, 8), (8, 9.5)), [with_(base, (7, 1))], {},
     (ONE % (1, 8, 9.5, 8.0), None, None, 5)),
    ([base, base], with_(base, (7, 8)), [], share, ("fine", 0, [], 5)),
    ([base, base], with_(base, (7, 8), (9, 1)), [], share, (ONE % (2, 7, 8.0, 7.0), None, None, 5)),
    ([base * nan, base * 0 + 777.25], base, [], {}, ("fine", 100, [AT], 0)),
    ([with_(base, (7, nan))] * 2, base, [], {}, (ONE % (1, 7, 7.0, nan), None, None, 5)),
    ([ints, ints], with_(ints, (2, 134145)), [with_(ints, (2, 133121))], {}, ("fine", 1, [], 1)),
    ([ints, ints], with_(ints, (2, 134145)), [], {}, (ONE % (1, 2, 134145, 2), None, None, 5)),
    ([1443.8, 5123190272.0], 7.5, [], {}, ("fine", 1, [AT], 0)),
    ([1443.8, 1443.8], 7.5, [], {}, (AT + " is 7.5, expected 1443.8", None, None, 5)),
    ([True, True], 1, [], {}, (AT + " is 1, expected True", None, None, 5)),
    ([3, 3], 3, [], {}, ("fine", 0, [], 0)),
    (["a", "a"], "b", [], {}, (AT + " is b, expected a", None, None, 5)),
])
def test_an_element_is_left_out_only_where_the_reference_differs_from_itself(
        judge, runs, mine, more, given, expected):
    wrong, chance, undetermined, asked = judge(runs, mine, more, **given)
    assert (wrong, asked) == (expected[0], expected[3])
    if wrong == "fine":
        assert (chance, undetermined) == expected[1:3]


# Two runs of the untouched file, and a third block's values. At 66 the two were near by chance.
one, two, three = (with_(base, *((i, f(i)) for i in range(64, 72))) for f in (
    lambda i: i % 7 * 30, lambda i: 200 - i % 5 * 9 if i != 66 else 91, lambda i: 300 + i))
half = with_(one, *((i, nan) for i in range(68, 72)))   # memory that no one wrote: NaN at first,
other = with_(half, *((i, 777.25) for i in range(68, 72)))      # then this


def just_below(kind):
    return float(torch.nextafter(torch.tensor(torch.finfo(kind).max, dtype=kind),
                                 torch.tensor(0., dtype=kind)))


@pytest.mark.parametrize("kind, wanted, mine, right", [
    *((kind, just_below(kind), math.inf, True) for kind in (
        torch.float16, torch.bfloat16, torch.float32)),
    (torch.float16, -just_below(torch.float16), -math.inf, True),
    (torch.float32, just_below(torch.float32), -math.inf, False),
    # What is the largest number was put there: by a clamp, or as a mask's.
    *((kind, torch.finfo(kind).min, -math.inf, False) for kind in (
        torch.float16, torch.bfloat16, torch.float32, torch.float64)),
    (torch.float8_e5m2, 49152, math.inf, False),
    (torch.float32, 3e38, math.inf, False), (torch.float16, 30000, math.inf, False),
    (torch.complex64, 1, math.inf, False),
    *((kind, math.inf, mine, False) for mine in (5, -math.inf, nan) for kind in (
        torch.float16, torch.float32, torch.float64)),
    (torch.float32, -math.inf, -math.inf, True)])
def test_an_infinity_is_right_only_where_it_is_expected_or_a_rounding_makes_it_one(
        judge, kind, wanted, mine, right):
    x = base.to(kind)
    wrong, chance, undetermined, _ = judge([with_(x, (3, wanted))] * 2, with_(x, (3, mine)))
    assert wrong == "fine" if right else "1 of 100 elements wrong, first [3] = " in wrong
    assert not right or (chance, undetermined) == (0, [])


@pytest.mark.parametrize("fill", [-1e4, -1e9, torch.finfo(torch.float32).min, -math.inf])
@pytest.mark.parametrize("many", [1, 60, 95])
@pytest.mark.parametrize("off", [0, 1e-6, 1e-3])
def test_what_a_mask_puts_in_a_result_says_nothing_of_how_far_the_rest_may_be_off(
        judge, fill, many, off):
    x = with_(torch.arange(100).float().sin(), *((i, fill) for i in range(many)))
    wrong, *_ = judge([x, x], with_(x, (97, float(x[97]) + off)))
    assert wrong == "fine" if off < 1e-3 else "1 of 100 elements wrong, first [97] = " in wrong


def test_a_mask_on_one_column_of_many_is_told_from_the_rest(runner):
    r, x = runner(), torch.randn(16200, 64)
    x[:, 0] = -1e9
    assert r.differing(x.flatten(), [], (x + 0.01).flatten())["off"] > 1e6


@pytest.mark.parametrize("after", [
    torch.nn.functional.silu, torch.sigmoid, torch.nn.functional.softplus,
    lambda x: x * torch.logspace(-6, 2, 128)[:, None]])
def test_products_summed_in_another_order_are_right_where_many_results_are_tiny(runner, after):
    torch.manual_seed(1)
    a, b = torch.randn(128, 1024), torch.randn(1024, 128)
    split = sum(x @ y for x, y in zip(a.split(256, 1), b.split(256, 0)))
    assert runner().differing(after(a @ b).flatten(), [], after(split).flatten())["off"] == 0


def test_a_few_rows_that_come_out_otherwise_in_float64_leave_the_bound_of_others(runner):
    r, x = runner(), torch.randn(1000, 64)
    exact, x = with_(x.double(), (500, 1.)).flatten(), x.flatten()
    assert r.differing(x, [], x + 0.15, exact)["off"] > 60000
    assert r.differing(x, [], x * (1 + 1e-6), exact)["off"] == 0


def test_results_of_float64_are_as_near_as_float32_where_the_file_rounds_to_that(runner):
    r, x = runner(), torch.randn(1000, dtype=torch.float64)
    r.compiled = lambda: [("k", Kernel())]
    assert r.differing(x, [], x * (1 + 1e-7))["off"] == 0
    assert r.types == {"float32"}


class Kernel:
    asm = {"ptx": "cvt.rn.f32.f64 %f1, %fd1;"}


def test_a_bool_that_no_one_wrote_is_true_in_one_run_and_false_in_another(runner):
    r = runner()
    for poison, value in ((11, True), (48, False)):
        with r.poisoned(poison):
            assert torch.empty(64, dtype=torch.bool).eq(value).all()


@pytest.mark.parametrize("wanted, mine, told", [
    (None, torch.zeros(3), None), (1.5, 10 ** 400, None), (object(), object(), True)],
    ids=["none", "huge", "object"])
def test_what_is_no_tensor_is_compared_by_its_value_or_told(runner, scratch, wanted, mine, told):
    r = runner()
    leaves = r.put([mine], 7)["leaves"]
    out = r.verify([r.keep([wanted], 7)], leaves, scratch + "/out.bin",
                   lambda k: r.keep([wanted], 7))
    assert bool(out.get("wrong")) == (not told)
    assert out.get("told") == ({"compared by its type alone": ["[0]"]} if told else None)


def test_a_conjugate_view_is_compared(runner, scratch):
    r, x = runner(), torch.randn(50, dtype=torch.complex64)
    for mine, right in ((x.conj(), True), (x, False)):
        leaves = r.put([mine], 7)["leaves"]
        out = r.verify([r.keep([x.conj()], 7)], leaves, scratch + "/out.bin",
                       lambda k: r.keep([x.conj()], 7))
        assert ("wrong" not in out) == right


@pytest.mark.parametrize("runs, mine, expected", [
    ([one, two], one, "fine"), ([one, two], three, "fine"),
    ([one, with_(one, (65, 1), (66, 1))], three, ONE % (6, 64, 364.0, 30.0)),
    ([one, two], with_(three, (72, 3)), ONE % (1, 72, 3.0, 72.0)),
    ([one, two], with_(three, (63, 3)), ONE % (1, 63, 3.0, 63.0)),
    ([half, other], with_(half, (66, 3)), ONE % (1, 66, 3.0, 90.0)),
])
def test_where_blocks_race_for_half_of_eight_elements_a_third_block_may_have_written_them(
        judge, runs, mine, expected):
    assert judge(runs, mine)[0] == expected


def test_any_of_60_blocks_that_race_for_a_row_may_have_written_it_last(runner):
    """Five runs of the untouched file see some of them: the candidate's is seldom one of these."""
    r = runner()
    torch.manual_seed(1)
    for _ in range(60):
        rows, written = torch.rand(640, 64).half(), torch.rand(60, 3, 64).half()

        def run():
            out = rows.clone()
            for k in range(3):
                out[15 + 16 * k] = written[torch.randint(60, (1,)), k]
            return out.reshape(-1)
        assert r.differing(run(), [run() for _ in range(4)], run())["off"] == 0


def test_numpys_arrays_and_numbers_are_compared_as_torchs_and_pythons_are(worker):
    given = {"a": numpy.arange(3, dtype=numpy.float32), "b": [numpy.float64(2.5), numpy.bool_(1)],
             "c": numpy.array(["x"]), "d": numpy.array(7)}
    assert [(path, type(x).__name__, str(getattr(x, "dtype", x)))
            for path, x in worker.walk(given)] == [
        ("['a']", "Tensor", "torch.float32"), ("['b'][0]", "float", "2.5"),
        ("['b'][1]", "bool", "True"), ("['c']", "ndarray", "<U1"), ("['d']", "Tensor",
                                                                    "torch.int64")]


# What it is timed by, and how often that was called with which inputs.
COUNTED = """
def counted(x):
    with open("{0}/calls", "a") as f:
        f.write("%.6f\\n" % x.flatten()[0].item())
    return x * 2
"""


def test_what_the_reference_ran_ahead_is_compared_with_once_and_only_with_what_it_was_run_for(
        runner, scratch):
    r = runner(perf=perf_of("torch.rand(64)", call="counted(x)", head=COUNTED.format(scratch)))
    r.do_inputs(seed=5)
    r.do_shape(i=0, seed=5)

    def calls():
        return len(open(scratch + "/calls").read().split())
    r.do_prepare(seed=1)
    r.do_call(poison=11)
    leaves = {show: r.do_show(seed=show)["leaves"] for show in (2, 3)}
    what = dict(seed=1, show=2, poisons=(11, 48), runs=2, part=False)
    begun = calls()
    called(r.do_expect, **what)
    assert calls() == begun + 2

    def verify(**given):
        out = called(r.do_verify_shape, file=scratch + "/out.bin", **dict(what, **given),
                     leaves=leaves[given.get("show", 2)])
        assert "wrong" not in out and out["beyond"] is False
    verify()
    assert calls() == begun + 2                 # these were made ahead
    verify()
    assert calls() == begun + 4                 # not for a second time
    called(r.do_expect, **what)
    verify(show=3)
    assert calls() == begun + 8                 # and not for another question


def test_a_default_device_is_kept_by_what_fills_unwritten_memory_and_none_of_what_is_compared(
        runner, scratch):
    r = runner(bare=True)
    torch.set_default_device("meta")
    assert [f(3).device.type for f in (torch.empty, torch.zeros)] == ["meta", "meta"]
    assert torch.empty.__name__ == "empty"
    file = tempfile.mkstemp()[1]
    with open(file, "wb") as f:
        f.write(b"abcd")
    assert r.read(file, {"at": 1}, 2).tolist() == [98, 99]
    assert r.read(file, {"at": 3}, 2) is None   # there is no such byte
    os.unlink(file)


def test_results_of_tests_that_are_large_for_the_gpu_are_kept_on_the_cpu(runner, monkeypatch):
    r = runner(bare=True)
    r.cpu, r.run_tests, r.keep = False, lambda *a: [base], lambda value, seed, where: where
    for free, where in ((32 * 400, None), (32 * 400 - 1, "cpu")):
        monkeypatch.setattr(torch.cuda, "mem_get_info", lambda: (free, 1 << 40))
        assert r.keep_tests(1, 11) == where


def test_only_a_run_that_is_asked_for_again_has_other_work_beside_it(runner, scratch):
    torch.save([[base]] * 9, scratch + "/runs")
    r = runner(LISTED.format(scratch), "def test_op():\n    return op()\nresult = test_op()\n")
    ran, real = [], r.run_tests
    r.crowd, r.run_tests = lambda: ran.append("beside"), lambda *a: ran.append("run") or real(*a)
    leaves = r.put({"result": [with_(base, (7, 8))]}, 7)["leaves"]
    out = r.do_verify_tests(seed=3, leaves=leaves, file=scratch + "/out.bin", poisons=(11, 48),
                            exact=False)
    assert "wrong" in out and ran == ["run", "run"] + 4 * ["beside", "run"]


lines = torch.arange(320).float()


def line(k):
    """One of the rows that blocks race for, as another block has it."""
    return with_(lines, *((16 * k + i, 3000 + 99 * i) for i in range(16)))


@pytest.mark.parametrize("runs, limit, wrong, ran", [
    ([lines, line(3)] + 8 * [lines] + [line(7)], 256 << 20, False, 11),
    ([lines, line(3)] + 16 * [lines], 256 << 20, True, 18),
    (6 * [lines] + [line(7)], 256 << 20, True, 6),
    ([lines, with_(lines, (48, nan))] + 4 * [lines], 256 << 20, True, 6),
    ([lines, line(3)], 4 * 320, True, 18), ([lines, line(3)], 4 * 320 - 1, True, 6),
])
def test_a_shape_is_run_more_often_where_its_runs_are_far_apart(
        runner, scratch, monkeypatch, runs, limit, wrong, ran):
    monkeypatch.setattr("worker.compare.INPUTS_WHOLE", limit)
    r, left = runner(), runs + 99 * [lines]
    r.run_shape = lambda *a: (r.keep([left.pop(0)], 2), False)
    out = r.do_verify_shape(seed=1, show=2, leaves=r.put([line(7)], 2)["leaves"], part=False,
                            file=scratch + "/out.bin", poisons=(11, 48), runs=2, exact=False,
                            timed=False)
    assert ("wrong" in out, len(runs) + 99 - len(left)) == (wrong, ran)


@pytest.mark.parametrize(
    "kind", ["float8_e4m3fn", "float8_e5m2", "bfloat16", "float64", "complex64", "complex128"])
def test_equal_bits_are_equal_whatever_their_type(runner, kind):
    x = torch.tensor([1.5, nan, -0.0, 3.0]).to(getattr(torch, kind))
    same = dict(off=0, first=0, chance=0, worst=0.0)
    assert runner().differing(x, [x.clone()], x.clone()) == same


def test_results_go_through_shared_memory_and_those_that_do_not_fit_through_a_file(runner, scratch):
    r = runner(bare=True)
    r.room = torch.zeros(10, dtype=torch.uint8)
    given = [torch.arange(8), torch.arange(2).float(), torch.tensor([9, 8]), torch.zeros(0)]
    given[0], given[2] = given[0].to(torch.int8), given[2].to(torch.uint8)
    leaves = r.put(given, 5)["leaves"]
    assert [(x["at"], x["room"]) for x in leaves[:3]] == [(0, True), (0, False), (8, True)]

    def read(leaf, n):
        return r.read(scratch + "/out.bin", leaf, n)
    assert [read(leaf, t.nbytes).view(t.dtype).tolist() for leaf, t in zip(leaves, given)] == [
        t.tolist() for t in given]
    kept = read(leaves[0], 8)
    r.room[0] = 77                              # whoever showed it writes there again
    assert kept[0] == 0
    assert read({"at": 9, "room": True}, 2) is None


def test_shared_results_of_a_candidate_are_erased_before_the_next_one(runner):
    r = runner()
    r.room = torch.zeros(16, dtype=torch.uint8)
    run = [("x", (torch.float32, [4], torch.ones(4)))]
    leaf = dict(path="x", dtype="torch.float32", shape=[4], at=0, room=True)
    r.room.view(torch.float32)[:] = 2
    assert "wrong" in r.verify([run, run], [leaf], "", lambda k: run)
    assert r.room.any()                         # it may be asked about once more
    r.room.view(torch.float32)[:] = 1
    assert r.verify([run, run], [leaf], "", lambda k: run)["count"] == 4
    assert not r.room.any()


def test_a_result_that_was_shown_is_not_overwritten(runner, scratch):
    r = runner(bare=True)
    with open(scratch + "/out.bin", "wb") as early:     # it was held open before
        early.write(b"aaaa"), early.flush()
        r.put(torch.tensor([1, 2], dtype=torch.uint8), 5)
        early.write(b"bbbb")
    assert open(scratch + "/out.bin", "rb").read() == b"\x01\x02"


CALLED = []


def calls(*_, **__):
    CALLED.append(True)
    return iter(())


def tensor_that(name):
    x = torch.ones(3)
    setattr(x, name, calls)
    return x


def one_that(base, *names, value=()):
    return type("Odd", (base,), dict.fromkeys(names, calls))(*value)


@pytest.mark.parametrize("odd", [
    *(lambda name=name: tensor_that(name) for name in (
        "detach", "numel", "element_size", "contiguous", "reshape", "stride")),
    lambda: one_that(list, "__iter__", "__len__", "__getitem__", value=[(1, 2)]),
    lambda: one_that(tuple, "__iter__", "__len__", "__getitem__", value=[(1, 2)]),
    lambda: one_that(dict, "items", "keys", "__iter__", "__getitem__", value=[{"a": 1}]),
    lambda: {one_that(str, "__repr__", "__str__", value=["a"]): 1},
    lambda: {one_that(object, "__repr__", "__str__"): 1},
    lambda: one_that(float, "__str__", "__repr__", "__float__", value=[2.5]),
    lambda: one_that(int, "__str__", "__repr__", "__int__", "__index__", value=[2]),
    lambda: one_that(str, "__str__", "__repr__", value=["a"]),
    lambda: one_that(numpy.float32, "item", "__float__", value=[2.5]),
    lambda: one_that(object, "__getattr__", "__repr__", "__str__"),
    lambda: type("Odd", (), {"__class__": property(calls)})(),
    lambda: type("Kind", (type,), {"__name__": property(calls)})("Odd", (), {})()])
def test_no_method_of_a_result_is_called_when_it_is_shown(runner, odd):
    """It might compute then what it did not while it was timed."""
    r, odd = runner(bare=True), odd()
    CALLED.clear()
    r.put({"result": [odd, torch.ones(2)]}, 7)
    assert not CALLED


def test_a_value_of_an_own_class_is_shown_as_what_it_is(runner):
    leaves = runner(bare=True).put([one_that(float, "__str__", value=[2.5]),
                                    one_that(int, "__str__", value=[3]), True, None], 7)["leaves"]
    assert [x["value"] for x in leaves] == ["2.5", 3, True, None]


def test_an_input_is_filled_by_no_method_that_a_file_gave_it(runner):
    r = runner(perf=perf_of("torch.arange(8.)"), source="op = None")
    r.do_inputs(seed=1)
    r.do_shape(i=0, seed=1)
    for work, _, _ in r.places:
        work.detach = calls
    CALLED.clear()
    r.do_prepare(1 << 8)
    assert not CALLED and sorted(r.work.tolist()) == list(range(8))
    assert r.work.tolist() != list(range(8))            # its rows are rolled


def test_a_result_that_lies_in_an_input_or_is_not_contiguous_is_shown_as_such(runner):
    r, x = runner(bare=True), torch.ones(4, 3)
    inside, gaps = "lies in an input", "is not contiguous"
    for result, view in ((x, [inside]), (x.t(), [inside, gaps]), (x[2:], [inside]), (x.clone(), []),
                         (torch.ones(4, 3).t(), [gaps]), (torch.ones(4, 6)[:, ::2], [gaps]),
                         (torch.ones(1, 3).t(), []), (torch.ones(0), [])):
        leaves = r.put([result, [x.t(), torch.ones(0)]], 7)["leaves"]
        assert [x.get("view") for x in leaves] == [view, [], []], result
