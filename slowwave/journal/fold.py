"""What each kind of event changes in the tables: pure, one function a kind.

The store applies collapsed changes (`slowwave/journal/changes.py`) and `rebuild` is the same fold over the whole
journal, so that both reach the same tables. Payloads carry absolute values, never increments: folding twice is
folding once.
"""

import polars as pl

from slowwave.errors import ContractError
from slowwave.journal.catalogue import CATALOGUE, decode
from slowwave.journal.changes import Change
from slowwave.journal.fold_memories import MEMORY_FOLDS
from slowwave.journal.fold_steps import Fold, only, patch, recorded, removal, row
from slowwave.schemas.tables import TIMESTAMP, frame_schema


def fold(events: pl.DataFrame) -> list[Change]:
    """Changes that scanned events (`SCAN_SCHEMA`) ask for, in no particular order; `order` tells which is later."""
    ordered = events.with_row_index("order").with_columns(pl.col("order").cast(pl.Int64))
    changes: list[Change] = []
    for part in ordered.partition_by("kind", maintain_order=True):
        kind = part["kind"][0]
        changes.extend(FOLDS[kind](decode(kind, part)))
    return changes


# One function a kind. Each gets the decoded payload with `event_recorded_at` and `order`.


def _contradiction_closed(rows: pl.DataFrame) -> list[Change]:
    closed = recorded(rows, "resolved_at").with_columns(status=pl.lit("resolved"))
    return [Change("contradictions", only(closed, "contradictions"), "patch")]


def _chunk_gated(rows: pl.DataFrame) -> list[Change]:
    refused = rows.filter(~pl.col("is_worth")).with_columns(status=pl.lit("gated_out"))
    return [Change("chunks", only(refused, "chunks"), "patch")]


def _chunk_extracted(rows: pl.DataFrame) -> list[Change]:
    done = rows.with_columns(
        status=pl.lit("extracted"),
        error=pl.lit(None, dtype=pl.String),
        retry_at=pl.lit(None, dtype=TIMESTAMP),
    )
    return [Change("chunks", only(done, "chunks"), "patch")]


def _chunk_released(rows: pl.DataFrame) -> list[Change]:
    freed = rows.with_columns(
        status=pl.lit("pending"),
        attempts=pl.lit(0),
        error=pl.lit(None, dtype=pl.String),
        retry_at=pl.lit(None, dtype=TIMESTAMP),
    )
    return [Change("chunks", only(freed, "chunks"), "patch")]


def _topic_opened(rows: pl.DataFrame) -> list[Change]:
    nothing = {
        name: pl.lit(None, dtype=dtype)
        for name, dtype in frame_schema("topics").items()
        if name not in rows.columns
    }
    opened = (
        recorded(rows, "updated_at")
        .with_columns(**{name: value for name, value in nothing.items() if name != "updated_at"})
        .with_columns(cell_count=pl.lit(0), unsummarized_count=pl.lit(0), needs_review=pl.lit(value=False))
    )
    return [Change("topics", only(opened, "topics"), "birth")]


def _topic_summarized(rows: pl.DataFrame) -> list[Change]:
    topics = rows.with_columns(
        summarized_at=pl.col("event_recorded_at"),
        updated_at=pl.col("event_recorded_at"),
        unsummarized_count=pl.lit(0),
        needs_review=pl.lit(value=False),
    )
    cells = rows.select(cell_id=pl.col("cell_ids"), order="order").explode("cell_id").drop_nulls()
    return [
        Change("topics", only(topics, "topics"), "patch"),
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
        Change("topics", only(topics, "topics"), "patch"),
        Change("cells", cells.with_columns(is_summarized=pl.lit(value=False)), "patch"),
    ]


def _topic_counted(rows: pl.DataFrame) -> list[Change]:
    return [Change("topics", only(recorded(rows, "updated_at"), "topics"), "patch")]


def _contradiction_opened(rows: pl.DataFrame) -> list[Change]:
    opened = recorded(rows, "detected_at").with_columns(
        status=pl.lit("open"),
        resolution=pl.lit(None, dtype=pl.String),
        resolved_at=pl.lit(None, dtype=TIMESTAMP),
        resolution_note=pl.lit(None, dtype=pl.String),
    )
    return [Change("contradictions", only(opened, "contradictions"), "birth")]


def _contradiction_resolved(rows: pl.DataFrame) -> list[Change]:
    resolved = recorded(rows, "resolved_at").with_columns(status=pl.lit("resolved"))
    return [Change("contradictions", only(resolved, "contradictions"), "patch")]


def _contradiction_reopened(rows: pl.DataFrame) -> list[Change]:
    nothing = {name: pl.lit(None, dtype=pl.String) for name in ("resolution", "resolution_note")}
    opened = rows.with_columns(status=pl.lit("open"), resolved_at=pl.lit(None, dtype=TIMESTAMP), **nothing)
    return [Change("contradictions", only(opened, "contradictions"), "patch")]


def _usage_recorded(rows: pl.DataFrame) -> list[Change]:
    fresh = rows.with_columns(folded_at=pl.lit(None, dtype=TIMESTAMP))
    return [Change("usage", only(fresh, "usage"), "birth")]


def _usage_folded(rows: pl.DataFrame) -> list[Change]:
    return [Change("usage", only(recorded(rows, "folded_at"), "usage"), "patch")]


def _entity_resolved(rows: pl.DataFrame) -> list[Change]:
    """A new entity is born without a summary; a known one keeps the one that it has."""
    found = recorded(rows, "updated_at")
    nothing = {
        name: pl.lit(None, dtype=dtype)
        for name, dtype in frame_schema("entities").items()
        if name not in found.columns and name != "needs_review"
    }
    born = found.with_columns(**nothing, needs_review=pl.lit(value=False))
    return [
        Change("entities", only(born, "entities"), "birth"),
        Change("entities", only(found, "entities"), "patch"),
    ]


def _entity_enriched(rows: pl.DataFrame) -> list[Change]:
    written = recorded(rows, "updated_at").with_columns(needs_review=pl.lit(value=False))
    return [Change("entities", only(written, "entities"), "patch")]


def _entity_unsummarized(rows: pl.DataFrame) -> list[Change]:
    nothing = {name: pl.lit(None, dtype=pl.String) for name in ("summary", "prompt_version", "model")}
    bare = rows.with_columns(
        **nothing, enriched_count=pl.lit(None, dtype=pl.Int64), needs_review=pl.lit(value=False)
    )
    return [Change("entities", only(bare, "entities"), "patch")]


FOLDS: dict[str, Fold] = {
    **MEMORY_FOLDS,
    "turn.recorded": row("turns", "whole", stamp="recorded_at"),
    "source.recorded": row("sources", "whole"),
    "usage.recorded": _usage_recorded,
    "usage.folded": _usage_folded,
    "contradiction.resolved": _contradiction_resolved,
    "contradiction.reopened": _contradiction_reopened,
    "chunk.released": _chunk_released,
    "chunk.cut": row("chunks", "birth", stamp="recorded_at"),
    "chunk.gated": _chunk_gated,
    "chunk.extracted": _chunk_extracted,
    "chunk.failed": patch("chunks"),
    "topic.opened": _topic_opened,
    "topic.counted": _topic_counted,
    "topic.merged": patch("topics"),
    "topic.renamed": patch("topics"),
    "topic.summarized": _topic_summarized,
    "topic.unsummarized": _topic_unsummarized,
    "topic.flagged": patch("topics", needs_review=True),
    "pair.judged": row("judgements", "whole", stamp="judged_at"),
    "contradiction.opened": _contradiction_opened,
    "contradiction.closed": _contradiction_closed,
    "core.promoted": row("core", "whole", stamp="promoted_at"),
    "core.moved": patch("core"),
    "core.demoted": removal("core"),
    "entity.resolved": _entity_resolved,
    "entity.merged": removal("entities"),
    "entity.dropped": removal("entities"),
    "entity.enriched": _entity_enriched,
    "entity.unsummarized": _entity_unsummarized,
    "entity.flagged": patch("entities", needs_review=True),
    "mention.recorded": row("mentions", "whole"),
    "mention.dropped": removal("mentions"),
    "artifact.recorded": row("artifacts", "whole"),
    "artifact.dropped": removal("artifacts"),
    "edge.drawn": row("edges", "whole", stamp="recorded_at"),
    "edge.ended": patch("edges"),
    "edge.dropped": removal("edges"),
    "edge.examined": patch("edges"),
    "cell.linked": row("links", "whole", stamp="linked_at"),
    "cell.unlinked": removal("links"),
    "night.completed": row("nights", "whole"),
}

if set(FOLDS) != set(CATALOGUE):
    raise ContractError(f"event kinds without a fold: {sorted(set(CATALOGUE) ^ set(FOLDS))}")
