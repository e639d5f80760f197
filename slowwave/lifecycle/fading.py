"""Memories that fade and the time, superseded ones that may leave the store, and the rate of wrong forgetting."""

from datetime import datetime, timedelta

import polars as pl

from slowwave.lifecycle.retention import (
    DAY,
    days_until,
    effective_confidence,
    rate_of,
    reinforced,
    unused_days,
)
from slowwave.schemas.report import Forgetting
from slowwave.schemas.tables import OWNER
from slowwave.settings.groups import ForgetSettings


def to_archive(
    cells: pl.DataFrame,
    cell_usage: pl.DataFrame,
    *,
    now: datetime,
    forget: ForgetSettings,
) -> pl.DataFrame:
    """Active cells that faded: below the least effective confidence, never cited, long unused, not protected.

    Returns `cell_id`, `effective_confidence` (0..1), `reason` and the new `archived_count`, sorted by id.
    """
    confidence, unused = effective_confidence(now=now), unused_days(now=now)
    due = fading(cells, cell_usage, now=now, forget=forget, days=0)
    return (
        cells.join(cell_usage, on="cell_id", how="inner")
        .join(due, on="cell_id", how="semi")
        .select(
            "cell_id",
            effective_confidence=confidence,
            reason=pl.format(
                "confidence {} after {} days unused", confidence.round(3), unused.round(0).cast(pl.Int64)
            ),
            archived_count=pl.col("archived_count") + 1,
        )
        .sort("cell_id")
    )


def fading(
    cells: pl.DataFrame,
    cell_usage: pl.DataFrame,
    *,
    now: datetime,
    forget: ForgetSettings,
    days: float,
) -> pl.DataFrame:
    """Active cells, not protected and never cited, that fade within `days` if nobody uses them until then.

    The retention formula is solved for the time at which it meets the least effective confidence, which is never
    before the days that must pass without use. Returns `cell_id` and `fades_at` (before `now` for a cell that is due),
    soonest first, ties by id.
    """
    share = pl.lit(forget.min_confidence) / reinforced(pl.col("confidence"))
    lasts = days_until(share, rate_of()).clip(lower_bound=forget.unused_days)
    ahead = lasts - unused_days(now=now)
    microseconds = (pl.col("ahead") * DAY * 1e6).round(0).cast(pl.Int64)
    gets_below = (rate_of() > 0) | (
        share > 1
    )  # what stands at the least confidence and does not fade stays there
    may_fade = (pl.col("status") == "active") & ~pl.col("protected") & (pl.col("citation_count") == 0)
    return (
        cells.join(cell_usage, on="cell_id", how="inner")
        .filter(may_fade)
        .with_columns(ahead=ahead)
        .filter((pl.col("ahead") <= days) & gets_below)
        .select("cell_id", fades_at=pl.lit(now) + pl.duration(microseconds=microseconds))
        .sort("fades_at", "cell_id")
    )


RECENT_RATE_DAYS = 90.0
"""Days of the recent rate of wrong forgetting, beside that of all time: as many as `forget.unused_days`."""


def false_forgetting(cell_usage: pl.DataFrame, *, now: datetime) -> Forgetting:
    """Count archived memories and those that came back, over all time and within the last `RECENT_RATE_DAYS`.

    `cell_usage` has `archived_count`, `archived_at`, `revived_count`, `revived_at`. Memories that were deleted or
    pruned since are not counted. Recent figures count each memory once.
    """
    since = pl.lit(now - timedelta(days=RECENT_RATE_DAYS))
    counts = cell_usage.select(
        archived_count=pl.col("archived_count").sum(),
        revived_count=pl.col("revived_count").sum(),
        recent_archived_count=(pl.col("archived_at") > since).sum(),
        recent_revived_count=(pl.col("revived_at") > since).sum(),
    )
    return Forgetting(**counts.cast(pl.Int64).row(0, named=True), recent_days=RECENT_RATE_DAYS)


def revivals(cell_usage: pl.DataFrame, *, now: datetime, reason: str) -> pl.DataFrame:
    """Rows of `cell.revived` for archived memories, from their rows of `cell_usage`: they come back now."""
    return cell_usage.select(
        "cell_id",
        revived_count=pl.col("revived_count") + 1,
        last_accessed=pl.lit(now),
        reason=pl.lit(reason),
    )


def to_prune(cells: pl.DataFrame, *, now: datetime, forget: ForgetSettings) -> pl.DataFrame:
    """Superseded cells older than the limit; nothing unless pruning is allowed. Returns `cell_id`, `reason`."""
    limit = pl.lit(now - timedelta(days=forget.prune_superseded_days))
    old = (pl.col("status") == "superseded") & (pl.col("superseded_at") < limit) & ~pl.col("protected")
    reason = pl.format("superseded on {}", pl.col("superseded_at").dt.strftime("%Y-%m-%d"))
    return cells.filter(old & pl.lit(forget.prune)).select("cell_id", reason=reason).sort("cell_id")


def to_delete_again(cells: pl.DataFrame, tombstones: pl.DataFrame) -> pl.DataFrame:
    """Cells that a person deleted and that some work brought back: by id, or by the same text of the same owner."""
    by_text = cells.join(tombstones, on=[*OWNER, "content_hash"], how="semi")
    by_id = cells.join(tombstones, on="cell_id", how="semi")
    return pl.concat([by_text, by_id]).unique("cell_id").sort("cell_id")
