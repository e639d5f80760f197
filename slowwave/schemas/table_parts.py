"""What the models of all tables are made of: the columns that say whose a row is, times, and short words for fields."""

from typing import Annotated, Any, get_args

import pandera.polars as pa
import polars as pl

Dtype = pl.DataType | type[pl.DataType]
"""A Polars type, with or without its parameters."""

TIMESTAMP = pl.Datetime("us", "UTC")
Timestamp = Annotated[pl.Datetime, "us", "UTC"]

OWN = ["user_id", "project_id", "scope"]
"""The columns that say whose memory a row is; every row of memory carries them."""


def one_of(choices: Any) -> Any:
    """A column that holds one of the words of a `Literal`."""
    return pa.Field(isin=list(get_args(choices)))


def nullable() -> Any:
    """A column that may be null."""
    return pa.Field(nullable=True)


class Owned(pa.DataFrameModel):
    """Columns of every row of memory."""

    user_id: str
    project_id: str
    scope: str = pa.Field(isin=["user-private", "project-shared", "system"])

    class Config:
        """Strict: a column that is not named here is a bug."""

        strict = True
