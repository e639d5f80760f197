"""Rows are held to their model in one pass, and what Pandera would refuse is refused."""

import pandera.errors
import polars as pl
import pytest

from slowwave.schemas.tables import KEYS, TABLES, frame_schema
from slowwave.store.checking import assert_rows
from tests.rows import row, rows

SPOILT = {pl.String(): "no such word", pl.Int64(): -7, pl.Float64(): 7.5, pl.Boolean(): True}
ASKED = {
    (str(column.dtype), column.nullable, column.unique, str([check.statistics for check in column.checks])): (
        table,
        name,
    )
    for table in TABLES
    for name, column in TABLES[table].to_schema().columns.items()
}
"""What is asked of columns, each once, with a column of which it is asked."""


def is_refused(check, *arguments, **named) -> bool:
    try:
        check(*arguments, **named)
    except pandera.errors.SchemaErrors:
        return True
    return False


@pytest.mark.parametrize("table", TABLES)
def test_rows_that_keep_to_their_model_never_wait_for_pandera(table, monkeypatch):
    plain = rows(table, row(table, "a"), row(table, "b"))
    monkeypatch.setattr(TABLES[table], "validate", lambda *_, **__: pytest.fail("asked in vain"))
    assert_rows(table, plain)
    assert_rows(table, plain.clear())


@pytest.mark.parametrize(("table", "column"), ASKED.values())
def test_what_pandera_refuses_is_refused(table, column):
    plain = rows(table, row(table, "a"), row(table, "b"))
    kind = frame_schema(table)[column]
    one = pl.col(KEYS[table]) == "b"
    values = [None, *([SPOILT[kind]] if kind in SPOILT else [])]
    for value in values:
        frame = plain.with_columns(pl.when(one).then(pl.lit(value)).otherwise(column).alias(column))
        verdict = is_refused(TABLES[table].validate, frame, lazy=True)
        assert is_refused(assert_rows, table, frame) == verdict, value


def test_a_frame_of_other_columns_is_refused():
    plain = rows("cells", row("cells", "a"), row("cells", "b"))
    other_type = plain.with_columns(pl.lit(0, dtype=pl.Int8).alias("content"))
    for frame in (plain.drop("content"), other_type, plain.rename({"content": "other"})):
        assert is_refused(assert_rows, "cells", frame)


@pytest.mark.parametrize("table", TABLES)
def test_a_key_that_stands_twice_is_refused(table):
    with pytest.raises(pandera.errors.SchemaErrors):
        assert_rows(table, rows(table, row(table, "a"), row(table, "a")))
