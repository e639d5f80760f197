"""Whose word a memory is: it has the least trusted origin of what it rests on."""

import polars as pl

from slowwave.schemas.choices import TRUST


def least_trusted(origin: pl.Expr) -> pl.Expr:
    """The least trusted of several origins, as an aggregate."""
    ranks = pl.Enum(TRUST)
    return origin.cast(ranks).max().cast(pl.String)
