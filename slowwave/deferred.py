"""Lazy imports of slow libraries that most commands do not need, and lazily compiled patterns.

The file that needs one writes `openai = deferred("openai")` in the place of `import openai`, and imports it under
`TYPE_CHECKING` for its types. Python's own lazy loader is not used: until 3.12 two threads that ask a library for its
first name at once can find it half loaded.
"""

import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, cast


class _Deferred(ModuleType):
    """A module that is imported when it is first asked for a name that not every module has."""

    def __getattr__(self, name: str) -> Any:
        return getattr(import_module(self.__name__), name)


def deferred(name: str) -> ModuleType:
    """The module of that name, imported by the first use of something in it."""
    return _Deferred(name)


class _Pattern:
    """A regular expression that is compiled when it is first used."""

    def __init__(self, expression: str, flags: int) -> None:
        self._expression, self._flags = expression, flags

    def __getattr__(self, name: str) -> Any:
        self.__dict__[name] = getattr(re.compile(self._expression, self._flags), name)  # `re` keeps the rest
        return self.__dict__[name]


def pattern(expression: str, flags: int = 0) -> re.Pattern[str]:
    """A regular expression that is compiled by its first use: a long one takes milliseconds."""
    return cast("re.Pattern[str]", _Pattern(expression, flags))


@contextmanager
def names_deferred(package: str) -> Iterator[None]:
    """A block in which other libraries get stand-ins for what they import from a package and its modules.

    Each stands for one name, and imports the package when it is called, asked for an attribute, or asked about an
    object. After the block the package is imported as ever.
    """
    stands_in = _StandIns(package)
    sys.meta_path.insert(0, stands_in)
    try:
        yield
    finally:
        sys.meta_path.remove(stands_in)
        # by `type`: to ask a stand-in of somebody else for its class may import, and change what is walked through
        for name in [name for name, module in list(sys.modules.items()) if type(module) is _StandIn]:
            del sys.modules[name]


class _Name:
    """A stand-in for one name of a module."""

    def __init__(self, module: str, name: str) -> None:
        self._module, self._name = module, name

    def _found(self) -> Any:
        return getattr(import_module(self._module), self._name)

    def __call__(self, *given: Any, **named: Any) -> Any:
        return self._found()(*given, **named)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # asked by who looks at all that a module holds
            raise AttributeError(f"{self._name!r} has no attribute {name!r} yet")
        return getattr(self._found(), name)

    def __instancecheck__(self, given: object) -> bool:
        return isinstance(given, self._found())


class _StandIn(ModuleType):
    """A module whose names are stand-ins."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        return _Name(self.__name__, name)


class _StandIns(MetaPathFinder, Loader):
    """The modules of a package as stand-ins; those that were imported before stay."""

    def __init__(self, package: str) -> None:
        self._package = package

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        is_of_it = name == self._package or name.startswith(f"{self._package}.")
        return ModuleSpec(name, self, is_package=True) if is_of_it else None

    def exec_module(self, module: ModuleType) -> None:
        module.__class__ = _StandIn
