"""Device code alone: a file of @triton.jit functions to a cubin."""
import json
import resource
import sys
import types

from . import jail
from .children import Child, Lost
from .gate import device_only
from .runner import written

COMPILE_S = 60


def compiler(_, scratch, cache):
    """What the child runs that compiles one kernel."""
    def do_compile(source, name, args, arch, constants=None, **options):
        """args are types, options warps and stages -> { cubin, shared .. }"""
        import triton
        from triton.backends.compiler import GPUTarget
        sys.modules["candidate"] = module = types.ModuleType("candidate")
        module.__file__ = scratch + "/candidate.py"
        exec(written(module.__file__, source), module.__dict__)
        fn = getattr(module, name, None)
        if not isinstance(fn, triton.runtime.JITFunction):
            raise Lost("build_failed", "it has no @triton.jit function %s" % name)
        constants, given, signature = constants or {}, list(args), {}
        for arg in fn.arg_names:
            if arg not in constants and not given:
                raise Lost("build_failed", "the launch line passes no %s to %s" % (arg, name))
            signature[arg] = "constexpr" if arg in constants else given.pop(0)
        attrs = {(i,): [["tt.divisibility", 16]] for i, kind in enumerate(signature.values())
                 if kind.startswith("*")}
        if given or any(c not in fn.arg_names for c in constants):
            raise Lost("build_failed", "the launch line passes more than %s takes" % name)
        src = triton.compiler.ASTSource(fn, signature, {
            (fn.arg_names.index(c),): v for c, v in constants.items()}, attrs)
        out = triton.compile(src, target=GPUTarget("cuda", arch, 32), options={
            "num_" + k: v for k, v in options.items() if v})
        m = out.metadata
        if getattr(m, "global_scratch_size", 0) or getattr(m, "num_ctas", 1) != 1:
            raise Lost("build_failed", "it needs scratch memory or clusters, which are not given")
        return {"cubin": out.asm["cubin"].hex(), "name": m.name,
                "shared": m.shared, "warps": m.num_warps, "ptx": out.asm["ptx"]}
    resource.setrlimit(resource.RLIMIT_CPU, (COMPILE_S, COMPILE_S))
    jail.enter(scratch, cache)
    return types.SimpleNamespace(do_compile=do_compile, give_back=lambda: None)


def compiled():
    """One kernel, in a jail: the request is on stdin."""
    jail.clean_start()
    request = json.loads(sys.stdin.read())
    if bad := device_only(request["source"]):
        return dict(zip(("error", "text"), bad))
    child = Child(None, runner=compiler)
    try:
        return child.ask("compile", 2 * COMPILE_S, **request)
    except Lost as e:
        if e.verdict in ("crashed", "timeout"):
            sys.exit(e.reason)
        return {"error": "build_failed", "text": e.reason}
    finally:
        child.close()
