"""The moment at which something was said, also where nobody knows it: imports without dates, dates of the future.

A moment on the first day that calendars of computers count, 1970-01-01, stands for an unknown one. It comes before all
that are known, so whatever compares moments never takes what has no day for the later word. Its microseconds since
midnight are the seconds since then of the latest moment at which it can have been: when the file that holds it was
last changed. Whoever shows a moment asks here for its day.
"""

from datetime import UTC, datetime, timedelta
from math import ceil
from typing import TYPE_CHECKING, Annotated, Final

from pydantic import BeforeValidator, PlainSerializer

from slowwave.deferred import deferred

if TYPE_CHECKING:
    import polars as pl
else:
    pl = deferred("polars")  # what hands over to a server shows moments, and no tables

UNKNOWN: Final = datetime(1970, 1, 1, tzinfo=UTC)
"""The first of the unknown moments: not even the latest possible one is known."""

FIRST_KNOWN: Final = UNKNOWN + timedelta(days=1)
"""The end of the unknown moments."""

DAY_UNKNOWN: Final = "day unknown"

_A_YEAR: Final = timedelta(days=365)


def unknown_until(latest: datetime) -> datetime:
    """The unknown moment that is not after `latest`."""
    return UNKNOWN + timedelta(microseconds=max(ceil((latest - UNKNOWN).total_seconds()), 0))


def is_unknown(moment: datetime) -> bool:
    """Return whether nobody knows the moment."""
    return UNKNOWN <= moment < FIRST_KNOWN


def latest_of(moment: datetime) -> datetime:
    """The latest moment that it can have been: itself where it is known."""
    return UNKNOWN + (moment - UNKNOWN) * 1_000_000 if is_unknown(moment) else moment


def day_of(moment: datetime) -> str:
    """The day of a moment, YYYY-MM-DD, or that it is unknown."""
    return DAY_UNKNOWN if is_unknown(moment) else f"{moment:%Y-%m-%d}"


def from_day(moment: datetime) -> str:
    """Since when something holds: `from 2026-05-01`, or from an unknown day."""
    return "from an unknown day" if is_unknown(moment) else f"from {day_of(moment)}"


def are_unknown(moment: "pl.Expr") -> "pl.Expr":
    """`is_unknown` of a column."""
    return moment.is_between(pl.lit(UNKNOWN), pl.lit(FIRST_KNOWN), closed="left")


def days_of(moment: "pl.Expr") -> "pl.Expr":
    """`day_of` of a column."""
    # a form without fields is a text under the column's own name
    return (
        pl.when(are_unknown(moment))
        .then(moment.dt.strftime(DAY_UNKNOWN))
        .otherwise(moment.dt.strftime("%Y-%m-%d"))
    )


def latest_moments(moment: "pl.Expr") -> "pl.Expr":
    """`latest_of` of a column."""
    seconds = moment.dt.epoch("us")
    latest = pl.from_epoch(seconds, time_unit="s").dt.cast_time_unit("us").dt.replace_time_zone("UTC")
    return pl.when(are_unknown(moment)).then(latest).otherwise(moment)


def first_of(moment: "pl.Expr") -> "pl.Expr":
    """The first known moment of a column; where none is known, the first of those that are not."""
    return pl.coalesce(moment.filter(~are_unknown(moment)).min(), moment.min())


def are_impossible(moment: "pl.Expr", *, last: datetime) -> "pl.Expr":
    """Return whether the moments of a column are later than `last`, or those of a clock that was never set."""
    latest = latest_moments(moment)
    was_never_set = are_unknown(moment) & (latest < pl.lit(UNKNOWN + _A_YEAR))
    return was_never_set | (latest > pl.lit(last))


def _or_unknown(given: object) -> object:
    return UNKNOWN if given is None else given


def _or_none(moment: datetime | None) -> datetime | None:
    return None if moment is None or is_unknown(moment) else moment


Said = Annotated[
    datetime,
    BeforeValidator(_or_unknown),
    PlainSerializer(_or_none, return_type=datetime | None, when_used="json"),
]
"""A moment in an answer: as JSON it is null where it is unknown."""

Ended = Annotated[datetime | None, PlainSerializer(_or_none, return_type=datetime | None, when_used="json")]
"""The end of something; null where there is none, and as JSON also where nobody knows when it was."""
