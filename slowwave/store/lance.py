"""Import LanceDB without its warnings, and without the half of its work that no home needs; free what it leaves behind.

It is imported before every other file of this room.
"""

import ctypes
import gc
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module

import typing_extensions

from slowwave.deferred import names_deferred

os.environ.setdefault("LANCEDB_LOG", "error")  # its warnings would stand beside our one line


@contextmanager
def _with_plain_marks() -> Iterator[None]:
    """Import LanceDB with Python's own mark of a method that overrides another.

    Before Python 3.12 it takes that of the package `overrides`, which disassembles the whole module for each of its
    hundred methods: 0.15 s of CPU at every start.
    """
    if sys.version_info >= (3, 12):
        yield
        return
    overrides = import_module("overrides")
    checked = overrides.override
    overrides.__dict__["override"] = typing_extensions.override
    try:
        yield
    finally:
        overrides.__dict__["override"] = checked


with _with_plain_marks(), names_deferred("lance_namespace_urllib3_client"):
    import_module("lancedb")  # without the client of a server of tables: 0.5 s instead of 1.7 of CPU


def give_memory_back() -> None:
    """Free what only cycles hold, frames among it, and give the system back what lies free between other things.

    The C library keeps it else: LanceDB and Polars allocate in many threads, each of which leaves gaps. After 300,000
    turns these were more than all that was in use.
    """
    gc.collect()
    if (trim := _trim()) is not None:
        trim(0)


@cache
def _trim() -> Callable[[int], int] | None:
    """The function of glibc that does it; other systems have none, or need none."""
    if sys.platform != "linux":
        return None
    return getattr(ctypes.CDLL(None), "malloc_trim", None)
