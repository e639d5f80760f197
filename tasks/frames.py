"""Typed frames between the steps of a flow: what crosses from one function to another is checked where it is made."""

from typing import Self

import pandera.errors
import polars as pl
from pandera.typing.polars import DataFrame

from slowwave.errors import ContractError
from slowwave.schemas.table_parts import Strict


class Frame(Strict):
    """The columns of a frame. A model is declared beside the step that makes the frame."""

    class Config(Strict.Config):
        """Other columns are dropped: a frame crosses with what its model names, in that order."""

        strict = "filter"
        ordered = True

    @classmethod
    def names(cls) -> list[str]:
        """The columns of the frame."""
        return list(cls.to_schema().columns)

    @classmethod
    def schema(cls) -> pl.Schema:
        """Names and types of the columns, for a frame that is made from rows."""
        types = {name: column.dtype.type for name, column in cls.to_schema().columns.items()}
        return pl.Schema(types)

    @classmethod
    def of(cls, frame: pl.DataFrame) -> DataFrame[Self]:
        """The frame with the columns of the model alone, once they hold what the model says.

        Raises:
            ContractError: a column is missing, or holds what it must not; that is a bug, never bad input.
        """
        try:
            return cls.validate(frame.select(cls.names()), lazy=True)
        except (pandera.errors.SchemaErrors, pl.exceptions.ColumnNotFoundError) as error:
            raise ContractError(f"a frame is no {cls.__name__}: {error}") from error
