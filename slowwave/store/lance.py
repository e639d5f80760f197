"""Import LanceDB without its warnings, and without the half of its work that no home needs.

It is imported before every other file of this room.
"""

import os
import sys
from importlib import import_module

import typing_extensions

from slowwave.deferred import defer_package

os.environ.setdefault("LANCEDB_LOG", "error")  # its warnings would stand beside our one line

defer_package("lance_namespace_urllib3_client")
"""The client of a server of tables: half of the time that importing LanceDB takes."""


def _import_with_plain_marks() -> None:
    """Import LanceDB with Python's own mark of a method that overrides another.

    Before Python 3.12 it takes that of the package `overrides`, which disassembles the whole module for each of its
    hundred methods: a third of the rest.
    """
    overrides = import_module("overrides")
    checked = overrides.override
    overrides.__dict__["override"] = typing_extensions.override
    try:
        import_module("lancedb")
    finally:
        overrides.__dict__["override"] = checked


if sys.version_info < (3, 12):
    _import_with_plain_marks()
