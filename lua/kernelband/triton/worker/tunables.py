"""Meta-parameters of a source, for the built-in generator."""
import ast
import itertools
import sys

FEW = {"warps": [1, 2, 4, 8, 16], "stages": [1, 2, 3, 4, 5]}


def kind_of(name):
    low = name.lower()
    if low.startswith("num_") and low[4:] in FEW:
        return low[4:]
    if "group" in low:
        return "group"
    return "tile" if "block" in low or low in ("bt", "bk", "bv", "bs", "bm", "bn", "bd", "bc",
                                               "chunk_size", "tile") else None


def choices(kind, value):
    if kind in FEW:
        return [x for x in FEW[kind] if x != value]
    low, high = (1, 64) if kind == "group" else (1, min(8192, max(1024, 16 * value)))
    powers = [value * 2 ** k for k in (1, -1, 2, -2, 3, 4, 5, 6, 7, 8)]
    return [int(p) for p in powers if low <= p <= high and p == int(p)]


def last_name(n):
    return ast.unparse(n).split(".")[-1]


def tunables():
    """Of the source on stdin, or { error = why it has none }"""
    try:
        return tunables_of(sys.stdin.read())
    except (SyntaxError, ValueError, RecursionError) as e:
        return {"error": str(e)}


def tunables_of(source):
    """[{ name, kind, values (the first is the source's own), sites = [[start, end, text]] }]: a
    value v goes to bytes start..end of every site as text with %d filled in."""
    tree = ast.parse(source)
    starts = [0, *itertools.accumulate(map(len, source.encode().splitlines(True)))]

    def span(n):
        return starts[n.lineno - 1] + n.col_offset, starts[n.end_lineno - 1] + n.end_col_offset

    found = []

    def add(name, kind, value, start, end, text="%d"):
        if kind and len(found) < 24 and not any(f["sites"][0][0] == start for f in found
                                                if text == "%d"):
            found.append(dict(name=name, kind=kind, sites=[[start, end, text]],
                              values=[value] + choices(kind, value)))

    tuned = {n.name for n in ast.walk(tree) if isinstance(n, ast.FunctionDef) for d in
             n.decorator_list if isinstance(d, ast.Call) and "autotune" in ast.unparse(d.func)}
    for n in ast.walk(tree):
        pairs, launch = (), False
        named = [(k.arg, k.value) for k in getattr(n, "keywords", ())]
        if isinstance(n, ast.Assign) and len(n.targets) == 1 and isinstance(n.targets[0], ast.Name):
            pairs = [(n.targets[0].id, n.value)]
        elif isinstance(n, ast.FunctionDef):
            args, defaults = n.args.posonlyargs + n.args.args, n.args.defaults
            pairs = zip([a.arg for a in args[len(args) - len(defaults):] + n.args.kwonlyargs],
                        defaults + n.args.kw_defaults)
        elif isinstance(n, ast.Call) and isinstance(n.func, ast.Subscript):
            pairs, launch = named, True
        elif isinstance(n, ast.Call) and last_name(n.func) == "Config" \
                and n.args and isinstance(n.args[0], ast.Dict):
            pairs = [(k.value, v) for k, v in zip(n.args[0].keys, n.args[0].values)
                     if isinstance(k, ast.Constant)] + named
        for name, v in pairs:
            if isinstance(v, ast.Constant) and type(v.value) is int and 0 < v.value < 2**31:
                add(str(name), kind_of(str(name)), v.value, *span(v))
        given = {k for k, _ in named} if launch else {None}
        if None not in given and last_name(n.func.value) not in tuned:
            last = max((span(v)[1] for v in n.args + [v for _, v in pairs]), default=None)
            for kind in FEW:
                if last and "num_" + kind not in given:
                    add("num_" + kind, kind, 0, last, last, ", num_%s=%%d" % kind)
    return found
