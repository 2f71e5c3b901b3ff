"""What a source may not do, by its syntax: a first gate, not the wall."""
import ast
import contextlib
import importlib.util
import sys

MODULES = set(
    "torch triton math typing functools itertools operator enum dataclasses collections numpy "
    "warnings logging contextlib __future__ time copy abc numbers einops packaging".split())
LIBRARIES = {"torch", "triton", "tl", "time", "nn", "F", "math", "np"}  # that no one assigns to
NAMES = set(
    "exec eval compile open __import__ globals vars breakpoint __builtins__ __loader__".split())
ATTRIBUTES = set(
    "__globals__ __code__ __closure__ __subclasses__ __builtins__ __traceback__ __dict__ __bases__ "
    "__mro__ tb_frame tb_next f_back f_locals f_globals gi_frame cr_frame _getframe modules Stream "
    "ExternalStream CUDAGraph graph set_stream Event __torch_function__ __torch_dispatch__ "
    "_make_subclass ctypes inline_asm load_library cpp_extension multiprocessing from_file "
    "from_blob elapsed_time cudart _C manual_seed set_rng_state get_rng_state initial_seed os sys "
    "threading _thread subprocess gc inspect socket signal builtins importlib traceback pickle "
    "shutil tempfile attrgetter methodcaller __getattribute__ inline_asm_elementwise globaltimer "
    "smid knobs fromfile memmap use_deterministic_algorithms DataLoader json struct default_stream "
    "get_type_hints ForwardRef dictConfig fork CompilationUnit _lazy".split())


def absent(name):
    """Why the module name is none that an answer could cheat with, or None where there is one."""
    if name.startswith("."):
        return "imports %s, but the answer is one file" % name
    with contextlib.suppress(ImportError, ValueError):
        if not importlib.util.find_spec(name.split(".")[0]):
            return "imports %s, which %s has not" % (name, sys.executable)


def imported(n):
    """The modules that an import names, relative ones with their dots."""
    return [a.name for a in n.names] if isinstance(n, ast.Import) \
        else ["." * n.level + (n.module or "")]


def parse(source, text):
    """(its tree, None) or (None, the verdict and why): text says it of why and line."""
    try:
        return ast.parse(source), None
    except (SyntaxError, ValueError, RecursionError, MemoryError) as e:
        return None, ("build_failed", text % {"why": getattr(e, "msg", None) or e,
                                              "line": getattr(e, "lineno", "?")})


def objections(tree):
    """(node, what it does, key, module) of all that no kernel needs: another file's is legal where
    the reference has one of that key, if there is one. module: what is imported, if that is it."""
    local = {n.arg if isinstance(n, ast.arg) else n.id for n in ast.walk(tree)
             if isinstance(n, ast.arg) or isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    called = set()
    for n in ast.walk(tree):                    # a call comes before the name that it calls
        if isinstance(n, ast.Call) and isinstance(n.func, ast.Name):
            called.add(n.func)
            name = n.args[1] if len(n.args) > 1 else None
            if n.func.id == "getattr" and (not isinstance(name, ast.Constant)
                                           or name.value in ATTRIBUTES):
                yield n, "asks for an attribute by a computed name", None, None
            elif n.func.id in ("setattr", "delattr"):
                yield n, "uses " + n.func.id, None, None
        elif isinstance(n, (ast.Import, ast.ImportFrom)):
            for name in ".".join(imported(n) + [a.name for a in n.names]).split("."):
                if name in ATTRIBUTES:
                    yield n, "imports " + name, name, None
            for root in imported(n):
                if root.split(".")[0] not in MODULES:
                    yield n, "imports " + root, "import " + root, root
        elif isinstance(n, ast.Name):
            if n.id == "getattr" and n not in called:
                yield n, "hands getattr on", None, None
            elif n.id in NAMES:
                yield n, "uses " + n.id, n.id + "(" if n in called else None, None
        elif isinstance(n, ast.Attribute):
            if n.attr in ATTRIBUTES:
                yield n, "uses ." + n.attr, "." + n.attr, None
            if isinstance(n.ctx, (ast.Store, ast.Del)):
                base = n
                while isinstance(base, ast.Attribute):
                    base = base.value
                if isinstance(base, ast.Name) and base.id in LIBRARIES - local:
                    yield n, "assigns to " + ast.unparse(n), ast.unparse(n), None
        elif isinstance(n, ast.MatchClass):
            yield n, "matches attributes", None, None
        elif isinstance(n, ast.ClassDef) and any("Tensor" in ast.unparse(b) for b in n.bases):
            yield n, "makes a kind of tensor of its own", None, None


def scan(source, allowed=""):
    """The first thing in source that no kernel needs, or None. allowed is the text of the
    reference: what the task's own file does is not held against a candidate."""
    tree, bad = parse(source, "%(why)s (line %(line)s)")
    if bad:
        return bad
    reference, _ = parse(allowed, "")
    own = {key for _, _, key, _ in objections(reference or ast.Module([], []))} - {None}
    missing = None
    for n, what, key, module in objections(tree):
        if why := module and key not in own and absent(module):
            missing = missing or "line %d %s" % (n.lineno, why)
        elif key not in own:
            return "cheated", "line %d %s, which no kernel needs" % (n.lineno, what)
    return ("build_failed", missing) if missing else None


def device_only(source):
    """The verdict on a file that is more than kernels, and why; None: then importing it runs
    nothing of its own."""
    tree, bad = parse(source, "line %(line)s: %(why)s")
    if bad:
        return bad
    for n in tree.body:
        what = None
        if isinstance(n, (ast.Import, ast.ImportFrom)):
            other = next((m for m in imported(n) if m not in ("triton", "triton.language")), None)
            if why := other and absent(other):
                return "build_failed", "line %d %s" % (n.lineno, why)
            what = other and "imports " + other
        elif isinstance(n, ast.FunctionDef):
            if [ast.unparse(d) for d in n.decorator_list] != ["triton.jit"]:
                what = "%s is no plain @triton.jit function" % n.name
            elif not all(d is None or isinstance(d, ast.Constant)
                         for d in n.args.defaults + n.args.kw_defaults):
                what = "%s has a default that is computed" % n.name
        elif isinstance(n, ast.Assign):
            value = n.value
            if isinstance(value, ast.Call) and ast.unparse(value.func) == "tl.constexpr" \
                    and len(value.args) == 1 and not value.keywords:
                value = value.args[0]
            if not isinstance(value, ast.Constant):
                what = "an assignment that computes"
        elif not (isinstance(n, ast.Expr) and isinstance(n.value, ast.Constant)):
            what = "a statement"
        if what:
            return "cheated", "line %d: %s; device code is @triton.jit functions and " \
                "constants" % (n.lineno, what)
    return scan(source)
