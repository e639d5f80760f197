"""Parts of the models of all tables: kinds of columns, and the columns that many tables share."""

from functools import partial
from typing import Annotated, Literal, get_args

import pandera.polars as pa
import polars as pl

from slowwave.schemas import choices

Dtype = pl.DataType | type[pl.DataType]
"""A Polars type, with or without its parameters."""

TIMESTAMP = pl.Datetime("us", "UTC")
Timestamp = Annotated[pl.Datetime, "us", "UTC"]

OWNER = ["user_id", "project_id", "scope"]
"""The columns that say whose memory a row is; every row of memory carries them."""


key = partial(pa.Field, unique=True)
"""The column that names a row; it comes first in its model."""

nullable = partial(pa.Field, nullable=True)
count = partial(pa.Field, ge=0)
share = partial(pa.Field, ge=0, le=1)
strings = partial(pa.Field, dtype_kwargs={"inner": pl.String})


def one_of(literal: object, *, nullable: bool = False) -> str:
    """A column that holds one of the words of a `Literal`."""
    column: str = pa.Field(isin=list(get_args(literal)), nullable=nullable)
    return column


class Strict(pa.DataFrameModel):
    """A table without columns that its model does not name."""

    class Config:
        """A column that is not named is a bug."""

        strict: bool | Literal["filter"] = True


class Owned(Strict):
    """Columns of every row of memory."""

    user_id: str
    project_id: str
    scope: str = pa.Field(isin=["user-private", "project-shared", "system"])


class Sourced(Strict):
    """Columns of what came from one conversation or file."""

    session_id: str
    source_type: str = one_of(choices.SourceType)
    source_id: str
    source_name: str


class Tried(Strict):
    """Columns of work that may fail and is tried again."""

    attempts: int = count()
    error: str = nullable()
    retry_at: Timestamp = nullable()


class Made(Strict):
    """Columns that name what made a row; null where no prompt and no model did."""

    prompt_version: str = nullable()
    model: str = nullable()
