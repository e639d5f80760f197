"""The tables of one generation as LanceDB holds them; rows of small ones are kept from one read to the next."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from datetime import timedelta
from pathlib import Path

import lancedb
import polars as pl
from lancedb.table import Table

from slowwave.schemas.tables import KEYS, frame_schema
from slowwave.store.conditions import Expr, as_filter, col, columns_of
from slowwave.store.damage import open_table, reading
from slowwave.store.layout import APPLIED, KEYS_A_READ, StoreMeta, plain_columns
from slowwave.store.queries import RowsQuery
from slowwave.store.reads import Queries, bounded_session, no_rows

MOST_ROWS = 2_000
"""Rows up to which reading the whole table costs about what reading a few rows of it does."""

MOST_ROWS_OF_A_RUN = 20_000
"""The same for a run, which reads a table once and then knows what it writes; it holds some 20 MB of the widest."""


class Rows(ABC):
    """Tables whose rows can be read."""

    meta: StoreMeta

    @abstractmethod
    def rows(
        self, table: str, columns: Sequence[str] | None = None, where: Expr | None = None
    ) -> pl.DataFrame:
        """Rows of a table, in no particular order: the table's columns (never vectors) or the named ones."""

    def by_key(self, table: str, keys: Iterable[str], columns: Sequence[str] | None = None) -> pl.DataFrame:
        """Rows with these keys, in key order; keys that are not there are left out."""
        return self.having(table, KEYS[table], keys, columns).sort(KEYS[table])

    def having(
        self, table: str, column: str, values: Iterable[str], columns: Sequence[str] | None = None
    ) -> pl.DataFrame:
        """Rows whose `column` has one of these values, in no particular order."""
        wanted = sorted(set(values))
        if not wanted:
            return no_rows(table, self.meta.dims).select(columns or frame_schema(table).names())
        parts = [
            self.rows(table, columns, col(column).isin(wanted[start : start + KEYS_A_READ]))
            for start in range(0, len(wanted), KEYS_A_READ)
        ]
        return pl.concat(parts)


class Stored(Rows):
    """The tables of one generation as LanceDB holds them, whoever wrote them."""

    def __init__(self, root: Path, name: str, meta: StoreMeta) -> None:
        self.root, self.name, self.meta = root, name, meta
        session = bounded_session()
        self.db = lancedb.connect(root / name, read_consistency_interval=timedelta(0), session=session)
        self.queries = Queries(root / name, session)
        self.most_rows = MOST_ROWS
        self._tables: dict[str, Table] = {}
        self._held: dict[str, tuple[int, pl.DataFrame]] = {}
        """Rows of small tables, with the version that they are of."""

    def table(self, table: str) -> Table:
        """An open table.

        Raises:
            DamageError: it is missing, broken or another's.
        """
        if table not in self._tables:
            self._tables[table] = open_table(self.db, self.root, self.name, table, self.meta)
        return self._tables[table]

    def count(self, table: str) -> int:
        """Number of rows."""
        with reading(self.root, table):
            return int(self.table(table).count_rows())

    def version_of(self, table: str) -> int:
        """The number of a table's version, which changes with every write."""
        with reading(self.root, table):
            return int(self.table(table).version)

    def applied_segments(self) -> set[str]:
        """Ids of the journal segments that this generation holds."""
        return set(self.rows_on_disk(APPLIED, ["segment_id"], None)["segment_id"])

    def rows(
        self, table: str, columns: Sequence[str] | None = None, where: Expr | None = None
    ) -> pl.DataFrame:
        """Rows of a table, in no particular order: the table's columns (never vectors) or the named ones."""
        names = list(columns) if columns is not None else frame_schema(table).names()
        asked = {*names, *(columns_of(where) if where is not None else ())}
        held = self._held_rows(table) if asked.issubset(plain_columns(table)) else None
        if held is None:
            return self.rows_on_disk(table, names, where)
        return (held if where is None else held.filter(as_filter(where))).select(names)

    def rows_on_disk(self, table: str, names: Sequence[str], where: Expr | None) -> pl.DataFrame:
        """The same past the rows that are held: for a few rows that an index finds."""
        self.table(table)  # says what is wrong where the table is damaged
        return self.queries.frames([RowsQuery(table, tuple(names), where)])[0]

    def whole(self, table: str) -> pl.DataFrame:
        """All rows of a table, without vectors; a query of a wide table costs as much where it has none."""
        names = plain_columns(table)
        if self.count(table):
            return self.rows_on_disk(table, names, None)
        return no_rows(table, self.meta.dims).select(names)

    def wrote(
        self, table: str, before: int, *, rows: pl.DataFrame | None = None, removed: pl.Series | None = None
    ) -> None:
        """Say that this process changed a table since version `before`; the rows that are held take it over.

        `rows` are whole rows that were put in the place of those with their keys, `removed` the keys of rows that are
        gone; neither means that the rows stay as they were.
        """
        version, frame = self._held.pop(table, (-1, None))
        if frame is None or version != before:
            return
        key = KEYS[table]
        gone = rows[key] if rows is not None else removed
        if gone is not None:
            frame = frame.join(gone.to_frame(key), on=key, how="anti")
        if rows is not None:
            frame = pl.concat([frame, rows.select(frame.columns).cast(dict(frame.schema.items()))])
        if frame.height <= self.most_rows:
            self._held[table] = (self.version_of(table), frame)

    def _held_rows(self, table: str) -> pl.DataFrame | None:
        """The rows of a small table as they are now; None where it is too large to be held."""
        version = self.version_of(table)
        known, frame = self._held.get(table, (-1, None))
        if frame is None or known != version:
            if self.count(table) > self.most_rows:
                return None
            frame = self.whole(table)  # it may be newer than that version: then it is read again
            self._held[table] = (version, frame)
        return frame
