"""Copies of tables in memory: which tables have one, and when it is read again."""

import os
import random
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

import polars as pl

from slowwave.errors import SlowwaveError
from slowwave.schemas.tables import KEYS
from slowwave.store.conditions import col
from slowwave.store.memory_tables import MemoryTable

MOST_ROWS = 2_000
"""Rows up to which reading the whole table costs about what reading a few rows of it does."""

MOST_ROWS_OF_A_RUN = 20_000
"""The same for a run, which reads a table once and then knows what it writes; it holds some 20 MB of the widest."""

SMALL_ROWS = 5_000
"""Indexed copies of so many rows are read at once, within a question; larger ones beside it, by a thread, where the
copy at hand was current a moment ago."""

CAUGHT_UP_ROWS = 50_000
"""Copies of so many rows are read again by who wrote the table, before the write is answered: a tenth of a second."""

MOST_GROWN = 500
"""Rows of one write that an indexed copy takes over; for more it is read again."""

WRITER_SECONDS = 2.0
"""So long after a write of this process the questions leave that reading to the writer."""

SETTLED_SECONDS = 0.1
"""A folder's time stamp is coarse: only this long after a change does the same stamp mean the same version."""

REST_SECONDS, REST_SHARE, UNEVEN = 15.0, 10.0, 0.5
"""While another process writes, a table is read again so long after the last time, and so many times what that took;
up to this part longer by chance, so that many readers do not read at once."""

_CHANCE = random.Random()  # noqa: S311 - no secret; a state of its own, so that nobody's seeded draws depend on a reader

LATELY_SECONDS = 2.0
"""A copy that was current so long ago may answer once more while it is read again; an older one may not."""

PAUSE_SECONDS = 15.0
"""Where nobody asked for so long since a copy was due, it is read within the question: conversations may be missing."""

AFTER_SECONDS = 0.2
"""Such a reading begins so long after the question that asks for it: the question is answered by then."""

Load = Callable[[str, MemoryTable | None], MemoryTable]
Count = Callable[[str], int]
Version = Callable[[str], int]
Rows = Mapping[str, pl.DataFrame]
"""Rows by table, as stored."""
Grow = Callable[[MemoryTable, int, pl.DataFrame], MemoryTable]


@dataclass
class Waiting:
    """New rows of segments that are committed and not written yet: shown in the copies until they are."""

    segments: dict[str, Rows] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def rows_of(self, table: str) -> list[pl.DataFrame]:
        """The rows of one table, by segment."""
        return [rows[table] for rows in self.segments.values() if table in rows]

    def drop(self, segment_ids: Iterable[str]) -> None:
        """Let go of segments that are applied: their rows are in the tables, or were taken out since."""
        for segment_id in {*self.segments} & {*segment_ids}:
            del self.segments[segment_id]


@dataclass
class _Entry:
    """The state of one table: its copy, the version that was last looked at, and the writes of this process."""

    versions: str
    """The folder whose time stamp changes with every version."""
    copy: MemoryTable | None = None
    """Null before the first reading, and of a table that is too large."""
    version: int = -1
    stamp: int = 0
    is_settled: bool = False
    is_loading: bool = False
    next_read: float = 0.0
    """The earliest time to read it again while another process writes; seconds of the monotonic clock."""
    current_at: float = 0.0
    """When the copy was last known to be what the table holds; seconds of the monotonic clock."""
    writes: int = 0
    seen_writes: int = 0
    """Number of writes by this process when the copy was begun."""
    writer: int = 0
    """The thread that wrote last: it sees what it wrote at once."""
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def is_outdated(self) -> bool:
        """Return whether this process wrote the table since the copy was begun."""
        return self.writes != self.seen_writes

    @property
    def is_useless(self) -> bool:
        """Return whether the copy must not answer: the asking thread wrote since, or nobody reads it again soon."""
        if not self.is_outdated:
            return False
        is_large = self.copy is None or self.copy.frame.height > CAUGHT_UP_ROWS
        return is_large or self.writer == threading.get_ident()

    def hold(self, copy: MemoryTable | None, version: int, *, writes: int) -> None:
        """Takes a copy of this version; the next look compares versions once more."""
        self.copy, self.version, self.seen_writes, self.is_settled = copy, version, writes, False
        self.current_at = time.monotonic()


class TableCache:
    """Copies of tables of one generation. A table of more than `most_rows` rows stays on disk.

    Rows alone (`is_indexed` is false, as for a run): a table is read once, and takes over what this process writes.
    Everybody sees at once what anybody wrote.

    Indexed, with full text and vectors (a reader that stays): a small table is read within the question that finds it
    changed, a large one by a thread. Until that is done questions go to the disk, or see the table as it was
    `LATELY_SECONDS` ago at most: after a pause the first question waits for the reading, or goes to the disk. While
    `is_written` says that another process writes, as a night does with many commits, the copy at hand answers, and is
    read again beside the questions after a rest. A reader's own writes are seen at once by the thread that wrote, and
    by all others before that one says that it is done (`catch_up`).
    """

    def __init__(
        self,
        folder: Path,
        *,
        count: Count,
        version: Version,
        load: Load,
        grow: Grow,
        applied: Callable[[], set[str]],
    ) -> None:
        self._folder = folder
        self._count, self._version, self._load, self._grow = count, version, load, grow
        self._applied = applied
        self.waiting = Waiting()
        self._entries: dict[str, _Entry] = {}
        self._questions = 0
        self._beside = threading.Lock()
        """One table at a time is read beside the questions."""
        self.most_rows = MOST_ROWS
        self.is_indexed = False
        self.is_written: Callable[[], bool] = lambda: False
        self.writing_thread = 0
        """The thread that decides on what it reads, under the writer lock: it sees the tables exactly as they are."""

    def become_indexed(self) -> None:
        """Keep full text and vectors from now on; copies of rows alone, which a run held, are read again."""
        if not self.is_indexed:
            self.is_indexed = True
            self._entries.clear()

    def begin_question(self) -> None:
        """Says that a question comes: a process with one question never waits for large tables to be read."""
        self._questions += 1

    def wrote(
        self, table: str, before: int, *, rows: pl.DataFrame | None = None, removed: pl.Series | None = None
    ) -> None:
        """Says that this process changed a table since version `before`; a copy takes the change over.

        `rows` are whole rows that were put in the place of those with their keys, `removed` the keys of rows that are
        gone; neither means that the rows stay as they were. An indexed copy takes over `MOST_GROWN` rows at most.
        """
        entry = self._entries.get(table)
        if entry is None:
            return
        entry.writes += 1
        entry.writer, entry.next_read = threading.get_ident(), time.monotonic() + WRITER_SECONDS
        with self.waiting.lock:
            if entry.copy is None or entry.version != before:
                return
            copy = self._after_write(entry.copy, self._version(table), rows, removed)
            if copy is not None and copy.frame.height <= self.most_rows:
                entry.hold(copy, copy.version, writes=entry.writes)

    def _after_write(
        self, copy: MemoryTable, version: int, rows: pl.DataFrame | None, removed: pl.Series | None
    ) -> MemoryTable | None:
        """The copy after a write; None where it is read again instead."""
        if not self.is_indexed:
            return copy.after_write(version, rows, removed)
        if removed is not None or (rows is not None and rows.height > MOST_GROWN):
            return None
        return replace(copy, version=version) if rows is None else self._grow(copy, version, rows)

    def show(self, segment_id: str, rows: Rows) -> bool:
        """Shows new rows of a committed segment that waits to be written; False where a table has no indexed copy."""
        with self.waiting.lock:
            entries = {table: self._entries.get(table) for table in rows}
            if not self.is_indexed or any(entry is None or entry.copy is None for entry in entries.values()):
                return False
            self.waiting.segments[segment_id] = rows
            for table, entry in entries.items():
                if entry is not None and entry.copy is not None:
                    entry.copy = self._with(entry.copy, [rows[table]])
        return True

    def _with(self, copy: MemoryTable, parts: Sequence[pl.DataFrame]) -> MemoryTable:
        """A copy with those of some rows whose keys it does not have."""
        if not parts:
            return copy
        key = KEYS[copy.table]
        rows = pl.concat(parts).unique(key, maintain_order=True)
        there = copy.frame[key].gather(copy.places(col(key).isin(rows[key].to_list())))
        missing = rows.filter(~pl.col(key).is_in(there.implode()))
        return self._grow(copy, copy.version, missing) if missing.height else copy

    def catch_up(self) -> None:
        """Reads again the tables in memory that changed: for who wrote them, so that every question sees it."""
        for table, entry in list(self._entries.items()):
            copy = entry.copy
            if not self.is_indexed or copy is None or copy.frame.height > CAUGHT_UP_ROWS:
                continue
            with entry.lock:
                if not self._is_current(entry, table) and self._count(table) <= self.most_rows:
                    self._read(entry, table)

    def read_now(self, table: str) -> None:
        """Reads a table, however large, as long as it is within the bound: for those who would rather wait once."""
        if self._count(table) <= self.most_rows:
            self._read(self._entry(table), table)

    def copy_of(self, table: str) -> MemoryTable | None:
        """The table in memory, as new as questions must see it; None where they go to the disk."""
        entry, now = self._entry(table), time.monotonic()
        if self._is_current(entry, table):
            return entry.copy
        if threading.get_ident() == self.writing_thread:
            return self._exact_copy(entry, table)
        is_late = now - entry.next_read > PAUSE_SECONDS
        if entry.copy is not None and not is_late and self._may_still_answer(entry):
            if now >= entry.next_read:  # a writer here failed, or takes long; another process has rested
                self._read_beside(entry, table, wait=0.0 if entry.is_outdated else AFTER_SECONDS)
            return entry.copy
        rows = self._count(table)
        if rows > self.most_rows:
            entry.hold(None, self._version(table), writes=entry.writes)
            return None
        is_stale = entry.copy is not None and now - entry.current_at > LATELY_SECONDS
        if not self.is_indexed or rows <= SMALL_ROWS or (is_stale and rows <= CAUGHT_UP_ROWS):
            with entry.lock:
                if not self._is_current(entry, table):
                    self._read(entry, table)
                return entry.copy
        is_left_to_writer = entry.is_outdated and now < entry.next_read
        if self._questions > 1 and not (is_left_to_writer and rows <= CAUGHT_UP_ROWS):
            self._read_beside(entry, table)
        return None if is_stale or entry.is_useless else entry.copy

    def _exact_copy(self, entry: _Entry, table: str) -> MemoryTable | None:
        """The copy, read again where reading it again is quick; else the disk answers."""
        rows = self._count(table)
        if rows > (MOST_ROWS if entry.copy is None else CAUGHT_UP_ROWS) or rows > self.most_rows:
            return None
        with entry.lock:
            if not self._is_current(entry, table):
                self._read(entry, table)
        return entry.copy if self._is_current(entry, table) else None

    def _may_still_answer(self, entry: _Entry) -> bool:
        """Return whether the copy at hand answers while the table is being written, here or elsewhere."""
        return not entry.is_useless if entry.is_outdated else self.is_written()

    def _entry(self, table: str) -> _Entry:
        entry = self._entries.get(table)
        if entry is None:
            folder = str(self._folder / f"{table}.lance" / "_versions")
            entry = self._entries.setdefault(table, _Entry(folder))
        return entry

    def _is_current(self, entry: _Entry, table: str) -> bool:
        """Return whether nobody changed the table since it was read, or found too large."""
        if entry.version < 0 or entry.is_outdated:
            return False
        try:
            stamp = os.stat(entry.versions).st_mtime_ns  # noqa: PTH116 - often, and a Path takes ten times as long
        except OSError:
            return False  # who reads it next says what is wrong
        if not (entry.is_settled and stamp == entry.stamp):
            is_late = time.time_ns() - stamp > SETTLED_SECONDS * 1e9
            if self._version(table) != entry.version:
                return False
            entry.stamp, entry.is_settled = stamp, is_late
        entry.current_at = time.monotonic()
        return True

    def _read(self, entry: _Entry, table: str, *, is_beside: bool = False) -> None:
        begun = time.monotonic()
        writes = entry.writes  # before reading: what comes meanwhile counts again
        before = entry.copy
        applied = (
            self._applied() if self.waiting.segments else set()
        )  # before: their rows are in the table, or gone
        copy = self._load(table, before)
        if is_beside and before is not None and before.is_indexed:
            copy.make_ready(before)
        ended = time.monotonic()
        rest = max(REST_SECONDS, REST_SHARE * (ended - begun))
        entry.next_read = ended + rest * (1 + UNEVEN * _CHANCE.random())
        with self.waiting.lock:
            self.waiting.drop(applied)
            if entry.copy is None or entry.version < copy.version or entry.writes == writes:
                entry.hold(self._with(copy, self.waiting.rows_of(table)), copy.version, writes=writes)

    def _read_beside(self, entry: _Entry, table: str, *, wait: float = 0.0) -> None:
        with entry.lock:
            if entry.is_loading:
                return
            entry.is_loading = True
        threading.Thread(
            target=self._read_quietly, args=(entry, table, wait), name=f"read-{table}", daemon=True
        ).start()

    def _read_quietly(self, entry: _Entry, table: str, wait: float) -> None:
        try:
            time.sleep(wait)
            with self._beside, suppress(SlowwaveError):  # the next question meets it again, and tells
                self._read(entry, table, is_beside=True)
        finally:
            entry.is_loading = False
