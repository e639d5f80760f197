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
    "revived_count": 0,
}


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
        Change("queue", rows.select("cell_id", "order"), "removal"),
        Change("core", rows.select("cell_id", "order"), "removal"),
    ]


def _cell_erased(rows: pl.DataFrame) -> list[Change]:
    nothing = {name: pl.lit(None, dtype=pl.String) for name in ("content", "note")}
    return _cell_deleted(rows.with_columns(**nothing))


def _turn_erased(rows: pl.DataFrame) -> list[Change]:
    return [
        Change("erasures", _only(_recorded(rows, "erased_at"), "erasures"), "whole"),
        Change("turns", rows.select("turn_id", "order"), "removal"),
    ]


def _cell_pruned(rows: pl.DataFrame) -> list[Change]:
    return [
        Change("cells", rows.select("cell_id", "order"), "removal"),
        Change("vitals", rows.select("cell_id", "order"), "removal"),
        Change("queue", rows.select("cell_id", "order"), "removal"),
    ]


def _queued(rows: pl.DataFrame, **values: pl.Expr) -> list[Change]:
    """Changes of the queue: a row for a memory that has none, and the columns named."""
    nothing = {
        "status": pl.lit("settled"),
        "attempts": pl.lit(0, dtype=pl.Int64),
        "error": pl.lit(None, dtype=pl.String),
        "retry_at": pl.lit(None, dtype=TIMESTAMP),
        "scanned_at": pl.lit(None, dtype=TIMESTAMP),
    }
    return [
        Change("queue", rows.select("cell_id", "order", **nothing), "birth"),
        Change("queue", rows.select("cell_id", "order", **values), "patch"),
    ]


def _cell_superseded(rows: pl.DataFrame) -> list[Change]:
    """The prompt and the model behind the judgement are not those behind the memory."""
    return _patch("cells", status="superseded")(rows.drop("prompt_version", "model"))


def _tries_over() -> dict[str, pl.Expr]:
    return {
        "status": pl.lit("settled"),
        "attempts": pl.lit(0, dtype=pl.Int64),
        "error": pl.lit(None, dtype=pl.String),
        "retry_at": pl.lit(None, dtype=TIMESTAMP),
    }


def _cell_judged(rows: pl.DataFrame) -> list[Change]:
    """A judged memory's neighbours were looked at as well."""
    judged = rows.select("cell_id", "order", is_judged=pl.lit(value=True))
    looked = _queued(rows, scanned_at=pl.col("event_recorded_at"), **_tries_over())
    return [Change("cells", judged, "patch"), *looked]


def _cell_reviewed(rows: pl.DataFrame) -> list[Change]:
    reviewed = rows.select("cell_id", "order", needs_review=pl.lit(value=False))
    return [Change("cells", reviewed, "patch"), *_queued(rows, **_tries_over())]


def _cell_reinstated(rows: pl.DataFrame) -> list[Change]:
    nothing = {name: pl.lit(None, dtype=TIMESTAMP) for name in ("superseded_at", "valid_until")}
    stands = {"status": pl.lit("active"), "superseded_by": pl.lit(None, dtype=pl.String), **nothing}
    return [Change("cells", rows.select("cell_id", "order", **stands), "patch")]


def _judging_failed(rows: pl.DataFrame) -> list[Change]:
    columns = ("status", "attempts", "error", "retry_at")
    return _queued(rows, **{name: pl.col(name) for name in columns})


def _contradiction_closed(rows: pl.DataFrame) -> list[Change]:
    closed = _recorded(rows, "resolved_at").with_columns(status=pl.lit("resolved"))
    return [Change("contradictions", _only(closed, "contradictions"), "patch")]


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


def _topic_unsummarized(rows: pl.DataFrame) -> list[Change]:
    nothing = {
        name: pl.lit(None, dtype=pl.String) for name in ("summary", "compressed", "prompt_version", "model")
    }
    topics = rows.with_columns(
        **nothing, summarized_at=pl.lit(None, dtype=TIMESTAMP), needs_review=pl.lit(value=True)
    )
    cells = rows.select(cell_id=pl.col("cell_ids"), order="order").explode("cell_id").drop_nulls()
    return [
        Change("topics", _only(topics, "topics"), "patch"),
        Change("cells", cells.with_columns(is_summarized=pl.lit(value=False)), "patch"),
    ]


def _topic_counted(rows: pl.DataFrame) -> list[Change]:
    return [Change("topics", _only(_recorded(rows, "updated_at"), "topics"), "patch")]


def _contradiction_opened(rows: pl.DataFrame) -> list[Change]:
    opened = _recorded(rows, "detected_at").with_columns(
        status=pl.lit("open"),
        resolution=pl.lit(None, dtype=pl.String),
        resolved_at=pl.lit(None, dtype=TIMESTAMP),
        resolution_note=pl.lit(None, dtype=pl.String),
    )
    return [Change("contradictions", _only(opened, "contradictions"), "birth")]


def _contradiction_resolved(rows: pl.DataFrame) -> list[Change]:
    resolved = _recorded(rows, "resolved_at").with_columns(status=pl.lit("resolved"))
    return [Change("contradictions", _only(resolved, "contradictions"), "patch")]


def _contradiction_reopened(rows: pl.DataFrame) -> list[Change]:
    nothing = {name: pl.lit(None, dtype=pl.String) for name in ("resolution", "resolution_note")}
    opened = rows.with_columns(status=pl.lit("open"), resolved_at=pl.lit(None, dtype=TIMESTAMP), **nothing)
    return [Change("contradictions", _only(opened, "contradictions"), "patch")]


def _usage_recorded(rows: pl.DataFrame) -> list[Change]:
    fresh = rows.with_columns(folded_at=pl.lit(None, dtype=TIMESTAMP))
    return [Change("usage", _only(fresh, "usage"), "birth")]


def _usage_folded(rows: pl.DataFrame) -> list[Change]:
    return [Change("usage", _only(_recorded(rows, "folded_at"), "usage"), "patch")]


EPISODE_AT_BIRTH: dict[str, str | bool] = {
    "cell_type": "episode",
    "status": "active",
    "is_judged": True,
    "is_summarized": True,
    "protected": False,
}
"""An episode is neither judged against other memories nor part of a topic."""


def _episode_written(rows: pl.DataFrame) -> list[Change]:
    """A birth where there is none yet; told anew, the text changes and what happened to the memory stays."""
    told = _recorded(rows).with_columns(needs_review=pl.lit(value=False))
    schema = frame_schema("cells")
    nothing = {
        name: pl.lit([] if isinstance(dtype, pl.List) else None, dtype=dtype)
        for name, dtype in schema.items()
        if name not in told.columns
    }
    fixed = {name: pl.lit(value) for name, value in EPISODE_AT_BIRTH.items()}
    born = told.with_columns(**nothing).with_columns(**fixed)
    vitals = told.select(
        "cell_id",
        "order",
        last_accessed=pl.col("recorded_at"),
        **{name: pl.lit(value) for name, value in VITALS_AT_BIRTH.items()},
    )
    state = told.with_columns(
        status=pl.lit("written"),
        attempts=pl.lit(0),
        error=pl.lit(None, dtype=pl.String),
        retry_at=pl.lit(None, dtype=TIMESTAMP),
        written_at=pl.col("recorded_at"),
    )
    return [
        Change("cells", _only(born, "cells"), "birth"),
        Change("cells", _only(told, "cells"), "patch"),
        Change("vitals", vitals, "birth"),
        Change("episodes", _only(state, "episodes"), "whole"),
    ]


def _episode_failed(rows: pl.DataFrame) -> list[Change]:
    unwritten = rows.with_columns(written_at=pl.lit(None, dtype=TIMESTAMP))
    patch = rows.select("cell_id", "order", "status", "turn_count", "attempts", "error", "retry_at")
    return [Change("episodes", _only(unwritten, "episodes"), "birth"), Change("episodes", patch, "patch")]


def _episode_dropped(rows: pl.DataFrame) -> list[Change]:
    gone = rows.select("cell_id", "order")
    return [Change(table, gone, "removal") for table in ("cells", "vitals", "episodes", "core")]


def _episode_released(rows: pl.DataFrame) -> list[Change]:
    freed = rows.select(
        "cell_id",
        "order",
        status=pl.lit("failed"),
        attempts=pl.lit(0),
        error=pl.lit(None, dtype=pl.String),
        retry_at=pl.lit(None, dtype=TIMESTAMP),
    )
    return [Change("episodes", freed, "patch")]


def _entity_resolved(rows: pl.DataFrame) -> list[Change]:
    """A new entity is born without a summary; a known one keeps the one that it has."""
    found = _recorded(rows, "updated_at")
    nothing = {
        name: pl.lit(None, dtype=dtype)
        for name, dtype in frame_schema("entities").items()
        if name not in found.columns and name != "needs_review"
    }
    born = found.with_columns(**nothing, needs_review=pl.lit(value=False))
    return [
        Change("entities", _only(born, "entities"), "birth"),
        Change("entities", _only(found, "entities"), "patch"),
    ]


def _entity_enriched(rows: pl.DataFrame) -> list[Change]:
    written = _recorded(rows, "updated_at").with_columns(needs_review=pl.lit(value=False))
    return [Change("entities", _only(written, "entities"), "patch")]


FOLDS: dict[str, Fold] = {
    "turn.recorded": _row("turns", "whole", stamp="recorded_at"),
    "source.recorded": _row("sources", "whole"),
    "usage.recorded": _usage_recorded,
    "usage.folded": _usage_folded,
    "cell.deleted": _cell_deleted,
    "cell.protected": _patch("cells", protected=True),
    "cell.restored": _patch("cells"),
    "cell.erased": _cell_erased,
    "turn.erased": _turn_erased,
    "contradiction.resolved": _contradiction_resolved,
    "contradiction.reopened": _contradiction_reopened,
    "chunk.released": _chunk_released,
    "chunk.cut": _row("chunks", "birth", stamp="recorded_at"),
    "chunk.gated": _chunk_gated,
    "chunk.extracted": _chunk_extracted,
    "chunk.failed": _patch("chunks"),
    "cell.extracted": _cell_extracted,
    "cell.confirmed": _cell_confirmed,
    "cell.merged": _patch("cells", status="superseded"),
    "cell.retired": _patch("cells", status="superseded"),
    "cell.superseded": _cell_superseded,
    "cell.succeeded": lambda rows: [
        Change("cells", rows.select("cell_id", "order", "supersedes", "summary"), "patch")
    ],
    "cell.labelled": _patch("cells"),
    "cell.judged": _cell_judged,
    "cell.reviewed": _cell_reviewed,
    "cell.scanned": lambda rows: _queued(rows, scanned_at=pl.col("event_recorded_at")),
    "cell.reinstated": _cell_reinstated,
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
    "topic.unsummarized": _topic_unsummarized,
    "topic.flagged": _patch("topics", needs_review=True),
    "pair.judged": _row("judgements", "whole", stamp="judged_at"),
    "contradiction.opened": _contradiction_opened,
    "episode.written": _episode_written,
    "episode.failed": _episode_failed,
    "episode.dropped": _episode_dropped,
    "episode.released": _episode_released,
    "contradiction.closed": _contradiction_closed,
    "judging.failed": _judging_failed,
    "judging.released": lambda rows: _queued(rows, **_tries_over()),
    "vitals.folded": _row("vitals", "whole"),
    "core.promoted": _row("core", "whole", stamp="promoted_at"),
    "core.demoted": _removal("core"),
    "entity.resolved": _entity_resolved,
    "entity.merged": _removal("entities"),
    "entity.dropped": _removal("entities"),
    "entity.enriched": _entity_enriched,
    "entity.flagged": _patch("entities", needs_review=True),
    "mention.recorded": _row("mentions", "whole"),
    "mention.dropped": _removal("mentions"),
    "artifact.recorded": _row("artifacts", "whole"),
    "artifact.dropped": _removal("artifacts"),
    "edge.drawn": _row("edges", "whole", stamp="recorded_at"),
    "edge.ended": _patch("edges"),
    "edge.dropped": _removal("edges"),
    "edge.examined": _patch("edges"),
    "cell.linked": _row("links", "whole", stamp="linked_at"),
    "cell.unlinked": _removal("links"),
    "night.completed": _row("nights", "whole"),
}

if set(FOLDS) != set(CATALOGUE):
    raise ContractError(f"event kinds without a fold: {sorted(set(CATALOGUE) ^ set(FOLDS))}")
