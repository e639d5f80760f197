"""Reading one generation of the store: anyone may, at any time, without a lock."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
from lancedb.query import LanceVectorQueryBuilder
from numpy.typing import NDArray

from slowwave.journal.segments import Journal
from slowwave.schemas.tables import KEYS, TABLES, VECTOR_TEXT
from slowwave.store.conditions import Expr, col, lit, on_disk
from slowwave.store.damage import damaged, reading, told, visible_damage
from slowwave.store.index import Embed, Index
from slowwave.store.layout import (
    APPLIED,
    EMBEDDER_OF,
    MATCHED,
    META_FILE,
    TEXT_INDEX,
    StoreMeta,
    arrow_schema,
)
from slowwave.store.memory_tables import IndexedTable
from slowwave.store.queries import Query, Row, SearchQuery
from slowwave.store.reads import best_of_each, frame_of
from slowwave.store.stored import MOST_ROWS_OF_A_RUN, Rows, Stored

SEARCHES_AT_ONCE = 4

TIE_MARGIN = 32
"""Rows fetched beyond those wanted: which of equal ones LanceDB cuts off changes from run to run."""

MOST_EMBEDDED = 64
"""Texts that are embedded before they are written; more of them are written first, and a kill loses little."""

VECTOR_INDEX_ROWS = 20_000
"""Rows from which a vector index pays, on disk and in memory: below, all vectors are compared."""


class StoreReader(Rows):
    """Tables, vectors and full text of one generation: as LanceDB holds them, or in memory for who asks often."""

    def __init__(self, root: Path, name: str, meta: StoreMeta) -> None:
        self.root, self.name, self.meta = root, name, meta
        self.stored = Stored(root, name, meta)
        self._index: Index | None = None
        self._indexed: set[str] = set()
        self._stamp = self._stamp_now()

    def was_replaced(self) -> bool:
        """Return whether another folder stands under this generation's name now: a backup that was put back."""
        return self._stamp_now() != self._stamp

    def keep_in_memory(
        self, journal: Journal, *, most_rows: int, exact_rows: int = VECTOR_INDEX_ROWS
    ) -> None:
        """From now on tables of at most so many rows answer from memory, as new as the journal; with 0 none does.

        Vectors are compared one by one below `exact_rows`, and by sketches first from there on.
        """
        if most_rows:
            self._index = Index(self.stored, journal, most_rows=most_rows, exact_rows=exact_rows)

    def hold_tables(self) -> None:
        """From now on larger tables too are read once: for a run, which asks them many times."""
        self.stored.most_rows = MOST_ROWS_OF_A_RUN

    def read_into_memory(self, tables: Iterable[str]) -> None:
        """Read tables now that would be read beside the first questions."""
        if self._index is not None:
            self._index.read(tables)

    def begin_question(self) -> None:
        """Take in what was committed since the last question."""
        if self._index is not None:
            self._index.begin_question()

    def shows(self, table: str) -> bool:
        """Return whether everything that is committed of a table can be found."""
        return table in self._in_memory([table])

    def embed_new(self, embed: Embed) -> None:
        """Let questions find by vector what was just committed; a writer computes the vectors that are stored."""
        if self._index is not None:
            self._index.look()
            self._index.embed_new(embed, most=MOST_EMBEDDED)

    def rows(
        self, table: str, columns: Sequence[str] | None = None, where: Expr | None = None
    ) -> pl.DataFrame:
        """Rows of a table, in no particular order: the table's columns (never vectors) or the named ones."""
        self._in_memory([table])
        return (self._index.tables if self._index else self.stored).rows(table, columns, where)

    def rows_on_disk(self, table: str, names: Sequence[str], where: Expr | None) -> pl.DataFrame:
        """The same as LanceDB holds them: for a few rows that an index finds."""
        return self.stored.rows_on_disk(table, names, where)

    def count(self, table: str, where: Expr | None = None) -> int:
        """Number of rows."""
        if where is not None:
            return self.rows(table, [KEYS[table]], where).height
        held = self._in_memory([table])
        return held[table].height if table in held else self.stored.count(table)

    def _in_memory(self, tables: Iterable[str]) -> dict[str, IndexedTable]:
        """Those of some tables that are in memory, all at one moment."""
        if self._index is None:
            return {}
        for table in {*tables}:
            self._index.table(table)
        return self._index.tables.held

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
        if self.stored.count(table):
            self.stored.queries.read_through(table)
        anything = SearchQuery(table, "the", np.ones(self.meta.dims, np.float32), 1, None)
        if table in {*TEXT_INDEX, *VECTOR_TEXT}:
            self.stored.queries.start([self._possible(anything)]).result()

    def nearest(
        self, table: str, vectors: NDArray[np.float32], k: int, *, where: Expr | None = None
    ) -> pl.DataFrame:
        """The k nearest rows of each query vector by cosine, exact whatever state the vector index is in.

        Returns `query_index`, the table's key, `similarity` (-1..1), best first within a query, ties by key.
        """
        key = KEYS[table]
        shape = {"query_index": pl.Int64, key: pl.String, "similarity": pl.Float64}
        if len(vectors) == 0 or self.stored.count(table) == 0:
            return pl.DataFrame(schema=shape)
        present = col("embedder_id") == lit(self.meta.embedder_id)
        with reading(self.root, table):
            query = self.stored.table(table).search(
                np.ascontiguousarray(vectors, dtype=np.float32), "vector", "vector"
            )
            assert isinstance(query, LanceVectorQueryBuilder)
            query = query.distance_type("cosine").bypass_vector_index()
            query = query.where(on_disk(present & where if where is not None else present), prefilter=True)
            found = frame_of(query.limit(k + TIE_MARGIN).select([key, "_distance"]).to_arrow())
        index = (
            pl.col("query_index").cast(pl.Int64) if "query_index" in found.columns else pl.lit(0, pl.Int64)
        )
        similarity = 1.0 - pl.col("_distance").cast(pl.Float64)
        return best_of_each(found.select(key, query_index=index, similarity=similarity), "similarity", key, k)

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
        found = self.stored.queries.frames(queries, at_once=SEARCHES_AT_ONCE)
        frames.extend(
            frame.select(pl.lit(index, dtype=pl.Int64).alias("query_index"), key, match_score="text_score")
            for index, frame in zip(asked, found, strict=True)
        )
        return best_of_each(pl.concat(frames), "match_score", key, k)

    def find(self, queries: Sequence[Query]) -> list[list[Row]]:
        """The rows of each query; tables in memory answer there, the others are read from disk all at once.

        A table without full text matches no words.
        """
        held = self._in_memory(wanted.table for wanted in queries)
        stored = [self._possible(wanted) for wanted in queries if wanted.table not in held]
        for wanted in stored:
            self.stored.table(wanted.table)  # says what is wrong where the table is damaged
        begun = self.stored.queries.start(stored) if stored else None
        # what is in memory answers while the disk is read
        answers = {
            place: held[wanted.table].find(wanted)
            for place, wanted in enumerate(queries)
            if wanted.table in held
        }
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
        held = self._in_memory([table])
        return held[table].texts[MATCHED[table][0]].rarities(terms) if table in held else [1.0] * len(terms)

    def vectors(self, table: str, keys: Iterable[str], *, column: str = "vector") -> pl.DataFrame:
        """The key and the vector (`Array(Float32, dims)`) of the rows that have one."""
        return self.by_key(table, keys, [KEYS[table], column]).drop_nulls(column)

    def applied_segments(self) -> set[str]:
        """Ids of the journal segments that this generation already holds."""
        return self.stored.applied_segments()

    def without_centroid(self) -> list[str]:
        """Ids of the topics whose members changed since their centroid was computed."""
        waiting = self.stored.rows("topics", ["topic_id"], col(EMBEDDER_OF["centroid"]) == lit(""))
        return waiting["topic_id"].sort().to_list()

    def without_vector(self, table: str) -> pl.Series:
        """Keys of the rows that still lack a vector of this store's embedder, in their order."""
        waiting = self.stored.rows(table, [KEYS[table]], col(EMBEDDER_OF["vector"]) == lit(""))
        return waiting[KEYS[table]].sort()

    def embedded_texts(self, table: str, keys: Iterable[str]) -> pl.DataFrame:
        """Key and text, as it is embedded, of these rows, in key order; rows without text are left out."""
        text = pl.concat_str(VECTOR_TEXT[table], separator="\n", ignore_nulls=True)
        frame = self.stored.by_key(table, keys, [KEYS[table], *VECTOR_TEXT[table]])
        return frame.select(KEYS[table], text=text).filter(pl.col("text") != "")

    def version_of(self, table: str) -> int:
        """The number of a table's version, which changes with every write."""
        return self.stored.version_of(table)

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

    def _has_text_index(self, table: str) -> bool:
        """Return whether every text of a table is indexed; once there, an index stays."""
        if table not in self._indexed:
            with reading(self.root, table):
                indexed = {
                    name for index in self.stored.table(table).list_indices() for name in index.columns
                }
            if set(TEXT_INDEX[table]) <= indexed:
                self._indexed.add(table)
        return table in self._indexed

    def _all_columns(self, table: str) -> list[str]:
        return list(arrow_schema(table, self.meta.dims).names)
