"""A worker as the engine has it: frames in, frames out, on Triton's interpreter."""


def test_a_task_is_opened_and_candidates_get_their_verdicts(worker_of):
    w = worker_of()
    baseline = w.open()
    assert baseline["verdict"] == "ok" and baseline["speedup"] == 1
    assert len(baseline["shapes"]) == 3
    out = w.judge(w.source + "\n# again\n")
    assert out["verdict"] == "ok" and len(out["shapes"]) == 3
    assert out["speedup_low"] <= out["speedup"] <= out["speedup_high"]
    out = w.judge(w.source.replace("return out", "return out * 1.1"))
    assert out["verdict"] == "wrong" and "expected" in out["reason"]
    assert w.judge("def scaled_add(x, y:")["verdict"] == "build_failed"
    assert w.judge("import os\n" + w.source)["verdict"] == "cheated"
    assert w.judge(w.source, confirm=True)["verdict"] == "ok"


def test_an_invalid_request_is_refused_and_ends_nothing(worker_of):
    w = worker_of()
    assert w.ask(op="nonsense") == {"refused": "unknown request"}
    assert w.ask(op="evaluate", ticket=1, source="x") == {"refused": "unknown request"}
    assert w.ask(op="warm") == {"warm": True}
    assert w.open()["verdict"] == "ok"


def test_a_package_that_is_missing_is_named(worker_of):
    w = worker_of()
    w.task["source"] = "import no_such_package\n" + w.task["source"]
    refused = w.ask(op="open", task=w.task)
    assert refused["config"] is True and "no_such_package" in refused["refused"]
