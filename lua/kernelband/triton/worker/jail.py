"""What a child may not do, and the environment it is started in."""
import ctypes
import glob
import os
import sys

GROUP = 3                   # KB_JAIL_GROUP of core/system/jail.h
HIDDEN = {"root", "home"}


def enter(*own):
    """Files are written below the folders of own alone, and nothing in HIDDEN is read but what the
    last of own, a cache, has links to. The process stays in its group and leaves others alone.
    None, or what of it this machine does not have."""
    paths = lambda *names: (ctypes.c_char_p * (len(names) + 1))(*map(os.fsencode, names), None)
    # Installed beside our folder, in a bundle's lib, or built last.
    top = os.path.abspath(os.path.dirname(__file__) + "/../../../..")
    built = sorted(glob.glob(top + "/build/*/libkb_jail.so"), key=os.path.getmtime, reverse=True)
    path = next(filter(os.path.exists, (
        top + "/libkb_jail.so", top + "/../../lib/libkb_jail.so", *built)), None)
    if not path:
        return "this build has no libkb_jail.so"
    jail = ctypes.CDLL(path, use_errno=True)
    links = filter(os.path.islink, glob.glob(own[-1] + "/*/*"))
    read = {os.path.dirname(os.readlink(x)) for x in links}
    read.update([sys.prefix, sys.base_prefix, *sys.path])
    read.update("/" + top for top in os.listdir("/") if top not in HIDDEN)
    failed = {"Landlock": jail.kb_jail_trees(paths(*filter(os.path.isdir, read)), paths("/dev"),
                                             paths(*own)),
              "seccomp": ctypes.CDLL(None).prctl(38, 1, 0, 0, 0) or jail.kb_jail_calls(GROUP)}
    lacking = " and no ".join(name for name in failed if failed[name])
    return "this machine has no " + lacking if lacking else None


def clean_start():
    """Again, with an environment that holds no one's keys."""
    keep = ("PATH", "LD_LIBRARY_PATH", "HOME", "TMPDIR", "LANG", "CUDA_VISIBLE_DEVICES",
            "CUDA_HOME", "CC", "TRITON_INTERPRET", "TRITON_PTXAS_PATH", "TRITON_LIBCUDA_PATH",
            "VIRTUAL_ENV", "CUDA_DEVICE_ORDER", "NVIDIA_VISIBLE_DEVICES", "PYTHONPATH")
    if os.environ.get("KERNELBAND_CLEAN") != "1":
        env = {k: os.environ[k] for k in keep if k in os.environ}
        env.update(KERNELBAND_CLEAN="1", PYTHONDONTWRITEBYTECODE="1", TRITON_CACHE_AUTOTUNING="1",
                   PYTORCH_NVML_BASED_CUDA_CHECK="1", OMP_NUM_THREADS="1",
                   CUDA_DEVICE_MAX_COPY_CONNECTIONS="1")   # 8 take 0.02 s more to open and to end
        os.execve(sys.executable, [sys.executable, "-u"] + sys.argv, env)
