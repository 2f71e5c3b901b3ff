"""Meta-parameters of a source, for the built-in generator."""
import ast

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


def tunables(source):
    """[{ name, kind, values (the first is the source's own), sites = [[start, end, text]] }]: a
    value v goes to bytes start..end of every site as text with %d filled in."""
    tree = ast.parse(source)
    starts = [0]
    for line in source.encode().splitlines(True):
        starts.append(starts[-1] + len(line))

    def span(n):
        return starts[n.lineno - 1] + n.col_offset, starts[n.end_lineno - 1] + n.end_col_offset

    found = []

    def add(name, kind, value, start, end, text="%d"):
        if kind and len(found) < 24 and not any(f["sites"][0][0] == start for f in found
                                                if text == "%d"):
            found.append(dict(name=name, kind=kind, sites=[[start, end, text]],
                              values=[value] + choices(kind, value)))

    def number(n):
        return isinstance(n, ast.Constant) and type(n.value) is int and n.value > 0

    tuned = {n.name for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)
             for d in n.decorator_list
             if isinstance(d, ast.Call) and "autotune" in ast.unparse(d.func)}
    for n in ast.walk(tree):
        if isinstance(n, ast.Assign) and number(n.value) and len(n.targets) == 1 \
                and isinstance(n.targets[0], ast.Name):
            name = n.targets[0].id
            add(name, kind_of(name), n.value.value, *span(n.value))
        elif isinstance(n, ast.FunctionDef):
            args, defaults = n.args.posonlyargs + n.args.args, n.args.defaults
            for a, d in list(zip(args[len(args) - len(defaults):], defaults)) \
                    + list(zip(n.args.kwonlyargs, n.args.kw_defaults)):
                if d is not None and number(d):
                    add(a.arg, kind_of(a.arg), d.value, *span(d))
        elif isinstance(n, ast.Call) and isinstance(n.func, ast.Subscript):
            given = {k.arg for k in n.keywords}
            for k in n.keywords:
                if k.arg and number(k.value):
                    add(k.arg, kind_of(k.arg), k.value.value, *span(k.value))
            callee = ast.unparse(n.func.value)
            if callee.split(".")[-1] in tuned or None in given:
                continue
            last = max([span(a)[1] for a in n.args] + [span(k.value)[1] for k in n.keywords],
                       default=None)
            for kind in FEW:
                if last and "num_" + kind not in given:
                    add("num_" + kind, kind, 0, last, last, ", num_%s=%%d" % kind)
        elif isinstance(n, ast.Call) and ast.unparse(n.func).split(".")[-1] == "Config" \
                and n.args and isinstance(n.args[0], ast.Dict):
            for k, v in list(zip(n.args[0].keys, n.args[0].values)) \
                    + [(ast.Constant(w.arg), w.value) for w in n.keywords]:
                if number(v) and isinstance(k, ast.Constant):
                    add(str(k.value), kind_of(str(k.value)), v.value, *span(v))
    return found
