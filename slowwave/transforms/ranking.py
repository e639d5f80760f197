"""Ranking of search results: reciprocal rank fusion and bounded priors."""

from datetime import datetime

import polars as pl

from slowwave.settings import DecaySettings, SearchSettings
from slowwave.transforms.decay import days_since, retention


def fuse_ranks(
    lists: list[tuple[pl.DataFrame, str, str, float]], *, key: str, rank_constant: int
) -> pl.DataFrame:
    """Reciprocal rank fusion (Cormack, Clarke and Buettcher, 2009) of ranked lists.

    Each entry is a frame with `key` and a value column (higher is better), the value column's name, the name of
    the list and its weight. Returns `key`, `fused_score` (sum of weight / (rank_constant + rank)) and one
    `<list>_rank` (1-based, null where the list did not find it) for each list, best first.
    """
    fused: pl.DataFrame | None = None
    shares = []
    for frame, value, name, weight in lists:
        ranked = frame.sort(value, key, descending=[True, False]).select(
            key, pl.int_range(1, pl.len() + 1).alias(f"{name}_rank")
        )
        shares.append((weight / (rank_constant + pl.col(f"{name}_rank"))).fill_null(0.0))
        fused = ranked if fused is None else fused.join(ranked, on=key, how="full", coalesce=True)
    if fused is None:
        return pl.DataFrame(schema={key: pl.String, "fused_score": pl.Float64})
    return fused.with_columns(fused_score=pl.sum_horizontal(shares)).sort(
        "fused_score", key, descending=[True, False]
    )


def prior(*, now: datetime, search: SearchSettings, decay: DecaySettings) -> pl.Expr:
    """Salience * exp(-age_rate * age_days) * retention, never below the floor: it reorders and never buries.

    0..1, on rows that join `cells` and `vitals`; age is counted from when the memory was last said.
    """
    age = (-search.age_rate * days_since(pl.col("event_time"), now=now)).exp()
    rate = pl.when(pl.col("protected")).then(0.0).otherwise("decay_rate")
    kept = retention(rate, days_since(pl.col("last_accessed"), now=now), exponent=decay.exponent)
    return (pl.col("salience") * age * kept).clip(lower_bound=search.prior_floor, upper_bound=1.0)
