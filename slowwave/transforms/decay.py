"""Retention and effective confidence: pure functions of stored columns and `now`, computed where they are read."""

from datetime import datetime

import polars as pl

from slowwave.setting_groups import DecaySettings

DAY = 86_400.0


def days_since(moment: pl.Expr, *, now: datetime) -> pl.Expr:
    """Days from a moment to `now`, as a fraction; never below 0."""
    return ((pl.lit(now) - moment).dt.total_seconds() / DAY).clip(lower_bound=0.0)


def retention(rate: pl.Expr, days: pl.Expr, *, exponent: float) -> pl.Expr:
    """Share of a memory that is left, 0..1: exp(-rate * days ** exponent).

    A stretched exponential with exponent below 1 forgets fast at first and slowly later, as in Wixted and
    Ebbesen's forgetting curves (1991). Rate 0 never fades.
    """
    return (-rate * days.pow(exponent)).exp()


def access_count(*, settings: DecaySettings) -> pl.Expr:
    """How often a memory was used: citations weigh more than retrievals, ignored retrievals take away; >= 0."""
    used = pl.col("retrieval_count") + settings.citation_weight * pl.col("citation_count")
    return (used - settings.ignore_weight * pl.col("ignore_count")).clip(lower_bound=0.0)


def reinforced(confidence: pl.Expr, *, settings: DecaySettings) -> pl.Expr:
    """Confidence after use: + reinforcement * ln(1 + access_count / scale), capped at 1."""
    gain = (1.0 + access_count(settings=settings) / settings.reinforcement_scale).log()
    return (confidence + settings.reinforcement * gain).clip(upper_bound=1.0)


def effective_confidence(*, now: datetime, settings: DecaySettings) -> pl.Expr:
    """Reinforced confidence times retention, 0..1, of rows that join `cells` and `vitals`."""
    rate = pl.when(pl.col("protected")).then(0.0).otherwise("decay_rate")
    left = retention(rate, days_since(pl.col("last_accessed"), now=now), exponent=settings.exponent)
    return reinforced(pl.col("confidence"), settings=settings) * left


def fold_usage(usage: pl.DataFrame, vitals: pl.DataFrame) -> pl.DataFrame:
    """The vitals of used cells after their new usage records are counted in.

    `usage` has the records not folded yet, `vitals` the present rows of their cells. Counts are absolute, so
    that folding the result twice is folding it once. Ignored retrievals do not count as access.
    """
    kinds = {"retrieval_count": "retrieved", "citation_count": "cited", "ignore_count": "ignored"}
    new = usage.group_by("cell_id").agg(
        *(
            (pl.col("usage_type") == kind).sum().cast(pl.Int64).alias(f"{name}_new")
            for name, kind in kinds.items()
        ),
        used_at=pl.col("used_at").filter(pl.col("usage_type") != "ignored").max(),
    )
    return (
        vitals.join(new, on="cell_id", how="inner")
        .with_columns(
            *(pl.col(name) + pl.col(f"{name}_new") for name in kinds),
            last_accessed=pl.max_horizontal("last_accessed", "used_at"),
        )
        .select(vitals.columns)
        .sort("cell_id")
    )
