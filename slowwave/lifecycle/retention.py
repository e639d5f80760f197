"""Retention and effective confidence: pure functions of stored columns and `now`, computed where they are read."""

from collections.abc import Mapping
from datetime import datetime
from math import exp
from typing import Any

import polars as pl

from slowwave.schemas.moments import latest_moments

DAY = 86_400.0

COUNTS = {"retrieval_count": "retrieved", "citation_count": "cited", "ignore_count": "ignored"}
"""The count of each kind of use."""

EXPONENT = 0.8
"""Below 1: memories fade fast at first and slowly later (Wixted and Ebbesen 1991)."""

REINFORCEMENT = 0.05
"""Weight of ln(1 + uses / `USES_OF_ONE`) in the confidence: twenty uses add .035, four hundred .15."""

USES_OF_ONE = 20.0
"""Net uses that count as much as knowing it at all."""

CITATION_WEIGHT = 3.0
"""Uses that one citation counts for: it says that a memory was needed, a retrieval only that it was near."""

IGNORE_WEIGHT = 1.5
"""Uses that an ignored retrieval takes away: its own, and half of another one."""

SHOWN_DAYS = 180.0
"""Days by which being shown, and neither cited nor said again, prolongs a life at most: two `forget.unused_days`."""


def days_between(first: pl.Expr, last: pl.Expr) -> pl.Expr:
    """Days from one moment to another, as a fraction; never below 0, null where one is null."""
    return ((last - first).dt.total_microseconds() / (DAY * 1e6)).clip(lower_bound=0.0)


def days_since(moment: pl.Expr, *, now: datetime) -> pl.Expr:
    """Days from a moment to `now`, as a fraction; never below 0. An unknown one counts from its latest possible one."""
    return days_between(latest_moments(moment), pl.lit(now))


def days_ago(moment: datetime, *, now: datetime) -> float:
    """`days_since` of one moment; for a rank, where an unknown one is old: nobody knows that it was lately."""
    return max((now - moment).total_seconds() / DAY, 0.0)


def unused_days(*, now: datetime) -> pl.Expr:
    """Days without use, of rows of `cell_usage`; never below 0.

    Counted from `last_accessed`: when it was cited, said again, revived or made. The days until it was last shown are
    taken off, times the share of the times when it was not ignored, and `SHOWN_DAYS` at most: a memory that is always
    ignored gains nothing, and one that is only ever shown does not live for ever.
    """
    shown = days_between(pl.col("last_accessed"), pl.col("retrieved_at")).fill_null(0.0)
    gain = welcome_share() * shown.clip(upper_bound=SHOWN_DAYS)
    return (days_since(pl.col("last_accessed"), now=now) - gain).clip(lower_bound=0.0)


def unused_days_of(usage: Mapping[str, Any], *, now: datetime) -> float:
    """`unused_days` of one row of `cell_usage`."""
    made, shown, retrieved = usage["last_accessed"], usage["retrieved_at"], usage["retrieval_count"]
    welcome = max(1.0 - usage["ignore_count"] / retrieved, 0.0) if retrieved else 0.0
    gain = min(days_ago(made, now=shown or made), SHOWN_DAYS)
    return max(days_ago(made, now=now) - welcome * gain, 0.0)


def welcome_share() -> pl.Expr:
    """Share of the times that a memory was in an answer and not ignored there, 0..1; 0 if it never was."""
    retrieved = pl.col("retrieval_count")
    share = (1.0 - pl.col("ignore_count") / retrieved).clip(lower_bound=0.0)
    return pl.when(retrieved > 0).then(share).otherwise(0.0)


def retention(rate: pl.Expr, days: pl.Expr) -> pl.Expr:
    """Share of a memory that is left, 0..1: exp(-rate * days ** EXPONENT).

    A stretched exponential, as in Wixted and Ebbesen's forgetting curves (1991). Rate 0 never fades.
    """
    return (-rate * days.pow(EXPONENT)).exp()


def retention_of(rate: float, days: float) -> float:
    """`retention` of one memory."""
    return exp(-rate * days**EXPONENT)


def days_until(share: pl.Expr, rate: pl.Expr) -> pl.Expr:
    """Days after which `retention` has come down to `share` (above 0): its inverse.

    0 where the share is 1 or more, infinite where the rate is 0 and the share below 1.
    """
    faded = (-share.log()).clip(lower_bound=0.0)
    endless = pl.when(faded > 0).then(float("inf")).otherwise(0.0)
    return pl.when(rate > 0).then((faded / rate).pow(1.0 / EXPONENT)).otherwise(endless)


def rate_of() -> pl.Expr:
    """The rate in the formula, of rows of `cells`: a protected memory has none."""
    return pl.when(pl.col("protected")).then(0.0).otherwise("decay_rate")


def access_count() -> pl.Expr:
    """Net uses of a memory: citations weigh more than retrievals, ignored retrievals take away.

    Below 0 for a memory that was mostly ignored.
    """
    used = pl.col("retrieval_count") + CITATION_WEIGHT * pl.col("citation_count")
    return used - IGNORE_WEIGHT * pl.col("ignore_count")


def reinforced(confidence: pl.Expr) -> pl.Expr:
    """Confidence after use, 0..1: + `REINFORCEMENT` * ln(1 + access_count / `USES_OF_ONE`), capped at 1.

    A negative count takes away what the same count would have added.
    """
    count = access_count()
    gain = (1.0 + count.abs() / USES_OF_ONE).log() * count.sign()
    return (confidence + REINFORCEMENT * gain).clip(0.0, 1.0)


def effective_confidence(*, now: datetime) -> pl.Expr:
    """Reinforced confidence times retention, 0..1, of rows that join `cells` and `cell_usage`."""
    left = retention(rate_of(), unused_days(now=now))
    return reinforced(pl.col("confidence")) * left


def fold_usage(usage: pl.DataFrame, cell_usage: pl.DataFrame) -> pl.DataFrame:
    """Usage of cells after their new usage records are counted in.

    `usage` has the records not folded yet, `cell_usage` the present rows of their cells. The result is absolute
    (folded twice, it changes nothing more) and made of sums and latest moments (batches may come in any order). A
    citation moves `last_accessed`, a retrieval `retrieved_at`, being ignored neither.
    """
    new = usage.group_by("cell_id").agg(
        *(
            (pl.col("usage_type") == kind).sum().cast(pl.Int64).alias(f"{name}_new")
            for name, kind in COUNTS.items()
        ),
        cited_at=pl.col("used_at").filter(pl.col("usage_type") == "cited").max(),
        shown_at=pl.col("used_at").filter(pl.col("usage_type") == "retrieved").max(),
    )
    return (
        cell_usage.join(new, on="cell_id", how="inner")
        .with_columns(
            *(pl.col(name) + pl.col(f"{name}_new") for name in COUNTS),
            last_accessed=pl.max_horizontal("last_accessed", "cited_at"),
            retrieved_at=pl.max_horizontal("retrieved_at", "shown_at"),
        )
        .select(cell_usage.columns)
        .sort("cell_id")
    )


def found_again(usage: pl.DataFrame) -> pl.Series:
    """Ids of the cells that new usage found: cited, or shown in a place where they were not ignored."""
    kinds = ("ignored", "retrieved", "cited")
    ignored, shown, cited = (usage.filter(pl.col("usage_type") == kind) for kind in kinds)
    shown = shown.join(ignored, on=["cell_id", "context"], how="anti", nulls_equal=True)
    return pl.concat([cited["cell_id"], shown["cell_id"]]).unique().sort()
