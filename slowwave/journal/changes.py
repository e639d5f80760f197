"""Changes of tables, collapsed to at most one row a key: the fold makes them, the store applies them.

Changes carry absolute values, never increments: applied twice is applied once.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import polars as pl

from slowwave.schemas.tables import KEYS, frame_schema

Mode = Literal["birth", "whole", "patch", "removal"]


@dataclass(frozen=True)
class Change:
    """Rows of one table with the key, the columns that change and `order`.

    A `birth` is a complete row that counts only where there is none yet, so that what is said twice does not
    reset what happened since; `whole` is a complete row that replaces, `patch` changes the columns named,
    `removal` takes the row away.
    """

    table: str
    rows: pl.DataFrame
    mode: Mode


@dataclass(frozen=True)
class TableChange:
    """All changes of one table, collapsed.

    `rows` has one row a key with all columns of the table: what is laid over a row that is there, where
    `has_<column>` says that the value wins over the present one. `births` has the complete rows of the keys that
    can stand alone where no row is there. `removed` lists the keys that go first.
    """

    table: str
    rows: pl.DataFrame
    births: pl.DataFrame
    removed: pl.Series


def collapse(changes: Iterable[Change]) -> dict[str, TableChange]:
    """One row a key: the first birth or the last whole row, overlaid by each later change, column by column."""
    by_table: dict[str, list[Change]] = {}
    for change in changes:
        if change.rows.height:
            by_table.setdefault(change.table, []).append(change)
    return {table: _collapse_table(table, parts) for table, parts in by_table.items()}


def _collapse_table(table: str, changes: list[Change]) -> TableChange:
    key = KEYS[table]
    removals = [change.rows for change in changes if change.mode == "removal"]
    removed = _orders(removals, key, removed_order=pl.col("order").max())
    parts = [
        _after_removal(change.rows, removed, key).with_columns(
            is_complete=pl.lit(change.mode in ("birth", "whole")),
            # births rank below everything else, the earliest of them highest
            rank=-pl.col("order") - 1 if change.mode == "birth" else pl.col("order"),
        )
        for change in changes
        if change.mode != "removal"
    ]
    columns = {name: dtype for name, dtype in frame_schema(table).items() if name != key}
    rows = _overlaid(parts, key, columns)
    complete = _orders([part.filter("is_complete") for part in parts], key, first_order=pl.col("order").min())
    if complete.is_empty():
        born = rows.clear()
    elif len(parts) == 1 and parts[0].height == complete.height:
        born = rows  # new rows alone, each of them once
    else:  # what came before the first complete row was said of a row that was not there
        born = _overlaid([_from_birth(part, complete, key) for part in parts], key, columns)
    return TableChange(table, rows, born.select(key, *columns), removed[key].sort())


def _overlaid(parts: list[pl.DataFrame], key: str, columns: dict[str, pl.DataType]) -> pl.DataFrame:
    """One row a key with the last value of every column and `has_<column>`, in key order.

    One pass over all parts: an operation for each column costs more than the rows do.
    """
    if len(parts) == 1 and parts[0][key].is_unique().all():
        return _marked(parts[0], key, columns).sort(key)
    nothing = pl.DataFrame(
        schema={key: pl.String, "rank": pl.Int64, **columns, **dict.fromkeys(_has(columns), pl.Boolean)}
    )
    marked = [
        part.select(
            key,
            "rank",
            *(pl.col(name).cast(columns[name]) for name in columns if name in part.columns),
            *((pl.col("rank") >= 0).alias(f"has_{name}") for name in columns if name in part.columns),
        )
        for part in parts
    ]
    together = pl.concat([nothing, *marked], how="diagonal").sort("rank", maintain_order=True)
    return (
        together.group_by(key)
        .agg(
            *(pl.col(name).filter(pl.col(f"has_{name}").is_not_null()).last() for name in columns),
            *(pl.col(name).drop_nulls().last().fill_null(value=False) for name in _has(columns)),
        )
        .sort(key)
    )


def _marked(part: pl.DataFrame, key: str, columns: dict[str, pl.DataType]) -> pl.DataFrame:
    """The result of `_overlaid` where each key has one change alone."""
    given, is_last = set(part.columns), pl.col("rank") >= 0
    return part.select(
        key,
        *(
            (pl.col(name) if name in given else pl.lit(None).alias(name)).cast(dtype)
            for name, dtype in columns.items()
        ),
        *((is_last if name in given else pl.lit(value=False)).alias(f"has_{name}") for name in columns),
    )


def _has(columns: Iterable[str]) -> list[str]:
    return [f"has_{name}" for name in columns]


def _from_birth(rows: pl.DataFrame, complete: pl.DataFrame, key: str) -> pl.DataFrame:
    return (
        rows.join(complete, on=key, how="inner", maintain_order="left")
        .filter(pl.col("order") >= pl.col("first_order"))
        .drop("first_order")
    )


def _after_removal(rows: pl.DataFrame, removed: pl.DataFrame, key: str) -> pl.DataFrame:
    if removed.is_empty():
        return rows
    return (
        rows.join(removed, on=key, how="left", maintain_order="left")
        .filter(pl.col("removed_order").is_null() | (pl.col("order") > pl.col("removed_order")))
        .drop("removed_order")
    )


def _orders(frames: list[pl.DataFrame], key: str, **chosen: pl.Expr) -> pl.DataFrame:
    """One `order` of each key: the first or the last one, as `chosen` says."""
    none = pl.DataFrame(schema={key: pl.String, "order": pl.Int64})
    orders = pl.concat([none, *(frame.select(key, "order") for frame in frames)])
    return orders.group_by(key).agg(**chosen)


def overlay(change: TableChange, known: pl.DataFrame) -> pl.DataFrame:
    """Complete rows of a table after a collapsed change, in key order.

    `known` holds the present rows of the change's keys, in the table's shape and without the removed ones.
    A patch of a row that is neither known nor made in the same change is left out.
    """
    key = KEYS[change.table]
    names = [name for name in frame_schema(change.table).names() if name != key]
    laid = change.rows.join(known, on=key, how="inner", suffix="_known", maintain_order="left").select(
        key, *(pl.when(f"has_{name}").then(name).otherwise(f"{name}_known").alias(name) for name in names)
    )
    born = change.births.join(known, on=key, how="anti", maintain_order="left")
    return pl.concat([laid, born]).sort(key)
