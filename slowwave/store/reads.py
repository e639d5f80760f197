"""Queries of a search: independent reads that run at once.

A search asks several lists (full text and vectors of several tables) and then a few narrow rows. One after the
other their fixed costs add up; through LanceDB's asynchronous interface they share the machine's cores.
"""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterable, Sequence
from concurrent.futures import Future
from dataclasses import replace
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import TypeVar

import lancedb
import numpy as np
import polars as pl
import pyarrow as pa
from lancedb.db import AsyncConnection
from lancedb.query import AsyncStandardQuery, ColumnOrdering
from lancedb.table import AsyncTable

from slowwave.language.terms import held_terms, term_bits
from slowwave.schemas.tables import KEYS
from slowwave.store.conditions import col, on_disk
from slowwave.store.damage import reading
from slowwave.store.layout import MATCHED, arrow_schema, full_text_query
from slowwave.store.queries import FOUND, FirstQuery, Query, Row, RowsQuery, SearchQuery

Answer = TypeVar("Answer")

QUERIES_AT_ONCE = 64
"""Of more queries some wait, so that their answers need not all be in memory."""

INDEX_CACHE_BYTES, METADATA_CACHE_BYTES = 192 * 1024**2, 64 * 1024**2

REFINE_FACTOR = 5
"""The vector index ranks this many times what is wanted by its coarse vectors, and the exact ones decide."""


def _texts(row: Row, fields: Sequence[str]) -> str:
    """The indexed text of a row, all of its fields together."""
    parts = (row[name] or "" for name in fields)
    return " ".join(part if isinstance(part, str) else " ".join(part) for part in parts)


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

    def start(self, queries: Sequence[Query]) -> "Future[list[list[Row]]]":
        """Begins to read: the rows of each query, in their order. The tables are read as they are now.

        Half the cost of LanceDB's synchronous interface, for a few rows.
        """
        return self._begin(queries, self._answer, QUERIES_AT_ONCE)

    def frames(self, queries: Sequence[Query], *, at_once: int = QUERIES_AT_ONCE) -> list[pl.DataFrame]:
        """The same as frames, where each query is one list: rows of a condition, or the best by words or by vector."""
        return self._begin(queries, self._frame, at_once).result()

    def _begin(
        self, queries: Sequence[Query], read: Callable[[Query], Awaitable[Answer]], at_once: int
    ) -> "Future[list[Answer]]":
        return asyncio.run_coroutine_threadsafe(self._gather(queries, read, at_once), _loop())

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

    async def _gather(
        self, queries: Sequence[Query], read: Callable[[Query], Awaitable[Answer]], at_once: int
    ) -> list[Answer]:
        await self._open(wanted.table for wanted in queries)
        turn = asyncio.Semaphore(at_once)

        async def answer(wanted: Query) -> Answer:
            async with turn:
                with reading(self._folder.parent, wanted.table):
                    return await read(wanted)

        return list(await asyncio.gather(*map(answer, queries)))

    async def _answer(self, wanted: Query) -> list[Row]:
        """The rows of a query; a search reads each of its lists, then the vectors that are still missing."""
        if not isinstance(wanted, SearchQuery):
            return (await self._frame(wanted)).rows(named=True)
        key, fields = KEYS[wanted.table], wanted.fields or MATCHED.get(wanted.table, ())
        bits, rows = term_bits(wanted.words), dict[str, Row]()
        for frame in await asyncio.gather(*map(self._frame, _lists(wanted, key, fields))):
            for row in frame.rows(named=True):
                held = held_terms(_texts(row, fields), bits)
                rows.setdefault(row[key], {**row, "text_score": 0.0, "held": held}).update(
                    {name: row[name] for name in FOUND if name in row}
                )
        await self._add_similarities(wanted, rows)
        return [{name: row[name] for name in (key, *wanted.columns, *FOUND)} for row in rows.values()]

    async def _add_similarities(self, wanted: SearchQuery, rows: dict[str, Row]) -> None:
        """Give rows that only full text or a key brought their cosine, in place."""
        key, missing = KEYS[wanted.table], [name for name, row in rows.items() if "similarity" not in row]
        known: dict[str, float] = {}
        if missing and wanted.vector is not None:
            found = await self._frame(RowsQuery(wanted.table, (key, "vector"), col(key).isin(missing)))
            whole = found.drop_nulls("vector")
            vectors = whole["vector"].to_numpy() if whole.height else np.empty((0, len(wanted.vector)))
            lengths = np.linalg.norm(vectors, axis=1) * (np.linalg.norm(wanted.vector) or 1.0)
            cosines = np.vecdot(vectors, wanted.vector) / np.where(lengths == 0, 1.0, lengths)
            known = dict(zip(whole[key], cosines.tolist(), strict=True))
        for name in missing:
            rows[name]["similarity"] = known.get(name, 0.0)

    async def _frame(self, wanted: Query) -> pl.DataFrame:
        """The rows of one list, ranked ones best first, ties by key."""
        if isinstance(wanted, SearchQuery):
            return await self._ranked(wanted)
        query = self._tables[wanted.table].query()
        if wanted.where is not None:
            query = query.where(on_disk(wanted.where))
        if isinstance(wanted, FirstQuery):
            order = [
                ColumnOrdering(column_name=wanted.by, ascending=False),
                ColumnOrdering(column_name=KEYS[wanted.table]),
            ]
            query = query.order_by(order).limit(wanted.k)
        found = await query.select(list(wanted.columns)).to_arrow()
        return frame_of(found.select(list(wanted.columns)))

    async def _ranked(self, wanted: SearchQuery) -> pl.DataFrame:
        key, table = KEYS[wanted.table], self._tables[wanted.table].query()
        query: AsyncStandardQuery
        if wanted.vector is None:
            query = table.nearest_to_text(
                full_text_query(wanted.words, wanted.fields or MATCHED[wanted.table])
            )
            raw, name, value = "_score", "text_score", pl.col("_score").cast(pl.Float64)
        else:
            near = table.nearest_to(wanted.vector).column("vector")
            query = near.distance_type("cosine").refine_factor(REFINE_FACTOR)
            raw, name, value = "_distance", "similarity", 1.0 - pl.col("_distance").cast(pl.Float64)
        if wanted.where is not None:
            query = query.where(on_disk(wanted.where))
        found = frame_of(
            await query.limit(wanted.k).select([*dict.fromkeys((key, *wanted.columns)), raw]).to_arrow()
        )
        return found.with_columns(value.alias(name)).drop(raw).sort(name, key, descending=[True, False])


def _lists(wanted: SearchQuery, key: str, fields: Sequence[str]) -> list[Query]:
    """The lists whose union a search asks, each by words or by vector alone."""
    columns = tuple(dict.fromkeys((key, *wanted.columns, *fields)))
    lists: list[Query] = []
    for part in wanted.parts or (None,):
        where = wanted.where if part is None else part if wanted.where is None else wanted.where & part
        one = replace(wanted, where=where, columns=columns, also=(), parts=())
        if wanted.words.strip():
            lists.append(replace(one, vector=None))
        if wanted.vector is not None:
            lists.append(replace(one, words=""))
    if wanted.also:
        named = col(key).isin(wanted.also)
        where = named if wanted.where is None else wanted.where & named
        lists.append(RowsQuery(wanted.table, columns, where))
    return lists


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
