"""Which memories fade out of default search, and which superseded ones may leave the store."""

from datetime import datetime, timedelta

import polars as pl

from slowwave.setting_groups import DecaySettings, ForgetSettings
from slowwave.transforms.decay import days_since, effective_confidence


def to_archive(
    cells: pl.DataFrame, vitals: pl.DataFrame, *, now: datetime, forget: ForgetSettings, decay: DecaySettings
) -> pl.DataFrame:
    """Active cells that faded: below the least effective confidence, never cited, long unused, not protected.

    Returns `cell_id`, `effective_confidence` (0..1) and `reason`, sorted by id.
    """
    unused = days_since(pl.col("last_accessed"), now=now)
    return (
        cells.filter(pl.col("status") == "active")
        .join(vitals, on="cell_id", how="inner")
        .with_columns(effective_confidence=effective_confidence(now=now, settings=decay), unused_days=unused)
        .filter(
            (pl.col("effective_confidence") < forget.min_confidence)
            & (pl.col("citation_count") == 0)
            & (pl.col("unused_days") >= forget.unused_days)
            & ~pl.col("protected")
        )
        .select(
            "cell_id",
            "effective_confidence",
            reason=pl.format(
                "confidence {} after {} days unused",
                pl.col("effective_confidence").round(3),
                pl.col("unused_days").round(0).cast(pl.Int64),
            ),
        )
        .sort("cell_id")
    )


def to_prune(cells: pl.DataFrame, *, now: datetime, forget: ForgetSettings) -> pl.DataFrame:
    """Superseded cells older than the limit; nothing unless pruning is allowed. Returns `cell_id`, `reason`."""
    limit = pl.lit(now - timedelta(days=forget.prune_superseded_days))
    old = (pl.col("status") == "superseded") & (pl.col("superseded_at") < limit) & ~pl.col("protected")
    return (
        cells.filter(old & pl.lit(forget.prune))
        .select(
            "cell_id", reason=pl.format("superseded on {}", pl.col("superseded_at").dt.strftime("%Y-%m-%d"))
        )
        .sort("cell_id")
    )


def to_bury(cells: pl.DataFrame, tombstones: pl.DataFrame) -> pl.DataFrame:
    """Cells that a person deleted and that some work brought back: by id, or by the same text of the same owner."""
    own = ["user_id", "project_id", "scope"]
    by_text = cells.join(tombstones, on=[*own, "content_hash"], how="semi")
    by_id = cells.join(tombstones, on="cell_id", how="semi")
    return pl.concat([by_text, by_id]).unique("cell_id").sort("cell_id")
