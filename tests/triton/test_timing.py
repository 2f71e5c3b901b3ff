"""How long calls take, on a GPU that is not there: what is believed of clocks, how many calls are
made, on which streams and places, and which of them are looked at."""
import math
import os
import random

import pytest

UNTOUCHED = "untouched = 1"


def mine(stand):
    return stand.source != UNTOUCHED


def clocks(gpu, *pairs):
    """pairs: us of the reference's calls by its events and by the parent's clock, and of the
    candidate's; of the first pair of processes, of the second..., the last of all that follow."""
    def kernel(stand, cycles):
        us, wall_us = pairs[min(stand.pair, len(pairs) - 1)][mine(stand)]
        return dict(us=us, wall_us=wall_us)
    gpu.kernel = kernel
    gpu.labels = ["x", "y"]             # y is asked for once x is decided
    sizes = {}
    gpu.on["shape"] = lambda stand, request: sizes.update({stand: request["i"]})
    at = gpu.kernel
    gpu.kernel = lambda stand, cycles: at(stand, cycles) if sizes.get(stand, 0) == 0 else None


@pytest.mark.parametrize("base, base_wall, mine_us, mine_wall, speedup", [
    (10000, 11000, 9967, 11077, "1.00"),        # 33 us of 10 ms: noise of that clock
    (100, 200, 98, 198, "1.02"),
    (500, 900, 50, 450, "10.00"),               # truly faster
    (500, 900, 50, 900, "1.00"),                # nine tenths of the work elsewhere
    (100, 200, 10, 180, "1.25")])
def test_clocks_that_disagree_give_the_smaller_gain(
        gpu, base, base_wall, mine_us, mine_wall, speedup):
    clocks(gpu, ((base, base_wall), (mine_us, mine_wall)))
    out = gpu.judge(gpu.session())
    assert out["verdict"] == "ok", out
    x, y = out["shapes"]
    assert "%.2f" % x["speedup"] == speedup and "%.2f" % y["speedup"] == "1.00"
    assert x.get("by_parents_clock", False) is (base / mine_us > 1.1 and speedup < "10")
    x, _ = gpu.judge(gpu.session(), confirm=True)["shapes"]     # in each pair of processes
    assert {"%.2f" % pair for pair in sum(x["pairs"], [])} == {speedup} and x["blocks"] > 48


# How many calls, and when they are made again ---------------------------------------


def spins(gpu):
    return [r.get("cycles", 0) for s, op, r in gpu.log if op == "go" and "cycles" in r]


def test_a_call_is_timed_again_where_the_host_was_late_and_a_narrow_interval_ends_it(gpu):
    late = [3]

    def kernel(stand, cycles):
        ahead = late[0] <= 0 or not mine(stand) or not cycles
        late[0] -= mine(stand) and bool(cycles)
        return dict(us=10 if ahead else 90, wall_us=1000, host_us=60, ahead=ahead, wiggle=1e-3)
    gpu.kernel = kernel
    row = gpu.judge(gpu.session(), best_times_ns=None)["shapes"][0]
    assert not row["host_bound"] and "%.2f" % row["speedup"] == "1.00"
    assert row["blocks"] == 8 and max(row["samples"]["candidate"]) < 11e3
    assert spins(gpu)[0] == 440000 and row["host_ns"] == 60000.0
    assert max(spins(gpu)) == 4 * 440000        # once more is free


def test_a_call_that_the_host_holds_up_each_time_is_timed_with_it_on_one_processor(gpu):
    places = []

    def kernel(stand, cycles):
        if cycles == 0 and stand.turn > 4:
            places.append(len(os.sched_getaffinity(stand.pid)))
        return dict(us=90 if mine(stand) else 10, wall_us=1000, host_us=60, ahead=not mine(stand))
    gpu.kernel = kernel
    row = gpu.judge(gpu.session())["shapes"][0]
    assert row["host_bound"] and row["blocks"] <= 24 and spins(gpu)[-1] == 0
    assert 1 in places and len(os.sched_getaffinity(gpu.made[0].pid)) == os.cpu_count()


def test_a_host_that_others_hold_up_now_and_then_is_not_waited_for_each_time(gpu):
    calls = [0]

    def kernel(stand, cycles):
        calls[0] += bool(cycles)
        return dict(us=10 * (1 + calls[0] % 7 * 3e-2), wall_us=1000, host_us=60,
                    ahead=calls[0] % 5 > 0 or not cycles)
    gpu.kernel = kernel
    row = gpu.judge(gpu.session())["shapes"][0]
    assert not row["host_bound"] and row["blocks"] > 24
    assert len([x for x in spins(gpu) if x]) > 2 * row["blocks"]


def warming(gpu, us):
    """Calls whose stream's first one, in each process, asks for memory: { process: streams }."""
    warm, calls = {}, [0]

    def kernel(stand, cycles):
        if not cycles:
            return dict(us=us, wall_us=1000, host_us=60)
        calls[0] += 1
        lane = gpu.worker.lane_of(stand.seed)
        known = lane in warm.setdefault(stand, set())
        warm[stand].add(lane)
        return dict(us=us * (1 + calls[0] * 37 % 101 * 2e-3), wall_us=1000, host_us=60, ahead=known)
    gpu.kernel = kernel
    return warm


def test_a_streams_first_call_in_each_process_is_made_again(gpu):
    warm = warming(gpu, 10)
    row = gpu.judge(gpu.session())["shapes"][0]
    assert not row["host_bound"] and {len(x) for x in warm.values()} == {8}
    assert row["blocks"] > 24 and len({x for x in spins(gpu) if x}) == 1


def test_calls_so_short_that_processes_differ_are_timed_by_new_pairs_on_every_stream(gpu):
    warm = warming(gpu, 2.5)
    row = gpu.judge(gpu.session())["shapes"][0]
    assert row["interval"] == "pairs of processes" and [*map(len, row["pairs"])] == [2, 2]
    new = [len(streams) for stand, streams in warm.items() if stand.pair]
    assert new == [32] * 6 and row["blocks"] == 16 + 3 * 32


def test_short_calls_are_timed_by_new_pairs_prepared_alike_in_exchanged_order(gpu):
    gpu.kernel = lambda stand, cycles: dict(us=3.5)
    s = gpu.session()
    row, = gpu.judge(s)["shapes"]
    new = [stand for stand in gpu.made if stand.pair]
    assert [mine(stand) for stand in new] == [True, False, False, True, True, False]
    # What the candidate was compiled to is compiled no more.
    judged = next(stand for stand in gpu.made if mine(stand) and not stand.pair and stand.source)
    assert {stand.cache for stand in new if mine(stand)} == {judged.cache}
    assert {stand.cache for stand in new if not mine(stand)}.isdisjoint({judged.cache})
    order = -1 if row["candidate_first"] else 1
    for k in 1, 2, 3:
        a, b = sorted((stand for stand in new if stand.pair == k), key=mine)
        asked = [[op for who, op, r in gpu.log if who is stand and op in (
            "load", "inputs", "shape", "prepare", "go")][:8] for stand in (a, b)]
        assert asked[0][:5] == asked[1][:5] == ["load", "inputs", "shape", "prepare", "go"]
        firsts = [who for who, op, _ in gpu.log if op == "go" and who in (a, b)][:2]
        order = -order
        assert firsts == [a, b][::order]
    # At each of the candidate's new processes there are three looks at least.
    assert all(len(gpu.times("show", stand)) >= 3 for stand in new if mine(stand))
    assert s.reference.scratch == gpu.made[0].scratch and gpu.alive()


@pytest.mark.parametrize("options, pairs", [
    ({}, 0), ({"baseline": True}, 1)])
def test_a_few_short_shapes_of_many_are_timed_by_new_pairs_only_where_a_verdict_hangs_on_them(
        gpu, options, pairs):
    gpu.labels, shape = ["x%d" % i for i in range(8)], {}
    gpu.on["shape"] = lambda stand, request: shape.update({stand: request["i"]})
    gpu.kernel = lambda stand, cycles: dict(us=5 if shape.get(stand) == 0 else 50)
    out = gpu.judge(gpu.session(), UNTOUCHED if options.get("baseline") else "candidate = 1",
                    **options)
    assert [row["interval"] == "pairs of processes" for row in out["shapes"]] == \
        [k < pairs for k in range(8)]
    # What two processes differ in is the same for all shapes: it does not average out.
    common = 1.96 * 60 * (1 / 5000 / (2 if pairs else 1) + 7 / 50000) / 8
    assert math.log(out["speedup_high"] / out["speedup_low"]) / 2 == pytest.approx(common, rel=0.2)


def sixteen(gpu, **options):
    """Pairs of calls of each of sixteen shapes."""
    gpu.labels = ["x%d" % i for i in range(16)]
    out = gpu.judge(gpu.session(), UNTOUCHED if options.get("baseline") else "candidate = 1",
                    **options)
    assert out["verdict"] == "ok", out
    return [row["blocks"] for row in out["shapes"]]


def long_around(gpu, ahead=True):
    """What is around a call takes far longer than the call."""
    calls = [0]

    def kernel(stand, cycles):
        calls[0] += 1
        return dict(us=10 * (1 + calls[0] % 7 * 1e-1), wall_us=2000, host_us=1, ahead=ahead)
    gpu.kernel = kernel


@pytest.mark.parametrize("options, brief", [
    ({}, True), ({"baseline": True}, False), ({"confirm": True}, False)])
def test_a_candidate_is_timed_for_as_long_as_its_share_allows_by_eight_pairs_at_least(
        gpu, options, brief):
    long_around(gpu)
    n = sixteen(gpu, **options)
    assert min(n) >= 8 and (max(n) < 12) is brief and (sum(n) > 300) is not brief


def test_shapes_after_those_that_take_all_the_time_have_eight_pairs_each(gpu):
    long_around(gpu)
    gpu.on["show"] = lambda stand, request: dict(stand.do_show(), lasts=2.0) \
        if sizes.get(stand, 0) < 2 else None
    sizes = {}
    gpu.on["shape"] = lambda stand, request: sizes.update({stand: request["i"]})
    assert set(sixteen(gpu)[2:]) == {8}


@pytest.mark.parametrize("options, least", [
    ({}, 8), ({"confirm": True}, 12), ({"baseline": True}, 12)])
def test_waiting_for_memory_that_others_have_is_no_time_of_timing(gpu, options, least):
    long_around(gpu)
    sizes, lacked, waited = {}, [False], gpu.worker.Session
    gpu.on["shape"] = lambda stand, request: sizes.update({stand: request["i"]})

    def verify(stand, request):
        if sizes.get(stand) == 2 and not lacked[0] and stand.turn > 20:
            lacked[0] = gpu.clock.now
        if lacked[0] and gpu.clock.now < lacked[0] + 8:
            raise RuntimeError("CUDA error: out of memory")
    gpu.on["verify_shape"] = verify
    n = sixteen(gpu, **options)
    assert min(n) >= least and waited


def test_where_the_host_holds_a_call_up_its_clock_is_noisier_and_asked_more_often(gpu):
    long_around(gpu, ahead=False)
    assert sixteen(gpu)[0] > 12


@pytest.mark.parametrize("b_us, best_us, shapes, last, screened, slow", [
    (1000, 1000, 4, 1, [0, 0, 0, 0], False), (1200, 1000, 4, 1, [0, 0, 0, 0], False),
    (2000, 1000, 4, 1, [0, 0, 1, 1], True), (2000, 1000, 1, 1, [1], True),
    (2000, 1000, 4, 40, [0, 0, 1, 0], False)])      # it is faster in all, with an interval
def test_a_candidate_clearly_slower_than_the_best_is_timed_no_longer(
        gpu, b_us, best_us, shapes, last, screened, slow):
    """A slow first call alone is no sign of that."""
    turns = {}

    def kernel(stand, cycles):
        turns[stand] = turns.get(stand, 0) + 1
        return dict(us=b_us if mine(stand) else 1000, wall_us=1200, wiggle=1e-3)
    gpu.kernel = kernel
    gpu.labels = ["x%d" % i for i in range(shapes)]
    best = [best_us * 1e3] * (shapes - 1) + [last * best_us * 1e3]
    out = gpu.judge(gpu.session(), best_times_ns=best)
    assert [int(row["blocks"] == 6) for row in out["shapes"]] == screened
    assert out["screened"] is slow
    # Each of its shapes was looked at among those that are timed.
    assert len([1 for s, op, _ in gpu.log if op == "show"]) >= 2 * shapes


def test_calls_are_compared_where_others_were_in_their_turn_and_after_all_others(gpu):
    s, places, found = gpu.session(), gpu.worker, []

    def timed(last):
        """(calls that count, places of the candidate's timed calls, what was shown: after how many
        of them, and whether where its results were checked)"""
        gpu.labels = ["x"] if last else ["x%d" % i for i in range(40)]
        out = gpu.judge(s, confirm=last)
        calls, shown, home, seed = [], [], None, 0
        for stand, op, request in gpu.log:
            if not mine(stand) or op not in ("shape", "prepare", "go", "show"):
                continue
            if op == "shape":
                home, calls, shown = places.place_of(request["seed"]), [], []
                found.append((calls, shown))
            elif op == "go" and "cycles" in request:
                calls.append(places.place_of(seed))
            elif op == "prepare":
                seed = request["seed"]
            elif op == "show" and calls:
                shown.append((len(calls), places.place_of(seed) == home))
        return out["shapes"][-1]
    timed(False)
    looks = [shown for _, shown in found]
    assert all(at <= 6 for x in looks for at, _ in x[:1]) and min(map(len, looks)) == 1
    assert {there for x in looks for _, there in x} == {True, False}
    found.clear()
    row = timed(True)
    # So are those of the further pairs of processes that confirm a winner.
    assert len(found) == 6 and sum(len(calls) - 3 for calls, _ in found) == row["blocks"]
    for calls, shown in found:
        n = len(calls) - 3
        assert [at - n for at, _ in shown][-2:] == [1, 3] and shown[0][0] <= 6 and shown[-1][1]
    calls, _ = found[0]
    assert sorted(calls[:16]) == sorted(calls[16:32]) == list(range(16))


def test_one_process_at_a_time_makes_its_first_call_which_may_tune_by_the_clock(gpu):
    busy, most = {}, {}
    write, read = gpu.worker.write_frame, gpu.worker.read_frame

    def sends(fd, request, deadline=None):
        busy[gpu.ends[fd]] = request["op"]
        for op in ("shape", "prepare", "go"):
            most[op] = max(most.get(op, 0), list(busy.values()).count(op))
        write(fd, request, deadline)

    def reads(fd, deadline=None):
        busy.pop(gpu.ends[fd], None)
        return read(fd, deadline)
    gpu.worker.write_frame, gpu.worker.read_frame = sends, reads
    assert gpu.judge(gpu.session())["verdict"] == "ok"
    assert most == {"shape": 3, "prepare": 2, "go": 1}


@pytest.mark.parametrize("bound, fails, found, children", [
    (False, None, 6, 10), (True, None, 10, 18), (False, "fork", 1, None), (False, "hang", 1, None)])
def test_more_pairs_of_processes_end_in_time_leave_nothing_behind_and_are_no_verdict(
        gpu, bound, fails, found, children):
    def kernel(stand, cycles):
        # By the first pair it is as fast as itself, by others twice as fast.
        faster = stand.pair > 0 and not stand.trusted
        return dict(us=50 if faster else 100, wall_us=150 if faster else 200, ahead=not bound)
    gpu.kernel = kernel

    def shape(stand, request):
        if stand.pair and fails == "hang":
            return {"lasts": 150.0}
    gpu.on["shape"] = shape
    start = gpu.worker.Child.start

    def starts(child, make, cache):
        if fails == "fork" and gpu.children() > 3 and "ahead-" not in child.scratch:
            raise BlockingIOError(11, "no more processes")
        start(child, make, cache)
    gpu.worker.Child.start = starts
    s = gpu.session(pairs=5, baseline_only=True)
    made, begun = len(gpu.made), gpu.clock.now
    out = s.open(None)
    assert out["verdict"] == "ok", out
    assert len(out["pairs"]) == found
    assert "%.2f" % out["pairs"][0] == "1.00" and {"%.2f" % x for x in out["pairs"][1:]} \
        <= {"2.00"}
    assert "%.2f" % out["self_speedup"] == ("2.00" if found > 1 else "1.00")
    if children:
        assert len([z for z in gpu.made[made:] if z.pair]) == children
    assert gpu.clock.now - begun < 240
    assert gpu.alive() == gpu.made[:2]
    gpu.worker.Child.start = start
    gpu.on.clear()
    assert gpu.judge(s)["verdict"] == "ok"              # as if there had been none


def first_is_slower(gpu, share, faster=1, us=1000):
    """In each pair of processes the one that makes a shape's first call has slower calls of it, as
    some had on an H200."""
    first = {}
    gpu.on["shape"] = lambda stand, request: first.pop(stand.pair, None) and None

    def kernel(stand, cycles):
        slow = first.setdefault(stand.pair, stand) is stand
        ns = us * 1e3 * (1 + share * slow) / (faster if mine(stand) else 1)
        return dict(us=ns / 1e3, wall_us=ns / 1e3 + 100, wiggle=1e-3)
    gpu.kernel = kernel


def test_whose_process_makes_a_shapes_first_call_is_drawn_by_lot(gpu):
    first_is_slower(gpu, 0.05)
    gpu.labels = ["x%d" % i for i in range(40)]
    rows = gpu.judge(gpu.session())["shapes"]
    assert {row["candidate_first"] for row in rows} == {True, False}
    assert {(row["candidate_first"], "%.2f" % row["speedup"]) for row in rows} == {
        (True, "0.95"), (False, "1.05")}


@pytest.mark.parametrize("n", [2, 3, 5])
def test_the_untouched_file_is_as_fast_as_itself_whoever_makes_first_calls(gpu, n):
    first_is_slower(gpu, 0.05)
    out = gpu.session(pairs=n, baseline_only=True).open(None)
    assert {"%.2f" % x for x in out["pairs"]} == {"0.95", "1.05"} and len(out["pairs"]) == n + n % 2
    assert abs(out["self_speedup"] - 1) < 0.003


def test_a_winner_is_confirmed_by_pairs_of_processes_in_both_orders_however_long_its_calls(gpu):
    for faster in 1, 1.5:
        first_is_slower(gpu, 0.05, faster)
        out = gpu.judge(gpu.session(), confirm=True)
        row, = out["shapes"]
        assert row["interval"] == "pairs of processes" and sorted(
            ["%.2f" % (x / faster) for x in side] for side in row["pairs"]) == [
                3 * ["0.95"], 3 * ["1.05"]]
        for r in out, row:              # what the order is worth cancels out
            assert abs(r["speedup"] / faster - 1) < 0.003
            assert 0.99 < r["speedup_low"] / faster and r["speedup_high"] / faster < 1.01
        assert abs(out["speedup_of_sums"] / faster - 1) < 0.003


def test_processes_that_are_done_leave_their_memory_to_the_next_that_confirm_a_winner(gpu):
    holds, most = set(), []

    def draws(stand, request):
        holds.add(stand)
        most.append(len([s for s in holds if s in gpu.alive()]))
    gpu.on.update(inputs=draws, idle=lambda stand, request: holds.discard(stand))
    assert gpu.judge(gpu.session(), confirm=True)["verdict"] == "ok"
    assert len(most) == 4 + 5 * 2 and max(most) == 3


@pytest.mark.parametrize("gain, share", [(1.02, 0.08), (1.06, 0.05)])
def test_a_gain_smaller_than_the_order_of_first_calls_is_worth_is_told_all_the_same(
        gpu, gain, share):
    first_is_slower(gpu, share, gain)
    gpu.labels = ["x%d" % i for i in range(4)]
    out = gpu.judge(gpu.session(), confirm=True)
    for r in out, *out["shapes"]:
        assert abs(r["speedup"] / gain - 1) < 0.003 and r["speedup_low"] > 1.01


def recorded(us, name):
    ns = int(us * 1000)
    return dict(kernels=1, copies=0, sum_ns=ns, union_ns=ns, span_ns=ns, away_ns=0, streams=1,
                devices=1, dropped=0, home=0, by_name=[{"name": name, "ns": ns}])


@pytest.mark.parametrize("us", [5, 1000])
def test_calls_of_further_pairs_of_processes_are_recorded_too(gpu, us):
    def kernel(stand, cycles):
        strange = mine(stand) and stand.pair > 0
        faster = us / (2 if strange else 1)
        return dict(us=faster, wall_us=faster + 100,
                    recorded=recorded(faster, "cutlass_gemm" if strange else "kernel"))
    gpu.kernel = kernel
    out = gpu.judge(gpu.session(), "def kernel(): pass", confirm=True)
    assert out["verdict"] == "cheated" and "cutlass_gemm" in out["reason"]


def wrong_in(gpu, calls, us=1000, late=lambda call: False):
    """Each process of the candidate counts the calls of a shape: in some it does half the work."""
    count, wrong = {}, {}
    gpu.on["shape"] = lambda stand, request: count.update({stand: 0})

    def kernel(stand, cycles):
        if not mine(stand):
            return dict(us=us, wall_us=us + 100)
        count[stand] = call = count.get(stand, 0) + 1
        wrong[stand.pair] = call in calls and stand.pair > 0
        fast = us / (2 if wrong[stand.pair] else 1)
        return dict(us=fast, wall_us=fast + 100, ahead=stand.pair == 0 or not late(call))
    gpu.kernel = kernel
    gpu.on["verify_shape"] = lambda stand, request: dict(
        stand.do_verify_shape(), wrong="off", path="[0]", share=0.5) \
        if wrong.get(stand.pair) else None


def test_calls_after_the_first_look_and_before_the_last_are_looked_at_as_well(gpu):
    wrong_in(gpu, range(10, 34))
    gpu.labels = ["x%d" % i for i in range(8)]
    assert gpu.judge(gpu.session(), confirm=True)["verdict"] == "wrong"


def test_a_candidate_that_holds_the_host_up_but_where_it_is_fast_gains_nothing(gpu):
    """Calls that the host was late with do not count, however many."""
    wrong_in(gpu, range(35, 38), us=5, late=lambda call: call > 37)
    for _ in range(4):
        out = gpu.judge(gpu.session(), confirm=True)
        assert out["verdict"] == "wrong" or out["speedup_low"] < 1


@pytest.mark.parametrize("fails, pairs, verdict", [
    ("hangs", 5, "ok"), ("lacks memory", 5, "ok"), ("faults", 0, "crashed"), ("errs", 5, "ok"),
    ("errs twice", 0, "wrong"), ("is nonsense", 0, "crashed")])
def test_what_befalls_a_winner_in_a_further_pair_of_processes(gpu, fails, pairs, verdict):
    """Others count. What is wrong once may be a race that ended as it had never before."""
    def shape(stand, request):
        if stand.pair == 2 and mine(stand):
            if fails == "hangs":
                return {"lasts": 150.0}
            if fails == "lacks memory":
                raise RuntimeError("CUDA out of memory")
            if fails == "faults":
                raise EOFError
            if fails == "is nonsense":
                gpu.kernel = lambda stand, cycles: dict(us=-1 if mine(stand) else 100)

    def verify(stand, request):
        if stand.pair == 2 and fails == "errs" or stand.pair in (2, 4) and fails == "errs twice":
            return dict(stand.do_verify_shape(), wrong="it is off", path="[0]", share=0.5)
    gpu.on.update(shape=shape, verify_shape=verify)
    out = gpu.judge(gpu.session(), confirm=True)
    assert out["verdict"] == verdict
    assert len([x for row in out["shapes"] for side in row["pairs"] for x in side]) == pairs
    assert (verdict == "ok") is ("speedup" in out)


def test_a_winner_that_holds_the_host_up_in_further_pairs_is_not_confirmed_by_the_first(gpu):
    def kernel(stand, cycles):
        us = 1000 / (1.12 if mine(stand) and stand.pair == 0 else 1)
        return dict(us=us, wall_us=us + 100, ahead=stand.pair == 0 or not mine(stand))
    gpu.kernel = kernel
    out = gpu.judge(gpu.session(), confirm=True)
    assert out["speedup_low"] < 1 and out["speedup"] < 1.03


def test_further_pairs_of_short_calls_that_the_host_holds_up_end_in_time(gpu):
    gpu.kernel = lambda stand, cycles: dict(us=5, wall_us=5000, ahead=stand.pair == 0)
    gpu.labels = ["x%d" % i for i in range(8)]
    s = gpu.session(pairs=5, baseline_only=True)
    out, took = s.open(None), gpu.clock.now
    assert len(out["pairs"]) == 6 and took < 1060


def test_no_counters_are_read_where_others_kept_the_gpu_while_memory_lacked(gpu):
    """Short calls: their further pairs lack memory, others have the GPU meanwhile, and keep it."""
    gpu.kernel = lambda stand, cycles: dict(us=2.5)
    s = gpu.session()
    take = s.take

    def shape(stand, request):
        if stand.pair:
            s.waited = 1e9
            raise RuntimeError("CUDA out of memory")

    def takes():
        if s.waited > 1e8 and not s.held:
            raise gpu.worker.Busy("other sessions had the GPU for 120 s")
        take()
    gpu.on["shape"], s.take = shape, takes
    with pytest.raises(gpu.worker.Busy):
        gpu.judge(s)


@pytest.mark.parametrize("op", ["load", "shape", "go", "verify_shape"])
def test_a_fault_of_the_reference_in_a_further_pair_is_no_verdict_and_leaves_nothing(gpu, op):
    done = []

    def faults(stand, request):
        if stand in gpu.made[-2:] and gpu.pair() == 0 or stand.pair == 1:
            source = request.get("source", stand.source)
            if source == UNTOUCHED and not done and gpu.children() > 6:
                done.append(stand)
                raise EOFError
    gpu.on[op] = faults
    s = gpu.session()
    out = gpu.judge(s, confirm=True)
    assert done and out["verdict"] == "ok" and len(sum(out["shapes"][0]["pairs"], [])) >= 5
    s.bury()
    kept = [gpu.ends[c.pipe] for c in (s.reference, *s.gone, *s.spares)]
    assert set(gpu.alive()) <= set(kept)


@pytest.mark.parametrize("gain, certain", [(1.05, False), (1.2, True)])
def test_without_further_pairs_a_winner_may_be_as_far_off_as_two_processes_are_apart(
        gpu, gain, certain):
    def shape(stand, request):
        if stand.pair and mine(stand):
            raise RuntimeError("CUDA out of memory")
    gpu.labels = ["x%d" % i for i in range(7)]
    first_is_slower(gpu, 0, gain)
    gpu.on["shape"] = shape
    out = gpu.judge(gpu.session(), confirm=True)
    assert abs(out["speedup"] - gain) < 0.01 and (out["speedup_low"] > 1) is certain


@pytest.mark.parametrize("kernel", [
    lambda stand, cycles: dict(us=5, wall_us=100, ahead=False),
    lambda stand, cycles: dict(us=5, wall_us=100, ahead=stand.pair == 0),
    lambda stand, cycles: dict(us=5, wall_us=500, host_us=300 if cycles else 1,
                               ahead=cycles >= 600e3)])
def test_the_untouched_file_of_short_calls_that_the_host_holds_up_is_judged(gpu, kernel):
    gpu.kernel = kernel
    out = gpu.session(pairs=2, baseline_only=True).open(None)
    assert out["verdict"] == "ok" and "%.2f" % out["self_speedup"] == "1.00"


@pytest.mark.parametrize("n", [2, 3, 5])
def test_further_pairs_of_short_calls_count_in_both_orders(gpu, n):
    first_is_slower(gpu, 0.05, us=5)
    out = gpu.session(pairs=n, baseline_only=True).open(None)
    assert abs(out["self_speedup"] - 1) < 0.003


def test_further_pairs_for_which_the_gpu_is_not_free_do_not_count(gpu):
    s, taken = gpu.session(pairs=5, baseline_only=True), []
    gpu.kernel = lambda stand, cycles: dict(us=100, wall_us=200)
    take = s.take

    def takes():
        taken.append(s.held)
        if len(taken) > 1 and not s.held:
            raise gpu.worker.Busy("other sessions had the GPU for 120 s")
        take()
    s.take = takes
    out = s.open(None)
    assert out["verdict"] == "ok" and len(out["pairs"]) == 1


@pytest.mark.parametrize("spread_ns, least", [(60, 0.95), (80, 0.92), (120, 0.83)])
def test_an_interval_of_short_calls_is_wider_where_their_pairs_spread_far(
        worker, spread_ns, least):
    """Of two pairs of each order, and calls of 5 us; what is known is 60 ns."""
    drawn, held = random.Random(7), 0
    for _ in range(4000):
        sides = [[drawn.gauss(0, spread_ns / 5000) for _ in range(2)] for _ in "AB"]
        _, low, high = worker.of_pairs(sides, 5000, True, worker.fmean)
        held += low <= 0 <= high
    assert least <= held / 4000 <= 0.99
