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
    columns = {name: dtype for name, dtype in frame_schema(table).items() if name != key}
    places = {key: pl.String, "order": pl.Int64}
    removals = [change.rows.select(list(places)) for change in changes if change.mode == "removal"]
    removed = (
        pl.concat([pl.DataFrame(schema=places), *removals]).group_by(key).agg(gone_at=pl.col("order").max())
    )
    marks = {"rank": pl.Int64, "is_complete": pl.Boolean, **dict.fromkeys(_has(columns), pl.Boolean)}
    nothing = pl.DataFrame(schema={**places, **columns, **marks})
    marked = [_marked(change, key, columns) for change in changes if change.mode != "removal"]
    said = pl.concat([nothing, *marked], how="diagonal")
    if removed.height:
        said = said.join(removed, on=key, how="left", maintain_order="left").filter(
            pl.col("gone_at").is_null() | (pl.col("order") > pl.col("gone_at"))
        )
    # what came before the first complete row was said of a row that was not there
    born = said.filter(pl.col("order") >= pl.col("order").filter("is_complete").min().over(key))
    rows = _overlaid(said, key, columns)
    if born.height in (0, said.height):  # nothing or everything is new: one pass is enough
        births = rows.clear() if born.is_empty() else rows
    else:
        births = _overlaid(born, key, columns)
    return TableChange(table, rows, births.select(key, *columns), removed[key].sort())


def _marked(change: Change, key: str, columns: dict[str, pl.DataType]) -> pl.DataFrame:
    """The rows of a change in the types of the table, with their rank: the highest wins, column by column.

    Births rank below everything else, the earliest of them highest, and win over no row that is there.
    """
    given = [name for name in columns if name in change.rows.columns]
    is_birth = change.mode == "birth"
    return change.rows.select(
        key,
        "order",
        *(pl.col(name).cast(columns[name]) for name in given),
        *(pl.lit(not is_birth).alias(name) for name in _has(given)),
        rank=-pl.col("order") - 1 if is_birth else pl.col("order"),
        is_complete=pl.lit(change.mode in ("birth", "whole")),
    )


def _overlaid(said: pl.DataFrame, key: str, columns: dict[str, pl.DataType]) -> pl.DataFrame:
    """One row a key with the last value of every column and `has_<column>`, in key order.

    One pass over all changes: an operation for each column costs more than the rows do.
    """
    has = _has(columns)
    if said[key].is_unique().all():
        return said.select(key, *columns, *(pl.col(name).fill_null(value=False) for name in has)).sort(key)
    return (
        said.sort("rank", maintain_order=True)
        .group_by(key)
        .agg(
            *(pl.col(name).filter(pl.col(f"has_{name}").is_not_null()).last() for name in columns),
            *(pl.col(name).drop_nulls().last().fill_null(value=False) for name in has),
        )
        .sort(key)
    )


def _has(columns: Iterable[str]) -> list[str]:
    return [f"has_{name}" for name in columns]


def overlay(change: TableChange, known: pl.DataFrame) -> pl.DataFrame:
    """Complete rows of a table after a collapsed change, in key order.

    `known` holds the present rows of the change's keys, in the table's shape and without the removed ones.
    A patch of a row that is neither known nor made in the same change is left out.
    """
    key = KEYS[change.table]
    names = [name for name in frame_schema(change.table).names() if name != key]
    if known.is_empty():  # most rows of an edit are new: fifty expressions would be laid over nothing
        return change.births.sort(key)
    laid = change.rows.join(known, on=key, how="inner", suffix="_known", maintain_order="left").select(
        key, *(pl.when(f"has_{name}").then(name).otherwise(f"{name}_known").alias(name) for name in names)
    )
    born = change.births.join(known, on=key, how="anti", maintain_order="left")
    return pl.concat([laid, born]).sort(key)
