"""What events of memories change: cells, their vitals, their place in the queue of the judge, episodes."""

import polars as pl

from slowwave.journal.changes import Change
from slowwave.journal.fold_steps import Fold, only, patch, recorded
from slowwave.schemas.tables import TIMESTAMP, frame_schema

USAGE_AT_BIRTH = {
    "retrieval_count": 0,
    "citation_count": 0,
    "ignore_count": 0,
    "confirmations": 0,
    "archived_count": 0,
    "revived_count": 0,
}
MOMENTS_AFTER_BIRTH = ("retrieved_at", "archived_at", "revived_at")


def _cell_extracted(rows: pl.DataFrame) -> list[Change]:
    cells = recorded(rows)
    return [
        Change("cells", only(cells, "cells"), "birth"),
        Change("cell_usage", _usage_at_birth(cells), "birth"),
    ]


def _usage_at_birth(cells: pl.DataFrame) -> pl.DataFrame:
    return cells.select(
        "cell_id",
        "order",
        last_accessed=pl.col("recorded_at"),  # what was learned today was not yet there to be used
        **{name: pl.lit(value) for name, value in USAGE_AT_BIRTH.items()},
        **{name: pl.lit(None, dtype=TIMESTAMP) for name in MOMENTS_AFTER_BIRTH},
    )


def _cell_confirmed(rows: pl.DataFrame) -> list[Change]:
    return [
        Change("cell_usage", rows.select("cell_id", "order", "confirmations", "last_accessed"), "patch"),
        Change("cells", rows.select("cell_id", "order", "evidence"), "patch"),
    ]


def _cell_archived(rows: pl.DataFrame) -> list[Change]:
    counted = rows.select("cell_id", "order", "archived_count", archived_at="event_recorded_at")
    return [
        Change("cell_usage", counted, "patch"),
        Change("cells", rows.select("cell_id", "order", status=pl.lit("archived")), "patch"),
    ]


def _cell_revived(rows: pl.DataFrame) -> list[Change]:
    names = ["cell_id", "order", "revived_count", "last_accessed"]
    return [
        Change("cell_usage", rows.select(*names, revived_at="event_recorded_at"), "patch"),
        Change("cells", rows.select("cell_id", "order", status=pl.lit("active")), "patch"),
    ]


def _cell_deleted(rows: pl.DataFrame) -> list[Change]:
    return [
        Change("tombstones", only(recorded(rows, "deleted_at"), "tombstones"), "whole"),
        Change("cells", rows.select("cell_id", "order"), "removal"),
        Change("cell_usage", rows.select("cell_id", "order"), "removal"),
        Change("judging", rows.select("cell_id", "order"), "removal"),
        Change("core", rows.select("cell_id", "order"), "removal"),
    ]


def _cell_erased(rows: pl.DataFrame) -> list[Change]:
    nothing = {name: pl.lit(None, dtype=pl.String) for name in ("content", "note")}
    return _cell_deleted(rows.with_columns(**nothing, evidence=pl.lit([], dtype=pl.List(pl.String))))


def _turn_erased(rows: pl.DataFrame) -> list[Change]:
    return [
        Change("erasures", only(recorded(rows, "erased_at"), "erasures"), "whole"),
        Change("turns", rows.select("turn_id", "order"), "removal"),
    ]


def _cell_pruned(rows: pl.DataFrame) -> list[Change]:
    return [
        Change("cells", rows.select("cell_id", "order"), "removal"),
        Change("cell_usage", rows.select("cell_id", "order"), "removal"),
        Change("judging", rows.select("cell_id", "order"), "removal"),
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
        Change("judging", rows.select("cell_id", "order", **nothing), "birth"),
        Change("judging", rows.select("cell_id", "order", **values), "patch"),
    ]


def _cell_superseded(rows: pl.DataFrame) -> list[Change]:
    """The prompt and the model behind the judgement are not those behind the memory."""
    return patch("cells", status="superseded")(rows.drop("prompt_version", "model"))


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
    told = recorded(rows).with_columns(needs_review=pl.lit(value=False))
    schema = frame_schema("cells")
    nothing = {
        name: pl.lit([] if isinstance(dtype, pl.List) else None, dtype=dtype)
        for name, dtype in schema.items()
        if name not in told.columns
    }
    fixed = {name: pl.lit(value) for name, value in EPISODE_AT_BIRTH.items()}
    born = told.with_columns(**nothing).with_columns(**fixed)
    state = told.with_columns(
        status=pl.lit("written"),
        attempts=pl.lit(0),
        error=pl.lit(None, dtype=pl.String),
        retry_at=pl.lit(None, dtype=TIMESTAMP),
        written_at=pl.col("recorded_at"),
    )
    return [
        Change("cells", only(born, "cells"), "birth"),
        Change("cells", only(told, "cells"), "patch"),
        Change("cell_usage", _usage_at_birth(told), "birth"),
        Change("episodes", only(state, "episodes"), "whole"),
    ]


def _episode_failed(rows: pl.DataFrame) -> list[Change]:
    unwritten = rows.with_columns(written_at=pl.lit(None, dtype=TIMESTAMP))
    patch = rows.select("cell_id", "order", "status", "turn_count", "attempts", "error", "retry_at")
    return [Change("episodes", only(unwritten, "episodes"), "birth"), Change("episodes", patch, "patch")]


def _episode_dropped(rows: pl.DataFrame) -> list[Change]:
    gone = rows.select("cell_id", "order")
    return [Change(table, gone, "removal") for table in ("cells", "cell_usage", "episodes", "core")]


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


MEMORY_FOLDS: dict[str, Fold] = {
    "cell.deleted": _cell_deleted,
    "cell.protected": patch("cells", protected=True),
    "cell.restored": patch("cells"),
    "cell.erased": _cell_erased,
    "turn.erased": _turn_erased,
    "cell.extracted": _cell_extracted,
    "cell.confirmed": _cell_confirmed,
    "cell.merged": patch("cells", status="superseded"),
    "cell.retired": patch("cells", status="superseded"),
    "cell.superseded": _cell_superseded,
    "cell.succeeded": lambda rows: [
        Change("cells", rows.select("cell_id", "order", "supersedes", "summary"), "patch")
    ],
    "cell.labelled": patch("cells"),
    "cell.judged": _cell_judged,
    "cell.reviewed": _cell_reviewed,
    "cell.scanned": lambda rows: _queued(rows, scanned_at=pl.col("event_recorded_at")),
    "cell.reinstated": _cell_reinstated,
    "cell.flagged": patch("cells", needs_review=True),
    "cell.archived": _cell_archived,
    "cell.revived": _cell_revived,
    "cell.pruned": _cell_pruned,
    "cell.assigned": patch("cells"),
    "episode.written": _episode_written,
    "episode.failed": _episode_failed,
    "episode.dropped": _episode_dropped,
    "episode.released": _episode_released,
    "judging.failed": _judging_failed,
    "judging.released": lambda rows: _queued(rows, **_tries_over()),
    "cell_usage.folded": patch("cell_usage"),
}
"""One function a kind."""
