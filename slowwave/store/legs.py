"""Legs of a search: independent reads that run at once.

A search asks several lists (full text and vectors of several tables) and then a few narrow rows. One after the
other their fixed costs add up; through LanceDB's asynchronous interface they share the machine's cores.
"""

import asyncio
import threading
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import Any

import lancedb
import numpy as np
import polars as pl
from lancedb.db import AsyncConnection
from lancedb.table import AsyncTable
from numpy.typing import NDArray

from slowwave.schemas.tables import KEYS, frame_schema
from slowwave.store.layout import MATCHED, text_query
from slowwave.store.scopes import Expr

REFINE_FACTOR = 5
"""The vector index ranks this many times what is wanted by its coarse vectors, and the exact ones decide."""


@dataclass(frozen=True)
class TextLeg:
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
class VectorLeg:
    """The `k` rows of a table nearest to `vector` by cosine: the key, `similarity` (-1..1), `columns`."""

    table: str
    vector: NDArray[np.float32]
    k: int
    where: Expr
    columns: tuple[str, ...] = ()


@dataclass(frozen=True)
class RowsLeg:
    """The named columns of the rows that a condition holds for."""

    table: str
    columns: tuple[str, ...]
    where: Expr


Leg = TextLeg | VectorLeg | RowsLeg


def nothing_found(leg: TextLeg) -> pl.DataFrame:
    """The answer of a list that found nothing, in the shape of one that did."""
    types = frame_schema(leg.table)
    names = [KEYS[leg.table], *leg.columns]
    return pl.DataFrame(schema={**{name: types[name] for name in names}, "match_score": pl.Float64})


class Legs:
    """Runs legs over one generation, with tables kept open."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._connection: AsyncConnection | None = None
        self._tables: dict[str, AsyncTable] = {}

    def run(self, legs: Sequence[Leg]) -> list[pl.DataFrame]:
        """A frame for each leg, in their order; ranked ones best first, ties by key."""
        return _wait(self._gather(legs))

    async def _gather(self, legs: Sequence[Leg]) -> list[pl.DataFrame]:
        for table in {leg.table for leg in legs} - self._tables.keys():
            if self._connection is None:
                self._connection = await lancedb.connect_async(
                    self._folder, read_consistency_interval=timedelta(0)
                )
            self._tables[table] = await self._connection.open_table(table)
        return list(await asyncio.gather(*(self._one(leg) for leg in legs)))

    async def _one(self, leg: Leg) -> pl.DataFrame:
        query = self._tables[leg.table].query()
        key = KEYS[leg.table]
        if isinstance(leg, RowsLeg):
            arrow = await query.where(leg.where).select(list(leg.columns)).to_arrow()
            return _frame(arrow)
        if isinstance(leg, TextLeg):
            words = text_query(leg.text, leg.fields or MATCHED[leg.table])
            found = query.nearest_to_text(words).where(leg.where).limit(leg.k)
            frame = _frame(await found.select([key, *leg.columns, "_score"]).to_arrow())
            return _ranked(frame, "_score", "match_score", key)
        near = query.nearest_to(leg.vector).column("vector").distance_type("cosine").where(leg.where)
        arrow = (
            await near.refine_factor(REFINE_FACTOR)
            .limit(leg.k)
            .select([key, *leg.columns, "_distance"])
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


def _wait(work: "Coroutine[Any, Any, list[pl.DataFrame]]") -> list[pl.DataFrame]:
    return asyncio.run_coroutine_threadsafe(work, _loop()).result()
