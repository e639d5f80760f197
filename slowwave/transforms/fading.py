"""When a memory fades below the bar of the archive: the forgetting curve solved for its day."""

from datetime import datetime, timedelta

import polars as pl

from slowwave.setting_groups import DecaySettings, ForgetSettings
from slowwave.transforms.decay import DAY, reinforced

FOREVER_DAYS = 100_000.0
"""Days, some 270 years, from which fading counts as never."""


def fading(
    cells: pl.DataFrame,
    *,
    now: datetime,
    days: float,
    forget: ForgetSettings,
    decay: DecaySettings,
) -> pl.DataFrame:
    """Active memories that would be archived within so many days from `now` if nobody uses them, soonest first.

    `cells` joins `cells` and `vitals`. Retention falls to `min_confidence / confidence` after
    (ln(confidence / min_confidence) / rate) ** (1 / exponent) days, the inverse of the curve in
    `slowwave/transforms/decay.py`, and no memory goes before `unused_days`. Adds `fades_at` (UTC; in the past where the
    next night archives it) and `effective_confidence` (0..1, as it stands now).
    """
    confidence = reinforced(pl.col("confidence"), settings=decay)
    bar, rate = forget.min_confidence, pl.col("decay_rate")
    left = (confidence / bar).log().clip(lower_bound=0.0) if bar > 0 else pl.lit(None, dtype=pl.Float64)
    solved = (left / rate).pow(1.0 / decay.exponent)
    until_faded = pl.when(rate > 0).then(solved).clip(upper_bound=FOREVER_DAYS)
    whole = pl.max_horizontal(until_faded, pl.lit(forget.unused_days))
    fades_at = pl.col("last_accessed") + pl.duration(microseconds=(whole * DAY * 1e6).cast(pl.Int64))
    passed = ((pl.lit(now) - pl.col("last_accessed")).dt.total_seconds() / DAY).clip(lower_bound=0.0)
    return (
        cells.filter((pl.col("status") == "active") & ~pl.col("protected") & (pl.col("citation_count") == 0))
        .with_columns(until_faded=until_faded)
        .filter(pl.col("until_faded").is_not_null() & (pl.col("until_faded") < FOREVER_DAYS))
        .with_columns(
            fades_at=fades_at,
            effective_confidence=confidence * (-rate * passed.pow(decay.exponent)).exp(),
        )
        .filter(pl.col("fades_at") <= pl.lit(now + timedelta(days=days)))
        .drop("until_faded")
        .sort("fades_at", "cell_id")
    )
