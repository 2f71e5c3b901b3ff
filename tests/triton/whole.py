"""The package that judges Triton kernels as if it were one module: what a test replaces in it is
replaced in every module that has the name."""
import importlib
import pkgutil
import sys
import types

import worker as package

modules = [importlib.import_module("worker." + m.name) for m in pkgutil.iter_modules(
    package.__path__) if m.name != "__main__"]


class Whole(types.ModuleType):
    def __getattr__(self, name):
        for module in modules:
            if name in vars(module):
                return vars(module)[name]
        raise AttributeError(name)

    def __setattr__(self, name, value):
        for module in modules:
            if name in vars(module):
                setattr(module, name, value)


sys.modules["whole.worker"] = worker = Whole("worker")
