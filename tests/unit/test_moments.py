"""Moments of which nobody knows the day: how they are kept, ordered and shown."""

from datetime import UTC, datetime, timedelta

import polars as pl
import pytest
from pydantic import TypeAdapter

from slowwave.ingest.bounds import DEFAULTS
from slowwave.ingest.turns import with_possible_times
from slowwave.schemas.moments import (
    UNKNOWN,
    Said,
    day_of,
    days_of,
    first_of,
    is_unknown,
    latest_moments,
    latest_of,
    unknown_until,
)
from slowwave.schemas.table_parts import TIMESTAMP
from tests.rows import NOW

FILE = datetime(2026, 3, 1, 9, 30, tzinfo=UTC)
OLD_LETTER = datetime(1950, 5, 1, tzinfo=UTC)


def column(*moments: datetime | None) -> pl.Series:
    return pl.Series("at", moments, dtype=TIMESTAMP)


def test_an_unknown_moment_keeps_the_latest_possible_one_and_comes_before_all_that_are_known():
    undated, later = unknown_until(FILE), unknown_until(FILE + timedelta(days=400))
    assert latest_of(undated) == FILE
    assert undated < later < datetime(1971, 1, 1, tzinfo=UTC)
    assert [is_unknown(moment) for moment in (undated, later, UNKNOWN, FILE, OLD_LETTER)] == [True] * 3 + [
        False
    ] * 2


def test_a_column_of_moments_says_the_same_as_each_of_them():
    known = [unknown_until(FILE), FILE, OLD_LETTER, UNKNOWN]
    frame = column(*known, None).to_frame()
    assert frame.select(days_of(pl.col("at")))["at"].to_list() == [*map(day_of, known), None]
    assert frame.select(latest_moments(pl.col("at")))["at"].to_list() == [*map(latest_of, known), None]
    assert day_of(known[0]) == "day unknown"
    assert frame.head(2).select(first_of(pl.col("at"))).item() == FILE
    assert frame.head(1).select(first_of(pl.col("at"))).item() == known[0]


def test_as_json_an_unknown_moment_is_null_and_is_read_back_as_unknown():
    told = TypeAdapter(Said)
    assert told.dump_python(unknown_until(FILE), mode="json") is None
    assert is_unknown(told.validate_python(None))
    assert told.validate_python(told.dump_python(FILE, mode="json")) == FILE


@pytest.mark.parametrize(
    ("said", "counts"),
    [
        (NOW + timedelta(hours=23), True),
        (NOW + timedelta(hours=25), False),
        (datetime(2099, 1, 1, tzinfo=UTC), False),
        (UNKNOWN, False),
        (datetime(1970, 1, 1, 7, tzinfo=UTC), False),
        (OLD_LETTER, True),
        (unknown_until(FILE), True),
        (unknown_until(NOW + timedelta(days=900)), False),
    ],
)
def test_what_is_dated_after_it_came_in_or_by_a_clock_that_was_never_set_was_said_on_an_unknown_day(
    said, counts
):
    rows = pl.DataFrame({"event_time": column(said), "valid_from": column(said)})
    read, is_late = with_possible_times(rows, now=NOW, ahead_hours=DEFAULTS.ahead_hours)
    assert read.row(0) == ((said, said) if counts else (unknown_until(NOW), unknown_until(NOW)))
    assert is_late.to_list() == [not counts]
