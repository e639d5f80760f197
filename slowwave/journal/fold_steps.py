"""Steps that the folds of many kinds take: a whole row, a patch, a removal."""

from collections.abc import Callable

import polars as pl

from slowwave.journal.changes import Change, Mode
from slowwave.schemas.tables import KEYS, frame_schema

Fold = Callable[[pl.DataFrame], list[Change]]


def recorded(rows: pl.DataFrame, name: str = "recorded_at") -> pl.DataFrame:
    """Decoded payloads with the time of the event under this name."""
    return rows.rename({"event_recorded_at": name})


def only(rows: pl.DataFrame, table: str) -> pl.DataFrame:
    """The columns of a table that the rows have, and `order`."""
    names = [name for name in frame_schema(table).names() if name in rows.columns]
    return rows.select(*names, "order")


def row(table: str, mode: Mode, *, stamp: str | None = None) -> Fold:
    """A kind whose payload is a complete row, with the time of the event as `stamp`."""

    def folded(rows: pl.DataFrame) -> list[Change]:
        return [Change(table, only(recorded(rows, stamp) if stamp else rows, table), mode)]

    return folded


def patch(table: str, **constants: str | bool | int) -> Fold:
    """A kind whose payload names a key and the columns that change; `constants` change for every row."""

    def folded(rows: pl.DataFrame) -> list[Change]:
        named = rows.with_columns(pl.lit(value).alias(name) for name, value in constants.items())
        return [Change(table, only(named, table), "patch")]

    return folded


def removal(table: str) -> Fold:
    """A kind that takes the named keys away."""

    def folded(rows: pl.DataFrame) -> list[Change]:
        return [Change(table, rows.select(KEYS[table], "order"), "removal")]

    return folded
