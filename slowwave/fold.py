"""What each kind of event changes in the tables: pure, one function a kind.

A fold turns events into changes, and `collapse` squeezes many changes of one table into at most one row a
key. The store applies collapsed changes and `rebuild` is the same fold over the whole journal, so that both
reach the same tables. Payloads carry absolute values, never increments: folding twice is folding once.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

import polars as pl

from slowwave.errors import ContractError
from slowwave.schemas.events import CATALOGUE, decode
from slowwave.schemas.tables import KEYS, TIMESTAMP, frame_schema

VITALS_AT_BIRTH = {
    "retrieval_count": 0,
    "citation_count": 0,
    "ignore_count": 0,
    "confirmations": 0,
    "revived_count": 0,
}


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


def fold(events: pl.DataFrame) -> list[Change]:
    """Changes that scanned events (`SCAN_SCHEMA`) ask for, in no particular order; `order` tells which is later."""
    ordered = events.with_row_index("order").with_columns(pl.col("order").cast(pl.Int64))
    changes: list[Change] = []
    for part in ordered.partition_by("kind", maintain_order=True):
        kind = part["kind"][0]
        changes.extend(FOLDS[kind](decode(kind, part)))
    return changes


def collapse(changes: Iterable[Change]) -> dict[str, TableChange]:
    """One row a key: the first birth or the last whole row, overlaid by each later change, column by column."""
    by_table: dict[str, list[Change]] = {}
    for change in changes:
        if change.rows.height:
            by_table.setdefault(change.table, []).append(change)
    return {table: _collapse_table(table, parts) for table, parts in by_table.items()}


def _collapse_table(table: str, changes: list[Change]) -> TableChange:
    key = KEYS[table]
    removed = _orders([change.rows for change in changes if change.mode == "removal"], key).rename(
        {"last_order": "removed_order"}
    )
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
    complete = _first([part.filter("is_complete") for part in parts], key)
    # what came before the first complete row was said of a row that was not there
    born = _overlaid([_from_birth(part, complete, key) for part in parts], key, columns)
    return TableChange(table, rows, born.select(key, *columns), removed[key].sort())


def _overlaid(parts: list[pl.DataFrame], key: str, columns: dict[str, pl.DataType]) -> pl.DataFrame:
    """One row a key with the last value of every column and `has_<column>`, in key order."""
    rows = _orders(parts, key).sort(key).select(key)
    for name, dtype in columns.items():
        values = _last_values([part for part in parts if name in part.columns], key, name, dtype)
        rows = rows.join(values, on=key, how="left", maintain_order="left").with_columns(
            pl.col(f"has_{name}").fill_null(value=False)
        )
    return rows


def _first(parts: list[pl.DataFrame], key: str) -> pl.DataFrame:
    """The order of the first row of each key."""
    if not parts:
        return pl.DataFrame(schema={key: pl.String, "first_order": pl.Int64})
    orders = pl.concat([part.select(key, "order") for part in parts])
    return orders.group_by(key).agg(first_order=pl.col("order").min())


def _from_birth(rows: pl.DataFrame, complete: pl.DataFrame, key: str) -> pl.DataFrame:
    return (
        rows.join(complete, on=key, how="inner", maintain_order="left")
        .filter(pl.col("order") >= pl.col("first_order"))
        .drop("first_order")
    )


def _after_removal(rows: pl.DataFrame, removed: pl.DataFrame, key: str) -> pl.DataFrame:
    return (
        rows.join(removed, on=key, how="left", maintain_order="left")
        .filter(pl.col("removed_order").is_null() | (pl.col("order") > pl.col("removed_order")))
        .drop("removed_order")
    )


def _orders(frames: list[pl.DataFrame], key: str) -> pl.DataFrame:
    if not frames:
        return pl.DataFrame(schema={key: pl.String, "last_order": pl.Int64})
    orders = pl.concat([frame.select(key, "order") for frame in frames])
    return orders.group_by(key).agg(pl.col("order").max().alias("last_order"))


def _last_values(frames: list[pl.DataFrame], key: str, name: str, dtype: pl.DataType) -> pl.DataFrame:
    if not frames:
        return pl.DataFrame(schema={key: pl.String, name: dtype, f"has_{name}": pl.Boolean})
    values = pl.concat([frame.select(key, pl.col(name).cast(dtype), "rank") for frame in frames])
    last = values.sort("rank", maintain_order=True).unique(key, keep="last", maintain_order=True)
    return last.select(key, name, (pl.col("rank") >= 0).alias(f"has_{name}"))


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


# One function a kind. Each gets the decoded payload with `event_recorded_at` and `order`.

Fold = Callable[[pl.DataFrame], list[Change]]


def _recorded(rows: pl.DataFrame, name: str = "recorded_at") -> pl.DataFrame:
    return rows.rename({"event_recorded_at": name})


def _only(rows: pl.DataFrame, table: str) -> pl.DataFrame:
    names = [name for name in frame_schema(table).names() if name in rows.columns]
    return rows.select(*names, "order")


def _row(table: str, mode: Mode, *, stamp: str | None = None) -> Fold:
    """A kind whose payload is a complete row, with the time of the event as `stamp`."""

    def folded(rows: pl.DataFrame) -> list[Change]:
        return [Change(table, _only(_recorded(rows, stamp) if stamp else rows, table), mode)]

    return folded


def _patch(table: str, **constants: str | bool | int) -> Fold:
    """A kind whose payload names a key and the columns that change; `constants` change for every row."""

    def folded(rows: pl.DataFrame) -> list[Change]:
        named = rows.with_columns(pl.lit(value).alias(name) for name, value in constants.items())
        return [Change(table, _only(named, table), "patch")]

    return folded


def _removal(table: str) -> Fold:
    """A kind that takes the named keys away."""

    def folded(rows: pl.DataFrame) -> list[Change]:
        return [Change(table, rows.select(KEYS[table], "order"), "removal")]

    return folded


def _cell_extracted(rows: pl.DataFrame) -> list[Change]:
    cells = _recorded(rows)
    vitals = cells.select(
        "cell_id",
        "order",
        last_accessed=pl.col("recorded_at"),  # what was learned today was not yet there to be used
        **{name: pl.lit(value) for name, value in VITALS_AT_BIRTH.items()},
    )
    return [
        Change("cells", _only(cells, "cells"), "birth"),
        Change("vitals", vitals, "birth"),
    ]


def _cell_confirmed(rows: pl.DataFrame) -> list[Change]:
    return [
        Change("vitals", rows.select("cell_id", "order", "confirmations", "last_accessed"), "patch"),
        Change("cells", rows.select("cell_id", "order", "evidence"), "patch"),
    ]


def _cell_revived(rows: pl.DataFrame) -> list[Change]:
    return [
        Change("vitals", rows.select("cell_id", "order", "revived_count", "last_accessed"), "patch"),
        Change("cells", rows.select("cell_id", "order", status=pl.lit("active")), "patch"),
    ]


def _cell_deleted(rows: pl.DataFrame) -> list[Change]:
    return [
        Change("tombstones", _only(_recorded(rows, "deleted_at"), "tombstones"), "whole"),
        Change("cells", rows.select("cell_id", "order"), "removal"),
        Change("vitals", rows.select("cell_id", "order"), "removal"),
        Change("core", rows.select("cell_id", "order"), "removal"),
    ]


def _cell_pruned(rows: pl.DataFrame) -> list[Change]:
    return [
        Change("cells", rows.select("cell_id", "order"), "removal"),
        Change("vitals", rows.select("cell_id", "order"), "removal"),
    ]


def _chunk_gated(rows: pl.DataFrame) -> list[Change]:
    refused = rows.filter(~pl.col("is_worth")).with_columns(status=pl.lit("gated_out"))
    return [Change("chunks", _only(refused, "chunks"), "patch")]


def _chunk_extracted(rows: pl.DataFrame) -> list[Change]:
    done = rows.with_columns(
        status=pl.lit("extracted"),
        error=pl.lit(None, dtype=pl.String),
        retry_at=pl.lit(None, dtype=TIMESTAMP),
    )
    return [Change("chunks", _only(done, "chunks"), "patch")]


def _chunk_released(rows: pl.DataFrame) -> list[Change]:
    freed = rows.with_columns(
        status=pl.lit("pending"),
        attempts=pl.lit(0),
        error=pl.lit(None, dtype=pl.String),
        retry_at=pl.lit(None, dtype=TIMESTAMP),
    )
    return [Change("chunks", _only(freed, "chunks"), "patch")]


def _topic_opened(rows: pl.DataFrame) -> list[Change]:
    nothing = {
        name: pl.lit(None, dtype=dtype)
        for name, dtype in frame_schema("topics").items()
        if name not in rows.columns
    }
    opened = (
        _recorded(rows, "updated_at")
        .with_columns(**{name: value for name, value in nothing.items() if name != "updated_at"})
        .with_columns(cell_count=pl.lit(0), unsummarized_count=pl.lit(0), needs_review=pl.lit(value=False))
    )
    return [Change("topics", _only(opened, "topics"), "birth")]


def _topic_summarized(rows: pl.DataFrame) -> list[Change]:
    topics = rows.with_columns(
        summarized_at=pl.col("event_recorded_at"),
        updated_at=pl.col("event_recorded_at"),
        unsummarized_count=pl.lit(0),
        needs_review=pl.lit(value=False),
    )
    cells = rows.select(cell_id=pl.col("cell_ids"), order="order").explode("cell_id").drop_nulls()
    return [
        Change("topics", _only(topics, "topics"), "patch"),
        Change("cells", cells.with_columns(is_summarized=pl.lit(value=True)), "patch"),
    ]


def _topic_counted(rows: pl.DataFrame) -> list[Change]:
    return [Change("topics", _only(_recorded(rows, "updated_at"), "topics"), "patch")]


def _contradiction_opened(rows: pl.DataFrame) -> list[Change]:
    opened = _recorded(rows, "detected_at").with_columns(
        status=pl.lit("open"),
        resolution=pl.lit(None, dtype=pl.String),
        resolved_at=pl.lit(None, dtype=TIMESTAMP),
    )
    return [Change("contradictions", _only(opened, "contradictions"), "birth")]


def _usage_recorded(rows: pl.DataFrame) -> list[Change]:
    fresh = rows.with_columns(folded_at=pl.lit(None, dtype=TIMESTAMP))
    return [Change("usage", _only(fresh, "usage"), "birth")]


def _usage_folded(rows: pl.DataFrame) -> list[Change]:
    return [Change("usage", _only(_recorded(rows, "folded_at"), "usage"), "patch")]


FOLDS: dict[str, Fold] = {
    "turn.recorded": _row("turns", "whole", stamp="recorded_at"),
    "source.recorded": _row("sources", "whole"),
    "usage.recorded": _usage_recorded,
    "usage.folded": _usage_folded,
    "cell.deleted": _cell_deleted,
    "chunk.released": _chunk_released,
    "chunk.cut": _row("chunks", "birth", stamp="recorded_at"),
    "chunk.gated": _chunk_gated,
    "chunk.extracted": _chunk_extracted,
    "chunk.failed": _patch("chunks"),
    "cell.extracted": _cell_extracted,
    "cell.confirmed": _cell_confirmed,
    "cell.merged": _patch("cells", status="superseded"),
    "cell.retired": _patch("cells", status="superseded"),
    "cell.superseded": _patch("cells", status="superseded"),
    "cell.succeeded": lambda rows: [
        Change("cells", rows.select("cell_id", "order", "supersedes", "summary"), "patch")
    ],
    "cell.judged": _patch("cells", is_judged=True),
    "cell.flagged": _patch("cells", needs_review=True),
    "cell.archived": _patch("cells", status="archived"),
    "cell.revived": _cell_revived,
    "cell.pruned": _cell_pruned,
    "cell.assigned": _patch("cells"),
    "topic.opened": _topic_opened,
    "topic.counted": _topic_counted,
    "topic.merged": _patch("topics"),
    "topic.renamed": _patch("topics"),
    "topic.summarized": _topic_summarized,
    "topic.flagged": _patch("topics", needs_review=True),
    "pair.judged": _row("judgements", "whole", stamp="judged_at"),
    "contradiction.opened": _contradiction_opened,
    "vitals.folded": _row("vitals", "whole"),
    "core.promoted": _row("core", "whole", stamp="promoted_at"),
    "core.demoted": _removal("core"),
    "night.completed": _row("nights", "whole"),
}

if set(FOLDS) != set(CATALOGUE):
    raise ContractError(f"event kinds without a fold: {sorted(set(CATALOGUE) ^ set(FOLDS))}")
