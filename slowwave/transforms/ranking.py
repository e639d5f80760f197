"""The bounded prior of a search result: what is salient, recent and alive comes before its equals."""

import polars as pl

from slowwave.reading_settings import SearchSettings
from slowwave.setting_groups import DecaySettings
from slowwave.transforms.decay import retention


def prior(*, search: SearchSettings, decay: DecaySettings) -> pl.Expr:
    """Salience * exp(-age_rate * age_days) * retention, never below the floor: it reorders and never buries.

    0..1, on rows with `salience`, `decay_rate` and `protected` of a cell, `age_days` since the memory was last said and
    `unused_days` since it was last used, both fractions from 0.
    """
    rate = pl.when(pl.col("protected")).then(0.0).otherwise("decay_rate")
    kept = retention(rate, pl.col("unused_days"), exponent=decay.exponent)
    fresh = (-search.age_rate * pl.col("age_days")).exp()
    return (pl.col("salience") * fresh * kept).clip(lower_bound=search.prior_floor, upper_bound=1.0)
