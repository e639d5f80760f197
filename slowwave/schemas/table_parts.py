"""What the models of all tables are made of: the columns that say whose a row is, and times."""

from typing import Annotated

import pandera.polars as pa
import polars as pl

Dtype = pl.DataType | type[pl.DataType]
"""A Polars type, with or without its parameters."""

TIMESTAMP = pl.Datetime("us", "UTC")
Timestamp = Annotated[pl.Datetime, "us", "UTC"]

OWNER = ["user_id", "project_id", "scope"]
"""The columns that say whose memory a row is; every row of memory carries them."""


class Owned(pa.DataFrameModel):
    """Columns of every row of memory."""

    user_id: str
    project_id: str
    scope: str = pa.Field(isin=["user-private", "project-shared", "system"])

    class Config:
        """Strict: a column that is not named here is a bug."""

        strict = True
