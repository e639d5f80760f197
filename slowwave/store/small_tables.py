"""Small tables as this process read them last, or wrote them itself: of one version nothing is read twice.

A read of LanceDB costs some 10 to 20 ms however few the rows are, and a night looks many times at the same small tables
between two commits.
"""

from collections.abc import Callable
from dataclasses import dataclass

import polars as pl

from slowwave.schemas.tables import KEYS

MOST_ROWS = 2_000
"""Rows up to which reading the whole table costs about what reading a few rows of it does."""

MOST_ROWS_OF_A_RUN = 20_000
"""The same for a run, which reads a table once and then knows what it writes; it holds some 20 MB of the widest."""


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
        self.most_rows = MOST_ROWS

    def frame(self, table: str) -> pl.DataFrame | None:
        """All rows of a table, without vectors, as it is now; None for a large one."""
        version, held = self._version(table), self._held.get(table)
        if held is None or held.version != version:
            small = self._count(table) <= self.most_rows
            held = self._held[table] = _Held(version, self._read(table) if small else None)
        return held.frame

    def wrote(
        self, table: str, before: int, *, rows: pl.DataFrame | None = None, removed: pl.Series | None = None
    ) -> None:
        """Takes over what this process wrote since version `before`, in place of reading it again.

        `rows` are whole rows that were put in the place of those with their keys, `removed` the keys of rows that are
        gone; neither says that the rows stay as they were.
        """
        held = self._held.pop(table, None)
        if held is None or held.frame is None or held.version != before:
            return
        frame, key = held.frame, KEYS[table]
        gone = rows[key] if rows is not None else removed
        if gone is not None:
            frame = frame.join(gone.to_frame(key), on=key, how="anti")
        if rows is not None:
            frame = pl.concat([frame, rows.select(frame.columns).cast(dict(frame.schema.items()))])
        if frame.height <= self.most_rows:
            self._held[table] = _Held(self._version(table), frame)
