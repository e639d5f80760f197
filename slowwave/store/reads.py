"""Legs of a search: independent reads that run at once.

A search asks several lists (full text and vectors of several tables) and then a few narrow rows. One after the
other their fixed costs add up; through LanceDB's asynchronous interface they share the machine's cores.
"""

import asyncio
import threading
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import Any

import lancedb
import numpy as np
import polars as pl
from lancedb.db import AsyncConnection
from lancedb.expr import Expr as LanceExpr
from lancedb.table import AsyncTable
from numpy.typing import NDArray

from slowwave.schemas.tables import KEYS, frame_schema
from slowwave.store.conditions import Expr, on_disk
from slowwave.store.layout import MATCHED, FullTextQuery, full_text_query
from slowwave.store.memory_tables import MemoryTable, Row
from slowwave.store.memory_vectors import Floats, Places

SEARCHES_AT_ONCE = 4

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
    where: Expr
    fields: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()


@dataclass(frozen=True)
class VectorQuery:
    """The `k` rows of a table nearest to `vector` by cosine: the key, `similarity` (-1..1), `columns`."""

    table: str
    vector: NDArray[np.float32]
    k: int
    where: Expr
    columns: tuple[str, ...] = ()


@dataclass(frozen=True)
class RowsQuery:
    """The named columns of the rows that a condition holds for."""

    table: str
    columns: tuple[str, ...]
    where: Expr


Query = TextQuery | VectorQuery | RowsQuery


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
    """What a leg finds in a table in memory, row by row."""
    if isinstance(wanted, RowsQuery):
        return copy.take(copy.places(wanted.where), wanted.columns)
    places, values = _ranked_places(copy, wanted)
    rows = copy.take(places, (KEYS[wanted.table], *wanted.columns))
    for row, value in zip(rows, values.tolist(), strict=True):
        row[SCORE] = value
    return rows


def frame_in_memory(copy: MemoryTable, wanted: Query) -> pl.DataFrame:
    """What a leg finds in a table in memory, in the shape of what it finds on disk."""
    if isinstance(wanted, RowsQuery):
        return copy.frame.select(wanted.columns)[copy.places(wanted.where)]
    places, values = _ranked_places(copy, wanted)
    rows = copy.frame.select(KEYS[wanted.table], *wanted.columns)[places]
    return rows.with_columns(pl.Series(value_name(wanted), values, dtype=pl.Float64))


def _ranked_places(copy: MemoryTable, wanted: TextQuery | VectorQuery) -> tuple[Places, Floats]:
    if isinstance(wanted, TextQuery):
        return copy.matching(wanted.text, wanted.k, wanted.where, wanted.fields)
    return copy.nearest(wanted.vector, wanted.k, wanted.where)


class Queries:
    """Runs legs over one generation, with tables kept open."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._connection: AsyncConnection | None = None
        self._tables: dict[str, AsyncTable] = {}

    def start(self, queries: Sequence[Query]) -> "Future[list[pl.DataFrame]]":
        """Begins to read; the result has a frame for each leg, in their order; ranked ones best first, ties by key."""
        return asyncio.run_coroutine_threadsafe(self._gather(queries), _loop())

    def read(self, table: str, columns: Sequence[str], where: LanceExpr | str | None) -> pl.DataFrame:
        """Rows of a table, as it is now; half the cost of LanceDB's synchronous interface for a few of them."""
        return asyncio.run_coroutine_threadsafe(self._read(table, list(columns), where), _loop()).result()

    async def _read(self, table: str, columns: list[str], where: LanceExpr | str | None) -> pl.DataFrame:
        query = (await self._open(table)).query().select(columns)
        if where is not None:
            query = query.where(where)
        return _frame(await query.to_arrow()).select(columns)

    def matching(
        self, table: str, queries: Sequence[FullTextQuery], k: int, where: Expr | None
    ) -> list[pl.DataFrame]:
        """The key and `_score` (BM25) of the `k` rows that match each query best, some searches at once."""
        return asyncio.run_coroutine_threadsafe(self._matching(table, queries, k, where), _loop()).result()

    async def _matching(
        self, table: str, queries: Sequence[FullTextQuery], k: int, where: Expr | None
    ) -> list[pl.DataFrame]:
        handle, turn = await self._open(table), asyncio.Semaphore(SEARCHES_AT_ONCE)

        async def search(query: FullTextQuery) -> pl.DataFrame:
            asked = handle.query().nearest_to_text(query).limit(k).select([KEYS[table], "_score"])
            async with turn:
                return _frame(await (asked if where is None else asked.where(on_disk(where))).to_arrow())

        return list(await asyncio.gather(*map(search, queries)))

    async def _open(self, table: str) -> AsyncTable:
        if table not in self._tables:
            if self._connection is None:
                self._connection = await lancedb.connect_async(
                    self._folder, read_consistency_interval=timedelta(0)
                )
            self._tables[table] = await self._connection.open_table(table)
        return self._tables[table]

    async def _gather(self, queries: Sequence[Query]) -> list[pl.DataFrame]:
        for table in {wanted.table for wanted in queries}:
            await self._open(table)
        return list(await asyncio.gather(*(self._one(wanted) for wanted in queries)))

    async def _one(self, wanted: Query) -> pl.DataFrame:
        query = self._tables[wanted.table].query()
        key = KEYS[wanted.table]
        if isinstance(wanted, RowsQuery):
            arrow = await query.where(on_disk(wanted.where)).select(list(wanted.columns)).to_arrow()
            return _frame(arrow)
        if isinstance(wanted, TextQuery):
            words = full_text_query(wanted.text, wanted.fields or MATCHED[wanted.table])
            found = query.nearest_to_text(words).where(on_disk(wanted.where)).limit(wanted.k)
            frame = _frame(await found.select([key, *wanted.columns, "_score"]).to_arrow())
            return _ranked(frame, "_score", "match_score", key)
        near = (
            query.nearest_to(wanted.vector)
            .column("vector")
            .distance_type("cosine")
            .where(on_disk(wanted.where))
        )
        arrow = (
            await near.refine_factor(REFINE_FACTOR)
            .limit(wanted.k)
            .select([key, *wanted.columns, "_distance"])
            .to_arrow()
        )
        frame = _frame(arrow).with_columns(_distance=1.0 - pl.col("_distance").cast(pl.Float64))
        return _ranked(frame, "_distance", "similarity", key)


def _ranked(frame: pl.DataFrame, raw: str, name: str, key: str) -> pl.DataFrame:
    return frame.rename({raw: name}).cast({name: pl.Float64}).sort(name, key, descending=[True, False])


def _frame(arrow: Any) -> pl.DataFrame:
    frame = pl.from_arrow(arrow)
    assert isinstance(frame, pl.DataFrame)
    return frame


@cache
def _loop() -> asyncio.AbstractEventLoop:
    """One event loop for all readers of this process, in a thread that ends with it."""
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="slowwave-reads", daemon=True).start()
    return loop
