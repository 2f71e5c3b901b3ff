"""What a source may not do, by its syntax; which Triton is too old; intervals."""
import sys

import pytest


@pytest.mark.parametrize("source, found", [
    ("import no_such_module", "build_failed line 1 imports no_such_module, which EXE has not"),
    ("from no_such_module.inner import x",
     "build_failed line 1 imports no_such_module.inner, which EXE has not"),
    ("from .utils import x", "build_failed line 1 imports .utils, but the answer is one file"),
    ("from . import x", "build_failed line 1 imports ., but the answer is one file"),
    ("import __main__", "cheated line 1 imports __main__, which no kernel needs"),
    ("import os", "cheated line 1 imports os, which no kernel needs"),
    ("from os import path", "cheated line 1 imports os, which no kernel needs"),
    ("import no_such_module\nimport os", "cheated line 2 imports os, which no kernel needs"),
    ("import worker", "cheated line 1 imports worker, which no kernel needs"),
    ("__package__ = 'os'\nfrom . import path\nopen('x')",
     "cheated line 3 uses open, which no kernel needs"),
    ("import math", None)])
def test_a_module_that_does_not_exist_is_no_cheat_one_that_no_kernel_needs_is(
        worker, source, found):
    said = worker.scan(source, "import torch")
    assert (said and " ".join(said)) == (found and found.replace("EXE", sys.executable))


@pytest.mark.parametrize("source, what", [
    ("def f(exec): pass\nexec('1')", "line 2 uses exec"),
    ("def f(compile): pass\nc = compile('1', 'x', 'eval')", "line 2 uses compile"),
    ("match f:\n    case object(__globals__=g): pass", "line 2 matches attributes"),
    ("import triton.runtime.cache as c\nc.json.JSONEncoder.encode = f", "line 2 uses .json"),
    ("from triton.runtime.cache import json", "line 1 imports json"),
    ("import typing\ntyping.get_type_hints(f)", "line 2 uses .get_type_hints")])
def test_what_leads_to_the_workers_own_code_is_refused(worker, source, what):
    verdict, reason = worker.scan(source, "import torch")
    assert verdict == "cheated" and reason.startswith(what)


@pytest.mark.parametrize("source, found", [
    ("import no_such_module", "build_failed line 1 imports no_such_module, which EXE has not"),
    ("from no_such_module import x",
     "build_failed line 1 imports no_such_module, which EXE has not"),
    ("from .a import b", "build_failed line 1 imports .a, but the answer is one file"),
    ("import os", "cheated line 1: imports os; device code is @triton.jit functions and "
     "constants"),
    ("x = (", "build_failed line 1: '(' was never closed"),
    ("print(1)", "cheated line 1: a statement; device code is @triton.jit functions and "
     "constants")])
def test_device_code_is_kernels_and_constants(worker, source, found):
    assert " ".join(worker.device_only(source)) == found.replace("EXE", sys.executable)


def test_a_triton_that_is_too_old_is_recognised(worker):
    assert [worker.too_old(x) for x in ("2.1.0", "3.3.1", "3.4.0", "3.6.0+git12", "4.0rc1", "x")] \
        == [True, True, False, False, False, True]


def test_the_interval_of_a_short_call_knows_that_processes_differ(worker):
    # 1.96 * 60 ns of 4 us is 0.0294, of 400 us nothing to speak of.
    assert ["%.3f %.4f %.4f" % worker.of_processes(0.017, 0.005, 0.029, ns, False)
            for ns in (4e3, 4e5)] == ["0.017 -0.0148 0.0488", "0.017 0.0050 0.0290"]
    assert worker.of_processes(0.017, None, None, 4e3, False) == (0.017, None, None)
