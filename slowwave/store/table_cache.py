"""When a table is read into memory, and when it is read anew."""

import os
import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from slowwave.schemas.tables import KEYS
from slowwave.store.memory_tables import MemoryTable

SMALL_ROWS = 5_000
"""Tables of so many rows are read at once, within a question; larger ones beside it, by a thread."""

SETTLED_SECONDS = 0.1
"""A folder's time stamp is coarse: only this long after a change does the same stamp mean the same version."""

REST_SECONDS, REST_SHARE, UNEVEN = 15.0, 10.0, 0.5
"""While another process writes, a table is read again so long after the last time, and so many times what that took;
up to this part longer by chance, so that many readers do not read at once."""

AFTER_SECONDS = 0.2
"""Such a reading begins so long after the question that asks for it: the question is answered by then."""

Load = Callable[[str, MemoryTable | None], MemoryTable]
Count = Callable[[str], int]
Version = Callable[[str], int]


@dataclass
class _Shelf:
    """What is known of one table."""

    versions: str
    """The folder whose time stamp changes with every version."""
    copy: MemoryTable | None = None
    stamp: int = 0
    is_settled: bool = False
    is_loading: bool = False
    next_read: float = 0.0
    """When it may be read again while another process writes; seconds of the monotonic clock."""
    writes: int = 0
    """How often this process wrote the table, and how often it had when the copy was begun."""
    copied_writes: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def is_outdated(self) -> bool:
        """Whether this process wrote the table since the copy was begun: then the copy does not serve any more."""
        return self.writes != self.copied_writes


class Warmth:
    """Copies of tables in memory. A table of more than `most_rows` rows stays on disk; with 0 all do.

    A small table is read within the question that finds it changed, a large one by a thread: until it is there
    questions go to the disk, and what others wrote since is seen when it was read again, a second or so later. While
    `is_written` says that another process writes, as a night does with many commits, the copy at hand answers, and is
    read again beside the questions after a rest. What this process wrote is seen at once.
    """

    def __init__(self, folder: Path, *, count: Count, version: Version, load: Load) -> None:
        self._folder = folder
        self._count, self._version, self._load = count, version, load
        self._shelves: dict[str, _Shelf] = {}
        self._questions = 0
        self.most_rows = 0
        self._beside = threading.Lock()
        """One table at a time is read beside the questions."""
        self.is_written: Callable[[], bool] = lambda: False

    def begin_question(self) -> None:
        """Says that a question comes: a process with one question never waits for large tables to be read."""
        self._questions += 1

    def wrote(self, table: str) -> None:
        """Says that this process changed a table."""
        if table in self._shelves:
            self._shelves[table].writes += 1

    def read_now(self, table: str) -> None:
        """Reads a table, however large, as long as it is within the bound: for who would rather wait once."""
        shelf = self._shelf(table)
        if self.most_rows and self._count(table) <= self.most_rows:
            self._read(shelf, table)

    def copy_of(self, table: str) -> MemoryTable | None:
        """The table in memory, as new as questions must see it; None where they go to the disk."""
        if not self.most_rows:
            return None
        shelf = self._shelf(table)
        if self._is_current(shelf, table):
            return shelf.copy
        if shelf.copy is not None and not shelf.is_outdated and self.is_written():
            if time.monotonic() >= shelf.next_read:
                self._read_beside(shelf, table, wait=AFTER_SECONDS)
            return shelf.copy
        rows = self._count(table)
        if rows > self.most_rows:
            shelf.copy = None
            return None
        if rows <= SMALL_ROWS:
            with shelf.lock:
                if not self._is_current(shelf, table):
                    self._read(shelf, table)
                return shelf.copy
        if self._questions > 1:
            self._read_beside(shelf, table)
        return None if shelf.is_outdated else shelf.copy

    def _shelf(self, table: str) -> _Shelf:
        shelf = self._shelves.get(table)
        if shelf is None:
            folder = str(self._folder / f"{table}.lance" / "_versions")
            shelf = self._shelves.setdefault(table, _Shelf(folder))
        return shelf

    def _is_current(self, shelf: _Shelf, table: str) -> bool:
        if shelf.copy is None or shelf.is_outdated or _stamp(shelf) != shelf.stamp:
            return False
        if not shelf.is_settled:
            is_late = time.time_ns() - shelf.stamp > SETTLED_SECONDS * 1e9
            if self._version(table) != shelf.copy.version:
                return False
            shelf.is_settled = is_late
        return True

    def _read(self, shelf: _Shelf, table: str) -> None:
        begun = time.monotonic()
        writes, stamp = shelf.writes, _stamp(shelf)  # before reading: what comes meanwhile counts again
        copy = self._load(table, shelf.copy)
        ended = time.monotonic()
        rest = max(REST_SECONDS, REST_SHARE * (ended - begun))
        shelf.next_read = ended + rest * (1 + UNEVEN * random.random())  # noqa: S311 - no secret
        shelf.copy, shelf.copied_writes, shelf.stamp, shelf.is_settled = copy, writes, stamp, False

    def _read_beside(self, shelf: _Shelf, table: str, *, wait: float = 0.0) -> None:
        with shelf.lock:
            if shelf.is_loading:
                return
            shelf.is_loading = True
        threading.Thread(
            target=self._read_quietly, args=(shelf, table, wait), name=f"read-{table}", daemon=True
        ).start()

    def _read_quietly(self, shelf: _Shelf, table: str, wait: float) -> None:
        try:
            time.sleep(wait)
            with self._beside:
                self._read(shelf, table)
        finally:
            shelf.is_loading = False


def _stamp(shelf: _Shelf) -> int:
    """When the table's folder of versions changed last, in nanoseconds."""
    return os.stat(shelf.versions).st_mtime_ns  # noqa: PTH116 - often, and a Path takes ten times as long


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
