"""A check of rows against their table's Pandera model, in one pass over all columns.

Pandera looks at a frame check by check and column by column, which costs some 70 ms a table however few the rows
are; a night commits hundreds of small frames. The same conditions are read off the model once and asked together.
Where one fails, or the model has one that is not known here, Pandera itself judges and says what is wrong.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import polars as pl

from slowwave.schemas.tables import TABLES, frame_schema

_TOLD: dict[str, Callable[[pl.Expr, dict[str, Any]], pl.Expr]] = {
    "isin": lambda column, of: column.is_in(of["allowed_values"]),
    "greater_than_or_equal_to": lambda column, of: column >= of["min_value"],
    "less_than_or_equal_to": lambda column, of: column <= of["max_value"],
}


def assert_rows(table: str, rows: pl.DataFrame) -> None:
    """Check that rows have the columns and types of their table, and only values that the table allows.

    Raises:
        pandera.errors.SchemaErrors: with all that is wrong.
    """
    conditions = _conditions(table)
    fits = conditions is not None and dict(rows.schema) == dict(frame_schema(table))
    if conditions is None or not fits or not all(rows.select(conditions).row(0)):
        TABLES[table].validate(rows, lazy=True)


@cache
def _conditions(table: str) -> list[pl.Expr] | None:
    """One boolean for each condition of the model; null where one of them is not known here."""
    model = TABLES[table].to_schema()
    if model.checks or model.unique or model.coerce:
        return None
    found: list[pl.Expr] = []
    for name, column in model.columns.items():
        values = pl.col(name)
        if not column.nullable:
            found.append(values.is_not_null().all().alias(f"{name} stands"))
        if column.unique:
            found.append(values.is_unique().all().alias(f"{name} is unique"))
        for number, check in enumerate(column.checks):
            if check.name not in _TOLD or not check.ignore_na:
                return None
            holds = _TOLD[check.name](values, check.statistics)
            found.append(holds.fill_null(value=True).all().alias(f"{name} {number}"))
    return found
