"""The GPU: taken in turn with other sessions, got ready for children."""
import contextlib
import ctypes
import fcntl
import gc
import importlib
import os
import signal
import time

from . import recorder
from .children import LOCK_S, MEMORY_S, Busy, Child, Lost
from .scout import target_of

CHIPS = {(8, 0): b"GA100", (8, 6): b"GA102", (8, 9): b"AD102", (9, 0): b"GH100",
         (10, 0): b"GB100", (12, 0): b"GB202"}      # by compute capability: the first of each


def get_ready():
    """What every child would do for itself before it compiles: read all of the compiler for the key
    of the cache, which takes a second, and import what a first launch does."""
    for name in (
            "torch.fx.experimental.symbolic_shapes", "triton.compiler.code_generator",
            "torch._dynamo",            # it replaces functions of torch: before they are held
            "triton.runtime.cache:triton_key", "triton.compiler.compiler:triton_key",
            "triton.runtime.build:platform_key", "triton.backends.nvidia.driver:library_dirs"):
        space, _, function = name.partition(":")
        with contextlib.suppress(Exception):        # not every version has it, nor every machine
            getattr(importlib.import_module(space), function, dict)()
    gc.collect()
    gc.freeze()             # nor need children look through what is ours


def know_gpu(machine, counters):
    """Once for all children: the version of ptxas and, if counters are asked for, what counting
    needs of the host, which CUPTI takes a tenth of a second to find out."""
    with contextlib.suppress(Exception):   # whoever compiles will be told
        from triton.compiler.compiler import make_backend
        make_backend(target_of(machine)).hash()
    chip = CHIPS.get(tuple(machine["capability"]))
    if counters and recorder.library and chip:
        with contextlib.suppress(OSError, AttributeError):   # whoever counts will be told
            ctypes.CDLL(recorder.library).kb_inject_ready(
                chip, recorder.COUNTERS, ctypes.create_string_buffer(512), ctypes.c_size_t(512))


def lock_file(path):
    """A file that processes of any user lock, whoever made it."""
    how = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
    try:
        fd = os.open(path, how | os.O_CREAT, 0o644)
        os.fchmod(fd, 0o644)            # whatever the umask
    except PermissionError:             # another user did
        fd = os.open(path, how)
    return os.fdopen(fd, "rb")


class Sharing:
    """One session at a time has the GPU, from its checks to the end of its timing; none has it
    twice while another waits: who is next holds the lock that all others wait for first. Engines
    of CUDA kernels take the same lock: core/cuda/cuda.c."""
    waited, held = 0.0, False

    def share(self, name):
        path = "/tmp/kernelband-gpu-" + "".join(c for c in name if c.isalnum())
        self.lock, self.next = lock_file(path), lock_file(path + ".next")

    def take(self):
        """Waits for other sessions, so long in all: that is no candidate's time, and
        no verdict."""
        if self.held:
            return
        def late(*_):
            raise Busy("other sessions had the GPU for %d s" % LOCK_S)
        start = time.monotonic()
        before = signal.signal(signal.SIGALRM, late)
        signal.setitimer(signal.ITIMER_REAL, max(0.01, LOCK_S - self.waited))
        try:
            fcntl.flock(self.next, fcntl.LOCK_EX)
            fcntl.flock(self.lock, fcntl.LOCK_EX)
            self.held = True
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
            fcntl.flock(self.next, fcntl.LOCK_UN)
            self.waited += time.monotonic() - start
            self.is_no_time(start)

    def give(self):
        fcntl.flock(self.lock, fcntl.LOCK_UN)
        self.held = False

    def is_no_time(self, begun):
        """Nothing since then counts as time of who is judged."""
        if Child.deadline:
            Child.deadline += time.monotonic() - begun

    def clock(self):
        """Seconds, but for those of waiting for others."""
        return time.monotonic() - self.waited

    def patient(self, call, idle=None, most=MEMORY_S):
        """call(), again while it lacks memory: other programs may give it back soon, and so do the
        child idle and the reference. Other sessions have the GPU meanwhile."""
        begun = self.clock()
        while True:
            try:
                return call()
            except Lost as e:
                if not e.lacks_memory() or self.clock() - begun >= most:
                    raise
            if idle:
                idle.ask("idle")
                self.idle()
            if held := self.held:
                self.give()
            time.sleep(2.5)
            if held:
                self.take()

    def idle(self):
        """Between commands the reference gives back what it has of the GPU's memory."""
        try:
            self.reference.ask("idle")
        except Lost:                # it had faulted before, and only now says so
            self.revive()
