"""The tables that questions read, in memory: another fold of the journal.

The base of a table is read from LanceDB, with the segments that it holds. What any process commits afterwards is folded
as a writer folds it and laid over the base, so that a question finds it whether or not a writer came to it yet, beside
a night too. Applied twice is applied once: a segment whose rows are in the base already may be laid over it again.

Vectors are no events. A text that stays keeps its vector; others are taken from LanceDB once a writer put them there.
"""

import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

import numpy as np
import polars as pl
from ulid import ULID

from slowwave.errors import SlowwaveError
from slowwave.journal.changes import TableChange, collapse, overlay
from slowwave.journal.derivations import SWITCHED
from slowwave.journal.fold import fold
from slowwave.journal.segments import Journal
from slowwave.schemas.tables import KEYS, TABLES, VECTOR_TEXT, frame_schema
from slowwave.store.chain_columns import with_chains
from slowwave.store.conditions import Expr, col, columns_of, lit
from slowwave.store.layout import DERIVED, EMBEDDER_OF, KEYS_A_READ
from slowwave.store.memory_tables import IndexedTable, Part, indexed, part_of
from slowwave.store.memory_vectors import Floats, MemoryVectors, memory_vectors
from slowwave.store.passages import changed_passages
from slowwave.store.stored import Rows, Stored

FEW_ROWS, FEW_BYTES = 5_000, 8_000_000
"""Rows, and bytes of segments, that are taken in within a question; for more a thread reads a new base beside them."""

LATE_SECONDS = 60
"""A segment may come to be seen so long after one with a higher id: large ones take their time to be written."""

REST_SHARE = 10.0
"""A table is not read anew before so many times what the last reading took: a night or an import writes for long."""

Embed = Callable[[Sequence[str]], list[list[float] | None]]
"""The vectors of texts; null for those that have none yet."""


class Tables(Rows):
    """Tables in memory at one moment; those that are not held are read as LanceDB holds them."""

    def __init__(self, stored: Stored, held: Mapping[str, IndexedTable]) -> None:
        self._stored, self.held, self.meta = stored, dict(held), stored.meta

    def rows(
        self, table: str, columns: Sequence[str] | None = None, where: Expr | None = None
    ) -> pl.DataFrame:
        """Rows of a table, in no particular order: the table's columns (never vectors) or the named ones."""
        names = list(columns) if columns is not None else frame_schema(table).names()
        asked = {*names, *(columns_of(where) if where is not None else ())}
        held = self.held.get(table)
        if held is None or not asked.issubset(held.base.frame.columns):
            return self._stored.rows(table, names, where)
        return held.rows(names, where)

    def lay(self, changes: Mapping[str, TableChange], tables: Collection[str]) -> None:
        """Lay collapsed changes over some of the tables that are held."""
        for table in [name for name in changes if name in tables and name in self.held]:
            self._lay(self.held[table], changes[table])
        if "passages" in tables and "passages" in self.held:
            passages = changed_passages(self, changes)
            self.held["passages"] = self.held["passages"].with_rows(passages)

    def put_vectors(self, table: str, found: pl.DataFrame) -> None:
        """Give rows the vectors that were `found`: the key, the texts that they are of, and `vector`."""
        names = [KEYS[table], *VECTOR_TEXT[table]]
        held = self.held[table]
        rows = self.by_key(table, found[names[0]], held.base.frame.columns)
        both = rows.join(found.select(*names, "vector"), on=names, how="inner", nulls_equal=True)
        if both.height:
            marked = both.with_columns(pl.lit(self.meta.embedder_id).alias(EMBEDDER_OF["vector"]))
            self.held[table] = held.with_rows(marked, both["vector"].to_numpy().astype(np.float32))

    def _lay(self, held: IndexedTable, change: TableChange) -> None:
        table, key, names = change.table, KEYS[change.table], held.base.frame.columns
        known = self.by_key(table, change.rows[key], names).filter(
            ~pl.col(key).is_in(change.removed.implode())
        )
        rows = overlay(change, known.select(frame_schema(table).names()))
        marks = [name for name in EMBEDDER_OF.values() if name in names]
        if marks:
            rows = rows.join(known.select(key, *marks), on=key, how="left", maintain_order="left")
            rows = rows.with_columns(pl.col(marks).fill_null(""))
        if table == "cells":
            gone = self.by_key(table, change.removed, names)
            rows = with_chains(self, rows, known, gone, [*rows.columns, *DERIVED["cells"]])
        vectors = None
        if held.base.vectors is not None:
            rows, vectors = self._with_vectors(held, rows)
        self.held[table] = held.with_rows(rows, vectors, removed=change.removed)

    def _with_vectors(self, held: IndexedTable, rows: pl.DataFrame) -> tuple[pl.DataFrame, Floats]:
        """Rows, and the vectors of those whose text stays."""
        key, mark, texts = KEYS[held.table], EMBEDDER_OF["vector"], VECTOR_TEXT[held.table]
        before = self.by_key(held.table, rows[key], [key, *texts])
        same = rows.join(before, on=[key, *texts], how="semi", nulls_equal=True)[key]
        places = {one: place for place, one in enumerate(rows[key])}
        keys, found = held.vectors_of(same)
        vectors = np.zeros((rows.height, self.meta.dims), np.float32)
        vectors[[places[one] for one in keys]] = found
        stays = pl.col(key).is_in(same.implode())
        return rows.with_columns(pl.when(stays).then(mark).otherwise(pl.lit("")).alias(mark)), vectors


class Index:
    """The tables of one generation that a reader holds, each at most `most_rows`, as new as the journal."""

    def __init__(self, stored: Stored, journal: Journal, *, most_rows: int, exact_rows: int) -> None:
        self._stored, self._journal = stored, journal
        self._most_rows, self._exact_rows = most_rows, exact_rows
        self.tables = Tables(stored, {})
        """What questions read; it is replaced whole, so that they see all tables at one moment."""
        self._known = {*journal.segment_ids()}
        """Segments that were seen."""
        self._since: list[str] = []
        self._since = sorted(self._known - self._applied())
        """Of these the segments that LanceDB may not have held when a base was read."""
        self._is_over = False
        """Whether a derivation took the place of the memory: another generation comes."""
        self._questions = 0
        self._versions: dict[str, int] = {}
        """The version of a table in which vectors were last looked for."""
        self._lock = threading.RLock()
        self._behind = set[str]()
        """Tables that lack what was committed, until they are read anew: one may rest, or be at its reading."""
        self._wanted: list[str] = []
        self._rests: dict[str, float] = {}
        self._thread: threading.Thread | None = None

    def begin_question(self) -> None:
        """Look once more; a process with one question never waits for large tables to be read."""
        self._questions += 1
        self.look()

    def look(self) -> None:
        """Take in what was committed since the last look, and vectors that were computed since."""
        with self._lock:
            if self._is_over:
                return
            new = self._new_segments()
            try:
                self._add_segments(new)
            except (SlowwaveError, OSError):
                # one cannot be read, which is told where it is needed: the others can
                for one in new:
                    with suppress(SlowwaveError, OSError):
                        self._add_segments([one])
            for table in {*VECTOR_TEXT} & {*self.tables.held}:
                with suppress(SlowwaveError):
                    self._take_vectors(table)
            for table, held in self.tables.held.items():
                if max(held.tail.height, int(held.is_hidden.sum())) > FEW_ROWS:
                    self._behind.add(table)
            for table in sorted(self._behind):
                self._read_beside(table)

    def table(self, name: str) -> IndexedTable | None:
        """A table in memory; None where questions go to the disk."""
        if name not in self.tables.held:
            rows = self._stored.count(name)
            if rows <= min(FEW_ROWS, self._most_rows):
                self._read(name)
            elif rows <= self._most_rows and self._questions > 1:
                self._read_beside(name)
        return self.tables.held.get(name)

    def read(self, names: Iterable[str]) -> None:
        """Read tables now that would be read beside the first questions."""
        for name in names:
            if name not in self.tables.held and self._stored.count(name) <= self._most_rows:
                self._read(name)

    def embed_new(self, embed: Embed, *, most: int) -> None:
        """Give rows that have no vector yet one at once, where they are at most so many."""
        tables = self.tables
        for table in {*VECTOR_TEXT} & {*tables.held}:
            lacking = tables.held[table].without_vector(self._stored.meta.embedder_id)
            if 0 < len(lacking) <= most:
                rows = tables.by_key(table, lacking, [KEYS[table], *VECTOR_TEXT[table]])
                text = pl.concat_str(VECTOR_TEXT[table], separator="\n", ignore_nulls=True)
                made = embed(rows.select(text).to_series().to_list())  # questions go on meanwhile
                kind = pl.Array(pl.Float32, self._stored.meta.dims)
                found = rows.with_columns(vector=pl.Series(made, dtype=kind)).drop_nulls("vector")
                self._put_vectors(table, found)

    # -- inside

    def _applied(self) -> set[str]:
        """The segments that LanceDB holds; where the table of them is damaged, which others tell, the first ones."""
        try:
            return self._stored.applied_segments()
        except SlowwaveError:
            return self._known - {*self._since}

    def _new_segments(self) -> list[str]:
        newest = max(self._known, default="")
        if not newest:
            return self._journal.segment_ids()
        begin = max(ULID.from_str(newest).milliseconds - 1_000 * LATE_SECONDS, 0)
        found = self._journal.segment_ids_after(str(ULID.from_timestamp(begin)))
        return [one for one in found if one not in self._known]

    def _add_segments(self, segment_ids: Sequence[str]) -> None:
        """Lay new segments over what is held, or read it anew where they are large."""
        if not segment_ids:
            return
        is_much = self._bytes_of(segment_ids) > FEW_BYTES
        is_late = min(segment_ids) < max(self._known, default="")  # its place is before what is laid already
        if not is_much:
            tables = Tables(self._stored, self.tables.held)
            tables.lay(self._folded(segment_ids), tables.held)
            self.tables = tables
        self._known |= {*segment_ids}
        self._since += segment_ids
        if is_much or is_late:
            self._behind |= {*self.tables.held}

    def _bytes_of(self, segment_ids: Sequence[str]) -> int:
        paths = map(self._journal.path_of, segment_ids)
        return sum(path.stat().st_size for path in paths if path.exists())

    def _folded(self, segment_ids: Sequence[str]) -> dict[str, TableChange]:
        there = [one for one in sorted(segment_ids) if self._journal.path_of(one).exists()]
        events = self._journal.read(there).events
        self._is_over = bool((events["kind"] == SWITCHED).any())
        return {} if self._is_over else collapse(fold(events))

    def _take_vectors(self, table: str) -> None:
        """Take the vectors of rows that lack one from LanceDB, where it was written since the last look."""
        key, mark, ours = KEYS[table], EMBEDDER_OF["vector"], self._stored.meta.embedder_id
        lacking = self.tables.held[table].without_vector(ours) if ours else []
        if not lacking or (version := self._stored.version_of(table)) == self._versions.get(table):
            return
        if len(lacking) > KEYS_A_READ:
            self._behind.add(table)
        else:
            where = col(key).isin(lacking) & (col(mark) == lit(ours))
            found = self._stored.rows_on_disk(table, [key, *VECTOR_TEXT[table], "vector"], where)
            self._put_vectors(table, found.drop_nulls("vector"))
        self._versions[table] = version

    def _put_vectors(self, table: str, found: pl.DataFrame) -> None:
        with self._lock:
            tables = Tables(self._stored, self.tables.held)
            if table in tables.held:
                tables.put_vectors(table, found)
            self.tables = tables

    def _read_beside(self, table: str) -> None:
        """Let a thread read a table, anew where it is held; one that rests, or is being read, is tried again later."""
        with self._lock:
            self._behind.add(table)
            if table not in self._wanted and time.monotonic() >= self._rests.get(table, 0.0):
                self._wanted.append(table)
            if self._wanted and (self._thread is None or not self._thread.is_alive()):
                self._thread = threading.Thread(target=self._read_wanted, name="read-tables", daemon=True)
                self._thread.start()

    def _read_wanted(self) -> None:
        while True:
            with self._lock:
                if not self._wanted:
                    self._thread = None  # the next one that is wanted needs another
                    return
                table, begun = self._wanted[0], time.monotonic()
                self._behind.discard(table)
            try:
                self._read(table, is_beside=True)
            except (SlowwaveError, OSError):
                # it is tried again after its rest; a question for its rows tells why
                with self._lock:
                    self._behind.add(table)
            finally:
                with self._lock:
                    ended = time.monotonic()
                    self._rests[table] = ended + REST_SHARE * (ended - begun)
                    self._wanted.remove(table)

    def _read(self, table: str, *, is_beside: bool = False) -> None:
        """Read a table from LanceDB, lay over it what that may not hold yet, and let questions have it.

        Much that a writer has not come to yet, as in an import, is laid over it beside the questions.
        """
        if table not in TABLES or self._stored.count(table) > self._most_rows:
            with self._lock:
                self.tables = Tables(
                    self._stored, {name: one for name, one in self.tables.held.items() if name != table}
                )
            return
        if table == "passages":
            self.read(["turns"])  # passages of new turns are made from the turns around them
        applied = self._applied()  # before the rows: they hold that at least
        before = self.tables.held.get(table)
        base, none = self._base(table, before.base if before is not None else None)
        with self._lock:
            tables = Tables(self._stored, {**self.tables.held, table: indexed(base, none)})
            waiting = [one for one in self._since if one not in applied]
            is_much = not is_beside and self._bytes_of(waiting) > FEW_BYTES
            if waiting and not self._is_over and not is_much:
                tables.lay(self._folded(waiting), [table])
            self.tables = tables
        if is_much:
            self._read_beside(table)

    def _base(self, table: str, before: Part | None) -> tuple[Part, pl.DataFrame]:
        """The rows of a table as LanceDB holds them, and no rows, in the shape of its tail."""
        rows = self._stored.whole(table).sort(KEYS[table])
        vectors = self._vectors(table, rows) if table in VECTOR_TEXT else None
        base = part_of(table, rows, vectors, before=before)
        if before is not None:
            base.make_ready(before)
        if table == "passages":  # the terms are all that is asked of it
            base = replace(base, frame=rows.drop("content"))
        return base, rows.clear()

    def _vectors(self, table: str, rows: pl.DataFrame) -> MemoryVectors:
        key, ours = KEYS[table], self._stored.meta.embedder_id
        whole = np.zeros((rows.height, self._stored.meta.dims), np.float32)
        if ours and rows.height:
            is_ours = col(EMBEDDER_OF["vector"]) == lit(ours)
            found = self._stored.rows_on_disk(table, [key, "vector"], is_ours).drop_nulls("vector")
            placed = rows.select(key).with_row_index("place").join(found, on=key, how="inner")
            if placed.height:
                whole[placed["place"].to_numpy()] = placed["vector"].to_numpy()
        return memory_vectors(whole, exact_rows=self._exact_rows)
