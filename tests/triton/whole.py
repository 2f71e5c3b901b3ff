"""The Triton worker's names, in whichever of its files they are: what a test sets is set wherever
the worker has that name."""
import importlib
import pathlib
import pkgutil
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "lua/kernelband/triton"
PATH = FOLDER / "worker"                # what Python is given


class Whole:
    def __init__(self):
        sys.path.insert(0, str(FOLDER))
        package = importlib.import_module("worker")
        self.__dict__["parts"] = [importlib.import_module("worker." + part.name)
                                  for part in pkgutil.iter_modules(package.__path__)
                                  if part.name != "__main__"]

    def __getattr__(self, name):
        for part in self.parts:
            if name in vars(part):
                return vars(part)[name]
        raise AttributeError("the worker has no %s" % name)

    def __setattr__(self, name, value):
        getattr(self, name)
        for part in self.parts:
            if name in vars(part):
                setattr(part, name, value)


worker = Whole()
