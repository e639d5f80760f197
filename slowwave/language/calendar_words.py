"""The words of the calendar, and counting with it: months, weekdays, seasons, numbers, spans of days.

Weeks begin on Monday, days at midnight UTC; seasons are the meteorological ones of the north, and a winter has
the year in which it began. This says what words count, never where in a text they are (`time_forms` does).
"""

import calendar
from datetime import UTC, datetime, timedelta

from slowwave.language import lexicon

Span = tuple[datetime, datetime]

DAY = timedelta(days=1)
LAST_MONTH = 12
MONTH_NUMBERS = {
    name: number for number, month in enumerate(lexicon.MONTHS, start=1) for name in (month, month[:3])
} | {"sept": 9}
WEEKDAY_NUMBERS = {name: number for number, day in enumerate(lexicon.WEEKDAYS) for name in (day, day[:3])} | {
    "tues": 1,
    "thurs": 3,
}
SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}
VAGUE = {"a couple": 2, "a couple of": 2, "couple of": 2, "a few": 3, "few": 3, "several": 4}
"""Counts that name no number: read as this many, about."""
AMOUNTS = {word: number for number, word in enumerate(lexicon.NUMBERS)} | {"a": 1, "an": 1} | VAGUE
SPREAD = {"minute": (0.02, 0.04), "hour": (0.04, 0.08), "day": (0, 2), "week": (3, 5), "fortnight": (3, 5),
          "month": (15, 23), "quarter": (45, 68), "year": (183, 274)}  # fmt: skip
"""Days on both sides of a count of units: as it stands, and after "about"."""
UNIT_DAYS = {"minute": 1 / 1440, "hour": 1 / 24, "day": 1, "night": 1, "morning": 1, "evening": 1, "week": 7,
             "weekend": 7, "fortnight": 14, "month": 30, "quarter": 91, "year": 365}  # fmt: skip


def midnight(at: datetime) -> datetime:
    """The beginning of a moment's day."""
    return at.replace(hour=0, minute=0, second=0, microsecond=0)


def shifted(first: datetime, months: int) -> datetime:
    """A moment some months later (earlier if negative); a day that the month lacks becomes its last one."""
    month = first.year * 12 + first.month - 1 + months
    year, month = month // 12, month % 12 + 1
    return first.replace(year=year, month=month, day=min(first.day, calendar.monthrange(year, month)[1]))


def months_from(year: int, month: int, length: int) -> Span:
    """So many months from the first day of one."""
    first = datetime(year, month, 1, tzinfo=UTC)
    return first, shifted(first, length)


def days_of(year: int, month: int, day: int, last: int) -> Span | None:
    """The days from `day` to `last` of a month; None where the month has no such day."""
    if not 1 <= month <= LAST_MONTH or not 1 <= day <= last <= calendar.monthrange(year, month)[1]:
        return None
    first = datetime(year, month, day, tzinfo=UTC)
    return first, first + DAY * (last - day + 1)


def latest(spans: list[Span | None], now: datetime, *, is_over: bool = False) -> Span | None:
    """The latest span that has begun, or that is over."""
    return max((span for span in spans if span and span[1 if is_over else 0] <= now), default=None)


def counted(count: str) -> int:
    """A count in words or digits."""
    return int(count) if count.isdecimal() else AMOUNTS[count]


def units_back(now: datetime, count: int, unit: str) -> datetime | None:
    """The moment `count` units before; months and years by the calendar. None before the year 1."""
    months = {"month": 1, "quarter": 3, "year": 12}.get(unit, 0) * count
    try:
        return shifted(now, -months) if months else now - timedelta(days=UNIT_DAYS[unit] * count)
    except (ValueError, OverflowError):
        return None
