"""Ranking of search results: reciprocal rank fusion and bounded priors."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

import polars as pl

from slowwave.settings import DecaySettings, SearchSettings
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
    return _fused(lists, key, lambda entry: entry.weight / (rank_constant + pl.col(f"{entry.name}_rank")))


def fuse_scores(lists: Sequence[RankedList], *, key: str) -> pl.DataFrame:
    """Sum of weight * (value - worst) / (best - worst) over the lists: min-max or relative score fusion.

    It keeps what ranks lose: by how much the first one leads. A list with one row, or with equal values, gives
    its weight to all. Returns what `fuse_ranks` returns.
    """

    def share(entry: RankedList) -> pl.Expr:
        value = pl.col(f"{entry.name}_value")
        spread = value.max() - value.min()
        return entry.weight * pl.when(spread > 0).then((value - value.min()) / spread).otherwise(1.0)

    return _fused(lists, key, share)


def _fused(lists: Sequence[RankedList], key: str, share: Callable[[RankedList], pl.Expr]) -> pl.DataFrame:
    fused = pl.DataFrame(schema={key: pl.String})
    for entry in lists:
        name = entry.name
        ranked = (
            entry.frame.sort(entry.value, key, descending=[True, False])
            .select(
                key,
                pl.int_range(1, pl.len() + 1).alias(f"{name}_rank"),
                pl.col(entry.value).cast(pl.Float64).alias(f"{name}_value"),
            )
            .with_columns(share(entry).cast(pl.Float64).alias(f"{name}_share"))
        )
        fused = fused.join(ranked, on=key, how="full", coalesce=True)
    shares = [pl.col(f"{entry.name}_share").fill_null(0.0) for entry in lists]
    score = pl.sum_horizontal(shares) if shares else pl.lit(0.0)
    return fused.with_columns(fused_score=score).sort("fused_score", key, descending=[True, False])


def prior(*, now: datetime, search: SearchSettings, decay: DecaySettings) -> pl.Expr:
    """Salience * exp(-age_rate * age_days) * retention, never below the floor: it reorders and never buries.

    0..1, on rows that join `cells` and `vitals`; age is counted from when the memory was last said.
    """
    age = (-search.age_rate * days_since(pl.col("event_time"), now=now)).exp()
    rate = pl.when(pl.col("protected")).then(0.0).otherwise("decay_rate")
    kept = retention(rate, days_since(pl.col("last_accessed"), now=now), exponent=decay.exponent)
    return (pl.col("salience") * age * kept).clip(lower_bound=search.prior_floor, upper_bound=1.0)
