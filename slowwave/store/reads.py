"""Queries of a search: independent reads that run at once.

A search asks several lists (full text and vectors of several tables) and then a few narrow rows. One after the
other their fixed costs add up; through LanceDB's asynchronous interface they share the machine's cores.
"""

import asyncio
import threading
from collections.abc import Iterable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from pathlib import Path

import lancedb
import numpy as np
import polars as pl
import pyarrow as pa
from lancedb.db import AsyncConnection
from lancedb.query import AsyncStandardQuery, ColumnOrdering
from lancedb.table import AsyncTable
from numpy.typing import NDArray

from slowwave.language.terms import distinct_terms, held_terms
from slowwave.schemas.tables import KEYS, frame_schema
from slowwave.store.conditions import Expr, col, on_disk
from slowwave.store.damage import reading
from slowwave.store.layout import MATCHED, arrow_schema, full_text_query
from slowwave.store.memory_tables import MemoryTable, Row
from slowwave.store.memory_vectors import Floats, Places

QUERIES_AT_ONCE = 64
"""Of more queries some wait, so that their answers need not all be in memory."""

INDEX_CACHE_BYTES, METADATA_CACHE_BYTES = 192 * 1024**2, 64 * 1024**2

REFINE_FACTOR = 5
"""The vector index ranks this many times what is wanted by its coarse vectors, and the exact ones decide."""


@dataclass(frozen=True)
class TextQuery:
    """The `k` rows of a table that match `text` best (BM25): the key, `match_score`, `columns`.

    `fields` are the indexed columns to look in; none means those that `StoreReader.matching` looks in.
    """

    table: str
    text: str
    k: int
    where: Expr | None
    fields: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()


@dataclass(frozen=True)
class VectorQuery:
    """The `k` rows of a table nearest to `vector` by cosine: the key, `similarity` (-1..1), `columns`."""

    table: str
    vector: NDArray[np.float32]
    k: int
    where: Expr | None
    columns: tuple[str, ...] = ()


@dataclass(frozen=True)
class SearchQuery:
    """The union of the `k` rows that match `words` best, of the `k` nearest to `vector`, and of the rows of `also`.

    Every row has the key, `columns`, `text_score` (BM25, 0 without a match), `similarity` (cosine, 0 without a
    vector) and `held`, the terms of the words that its fields have (`held_terms`), whichever list brought it. With
    `parts`, the best `k` of the rows of each of these conditions.
    """

    table: str
    words: str
    vector: NDArray[np.float32] | None
    k: int
    where: Expr | None
    columns: tuple[str, ...] = ()
    fields: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    parts: tuple[Expr, ...] = ()


FOUND = ("text_score", "similarity", "held")
"""The columns that a search adds to a row."""

FOUND_TYPES = {"text_score": pl.Float64(), "similarity": pl.Float64(), "held": pl.Int64()}


@dataclass(frozen=True)
class RowsQuery:
    """The named columns of the rows that a condition holds for."""

    table: str
    columns: tuple[str, ...]
    where: Expr | None


@dataclass(frozen=True)
class FirstQuery:
    """The named columns of the first `k` rows that a condition holds for: highest `by` first, ties by key."""

    table: str
    by: str
    k: int
    where: Expr | None
    columns: tuple[str, ...]


Query = TextQuery | VectorQuery | SearchQuery | RowsQuery | FirstQuery


def nothing_found(wanted: TextQuery) -> pl.DataFrame:
    """The answer of a list that found nothing, in the shape of one that did."""
    types = frame_schema(wanted.table)
    names = [KEYS[wanted.table], *wanted.columns]
    return pl.DataFrame(schema={**{name: types[name] for name in names}, "match_score": pl.Float64})


SCORE = "score"
"""The name under which a row of a ranked list has its value."""


def value_name(wanted: Query) -> str:
    """The column by which a ranked list orders its rows; "" for rows without an order."""
    return {TextQuery: "match_score", VectorQuery: "similarity"}.get(type(wanted), "")


def rows_in_memory(copy: MemoryTable, wanted: Query) -> list[Row]:
    """The answer of a table in memory, row by row."""
    if isinstance(wanted, RowsQuery):
        return copy.take(copy.places(wanted.where), wanted.columns)
    if isinstance(wanted, FirstQuery):
        return copy.take(copy.first(wanted.by, wanted.k, wanted.where), wanted.columns)
    if isinstance(wanted, SearchQuery):
        return _searched(copy, wanted)
    places, values = _ranked_places(copy, wanted)
    rows = copy.take(places, (KEYS[wanted.table], *wanted.columns))
    for row, value in zip(rows, values.tolist(), strict=True):
        row[SCORE] = value
    return rows


def frame_in_memory(copy: MemoryTable, wanted: Query) -> pl.DataFrame:
    """The answer of a table in memory, as a frame like the one from disk."""
    if isinstance(wanted, RowsQuery):
        return copy.rows(wanted.columns, wanted.where)
    if isinstance(wanted, FirstQuery):
        return copy.frame.select(wanted.columns)[copy.first(wanted.by, wanted.k, wanted.where)]
    if isinstance(wanted, SearchQuery):
        return pl.DataFrame(_searched(copy, wanted))
    places, values = _ranked_places(copy, wanted)
    rows = copy.frame.select(KEYS[wanted.table], *wanted.columns)[places]
    return rows.with_columns(pl.Series(value_name(wanted), values, dtype=pl.Float64))


def _searched(copy: MemoryTable, wanted: SearchQuery) -> list[Row]:
    """The union that a search asks of a table in memory."""
    found = copy.search(
        wanted.words,
        wanted.vector,
        wanted.k,
        wanted.where,
        fields=wanted.fields,
        also=wanted.also,
        parts=wanted.parts,
    )
    rows = copy.take(found.places, (KEYS[wanted.table], *wanted.columns))
    values = zip(found.text_scores.tolist(), found.similarities.tolist(), found.held.tolist(), strict=True)
    for row, given in zip(rows, values, strict=True):
        row.update(zip(FOUND, given, strict=True))
    return rows


def rows_of_frame(wanted: Query, frame: pl.DataFrame) -> list[Row]:
    """The answer from disk, row by row."""
    name = value_name(wanted)
    return frame.rename({name: SCORE} if name else {}).rows(named=True)


def _ranked_places(copy: MemoryTable, wanted: TextQuery | VectorQuery) -> tuple[Places, Floats]:
    if isinstance(wanted, TextQuery):
        return copy.matching(wanted.text, wanted.k, wanted.where, wanted.fields)
    return copy.nearest(wanted.vector, wanted.k, wanted.where)


def _texts(row: Row, fields: Sequence[str]) -> str:
    """The indexed text of a row, all of its fields together."""
    parts = (row[name] or "" for name in fields)
    return " ".join(part if isinstance(part, str) else " ".join(part) for part in parts)


def _types(table: str, columns: Sequence[str]) -> dict[str, pl.DataType]:
    return {name: kind for name, kind in no_rows(table, 1).schema.items() if name in columns}


def bounded_session() -> lancedb.Session:
    """The caches of one generation, within bounds: with LanceDB's own a long ingest keeps indices of every version."""
    return lancedb.Session(
        index_cache_size_bytes=INDEX_CACHE_BYTES, metadata_cache_size_bytes=METADATA_CACHE_BYTES
    )


class Queries:
    """Runs queries over one generation, with tables kept open."""

    def __init__(self, folder: Path, session: lancedb.Session) -> None:
        self._folder, self._session = folder, session
        self._connection: AsyncConnection | None = None
        self._tables: dict[str, AsyncTable] = {}

    def start(
        self, queries: Sequence[Query], *, at_once: int = QUERIES_AT_ONCE
    ) -> "Future[list[pl.DataFrame]]":
        """Begins to read: a frame for each query, in their order; ranked ones best first, ties by key.

        Half the cost of LanceDB's synchronous interface, for a few rows. The tables are read as they are now.
        """
        return asyncio.run_coroutine_threadsafe(self._gather(queries, at_once), _loop())

    def read_through(self, table: str) -> None:
        """Reads every row and column once, in batches, and keeps nothing."""
        asyncio.run_coroutine_threadsafe(self._read_through(table), _loop()).result()

    async def _read_through(self, table: str) -> None:
        await self._open([table])
        with reading(self._folder.parent, table):
            async for _ in await self._tables[table].query().to_batches():
                pass

    async def _open(self, tables: Iterable[str]) -> None:
        for table in set(tables) - self._tables.keys():
            if self._connection is None:
                self._connection = await lancedb.connect_async(
                    self._folder, read_consistency_interval=timedelta(0), session=self._session
                )
            with reading(self._folder.parent, table):
                self._tables[table] = await self._connection.open_table(table)

    async def _gather(self, queries: Sequence[Query], at_once: int) -> list[pl.DataFrame]:
        await self._open(wanted.table for wanted in queries)
        turn = asyncio.Semaphore(at_once)

        async def answer(wanted: Query) -> pl.DataFrame:
            async with turn:
                with reading(self._folder.parent, wanted.table):
                    return await self._answer(wanted)

        return list(await asyncio.gather(*map(answer, queries)))

    async def _search(self, wanted: SearchQuery) -> pl.DataFrame:
        """The union that a search asks: each list in a read of its own, then the vectors that are still missing."""
        key, fields = KEYS[wanted.table], wanted.fields or MATCHED.get(wanted.table, ())
        columns = tuple(dict.fromkeys((*wanted.columns, *fields)))
        lists: list[Query] = []
        for part in wanted.parts or (None,):
            where = wanted.where if part is None else part if wanted.where is None else wanted.where & part
            if wanted.words.strip():
                lists.append(TextQuery(wanted.table, wanted.words, wanted.k, where, fields, columns))
            if wanted.vector is not None:
                lists.append(VectorQuery(wanted.table, wanted.vector, wanted.k, where, columns))
        if wanted.also:
            named = col(key).isin(wanted.also)
            where = named if wanted.where is None else wanted.where & named
            lists.append(RowsQuery(wanted.table, (key, *columns), where))
        rows: dict[str, Row] = {}
        for frame in await asyncio.gather(*map(self._answer, lists)):
            for row in frame.rename({"match_score": "text_score"}, strict=False).rows(named=True):
                held = held_terms(_texts(row, fields), distinct_terms(wanted.words))
                rows.setdefault(row[key], {**row, "text_score": 0.0, "held": held}).update(
                    {name: row[name] for name in FOUND if name in row}
                )
        await self._add_similarities(wanted, rows)
        return pl.DataFrame(
            [{name: row[name] for name in (key, *wanted.columns, *FOUND)} for row in rows.values()],
            schema={**_types(wanted.table, (key, *wanted.columns)), **FOUND_TYPES},
        )

    async def _add_similarities(self, wanted: SearchQuery, rows: dict[str, Row]) -> None:
        """Give rows that only full text or a key brought their cosine, in place."""
        key, missing = KEYS[wanted.table], [name for name, row in rows.items() if "similarity" not in row]
        known: dict[str, float] = {}
        if missing and wanted.vector is not None:
            found = await self._answer(RowsQuery(wanted.table, (key, "vector"), col(key).isin(missing)))
            whole = found.drop_nulls("vector")
            vectors = whole["vector"].to_numpy() if whole.height else np.empty((0, len(wanted.vector)))
            lengths = np.linalg.norm(vectors, axis=1) * (np.linalg.norm(wanted.vector) or 1.0)
            cosines = np.vecdot(vectors, wanted.vector) / np.where(lengths == 0, 1.0, lengths)
            known = dict(zip(whole[key], cosines.tolist(), strict=True))
        for name in missing:
            rows[name]["similarity"] = known.get(name, 0.0)

    async def _answer(self, wanted: Query) -> pl.DataFrame:
        if isinstance(wanted, SearchQuery):
            return await self._search(wanted)
        query: AsyncStandardQuery = self._tables[wanted.table].query()
        if isinstance(wanted, TextQuery):
            words = full_text_query(wanted.text, wanted.fields or MATCHED[wanted.table])
            query = self._tables[wanted.table].query().nearest_to_text(words)
        elif isinstance(wanted, VectorQuery):
            near = self._tables[wanted.table].query().nearest_to(wanted.vector).column("vector")
            query = near.distance_type("cosine").refine_factor(REFINE_FACTOR)
        if wanted.where is not None:
            query = query.where(on_disk(wanted.where))
        if isinstance(wanted, FirstQuery):
            order = [
                ColumnOrdering(column_name=wanted.by, ascending=False),
                ColumnOrdering(column_name=KEYS[wanted.table]),
            ]
            query = query.order_by(order).limit(wanted.k)
        if isinstance(wanted, RowsQuery | FirstQuery):
            found = await query.select(list(wanted.columns)).to_arrow()
            return frame_of(found.select(list(wanted.columns)))
        key = KEYS[wanted.table]
        raw = "_score" if isinstance(wanted, TextQuery) else "_distance"
        ranked = query.limit(wanted.k).select([key, *wanted.columns, raw])
        score, name = pl.col(raw).cast(pl.Float64), value_name(wanted)
        return (
            frame_of(await ranked.to_arrow())
            .with_columns((score if raw == "_score" else 1.0 - score).alias(name))
            .drop(raw)
            .sort(name, key, descending=[True, False])
        )


def frame_of(arrow: pa.Table) -> pl.DataFrame:
    """An Arrow table as a frame."""
    frame = pl.from_arrow(arrow)
    assert isinstance(frame, pl.DataFrame)
    return frame


@cache
def no_rows(table: str, dims: int) -> pl.DataFrame:
    """No rows of a table, with the columns that it has on disk."""
    return frame_of(arrow_schema(table, dims).empty_table())


def best_of_each(found: pl.DataFrame, score: str, key: str, k: int) -> pl.DataFrame:
    """The k best rows of each query, ties by key."""
    ordered = found.sort("query_index", score, key, descending=[False, True, False])
    return ordered.group_by("query_index", maintain_order=True).head(k)


@cache
def _loop() -> asyncio.AbstractEventLoop:
    """One event loop for all readers of this process, in a thread that ends with it."""
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="slowwave-reads", daemon=True).start()
    return loop
