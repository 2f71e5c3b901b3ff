"""Where inputs and results lie: apart, elsewhere from call to call, as they were drawn."""
import builtins

import pytest
import torch
from conftest import perf_of


def bytes_of(t):
    return t.untyped_storage().data_ptr()


@pytest.fixture
def timed(runner, worker):
    """timed(a call's inputs, what it does with them) -> a Runner with this shape laid out."""
    def of(*drawn, call="x", limits=None):
        for name, value in (limits or {}).items():
            setattr(worker, name, value)
        builtins.given = drawn
        r = runner(perf=perf_of("given", call=call))
        r.do_inputs(seed=7)
        r.do_shape(i=0, seed=5)
        return r
    return of


def test_inputs_lie_apart_views_share_as_they_did_what_is_written_beside_them_is_seen(
        worker, runner):
    r = runner(bare=True)
    whole = torch.arange(12.).reshape(3, 4)
    drawn = (whole[0], {"k": whole[1]}, [whole.t(), 3, None], torch.ones(2, requires_grad=True))
    work = r.apart(drawn, r.slack, {}, {})
    assert all(torch.equal(a, b) for (_, a), (_, b) in zip(worker.walk(work), worker.walk(drawn))
               if isinstance(a, torch.Tensor))
    assert work[2][0].stride() == (1, 4) and work[3].requires_grad and work[2][1:] == [3, None]
    work[0][0] = 50
    assert work[2][0][0, 0].item() == 50.0 and whole[0, 0].item() == 0.0
    assert not r.beyond()
    front = work[0].storage_offset() * 4
    assert front == worker.FRONT
    torch.empty(0).set_(work[0].untyped_storage(), front // 4 + 12, (1,)).fill_(1)  # behind it
    assert r.beyond()


@pytest.mark.parametrize("beside, least", [((), 1 << 18), ((torch.rand(3 << 18),), 3 << 20)])
def test_a_shape_with_a_large_input_has_as_much_behind_its_small_ones(timed, beside, least):
    x = timed(torch.rand(12), *beside).work[0]
    assert x.untyped_storage().nbytes() - x.storage_offset() * 4 - x.nbytes >= least


ROLLED = dict(whole=torch.randn(1000, 33), numbers=torch.arange(77), apart=torch.randn(8)[1:],
              spread=torch.randn(1, 4).expand(6, 4), cut=torch.randn(5)[:3])


@pytest.mark.parametrize("limits, pages_in_all", [
    ({}, 4), ({"LARGE": 1 << 16}, 1), ({"LARGE": 1 << 16, "PLACED_MOST": 0}, 1)])
def test_in_each_place_inputs_are_as_drawn_rows_rolled_whatever_the_call_before_left(
        timed, worker, limits, pages_in_all):
    whole, numbers, apart, spread, cut = ROLLED.values()
    r = timed(whole, whole[::2], numbers, [cut, spread], {"a": apart, "n": 3}, limits=limits)
    seen, pages = set(), set()
    for place in range(worker.PLACES):
        seed = worker.secret((7, place))
        assert worker.place_of(seed) == place and worker.lane_of(seed) == 7
        for spoil in range(2):
            r.do_prepare(seed=seed)
            x, half, n, (c, s), rest = r.work
            seen.add(x.data_ptr()), pages.add(bytes_of(x))
            assert not r.beyond() and torch.equal(x, torch.roll(whole, (seed >> 8) % 1000, 0))
            assert half.data_ptr() == x.data_ptr() and torch.equal(half, x[::2])
            assert torch.equal(n, numbers) and torch.equal(s, spread) and s.stride(0) == 0
            assert sorted(c.tolist()) == sorted(cut.tolist())
            assert sorted(rest["a"].tolist()) == sorted(apart.tolist()) and rest["n"] == 3
            for y in (x, n, c, rest["a"]):
                y.fill_(9)
            if spoil:                               # what lies before it
                torch.empty(0).set_(x.untyped_storage(), x.storage_offset() - 5, (5,)).fill_(1)
                assert r.beyond()
    assert (len(seen), len(pages)) == (16, pages_in_all)


def test_each_stream_and_each_place_has_as_many_turns(worker):
    turns = [turn for turn, _ in zip(worker.turns(8), range(16))]
    assert sorted(lane for lane, _ in turns) == sorted(list(range(8)) * 2)
    assert sorted(place for _, place in turns) == list(range(16))


row, numbers = torch.randn(50000), torch.arange(50000)


@pytest.mark.parametrize("drawn", [
    (torch.ones(3), row.as_strided((1, 50000), (0, 1))),
    (torch.ones(3), row[:25000].expand(2, 25000)),
    (torch.ones(3), row[25000:].expand(2, 25000)),
    (numbers, numbers.view(torch.uint8)[:100000])])
def test_inputs_that_are_repeated_or_seen_as_bytes_are_not_wiped_by_another_places(
        timed, worker, drawn):
    r, places = timed(*drawn), set()
    for place in list(range(worker.PLACES)) * 2:
        r.do_prepare(seed=worker.secret((7, place)))
        places.add(r.work[0].data_ptr())
        assert all(sorted(x.flatten().tolist()) == sorted(y.flatten().tolist())
                   for x, y in zip(r.work, drawn))
    assert len(places) == 16


def test_of_many_bytes_of_inputs_only_one_shapes_are_kept_none_while_nothing_is_judged(
        runner, worker):
    worker.INPUTS_MOST = 5000
    worker.Drawn.device = "cpu"
    d = worker.Drawn()
    for i in range(3):
        d.append((torch.zeros(2 ** i * 200), "relu"))
    assert list(d) == [None] * 3
    assert d.labels == ["200 relu", "400 relu", "800 relu"] and d.bytes == 5600

    worker.INPUTS_MOST = 1 << 20
    r = runner(perf=perf_of(*("(torch.rand(%d),)" % (2 ** i * 200) for i in range(3))))
    assert r.do_inputs(seed=7)["labels"] == ["200", "400", "800"]
    whole = list(r.inputs)
    assert [len(x[0]) for x in whole] == [200, 400, 800]
    worker.INPUTS_MOST = 10
    r.draw("cpu", 7, 1)
    assert [x and len(x[0]) for x in r.inputs] == [None, 400, None]
    assert torch.equal(r.inputs[1][0], whole[1][0])
    r.do_idle()
    assert r.inputs is None


def test_what_is_free_between_live_tensors_is_found_small_and_large_apart(worker):
    def block(size, state="inactive"):
        return {"size": size, "state": state}
    assert worker.free_remains([
        {"segment_type": "small", "blocks": [block(512), block(1024, "active_allocated"),
                                             block(1572864)]},
        {"segment_type": "large", "blocks": [block(4096), block(3 << 20),
                                             block(9 << 20, "active")]},
        {}]) == [3145728, 1048576, 524288, 512]


def test_random_integers_are_drawn_without_repeats_where_there_are_as_many(worker):
    draw = worker.apart_from_each_other(torch)

    def look(x):
        assert bool((x >= 3).all()) and int(x.max()) < 40
        return x.numel(), len(set(x.tolist())), str(x.dtype)
    assert look(draw(3, 40, (30,), dtype=torch.int32)) == (30, 30, "torch.int32")
    assert look(draw(low=3, high=40, size=(37,))) == (37, 37, "torch.int64")
    assert len(draw(4, (9,))) == 9 and len(draw(0, 2, (50, 3))) == 50
    assert draw(5, size=(5,)).sort()[0].tolist() == [0, 1, 2, 3, 4]
    torch.manual_seed(3)
    a = draw(0, 9, (6,))
    torch.manual_seed(3)
    assert torch.equal(a, draw(0, 9, (6,)))


def test_small_inputs_and_results_lie_elsewhere_from_call_to_call(timed, worker):
    held = []
    r = timed(torch.rand(10), call="torch.zeros(10)")
    r.do_prepare(seed=worker.secret((5, 0)))
    assert r.lane == 0                          # on a CPU there are no streams
    places, results = set(), set()
    for k in range(64):
        r.do_prepare(seed=worker.secret((k % 32, k % 16)))
        r.do_go()
        places.add(r.work[0].data_ptr()), results.add(r.result.data_ptr())
        held.append(len(r.former))
    assert len(places) == 16
    assert sorted(set(held)) == [0, 1, 2, 3] and len(results) > 1
    r.took_ns = 2e6                             # where they lie makes nothing of a long call
    r.do_prepare(seed=worker.secret((5, 3)))
    assert r.former == []


@pytest.mark.parametrize("drawn, call", [
    (torch.rand(10), "torch.zeros(1 << 20)"),           # a large result
    (torch.rand(1, 4).expand(6, 4), "x[0]")])           # what lies in one place only
def test_large_results_and_those_of_inputs_in_one_place_are_not_kept(timed, worker, drawn, call):
    r = timed(drawn, call=call)
    for k in range(16):
        r.do_prepare(seed=worker.secret((k, k)))
        assert not any(x is not None for x in r.former) and r.result is None
        r.do_go()


def test_small_inputs_are_timed_on_every_stream_in_turn(timed, worker):
    r = timed(torch.rand(10))
    r.laned, lanes = True, set()                # as on a GPU
    for k in range(worker.LANES):
        seed = worker.secret((k, 0))
        r.turn(seed)
        lanes.add((r.lane, worker.lane_of(seed) == k))
    assert sorted(lanes) == [(k + 1, True) for k in range(worker.LANES)]
