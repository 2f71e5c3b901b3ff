"""What a source may not do, by its syntax: a first gate, not the wall."""
import ast
import importlib.util
import sys

MODULES = {"torch", "triton", "math", "typing", "functools", "itertools", "operator", "enum",
           "dataclasses", "collections", "numpy", "warnings", "logging", "contextlib",
           "__future__", "time", "copy", "abc", "numbers", "einops", "packaging"}
NAMES = {"exec", "eval", "compile", "open", "__import__", "globals", "vars", "breakpoint",
         "__builtins__", "__loader__"}
ATTRIBUTES = {"__globals__", "__code__", "__closure__", "__subclasses__", "__builtins__",
              "__traceback__", "__dict__", "__bases__", "__mro__", "tb_frame", "tb_next", "f_back",
              "f_locals", "f_globals", "gi_frame", "cr_frame", "_getframe", "modules",
              "Stream", "ExternalStream", "CUDAGraph", "graph", "set_stream", "Event",
              "__torch_function__", "__torch_dispatch__", "_make_subclass", "ctypes", "inline_asm",
              "load_library", "cpp_extension", "multiprocessing", "from_file", "from_blob",
              "elapsed_time", "cudart", "_C", "manual_seed", "set_rng_state", "get_rng_state",
              "initial_seed", "os", "sys", "threading", "_thread", "subprocess", "gc", "inspect",
              "socket", "signal", "builtins", "importlib", "traceback", "pickle", "shutil",
              "tempfile", "attrgetter", "methodcaller", "__getattribute__",
              "inline_asm_elementwise", "globaltimer", "smid", "knobs", "fromfile", "memmap",
              "use_deterministic_algorithms", "DataLoader"}


def absent(name):
    """Why the module name is none that an answer could cheat with, or None where there is one."""
    if name.startswith("."):
        return "imports %s, but the answer is one file" % name
    try:
        there = importlib.util.find_spec(name.split(".")[0])
    except (ImportError, ValueError):
        return None
    return None if there else "imports %s, which %s has not" % (name, sys.executable)


def imported(n):
    """The modules that an import names, relative ones with their dots."""
    return [a.name for a in n.names] if isinstance(n, ast.Import) \
        else ["." * n.level + (n.module or "")]


def uses(source):
    """What scan() asks of a file: modules and names that it imports, its attributes and calls."""
    out = set()
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return out
    for n in ast.walk(tree):
        if isinstance(n, (ast.Import, ast.ImportFrom)):
            named = imported(n) + [a.name for a in n.names]
            out.update("import " + m for m in imported(n))
            out.update(part for name in named for part in name.split("."))
        elif isinstance(n, ast.Attribute):
            out.add("." + n.attr)
            if not isinstance(n.ctx, ast.Load):
                out.add(ast.unparse(n))
        elif isinstance(n, ast.Call) and isinstance(n.func, ast.Name):
            out.add(n.func.id + "(")
    return out


def scan(source, allowed=""):
    """The first thing in source that no kernel needs, or None. allowed is the text of the
    reference: what the task's own file does is not held against a candidate."""
    own = uses(allowed)

    def legal(name):
        return name in own
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as e:
        return "build_failed", "%s (line %s)" % (getattr(e, "msg", None) or e,
                                                 getattr(e, "lineno", "?"))
    local = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)
             and isinstance(n.ctx, ast.Store)} | {n.arg for n in ast.walk(tree)
                                                  if isinstance(n, ast.arg)}
    plain, missing = set(), None
    for n in ast.walk(tree):
        bad = None
        if isinstance(n, ast.Call) and isinstance(n.func, ast.Name) and n.func.id == "getattr":
            plain.add(n.func)
            name = n.args[1] if len(n.args) > 1 else None
            if not isinstance(name, ast.Constant) or name.value in ATTRIBUTES:
                bad = "asks for an attribute by a computed name"
        if isinstance(n, (ast.Import, ast.ImportFrom)):
            roots = imported(n)
            wanted = roots + ([a.name for a in n.names] if isinstance(n, ast.ImportFrom) else [])
            for root in roots:
                if root.split(".")[0] not in MODULES and not legal("import " + root):
                    why = absent(root)
                    missing = missing or why and "line %d %s" % (n.lineno, why)
                    bad = bad if why else "imports " + root
            for name in (p for w in wanted for p in w.split(".")):
                if name in ATTRIBUTES and not legal(name):
                    bad = "imports " + name
        elif isinstance(n, ast.Name) and n.id == "getattr" and n not in plain:
            bad = "hands getattr on"
        elif isinstance(n, ast.Name) and n.id in NAMES - local and not legal(n.id + "("):
            bad = "uses " + n.id
        elif isinstance(n, ast.Attribute):
            if n.attr in ATTRIBUTES and not legal("." + n.attr):
                bad = "uses ." + n.attr
            elif isinstance(n.ctx, (ast.Store, ast.Del)):
                base = n
                while isinstance(base, ast.Attribute):
                    base = base.value
                if isinstance(base, ast.Name) and base.id not in local | {"self", "ctx", "cls"} \
                        and base.id in ("torch", "triton", "tl", "time", "nn", "F", "math", "np") \
                        and not legal(ast.unparse(n)):
                    bad = "assigns to %s" % ast.unparse(n)
        elif isinstance(n, ast.Call) and isinstance(n.func, ast.Name) \
                and n.func.id in ("setattr", "delattr"):
            bad = "uses " + n.func.id
        elif isinstance(n, ast.ClassDef) and any("Tensor" in ast.unparse(b) for b in n.bases):
            bad = "makes a kind of tensor of its own"
        if bad:
            return "cheated", "line %d %s, which no kernel needs" % (n.lineno, bad)
    return ("build_failed", missing) if missing else None


def device_only(source):
    """The verdict on a file that is more than kernels, and why; None: then importing it runs
    nothing of its own."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as e:
        return "build_failed", "line %s: %s" % (getattr(e, "lineno", "?"),
                                                getattr(e, "msg", None) or e)
    for n in tree.body:
        what = None
        if isinstance(n, ast.Expr) and isinstance(n.value, ast.Constant):
            continue
        if isinstance(n, (ast.Import, ast.ImportFrom)):
            other = next((m for m in imported(n) if m not in ("triton", "triton.language")), None)
            why = other and absent(other)
            if why:
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
        else:
            what = "a statement"
        if what:
            return "cheated", "line %d: %s; device code is @triton.jit functions and " \
                "constants" % (n.lineno, what)
    return scan(source)
