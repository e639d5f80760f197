"""The origin of a memory: the least trusted origin of what it rests on."""

import polars as pl

from slowwave.schemas.choices import TRUST


def least_trusted(origin: pl.Expr) -> pl.Expr:
    """The least trusted of several origins, as an aggregate."""
    return origin.cast(pl.Enum(TRUST)).max().cast(pl.String)
