"""Small tables as this process read them last: of one version nothing is read twice.

A read of LanceDB costs some 10 to 20 ms however few the rows are, and a night looks many times at the same small tables
between two commits.
"""

from collections.abc import Callable
from dataclasses import dataclass

import polars as pl

MOST_ROWS = 2_000
"""Rows up to which reading the whole table costs about what reading a few rows of it does."""


@dataclass(frozen=True)
class _Held:
    version: int
    frame: pl.DataFrame | None
    """None where the table of this version is too large."""


class SmallTables:
    """Whole small tables by version; whoever asks sees what any process wrote."""

    def __init__(
        self,
        *,
        version: Callable[[str], int],
        count: Callable[[str], int],
        read: Callable[[str], pl.DataFrame],
    ) -> None:
        self._version, self._count, self._read = version, count, read
        self._held: dict[str, _Held] = {}

    def frame(self, table: str) -> pl.DataFrame | None:
        """All rows of a table, without vectors, as it is now; None for a large one."""
        version, held = self._version(table), self._held.get(table)
        if held is None or held.version != version:
            small = self._count(table) <= MOST_ROWS
            held = self._held[table] = _Held(version, self._read(table) if small else None)
        return held.frame
