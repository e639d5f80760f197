"""Ranking of search results: reciprocal rank fusion and bounded priors."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import polars as pl

from slowwave.setting_groups import DecaySettings, SearchSettings
from slowwave.transforms.decay import days_since, retention


@dataclass(frozen=True)
class RankedList:
    """One list of a search: a frame with the key and `value` (higher is better), and what the list weighs."""

    name: str
    frame: pl.DataFrame
    value: str
    weight: float


def fuse_ranks(lists: Sequence[RankedList], *, key: str, rank_constant: int) -> pl.DataFrame:
    """Reciprocal rank fusion (Cormack, Clarke and Buettcher, 2009): sum of weight / (rank_constant + rank).

    Returns `key`, `fused_score` and for each list `<name>_rank` (1-based), `<name>_value` and `<name>_share`
    (null where the list did not find it), best first, ties by key.
    """
    return _fused(lists, key, pl.col("weight") / (rank_constant + pl.col("rank")))


def fuse_scores(lists: Sequence[RankedList], *, key: str) -> pl.DataFrame:
    """Sum of weight * (value - worst) / (best - worst) over the lists: min-max or relative score fusion.

    It keeps what ranks lose: by how much the first one leads. A list with one row, or with equal values, gives
    its weight to all. Returns what `fuse_ranks` returns.
    """
    worst, best = pl.col("value").min().over("list_name"), pl.col("value").max().over("list_name")
    stretched = pl.when(best > worst).then((pl.col("value") - worst) / (best - worst)).otherwise(1.0)
    return _fused(lists, key, pl.col("weight") * stretched)


def _fused(lists: Sequence[RankedList], key: str, share: pl.Expr) -> pl.DataFrame:
    """Few operations on one long frame: a question's lists are short, and each operation costs more than its rows."""
    if not lists:
        return pl.DataFrame(schema={key: pl.String, "fused_score": pl.Float64})
    found = pl.concat(
        entry.frame.select(
            key,
            value=pl.col(entry.value).cast(pl.Float64),
            list_name=pl.lit(entry.name),
            weight=pl.lit(entry.weight, dtype=pl.Float64),
        )
        for entry in lists
    )
    ranked = (
        found.sort("list_name", "value", key, descending=[False, True, False])
        .with_columns(rank=pl.int_range(1, pl.len() + 1).over("list_name"))
        .with_columns(share=share)
    )
    of_list = [
        pl.col(part).filter(pl.col("list_name") == entry.name).first().alias(f"{entry.name}_{part}")
        for entry in lists
        for part in ("rank", "value", "share")
    ]
    return (
        ranked.group_by(key)
        .agg(pl.col("share").sum().alias("fused_score"), *of_list)
        .sort("fused_score", key, descending=[True, False])
    )


def prior(*, now: datetime, search: SearchSettings, decay: DecaySettings) -> pl.Expr:
    """Salience * exp(-age_rate * age_days) * retention, never below the floor: it reorders and never buries.

    0..1, on rows that join `cells` and `vitals`; age is counted from when the memory was last said.
    """
    age = (-search.age_rate * days_since(pl.col("event_time"), now=now)).exp()
    rate = pl.when(pl.col("protected")).then(0.0).otherwise("decay_rate")
    kept = retention(rate, days_since(pl.col("last_accessed"), now=now), exponent=decay.exponent)
    return (pl.col("salience") * age * kept).clip(lower_bound=search.prior_floor, upper_bound=1.0)
