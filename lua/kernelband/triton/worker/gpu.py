"""The GPU: shared with other sessions, got ready for children."""
import ctypes
import fcntl
import gc
import os
import sys
import time

from . import recorder
from .child import LACKING
from .children import Child, Lost
from .recorder import COUNTERS
from .scout import target_of
from .untouched import HASTE_S, KERNEL_S

LOCK_S, BESIDE_S = 120, 5           # of waiting for other sessions on the GPU; of making them wait
MEMORY_S, MEMORY_OTHERS_S = 10, 40  # of waiting for memory; where other sessions may have it
CHIPS = {(8, 0): "GA100", (8, 6): "GA102", (8, 9): "AD102", (9, 0): "GH100", (10, 0): "GB100",
         (12, 0): "GB202"}  # by compute capability: the first of each


def get_ready():
    """What every child would do for itself before it compiles: read all of the compiler for the key
    of the cache, which takes a second, and import what tensors without contents need."""
    for name in ("triton.runtime.cache", "triton.compiler.compiler"):   # the latter before 3.6
        triton_key = getattr(sys.modules.get(name), "triton_key", None)
        if triton_key:
            triton_key()
            break
    try:
        import torch.fx.experimental.symbolic_shapes  # noqa: F401
    except Exception:
        pass
    prepare_dynamo()
    gc.collect()
    gc.freeze()             # nor need children look through what is ours


def know_compiler(machine):
    """The version of ptxas, asked once for all children."""
    try:
        from triton.compiler.compiler import make_backend
        make_backend(target_of(machine)).hash()
    except Exception:
        pass                # whoever compiles will be told


def prepare_counters(machine):
    """What counting needs of the host: CUPTI takes a tenth of a second to find it out."""
    chip = CHIPS.get(tuple(machine["capability"]))
    if recorder.library and chip:
        try:
            why = ctypes.create_string_buffer(512)
            ctypes.CDLL(recorder.library).kb_inject_ready(chip.encode(), COUNTERS.encode(), why,
                                                ctypes.c_size_t(512))
        except (OSError, AttributeError):
            pass                # whoever counts will be told


def prepare_dynamo():
    """It replaces functions of torch when it is first imported: before they are taken hold of."""
    try:
        import torch._dynamo  # noqa: F401
    except Exception:
        pass


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
    def alone(self):
        """For a task that asks for it the GPU is its own for more than the timing."""
        if self.task.get("alone"):
            self.take(fcntl.LOCK_EX)

    waited, slow, noting, judged, held = 0.0, False, 0.0, False, None
    kernel_s, haste_s = KERNEL_S, HASTE_S

    def take(self, how):
        """Waits for other sessions, so long in all and no longer: no time of a candidate's."""
        start = time.monotonic()
        while True:
            try:
                fcntl.flock(self.lock, how | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if self.waited + time.monotonic() - start > LOCK_S:
                    raise Lost("timeout", "other sessions had the GPU for %d s" % LOCK_S) from None
                time.sleep(0.002)
        self.held = how
        self.has_waited(time.monotonic() - start)

    def give(self):
        fcntl.flock(self.lock, fcntl.LOCK_UN)
        self.held = None

    def has_waited(self, seconds):
        self.waited += seconds
        if Child.deadline:
            Child.deadline += seconds

    def clock(self):
        """Seconds, but for those of waiting for others."""
        return time.monotonic() - self.waited

    def others(self):
        """Whether there are other sessions on this GPU, as far as can be told at once: each has a
        shared lock on the file here."""
        try:
            fcntl.flock(self.here, fcntl.LOCK_EX | fcntl.LOCK_NB)
            found = False
        except BlockingIOError:
            found = True
        for _ in range(100):        # another asks, or someone who is no session has it
            try:
                fcntl.flock(self.here, fcntl.LOCK_SH | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                time.sleep(0.001)
        return found

    def patient(self, call, alone_s=MEMORY_S, idle=None):
        """call(), again while it lacks memory: others may give it back soon. Other sessions can
        only if the GPU is theirs meanwhile, and what the child idle and the reference don't need;
        only waiting for them is no time of a candidate's. Where there are none, other programs may
        have it: they are waited for alone_s."""
        begun = time.monotonic()
        while True:
            try:
                return call()
            except Lost as e:
                if e.args[0] != "launch_failed" or LACKING not in str(e.args[1]):
                    raise
                # One that asks at the same moment may be missed, not twice.
                others = not self.task.get("alone") and (self.others() or self.others())
                if self.waited > LOCK_S or \
                        time.monotonic() - begun >= (MEMORY_OTHERS_S if others else alone_s):
                    raise
            held, start = None if self.task.get("alone") else self.held, time.monotonic()
            if idle:
                self.idle(idle)
            if held:
                self.give()
            time.sleep(2.5)
            if others:
                self.has_waited(time.monotonic() - start)
            if held:
                self.take(held)

    def idle(self, child):
        """Between commands it and the reference give back what they have of the GPU's memory."""
        done = child.begin("idle")
        try:
            self.reference.ask("idle")
        except Lost:                # it had faulted before, and only now says so
            self.revive()
        finally:
            done()

    def beside(self, call):
        """call while no other session times anything; several may do this at once. What compiles
        first is not called so, or all would wait for it: the first runs of the untouched file,
        with all that they tune, and a candidate's first run of the tests go on while others time,
        as does the opening of contexts, and the tests of a file once they were seen to be slow.
        EX is only asked for with SH given back: no deadlock."""
        if self.task.get("alone") or self.slow:
            return call()
        self.take(fcntl.LOCK_SH)
        start = time.monotonic()
        try:
            return call()
        finally:
            self.slow = time.monotonic() - start > BESIDE_S
            self.give()
