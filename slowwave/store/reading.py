"""Reading one generation of the store: anyone may, at any time, without a lock."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import lancedb
import numpy as np
import polars as pl
from lancedb.query import LanceVectorQueryBuilder
from lancedb.table import Table
from numpy.typing import NDArray

from slowwave.schemas.tables import KEYS, TABLES, VECTOR_TEXT, frame_schema
from slowwave.store.conditions import Expr, col, columns_of, lit, on_disk
from slowwave.store.damage import damaged, open_table, reading, told, visible_damage
from slowwave.store.layout import (
    APPLIED,
    EMBEDDER_OF,
    KEYS_A_READ,
    MATCHED,
    META_FILE,
    TEXT_INDEX,
    StoreMeta,
    arrow_schema,
    plain_columns,
)
from slowwave.store.memory_tables import MemoryTable, Row, read_table, vector_hashes
from slowwave.store.memory_vectors import MemoryVectors, memory_vectors, stored_vectors
from slowwave.store.reads import (
    Queries,
    Query,
    RowsQuery,
    SearchQuery,
    best_of_each,
    bounded_session,
    frame_of,
    no_rows,
    rows_in_memory,
)
from slowwave.store.table_cache import MOST_ROWS_OF_A_RUN, TableCache

SEARCHES_AT_ONCE = 4

TIE_MARGIN = 32
"""Rows fetched beyond those wanted: which of equal ones LanceDB cuts off changes from run to run."""

VECTOR_INDEX_ROWS = 20_000
"""Rows from which a vector index pays, on disk and in memory: below, all vectors are compared."""


class StoreReader:
    """Tables, vectors and full text of one generation."""

    def __init__(self, root: Path, name: str, meta: StoreMeta) -> None:
        self.root = root
        self.name = name
        self.meta = meta
        session = bounded_session()
        self._db = lancedb.connect(root / name, read_consistency_interval=timedelta(0), session=session)
        self._tables: dict[str, Table] = {}
        self._queries = Queries(root / name, session)
        self._indexed: set[str] = set()
        self._cache = TableCache(
            root / name,
            count=self._count_rows,
            version=self.version_of,
            load=self._load,
            grow=self._grown,
            applied=self.applied_segments,
        )
        self._exact_rows = 0
        self._stamp = self._stamp_now()

    def was_replaced(self) -> bool:
        """Return whether another folder stands under this generation's name now: a backup that was put back."""
        return self._stamp_now() != self._stamp

    def keep_in_memory(
        self,
        *,
        most_rows: int,
        exact_rows: int = VECTOR_INDEX_ROWS,
        is_written: Callable[[], bool] = lambda: False,
    ) -> None:
        """From now on tables of at most so many rows answer searches from memory; with 0 none does.

        Vectors are compared one by one below `exact_rows`, and by sketches first from there on. While `is_written` says
        that another process writes, what it wrote is seen some seconds later (`TableCache`).
        """
        if most_rows:
            self._exact_rows = exact_rows
            self._cache.become_indexed()
            self._cache.most_rows = most_rows
            self._cache.is_written = is_written

    def hold_tables(self) -> None:
        """From now on larger tables too are read once: for a run, which asks them many times."""
        self._cache.most_rows = MOST_ROWS_OF_A_RUN

    def read_into_memory(self, tables: Iterable[str]) -> None:
        """Reads tables now that would be read beside the first questions."""
        for table in tables:
            self._cache.read_now(table)

    def catch_up(self) -> None:
        """Reads again what this process wrote, so that the next question of any thread sees it (`TableCache`)."""
        self._cache.catch_up()

    def begin_question(self) -> None:
        """Says that a question comes (`TableCache`)."""
        self._cache.begin_question()

    def rows(
        self, table: str, columns: Sequence[str] | None = None, where: Expr | None = None
    ) -> pl.DataFrame:
        """Rows of a table, in no particular order: the table's columns (never vectors) or the named ones."""
        names = list(columns) if columns is not None else frame_schema(table).names()
        asked = {*names, *(columns_of(where) if where is not None else ())}
        copy = self._cache.copy_of(table) if asked.issubset(plain_columns(table)) else None
        if copy is not None and asked.issubset(copy.frame.columns):
            return copy.rows(names, where)
        return self.rows_on_disk(table, names, where)

    def rows_on_disk(self, table: str, names: Sequence[str], where: Expr | None) -> pl.DataFrame:
        """The same past the tables in memory: for a few rows that an index finds."""
        self._table(table)  # says what is wrong where the table is damaged
        return self._queries.frames([RowsQuery(table, tuple(names), where)])[0]

    def count(self, table: str, where: Expr | None = None) -> int:
        """Number of rows."""
        if where is not None:
            return self.rows(table, [KEYS[table]], where).height
        copy = self._cache.copy_of(table) if self._cache.is_indexed else None
        return copy.frame.height if copy is not None else self._count_rows(table)

    def visible_damage(self) -> list[str]:
        """A line for each table that is missing or cut, as far as a glance tells."""
        return visible_damage(self.root, self.name, (*TABLES, APPLIED))

    def require_tables(self) -> None:
        """Refuse to write where a table is missing or cut, before anything is done.

        Raises:
            DamageError: with the tables.
        """
        if found := self.visible_damage():
            raise damaged(self.root, told(found))

    def read_through(self, table: str) -> None:
        """Reads a table from the disk from end to end, with its indices, and keeps nothing.

        Raises:
            DamageError: a part of it cannot be read.
        """
        rows = self._count_rows(table)
        if rows:
            self._queries.read_through(table)
        if table in TEXT_INDEX:
            self.matching(table, ["the"], 1)
        if rows and table in VECTOR_TEXT:
            self.nearest(table, np.ones((1, self.meta.dims), np.float32), 1)

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

    def nearest(
        self,
        table: str,
        vectors: NDArray[np.float32],
        k: int,
        *,
        where: Expr | None = None,
        exact: bool = False,
    ) -> pl.DataFrame:
        """The k nearest rows of each query vector by cosine.

        Returns `query_index`, the table's key, `similarity` (-1..1), best first within a query, ties by key.
        `exact` passes by the vector index: the same answer whatever state the index is in.
        """
        key = KEYS[table]
        shape = {"query_index": pl.Int64, key: pl.String, "similarity": pl.Float64}
        if len(vectors) == 0 or self._count_rows(table) == 0:
            return pl.DataFrame(schema=shape)
        with reading(self.root, table):
            found = self._nearest_on_disk(table, vectors, k, where=where, exact=exact)
        if "query_index" not in found.columns:
            found = found.with_columns(query_index=pl.lit(0))
        scored = found.select(
            pl.col("query_index").cast(pl.Int64), key, similarity=1.0 - pl.col("_distance").cast(pl.Float64)
        )
        return best_of_each(scored, "similarity", key, k)

    def _nearest_on_disk(
        self, table: str, vectors: NDArray[np.float32], k: int, *, where: Expr | None, exact: bool
    ) -> pl.DataFrame:
        wanted = np.ascontiguousarray(vectors, dtype=np.float32)
        query = self._table(table).search(wanted, vector_column_name="vector", query_type="vector")
        assert isinstance(query, LanceVectorQueryBuilder)
        query = query.distance_type("cosine")
        query = query.bypass_vector_index() if exact else query.refine_factor(5)
        present = col("embedder_id") == lit(self.meta.embedder_id)
        query = query.where(on_disk(present & where if where is not None else present), prefilter=True)
        return frame_of(query.limit(k + TIE_MARGIN).select([KEYS[table], "_distance"]).to_arrow())

    def matching(
        self, table: str, texts: Sequence[str], k: int, *, where: Expr | None = None
    ) -> pl.DataFrame:
        """The k best rows of each text by full text (BM25).

        Returns `query_index`, the table's key, `match_score` (>= 0, unbounded), best first within a query.
        """
        key = KEYS[table]
        frames = [pl.DataFrame(schema={"query_index": pl.Int64, key: pl.String, "match_score": pl.Float64})]
        if not self._has_text_index(table):
            return frames[0]
        asked = [index for index, text in enumerate(texts) if text.strip()]
        queries = [SearchQuery(table, texts[index], None, k + TIE_MARGIN, where) for index in asked]
        found = self._queries.frames(queries, at_once=SEARCHES_AT_ONCE)
        frames.extend(
            frame.select(pl.lit(index, dtype=pl.Int64).alias("query_index"), key, match_score="text_score")
            for index, frame in zip(asked, found, strict=True)
        )
        return best_of_each(pl.concat(frames), "match_score", key, k)

    def find(self, queries: Sequence[Query]) -> list[list[Row]]:
        """The rows of each query; tables in memory answer there, the others are read from disk all at once.

        A table without full text matches no words.
        """
        asked = {wanted.table for wanted in queries} if self._cache.is_indexed else set()
        copies = {table: self._cache.copy_of(table) for table in asked}
        stored = [self._possible(wanted) for wanted in queries if copies.get(wanted.table) is None]
        for wanted in stored:
            self._table(wanted.table)  # says what is wrong where the table is damaged
        begun = self._queries.start(stored) if stored else None
        answers: dict[int, list[Row]] = {}  # what is in memory answers while the disk is read
        for place, wanted in enumerate(queries):
            if (copy := copies.get(wanted.table)) is not None:
                answers[place] = rows_in_memory(copy, wanted)
        read = iter(begun.result() if begun is not None else ())
        return [answers[place] if place in answers else next(read) for place in range(len(queries))]

    def _possible(self, wanted: Query) -> Query:
        """The query; a search of a table without full text asks no words, and a store without vectors none."""
        if not isinstance(wanted, SearchQuery):
            return wanted
        has_text = wanted.table in TEXT_INDEX and self._has_text_index(wanted.table)
        vector = wanted.vector if wanted.table in VECTOR_TEXT else None
        return replace(wanted, words=wanted.words if has_text else "", vector=vector)

    def rarities(self, table: str, terms: Sequence[str]) -> list[float]:
        """The idf of terms, by the full text of a table in memory; all alike while the table is on disk."""
        copy = self._cache.copy_of(table) if self._cache.is_indexed else None
        return copy.texts[MATCHED[table][0]].rarities(terms) if copy is not None else [1.0] * len(terms)

    def vectors(self, table: str, keys: Iterable[str], *, column: str = "vector") -> pl.DataFrame:
        """The key and the vector (`Array(Float32, dims)`) of the rows that have one."""
        return self.by_key(table, keys, [KEYS[table], column]).drop_nulls(column)

    def applied_segments(self) -> set[str]:
        """Ids of the journal segments that this generation already holds."""
        return set(self.rows_on_disk(APPLIED, ["segment_id"], None)["segment_id"])

    def without_centroid(self) -> list[str]:
        """Ids of the topics whose members changed since their centroid was computed."""
        waiting = self.rows("topics", ["topic_id"], col(EMBEDDER_OF["centroid"]) == lit(""))
        return waiting["topic_id"].sort().to_list()

    def without_vector(self, table: str) -> pl.Series:
        """Keys of the rows that still lack a vector of this store's embedder, in their order."""
        waiting = self.rows(table, [KEYS[table]], col(EMBEDDER_OF["vector"]) == lit(""))
        return waiting[KEYS[table]].sort()

    def embedded_texts(self, table: str, keys: Iterable[str]) -> pl.DataFrame:
        """Key and text, as it is embedded, of these rows, in key order; rows without text are left out."""
        text = pl.concat_str(VECTOR_TEXT[table], separator="\n", ignore_nulls=True)
        frame = self.by_key(table, keys, [KEYS[table], *VECTOR_TEXT[table]])
        return frame.select(KEYS[table], text=text).filter(pl.col("text") != "")

    def version_of(self, table: str) -> int:
        """The number of a table's version, which changes with every write."""
        with reading(self.root, table):
            return int(self._table(table).version)

    def size_bytes(self) -> int:
        """Bytes of this generation on disk."""
        return sum(path.stat().st_size for path in (self.root / self.name).rglob("*") if path.is_file())

    # -- inside

    def _stamp_now(self) -> tuple[int, int, int]:
        """The file that describes the generation, as the file system knows it; zeros where there is none.

        A copy keeps the time of its writing and may be given the number of the file before it, but is changed later.
        """
        try:
            found = (self.root / self.name / META_FILE).stat()
        except OSError:
            return 0, 0, 0
        return found.st_ino, found.st_mtime_ns, found.st_ctime_ns

    def _load(self, table: str, before: MemoryTable | None) -> MemoryTable:
        version = self.version_of(table)
        names = plain_columns(table)
        if self._count_rows(table):
            rows = self.rows_on_disk(table, names, None)
        else:  # a query of a wide table costs as much without rows
            rows = no_rows(table, self.meta.dims).select(names)
        if not self._cache.is_indexed:
            return MemoryTable(table, version, rows, is_indexed=False)
        rows = rows.sort(KEYS[table])
        vectors = self._load_vectors(table, rows, before) if table in VECTOR_TEXT else None
        return read_table(table, version, rows, vectors=vectors, before=before)

    def _grown(self, copy: MemoryTable, version: int, rows: pl.DataFrame) -> MemoryTable:
        """A copy with whole rows in the place of those with their keys."""
        return copy.with_rows(version, rows, stored_vectors(rows, self.meta) if copy.vectors else None)

    def _load_vectors(self, table: str, rows: pl.DataFrame, before: MemoryTable | None) -> MemoryVectors:
        """Vectors of sorted rows; of those that `before` has, none is read again."""
        key = KEYS[table]
        hashes = vector_hashes(table, rows)
        whole = np.zeros((rows.height, self.meta.dims), np.float32)
        if not self.meta.embedder_id:  # there are no vectors
            return memory_vectors(whole, hashes, exact_rows=self._exact_rows, axes=None)
        wanted = rows.select(key, EMBEDDER_OF["vector"], hash=hashes).with_row_index("place")
        old = before.vectors if before is not None else None
        axes = None
        if before is not None and old is not None:
            axes = old.axes
            known = pl.DataFrame({key: before.frame[key], "hash": old.hashes}).with_row_index("was")
            same = wanted.join(known, on=[key, "hash"], how="inner")
            whole[same["place"].to_numpy()] = old.whole[same["was"].to_numpy()]
            wanted = wanted.join(same, on=key, how="anti")
        wanted = wanted.filter(pl.col(EMBEDDER_OF["vector"]) == self.meta.embedder_id)
        if wanted.is_empty():
            return memory_vectors(whole, hashes, exact_rows=self._exact_rows, axes=axes)
        if wanted.height > KEYS_A_READ:
            asked = col(EMBEDDER_OF["vector"]) == lit(self.meta.embedder_id)
        else:
            asked = col(key).isin(wanted[key].to_list())
        # past the tables in memory: this one is being read, under its lock
        found = self.rows_on_disk(table, [key, "vector"], asked)
        fresh = wanted.join(found.drop_nulls("vector"), on=key, how="inner", maintain_order="left")
        if fresh.height:
            whole[fresh["place"].to_numpy()] = fresh["vector"].to_numpy()
        return memory_vectors(whole, hashes, exact_rows=self._exact_rows, axes=axes)

    def _table(self, table: str) -> Table:
        if table not in self._tables:
            self._tables[table] = open_table(self._db, self.root, self.name, table, self.meta)
        return self._tables[table]

    def _count_rows(self, table: str) -> int:
        with reading(self.root, table):
            return int(self._table(table).count_rows())

    def _has_text_index(self, table: str) -> bool:
        """Return whether every text of a table is indexed; once there, an index stays."""
        if table not in self._indexed:
            with reading(self.root, table):
                indexed = {name for index in self._table(table).list_indices() for name in index.columns}
            if set(TEXT_INDEX[table]) <= indexed:
                self._indexed.add(table)
        return table in self._indexed

    def _all_columns(self, table: str) -> list[str]:
        return list(arrow_schema(table, self.meta.dims).names)
