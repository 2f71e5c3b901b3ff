"""Children of the worker: how they are spoken to, how they end, what of them stays."""
import ast
import ctypes
import os
import sys
import tempfile
import time

import pytest


class Says:
    """What a child runs: it says what it is asked to."""
    given = 0

    def do_fail(self, text):
        raise RuntimeError(text)

    def do_wait(self):
        time.sleep(60)

    def do_say(self):
        return {"given": self.given}

    do_idle = do_say

    def give_back(self):
        self.given += 1


@pytest.fixture
def child(worker, scratch):
    """child() -> a Child that runs Says; child(make) -> one that runs what make returns."""
    def made(make=Says):
        class Small(worker.Child):
            def __init__(self):
                self.scratch = tempfile.mkdtemp()
                self.start(make, self.scratch + "/cache")
        return Small()
    ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)     # as the worker is, for what a child leaves
    return made


def lost(worker, call):
    """(verdict, reason) of a call that fails."""
    with pytest.raises(worker.Lost) as e:
        call()
    return e.value.args[:2]


def ours():
    with open("/proc/self/task/%d/children" % os.getpid()) as f:
        return len(f.read().split())


def test_no_folder_is_too_deep_to_be_removed(child):
    c = child()
    os.chdir(c.scratch)
    for _ in range(2000):
        os.mkdir("a")
        os.chdir("a")
    os.chdir("/")
    c.close()
    assert not os.path.exists(c.scratch)


def test_no_pipe_is_left_by_a_fork_that_fails(child):
    def fails():
        raise BlockingIOError
    os.fork, before = fails, os.listdir("/proc/self/fd")
    with pytest.raises(BlockingIOError):
        child()
    assert os.listdir("/proc/self/fd") == before


@pytest.mark.parametrize("text, ended", [
    ("CUDA error: an illegal memory access was encountered", True),
    ("Triton Error [CUDA]: an illegal memory access was encountered", True),
    ("out of resource: shared memory", False)])
def test_a_child_whose_context_is_gone_is_ended_by_torchs_word_and_by_tritons(
        worker, child, text, ended):
    c = child()
    verdict, reason = lost(worker, lambda: c.ask("fail", text=text))
    assert verdict == "launch_failed" and text in reason
    assert (c.pid is None) is ended and ours() == (not ended)


def test_many_short_commands_all_in_time_have_one_deadline(worker, child):
    c = child()
    worker.Child.deadline = time.monotonic() - 1
    assert lost(worker, lambda: c.ask("say"))[0] == "timeout"
    assert c.pid is None


def test_a_pause_of_the_worker_is_not_charged_to_a_candidate(worker, child):
    c = child()
    worker.Child.deadline = time.monotonic() - 1
    assert c.ask("idle", 5) == {"given": 0} and c.pid is not None


def test_a_process_that_lacked_memory_lives_on_and_gives_back_what_it_got(worker, child):
    c = child()
    for n, text in enumerate((
            "CUDA error: out of memory",
            "CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"), 1):
        verdict, reason = lost(worker, lambda text=text: c.ask("fail", text=text))
        assert verdict == "launch_failed" and worker.LACKING in reason
        assert c.ask("say") == {"given": n}
    verdict, reason = lost(worker, lambda: c.ask("fail", text="another"))
    assert verdict == "launch_failed" and worker.LACKING not in reason
    assert c.ask("say") == {"given": 2}


@pytest.mark.parametrize("times, said", [
    (3, None), (99, "launch_failed"), (0, "crashed")])
def test_a_process_that_opens_waits_for_memory_but_for_nothing_else(
        worker, child, monkeypatch, times, said):
    monkeypatch.setattr(sys.modules[worker.Child.__module__], "MEMORY_S", 0.5)
    left = [times]

    def make():
        if left[0] > 0:
            left[0] -= 1
            raise RuntimeError("CUDA error: %s\nSearch for it" % (
                "out of memory", "CUDA-capable device(s) is/are busy or unavailable")[left[0] % 2])
        if not times:
            raise RuntimeError("no driver")
        return Says()
    c, begun = child(make), time.monotonic()
    if said is None:
        assert c.ask("say") == {"given": 0}
        return
    verdict, reason = lost(worker, lambda: c.ask("say"))
    assert verdict == said and (worker.LACKING in reason) == (said == "launch_failed")
    assert ("Search for it" if times else "no driver") in reason
    assert (time.monotonic() - begun >= 0.5) == (said == "launch_failed")


def test_a_reply_that_lay_there_in_time_is_no_timeout_however_late_it_is_read(worker, child):
    c = child()
    wait = c.begin("say", 0.5)
    time.sleep(0.8)
    assert wait() == {"given": 0}
    assert lost(worker, c.begin("wait", 0.05))[0] == "timeout"


def test_a_command_that_is_hurried_says_why_and_none_takes_longer_than_others(worker, child):
    c = child()
    c.hurry(0.2, 20.4)
    assert lost(worker, lambda: c.ask("wait")) == (
        "timeout", "wait took more than 0 s, and its kernels were not compiled in the 20 s before")
    c.hurry(99.0, 0)
    assert c.call_s == worker.Child.call_s == worker.CALL_S == 60


def test_what_a_child_left_ends_with_it(child):
    folder = tempfile.mkdtemp()

    def make():
        if os.fork() == 0:
            time.sleep(60)
            os._exit(0)
        open(folder + "/forked", "w").close()
        time.sleep(60)
    c = child(make)
    while not os.path.exists(folder + "/forked"):
        time.sleep(0.001)
    c.close()
    assert not os.path.exists(c.scratch) and ours() == 0


def test_no_name_is_given_to_two_functions_of_a_class_or_module(worker):
    for part in worker.parts:
        with open(part.__file__) as f:
            tree = ast.parse(f.read())
        for space in [tree] + [n for n in tree.body if isinstance(n, ast.ClassDef)]:
            names = [n.name for n in space.body if isinstance(n, (ast.FunctionDef, ast.ClassDef))]
            assert sorted(set(names)) == sorted(names), part.__file__


def test_a_lock_file_that_another_user_made_is_locked_all_the_same(worker, scratch):
    import fcntl
    os.mkdir(scratch + "/locks")
    name = scratch + "/locks/lock"
    os.umask(0o077)
    worker.lock_file(name).close()
    assert os.stat(name).st_mode & 0o777 == 0o644
    real = os.open

    def another(path, flags, *mode):    # as fs.protected_regular has it, of files in /tmp
        if flags & os.O_CREAT or flags & (os.O_WRONLY | os.O_RDWR):
            raise PermissionError(13, "Permission denied", path)
        return real(path, flags, *mode)
    os.open = another
    fcntl.flock(worker.lock_file(name), fcntl.LOCK_EX | fcntl.LOCK_NB)
    os.open = real
    if os.geteuid() == 0:
        os.chmod(os.path.dirname(name), 0o1777)
        for at in range(len(name)):             # every folder above it may be passed
            if name[at] == "/" and at:
                os.chmod(name[:at], os.stat(name[:at]).st_mode | 0o055)
        os.seteuid(65534)
        fcntl.flock(worker.lock_file(name), fcntl.LOCK_SH | fcntl.LOCK_NB)
