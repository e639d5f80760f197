"""Foreign libraries that take long to import and that most commands never ask for anything.

The file that needs one writes `openai = deferred("openai")` in the place of `import openai`, and imports it under
`TYPE_CHECKING` for its types. Python's own lazy loader is not used: until 3.12 two threads that ask a library for its
first name at once can find it half loaded.
"""

import sys
from importlib import import_module
from importlib.util import find_spec, module_from_spec
from types import ModuleType
from typing import Any


class _Deferred(ModuleType):
    """A module that is imported when it is first asked for a name that not every module has."""

    def __getattr__(self, name: str) -> Any:
        return getattr(import_module(self.__name__), name)


def deferred(name: str) -> ModuleType:
    """The module of that name, imported by the first use of something in it."""
    return _Deferred(name)


def defer_package(name: str) -> None:
    """Let a package's modules be imported without what the package itself imports, until a name of it is used.

    For a package that another library imports parts of, and that imports all of its parts itself.
    """
    spec = find_spec(name)
    if name in sys.modules or spec is None or spec.loader is None:
        return
    package, loader = module_from_spec(spec), spec.loader

    def loaded(wanted: str) -> Any:
        if wanted.startswith("__"):  # asked by who looks at all modules, and in no package's own names
            raise AttributeError(f"module {name!r} has no attribute {wanted!r}")
        if package.__dict__.pop("__getattr__", None) is not None:
            loader.exec_module(package)
        return getattr(package, wanted)

    package.__dict__["__getattr__"] = loaded
    sys.modules[name] = package
