"""worker - judges Triton candidates for an engine; frames on stdin and stdout.

    worker serve DEVICE [LIBRARY]   the frames of lua/kernelband/worker/server.lua;
                                    LIBRARY is libkb_inject.so, which records kernels
    worker tunables                 a source on stdin, its meta-parameters on stdout
    worker compile                  a kernel on stdin as JSON, its cubin on stdout
    worker probe                    what this interpreter has, as one JSON object

This is the folder that Python is given. The parent imports torch and triton once and
never opens the GPU, so it can fork. One forked child runs the untouched reference and
compares; every candidate gets a child of its own, with its own compile cache, and is
timed beside a partner, a child as new that runs the untouched file. All are jailed and
killed as a group. A candidate's child is the candidate's: what it says is believed as
far as the parent's clock and the reference's answers bear it out.
"""
import sys

sys.dont_write_bytecode = True
folder = sys.path.pop(0)                # its files are a package, and nobody else's modules
sys.path.insert(0, folder.rpartition("/")[0])
try:
    import json

    from worker.devicecode import compiled
    from worker.serve import probe, serve
    from worker.tunables import tunables
except ImportError as e:    # Debian's python3-minimal: an interpreter with a few modules
    sys.exit("%s: %s, which is part of Python: install the whole of it (on Debian the package "
             "python3), or set KERNELBAND_PYTHON to one that is whole" % (sys.executable, e))
finally:
    sys.path.pop(0)

command, *given = sys.argv[1:]
if command == "serve":
    sys.exit(serve(*given))
print(json.dumps({"compile": compiled, "probe": probe, "tunables": tunables}[command]()))
