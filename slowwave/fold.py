"""What each kind of event changes in the tables: pure, one function a kind.

The store applies collapsed changes (`slowwave/changes.py`) and `rebuild` is the same fold over the whole journal,
so that both reach the same tables. Payloads carry absolute values, never increments: folding twice is folding once.
"""

from collections.abc import Callable

import polars as pl

from slowwave.changes import Change, Mode
from slowwave.errors import ContractError
from slowwave.schemas.events import CATALOGUE, decode
from slowwave.schemas.tables import KEYS, TIMESTAMP, frame_schema

VITALS_AT_BIRTH = {
    "retrieval_count": 0,
    "citation_count": 0,
    "ignore_count": 0,
    "confirmations": 0,
    "archived_count": 0,
    "revived_count": 0,
}
MOMENTS_AFTER_BIRTH = ("retrieved_at", "archived_at", "revived_at")


def fold(events: pl.DataFrame) -> list[Change]:
    """Changes that scanned events (`SCAN_SCHEMA`) ask for, in no particular order; `order` tells which is later."""
    ordered = events.with_row_index("order").with_columns(pl.col("order").cast(pl.Int64))
    changes: list[Change] = []
    for part in ordered.partition_by("kind", maintain_order=True):
        kind = part["kind"][0]
        changes.extend(FOLDS[kind](decode(kind, part)))
    return changes


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
        **{name: pl.lit(None, dtype=TIMESTAMP) for name in MOMENTS_AFTER_BIRTH},
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


def _cell_archived(rows: pl.DataFrame) -> list[Change]:
    counted = rows.select("cell_id", "order", "archived_count", archived_at="event_recorded_at")
    return [
        Change("vitals", counted, "patch"),
        Change("cells", rows.select("cell_id", "order", status=pl.lit("archived")), "patch"),
    ]


def _cell_revived(rows: pl.DataFrame) -> list[Change]:
    names = ["cell_id", "order", "revived_count", "last_accessed"]
    return [
        Change("vitals", rows.select(*names, revived_at="event_recorded_at"), "patch"),
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
    "cell.archived": _cell_archived,
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
    "vitals.folded": _patch("vitals"),
    "core.promoted": _row("core", "whole", stamp="promoted_at"),
    "core.moved": _patch("core"),
    "core.demoted": _removal("core"),
    "night.completed": _row("nights", "whole"),
}

if set(FOLDS) != set(CATALOGUE):
    raise ContractError(f"event kinds without a fold: {sorted(set(CATALOGUE) ^ set(FOLDS))}")
