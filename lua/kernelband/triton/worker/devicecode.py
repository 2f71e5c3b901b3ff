"""Device code alone: a file of @triton.jit functions to a cubin."""
import fcntl
import json
import os
import resource
import sys
import tempfile
import types

from .child import Refusal, explain
from .children import new_folder, remove
from .gate import device_only
from .jail import clean_start, enter


def compile_kernel(request):
    """{ source, name, args = types, constants, warps, stages, arch } -> { cubin, shared .. }"""
    import base64

    import triton
    from triton.backends.compiler import GPUTarget
    source, name = request["source"], request["name"]
    scratch = os.getcwd()
    path = scratch + "/candidate.py"
    with open(path, "w", encoding="utf-8") as f:
        f.write(source)
    module = types.ModuleType("candidate")
    module.__file__ = path
    sys.modules["candidate"] = module
    exec(compile(source, path, "exec"), module.__dict__)
    fn = getattr(module, name, None)
    if not isinstance(fn, triton.runtime.JITFunction):
        raise Refusal("build_failed", "it has no @triton.jit function %s" % name)
    constants, given = request.get("constants") or {}, list(request["args"])
    signature, attrs = {}, {}
    for i, arg in enumerate(fn.arg_names):
        if arg in constants:
            signature[arg] = "constexpr"
        elif not given:
            raise Refusal("build_failed", "%s takes more than the launch line passes: %s is not "
                          "given" % (name, arg))
        else:
            signature[arg] = given.pop(0)
            if signature[arg].startswith("*"):
                attrs[(i,)] = [["tt.divisibility", 16]]
    if given or any(c not in fn.arg_names for c in constants):
        raise Refusal("build_failed", "the launch line passes more than %s takes" % name)
    src = triton.compiler.ASTSource(fn, signature, {
        (fn.arg_names.index(c),): v for c, v in constants.items()}, attrs)
    options = {k: request[v] for k, v in (("num_warps", "warps"), ("num_stages", "stages"))
               if request.get(v)}
    out = triton.compile(src, target=GPUTarget("cuda", request["arch"], 32), options=options)
    m = out.metadata
    if getattr(m, "global_scratch_size", 0) or getattr(m, "num_ctas", 1) != 1:
        raise Refusal("build_failed", "it needs scratch memory or clusters, which are not given")
    return {"cubin": base64.b64encode(out.asm["cubin"]).decode(), "name": m.name,
            "shared": m.shared, "warps": m.num_warps, "ptx": out.asm["ptx"]}


def compile_main():
    """One kernel, in a jail: the request on stdin, the answer on stdout."""
    clean_start()
    request = json.loads(sys.stdin.read())
    bad = device_only(request["source"])
    if bad:
        print(json.dumps(dict(zip(("error", "text"), bad))))
        return 0
    out = fcntl.fcntl(1, fcntl.F_DUPFD_CLOEXEC, 100)
    os.dup2(2, 1)
    scratch = new_folder()
    pid = os.fork()
    if pid:
        status = os.waitpid(pid, 0)[1]
        remove(scratch)
        return 0 if status == 0 else 1
    try:
        os.chdir(scratch)
        for name in ("HOME", "TMPDIR"):
            os.environ[name] = scratch
        os.environ["TRITON_CACHE_DIR"] = scratch + "/cache"
        tempfile.tempdir = scratch
        resource.setrlimit(resource.RLIMIT_CPU, (60, 60))
        enter(scratch)
        try:
            reply = compile_kernel(request)
        except Refusal as e:
            reply = {"error": e.args[0], "text": str(e.args[1])[:2000]}
        except BaseException as e:
            reply = dict(explain(e), error="build_failed")
        os.write(out, json.dumps(reply).encode())
    finally:
        os._exit(0)
