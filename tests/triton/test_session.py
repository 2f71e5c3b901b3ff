"""What becomes of an evaluation, on a GPU that is not there: what is tried again, what is learned
of the untouched file, who waits for whom, what is left when it ends."""
import json
import os
import sys

import pytest

UNTOUCHED = "untouched = 1"
FAULT = "CUDA error: an illegal memory access was encountered"


def mine(stand):
    return stand.source != UNTOUCHED


def fail(text):
    raise RuntimeError(text)


def off(path, share):
    """What the reference says of results of which so much is wrong."""
    return {"wrong": "off", "path": path, "share": share}


def test_a_reference_that_faults_by_chance_is_asked_once_more_a_second_time_it_is_told(gpu):
    s = gpu.session()
    left = [1]

    def faults(stand, request):
        if left[0]:
            left[0] -= 1
            fail(FAULT)
    gpu.on["verify_tests"] = faults
    assert gpu.judge(s)["verdict"] == "ok"
    left[0] = 2
    out = gpu.judge(s)
    assert out["verdict"] == "launch_failed"
    assert out["reason"].startswith("the reference: ") and FAULT in out["reason"]
    assert gpu.judge(s)["verdict"] == "ok"


def test_an_output_that_is_learned_is_made_again_before_it_is_shown_again(gpu):
    left = [off("[1][2]", .5)]
    gpu.on["verify_shape"] = lambda stand, request: left.pop() if left else None
    s = gpu.session()
    out = gpu.judge(s, UNTOUCHED, baseline=True)
    assert out["verdict"] == "ok", out
    child = next(x for x, op, _ in gpu.log if op == "show")
    ops = [op for x, op, _ in gpu.log if x is child]
    first = ops.index("show")
    assert ops[first:first + 5] == ["show", "settle", "prepare", "call", "show"]


# Who waits for whom ---------------------------------------------------------------------


def test_one_session_at_a_time_has_the_gpu_and_waiting_is_no_verdict(gpu):
    a, b = gpu.session(), gpu.session()
    gpu.worker.LOCK_S, found = 0.2, []

    def checks(stand, request):
        if not found:                   # in the middle of a's checked run b wants the GPU
            found.append(None)
            with pytest.raises(gpu.worker.Busy):
                b.evaluate("candidate = 2", {})
            found[0] = "busy"
    gpu.on["verify_tests"] = checks
    assert gpu.judge(a)["verdict"] == "ok" and found == ["busy"]
    gpu.on["test"] = lambda stand, request: fail("not now") if not stand.trusted else None
    assert gpu.judge(a)["verdict"] == "launch_failed"
    gpu.on.clear()
    assert gpu.judge(b)["verdict"] == "ok"      # it is given back, whatever became of it


def lacks(gpu, op, seconds, text="CUDA error: out of memory", how=None):
    """The candidate's process lacks memory in this command, for so long from when it first asks."""
    began = []

    def given(stand, request):
        if mine(stand) and stand.source is not None:
            began.append(gpu.clock.now)
            if gpu.clock.now < began[0] + seconds:
                if how:
                    raise gpu.worker.Lost(how, text)
                fail(text)
    gpu.on[op] = given
    return began


def waited(gpu, s, op, seconds, others=None, **lacking):
    """(verdict, for how many seconds it asked, how often others had the GPU meanwhile)"""
    began, had = lacks(gpu, op, seconds, **lacking), []

    def slept(seconds):
        if others and seconds > 1:
            gpu.clock.slept = lambda seconds: None      # nor does this one wait for itself
            before = gpu.clock.now
            given, log = dict(gpu.on), gpu.log[:]
            gpu.on.clear()
            had.append(others.evaluate("candidate = 2", {})["verdict"])
            gpu.on.update(given)
            gpu.log[:] = log
            gpu.clock.now, gpu.clock.slept = before, slept
    gpu.clock.slept = slept
    out = gpu.judge(s)
    gpu.clock.slept = lambda seconds: None
    gpu.on.pop(op)
    return out["verdict"], round(began[-1] - began[0], 1), len([x for x in had if x == "ok"])


def test_memory_that_others_have_is_waited_for_a_while_with_the_gpu_left_to_them(gpu):
    a, b = gpu.session(), gpu.session()
    assert waited(gpu, a, "inputs", 5, b) == ("ok", 5.0, 2)
    assert waited(gpu, a, "test", 5, b) == ("ok", 5.0, 2)
    verdict, seconds, had = waited(gpu, a, "inputs", 1000, b)
    assert verdict == "launch_failed" and seconds >= gpu.worker.MEMORY_S and had
    for how in "cheated", "build_failed":               # what only says so is not waited for
        verdict, seconds, _ = waited(gpu, a, "inputs", 30, how=how,
                                     text="it needs more of the GPU than is free")
        assert (verdict, seconds) == (how, 0.0)


@pytest.mark.parametrize("text", ["out of memory", "CUDA-capable device(s) is/are busy or "
                                  "unavailable"])
def test_a_gpu_that_others_fill_is_waited_for_before_a_file_is_opened_on_it(gpu, text):
    def full(stand, request):
        if gpu.clock.now < until:
            fail("no GPU to run Triton kernels on: torch says: CUDA error: " + text)
    alive = []
    gpu.clock.slept = lambda seconds: alive.append(len(gpu.alive()))
    gpu.on["machine"], begun, until = full, gpu.clock.now, gpu.clock.now + 100
    s = gpu.session(open_s=50)
    assert alive and not any(alive)             # nothing of it has the GPU while others want it
    assert gpu.clock.now >= until and len(gpu.alive()) == 2     # of the last try alone
    assert gpu.judge(s, UNTOUCHED, baseline=True)["verdict"] == "ok"    # its time has just begun
    s.close()
    begun, until = gpu.clock.now, gpu.clock.now + 1000
    with pytest.raises(gpu.worker.Lost) as lost:
        gpu.session()
    assert lost.value.lacks_memory() and text in lost.value.reason
    assert gpu.worker.LOCK_S <= gpu.clock.now - begun < gpu.worker.LOCK_S + 5
    assert gpu.alive() == [] and not any(os.path.exists(stand.scratch) for stand in gpu.made)
    del gpu.on["machine"]
    begun = gpu.clock.now
    for text in "no such name", "CUDA out of memory":
        gpu.on["load"] = lambda stand, request, text=text: fail(text)
        with pytest.raises(gpu.worker.Lost):
            gpu.session()
    assert gpu.clock.now == begun               # what a file lacks is not waited for before it runs


def test_what_a_candidate_and_the_reference_do_not_need_is_given_back_while_memory_lacks(gpu):
    a = gpu.session()
    lacks(gpu, "test", 5)
    assert gpu.judge(a)["verdict"] == "ok"
    ops = [(mine(stand), op) for stand, op, _ in gpu.log if op in ("idle", "test")
           and not stand.scout and stand.source]
    assert ops[:5] == [(True, "test"), (False, "test"), (True, "idle"), (False, "idle"),
                       (True, "test")]


# What is shown ---------------------------------------------------------------------


def test_results_are_compared_in_a_file_that_their_process_does_not_have(gpu):
    order = []

    def settles(stand, request):
        """Its calls run meanwhile."""
        with open(stand.scratch + "/out.bin", "wb") as f:
            f.write(b"later")

    def verify(stand, request):
        order.append(open(request["file"], "rb").read())
    gpu.on.update(settle=settles, verify_shape=verify)
    s = gpu.session()
    assert gpu.judge(s)["verdict"] == "ok"
    assert set(order) == {b"1234"}
    # The reference's first runs are made while it is shown, its comparison while it settles.
    ops = [op for stand, op, _ in gpu.log if op in (
        "test", "verify_tests", "expect", "show", "settle", "verify_shape")]
    assert ops[:12] == 3 * ["expect", "test", "test", "verify_tests"]
    assert ops[12:18] == ["expect", "show", "show", "settle", "settle", "verify_shape"]


def test_of_a_shape_that_leaves_something_to_chance_a_second_look_has_two_runs_made_ahead(gpu):
    for chance, later in ((0, {1}), (1, {2})):
        gpu.on["verify_shape"] = lambda *_, chance=chance: {
            "count": 4, "chance": chance, "allowed": 0, "told": {}, "beyond": False}
        assert gpu.judge(gpu.session())["verdict"] == "ok"
        runs = [(r["part"], r["runs"]) for _, op, r in gpu.log if op == "expect" and "runs" in r]
        assert {n for part, n in runs if not part} == {2}
        assert {n for part, n in runs if part} == later


def test_the_keepers_memory_takes_results_of_a_candidate_and_none_of_its_partner(gpu):
    told = {"size": 64, "handle": "5a"}
    gpu.on["room"] = lambda stand, request: dict(told)
    s = gpu.session()
    keeper, = [stand for stand, op, _ in gpu.log if op == "room"]
    assert gpu.judge(s)["verdict"] == "ok"
    assert all(stand is not keeper for stand, op, _ in gpu.log) and keeper.source is None

    def rooms(own, *ops):
        return {(r["room"]["size"], r["room"]["handle"]) for stand, op, r in gpu.log
                if op in ops and mine(stand) == own}
    assert rooms(True, "test", "show") == {(64, "5a")}
    assert rooms(False, "verify_tests", "verify_shape") == {(64, "5a")}
    assert rooms(False, "test", "show") == {(64, None)}         # memory of its own
    s.close()
    assert gpu.alive() == []


def test_without_a_keeper_results_go_through_files(gpu):
    gpu.on["room"] = lambda stand, request: {"error": "launch_failed", "text": "no memory"}
    s = gpu.session()
    assert gpu.judge(s)["verdict"] == "ok"
    assert {r["room"] for _, op, r in gpu.log if op in ("test", "show", "verify_shape")} == {None}


def test_a_candidate_is_timed_beside_a_process_as_new_as_its_own(gpu):
    s, seen = gpu.session(), []
    for _ in range(2):
        gpu.judge(s)
        timed = {stand for stand, op, r in gpu.log if op == "go" and not r.get("record")}
        assert len(timed) == 2 and not timed & {gpu.made[0], *seen}
        ops = [[op for stand, op, _ in gpu.log if stand is who and op in (
            "load", "test", "inputs", "shape", "call", "show", "settle")] for who in timed]
        assert ops[0] == ops[1] and len(ops[0]) > 3
        seen += timed


def test_where_the_gpu_lacks_memory_for_it_the_reference_is_what_a_candidate_is_timed_beside(gpu):
    s = gpu.session()
    gpu.judge(s)                # its partner was not the one that lacked memory
    gpu.on["shape"] = lambda stand, request: stand is not gpu.made[0] and not mine(stand) and {
        "error": "launch_failed", "text": gpu.worker.LACKING + ": tried to allocate 2 GiB"} or None
    for _ in range(2):
        out = gpu.judge(s)
        assert out["verdict"] == "ok", out
        assert gpu.made[0] in {stand for stand, op, _ in gpu.log if op == "go"}
    s.close()
    assert gpu.alive() == []


def locked(name):               # a folder that others than root can't remove
    os.makedirs(name + "/in/side"), os.chmod(name + "/in", 0)


@pytest.mark.parametrize("make, verdict, reason", [
    (lambda name: open(name, "w").close(), "cheated", "no Triton kernel ran"),
    (os.mkfifo, "crashed", "its results are not to be had: no file"),
    (os.mkdir, "crashed", "its results are not to be had: no file"),
    (locked, "crashed", "its results are not to be had: no file"),
    (lambda name: os.symlink("/etc/passwd", name), "crashed",
     "its results are not to be had: no file"),
    (lambda name: None, "crashed", "its results are not to be had: No such file or directory")])
@pytest.mark.parametrize("op", ["test", "show"])
def test_shown_results_are_removed_however_an_evaluation_ends(
        gpu, op, make, verdict, reason):
    s = gpu.session()

    def shows(stand, request):
        if mine(stand):
            make(stand.scratch + "/out.bin")
            return {"leaves": [], "beyond": False}
    gpu.on[op] = shows
    out = gpu.judge(s)
    if (op, verdict) == ("show", "cheated"):
        assert out["verdict"] == "ok"
    else:
        assert (out["verdict"], out["reason"]) == (verdict, reason)
    if os.getuid() == 0:
        assert os.listdir(s.shown) == []
    gpu.on.pop(op)
    assert gpu.judge(s)["verdict"] == "ok" and os.listdir(s.shown) in ([], ["1.bin"])


def test_a_candidates_folder_is_there_until_its_process_has_ended(gpu):
    s = gpu.session()
    gpu.judge(s)
    child = next(stand for stand, op, _ in gpu.log if mine(stand) and op == "go")
    assert child not in gpu.alive() and os.path.exists(child.scratch)   # the driver takes its time
    gpu.judge(s)
    assert not os.path.exists(child.scratch)
    s.close()
    assert gpu.alive() == []


@pytest.mark.parametrize("call_s, haste_s, allowed", [
    (None, 10, 30), (None, 25, 45), (6, 10, 6), (None, 99, 60)])
def test_a_candidate_has_30_s_for_a_command_more_where_the_untouched_file_needs_it_or_the_tasks(
        gpu, call_s, haste_s, allowed):
    lasts = {True: (haste_s - .5) / 4 if haste_s > 10 else 0.1, False: 0.1}
    gpu.on["test"] = lambda stand, request: dict(stand.do_test(), lasts=lasts[stand.trusted])
    s = gpu.session(**({"call_s": call_s} if call_s else {}))
    gpu.judge(s, UNTOUCHED, baseline=True)
    slack = 2 if haste_s in (25,) else 0
    for seconds, verdict in (allowed - 0.5 - slack, "ok"), (allowed + 0.5, "timeout"):
        tested = []

        def test(stand, request):
            tested.append(stand)
            return dict(stand.do_test(), lasts=seconds if len(tested) == 1 else 0.1)
        gpu.on["test"] = test
        out = gpu.judge(s)
        assert out["verdict"] == verdict, (seconds, out)


def test_a_baseline_has_all_its_time_for_a_command(gpu):
    gpu.on["test"] = lambda stand, request: dict(stand.do_test(), lasts=120.0) \
        if stand.trusted else None
    assert gpu.judge(gpu.session(), UNTOUCHED, baseline=True)["verdict"] == "ok"


def test_a_reference_that_is_late_says_so(gpu):
    gpu.on["expect"] = lambda stand, request: {"lasts": 70.0} if request.get("show") else None
    out = gpu.judge(gpu.session())
    assert (out["verdict"], out["reason"]) == (
        "timeout", "the reference: expect took more than 60 s")


def test_a_candidate_that_gave_a_reason_itself_is_judged_by_that(gpu):
    s = gpu.session()
    gpu.on["expect"] = lambda stand, request: {"lasts": 70.0} if request.get("show") else None

    def shows(stand, request):
        stand.put([])
        return {"leaves": 1}
    gpu.on["show"] = shows
    out = gpu.judge(s)
    assert (out["verdict"], out["reason"][:24]) in (
        ("crashed", "its process spoke nonsen"), ("timeout", "the reference: expect to"))
    gpu.on["show"] = lambda stand, request: fail("its own doing")
    out = gpu.judge(s)
    assert out["verdict"] == "launch_failed" and "its own doing" in out["reason"]


# What is learned of the untouched file -------------------------------------------------


def baseline(gpu, s=None, **task):
    return gpu.judge(s or gpu.session(**task), UNTOUCHED, baseline=True)


def test_a_baseline_says_why_it_was_begun_again_and_in_which_shape_its_time_was_up(gpu):
    gpu.labels, stage, sizes = ["a", "b", "4x4", "c"], [0], {}
    gpu.on["shape"] = lambda stand, request: sizes.update({stand: request["i"]})

    def verify(stand, request):
        if stage[0] == 0 and sizes.get(stand) == 2:
            stage[0] = 1
            return off("[0]", 1e-4)

    def call(stand, request):
        if stage[0] == 1 and sizes.get(stand) == 2 and not stand.trusted:
            stage[0] = 2
            raise EOFError

    def go(stand, request):
        if stage[0] == 2 and sizes.get(stand) == 3 and not stand.trusted:
            return {"lasts": 1e4}
    gpu.on.update(verify_shape=verify, call=call, go=go)
    out = baseline(gpu, perf="torch.randint")
    assert out["verdict"] == "timeout" and out["reason"].startswith("shape c: go took more than")
    first, second = out["begun_again"]
    assert first == "shape 4x4: inputs that no two writes share"
    assert second == "shape 4x4: crashed: its process ended"
    assert out["seconds"]["first"] >= 0 and out["seconds"]["total"] >= 240


class Race:
    """The untouched file gives these outputs otherwise, in tests or in a shape, time after time."""

    def __init__(self, gpu):
        self.gpu, self.sizes, self.left = gpu, {}, {}
        gpu.labels = ["2x2", "4x4", "8x8"]
        gpu.on["shape"] = lambda stand, request: self.sizes.update({stand: request["i"]})
        gpu.on["verify_tests"] = lambda stand, request: self.of("tests", request)
        gpu.on["verify_shape"] = lambda stand, request: self.of(self.sizes.get(stand), request)
        self.asked = []

    def of(self, where, request):
        self.asked.append((where, request.get("allow"), request.get("ignore")))
        found = self.left.get(where)
        return found.pop(0) if found else None

    def baseline(self, **task):
        return self.gpu.judge(self.gpu.session(**task), UNTOUCHED, baseline=True)


def test_a_race_of_random_indices_is_first_drawn_away(gpu):
    race = Race(gpu)
    race.left = {"tests": [off("[0]", .001)], 0: [off("[0]", 1e-4)]}
    out = race.baseline(perf="torch.randint")
    assert out["verdict"] == "ok"
    by = out["judged_by"]
    assert by["distinct"] is True and by["allow"] == {"tests": {"[0]": 0.01}} and not by["ignore"]
    assert any("without repeats" in x for x in out["weakened"])
    drawn = [r["distinct"] for _, r in gpu.times("inputs")]
    assert drawn[0] is False and drawn[-1] is True


def test_a_race_that_stays_is_allowed_in_every_shape_that_shows_the_output(gpu):
    race = Race(gpu)
    race.left = {0: [off("[0]", 1e-4)], 2: [off("[0]", .008)]}
    out = race.baseline()
    assert out["verdict"] == "ok" and out["judged_by"]["distinct"] is False
    assert out["judged_by"]["allow"] == {"0": {"[0]": 0.01}, "2": {"[0]": 0.032}}
    assert race.asked[-1][1] == {"[0]": 0.032}
    # As much is allowed to a candidate, in each of them.
    race.asked.clear()


def test_shares_that_lua_gave_back_as_an_empty_list_are_none(worker):
    found = worker.Found()
    found.recall({"allow": {"0": [], "1": {"[0]": 0.01}}})
    assert found.allowed() == {"[0]": 0.01} and len(found.weakened(None)) == 1


def test_an_output_of_a_shape_that_differs_by_half_leaves_the_shape_out_one_of_its_inputs_not(gpu):
    race = Race(gpu)
    race.left = {1: [off("[0]", .5)] * 2, 2: [off("[1][0]", .5)]}
    out = race.baseline()
    assert out["verdict"] == "ok" and out["judged_by"]["ignore"] == {"2": ["[1][0]"]}
    assert list(out["judged_by"]["left_out"]) == ["1"]
    assert out["left_out"] == ["4x4: the untouched file differs from itself in 50 % of [0]"]
    assert race.asked[-1][2] == ["[1][0]"]
    assert any("1 shapes left out" in x for x in out["weakened"])


def test_a_file_that_faults_when_it_is_first_run_is_tried_milder_with_valid_indices(gpu):
    tried = []

    def test(stand, request):
        tried.append(request["poison"])
        if len(tried) < need:
            fail(FAULT)
    gpu.on["test"] = test
    for need in 1, 2:
        tried.clear()
        out = baseline(gpu)
        assert out["verdict"] == "ok" and tried[:need] == [11, 101][:need]
        assert ("for indices" in "; ".join(out.get("weakened", ()))) is (need == 2)
    need = 3
    tried.clear()
    out = baseline(gpu)
    assert out["verdict"] == "launch_failed" and tried == [11, 101]


def test_a_shape_that_faults_is_left_out_and_no_cheat_is_let_go(gpu):
    race = Race(gpu)
    left = {1: 1}

    def go(stand, request):
        i = race.sizes.get(stand)
        if not stand.trusted and left.get(i):
            left[i] -= 1
            fail(FAULT)
    gpu.on["go"] = go
    out = race.baseline()
    assert out["verdict"] == "ok", out
    assert list(out["judged_by"]["left_out"]) == ["1"]
    assert out["left_out"][0].startswith("4x4: the untouched file: ")
    assert FAULT in out["left_out"][0] and len(out["begun_again"]) == 1
    left.update({0: 9, 1: 9, 2: 9})             # one shape at least is judged by
    assert race.baseline()["verdict"] == "launch_failed"
    left.clear()
    gpu.on["go"] = lambda stand, request: {"tampered": "left a thread running"} \
        if not stand.trusted and race.sizes.get(stand) == 1 else None
    out = race.baseline()
    assert (out["verdict"], out["reason"]) == ("cheated", "it left a thread running")
    assert json.dumps(out)


def others(gpu, stand):
    """Whether it is the partner of a candidate's process."""
    return stand is not gpu.made[0] and stand.source and not mine(stand)


def timed_beside_the_reference(gpu):
    return gpu.made[0] in {stand for stand, op, r in gpu.log if op == "go" and not r.get("record")}


def test_a_fault_of_the_partner_is_no_verdict_on_a_candidate(gpu):
    s, faults = gpu.session(), []
    gpu.judge(s)

    def shape(stand, request):
        if others(gpu, stand) and not faults:
            faults.append(stand)
            raise EOFError
    gpu.on["shape"] = shape
    out = gpu.judge(s)
    assert out["verdict"] == "ok" and len(faults) == 1, out
    assert timed_beside_the_reference(gpu)
    assert gpu.judge(s)["verdict"] == "ok" and not timed_beside_the_reference(gpu)


def test_a_candidate_that_lacks_memory_takes_the_partner_from_no_later_one(gpu):
    s = gpu.session()
    gpu.judge(s)
    gpu.on["test"] = lambda stand, request: mine(stand) and {
        "error": "launch_failed", "text": gpu.worker.LACKING + ": tried to allocate 2 GiB"} or None
    assert gpu.judge(s)["verdict"] == "launch_failed"
    gpu.on.clear()
    assert gpu.judge(s)["verdict"] == "ok" and not timed_beside_the_reference(gpu)


def test_no_scout_outlives_an_evaluation_that_began_again(gpu):
    s, lacked = gpu.session(), []
    gpu.judge(s)

    def test(stand, request):
        if mine(stand) and (not lacked or stand in lacked):
            lacked.append(stand)
            return {"error": "launch_failed", "text": gpu.worker.LACKING}
    gpu.on["test"] = test
    assert gpu.judge(s)["verdict"] == "ok" and lacked
    assert [stand for stand in gpu.alive() if stand.scout] == []


def test_kernels_that_were_compiled_are_there_after_their_process_has_ended(gpu):
    s = gpu.session()
    os.makedirs(s.reference.scratch + "/cache/key")
    with open(s.reference.scratch + "/cache/key/kernel", "w") as f:
        f.write("compiled")
    for _ in range(2):
        s.reference.kill()
        assert s.revive()
        s.make_spares()
        for child in (s.reference, *s.spares):
            name = child.scratch + "/cache/key/kernel"
            assert open(name).read() == "compiled"
            assert not os.path.islink(os.readlink(name))        # the jail looks no further
        s.end_spares()
    folders = [child.scratch for child in (s.reference, *s.gone)]
    s.close()
    assert not any(map(os.path.exists, folders))


def test_a_worker_that_is_told_of_the_baseline_compiles_ahead_all_the_same(gpu):
    s = gpu.session()
    assert s.open({"verdict": "ok", "judged_by": {}}) == {"verdict": "ok", "judged_by": {}}
    assert [op for stand, op, _ in gpu.log if stand.scout] == ["ahead", "await"]
    assert [stand for stand in gpu.alive() if stand.scout] == []


def test_the_next_processes_have_seconds_to_open_the_gpu(gpu):
    s = gpu.session()
    gpu.judge(s)
    gpu.on["idle"] = lambda stand, request: None if stand in gpu.made[:2] else {"lasts": 9.0}
    begun = gpu.clock.now
    assert gpu.judge(s)["verdict"] == "ok"
    assert gpu.clock.now - begun < 12


def test_a_session_that_finds_no_memory_is_no_mistake_of_the_users(worker, monkeypatch):
    for text, config in ((worker.LACKING + ": 2 GiB", False), ("no class of that name", True)):
        def session(*_):
            raise worker.Lost("launch_failed", text)
        monkeypatch.setattr(sys.modules[worker.opened.__module__], "Session", session)
        reply, _ = worker.opened("cpu", {"op": "open", "task": {}}, None)
        assert reply == {"refused": text, "config": config}


def test_a_view_is_no_result_where_the_untouched_file_returns_contiguous_memory_of_its_own(gpu):
    def shows(own, others):
        gpu.on["show"] = lambda stand, request: dict(stand.put([
            {"path": "[0]", "dtype": "torch.float32", "view": own if mine(stand) else others}]),
            beyond=False)
    inside, gaps = "lies in an input", "is not contiguous"
    for own, others, verdict in (
            ([], [], "ok"), ([inside], [], "wrong"), ([gaps], [], "wrong"), ([], [inside], "ok"),
            ([inside, gaps], [gaps], "wrong"), ([gaps], [inside], "wrong"),
            ([inside, gaps], [inside, gaps], "ok")):
        s = gpu.session()
        shows(own, others)
        assert s.open(None)["verdict"] == "ok"
        out = gpu.judge(s)
        assert out["verdict"] == verdict, (own, others, out)
        what = [x for x in own if x not in others]
        assert verdict == "ok" or out["reason"] == "[0] %s, unlike the reference's" % what[0]
        s.close()
