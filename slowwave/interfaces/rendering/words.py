"""Moments, ids and sizes in words, as every result shows them."""

import re
from collections.abc import Iterable
from datetime import datetime

from slowwave.schemas.moments import DAY_UNKNOWN, day_of, from_day, is_unknown
from slowwave.schemas.report import several

SHOWN_ID = 8
"""Characters of an id that are shown: 32 bits; every call takes a beginning of 6 or more."""

TEXT_CHARACTERS = 240
"""Characters of a memory where many are listed; `explain` shows all of one."""

PERSON = "a person said"
FIRST_STEPS = "(`slowwave ingest PATH` and `slowwave run nightly` make one)"

_WHOLE_ID = re.compile(r"\b([0-9a-f]{8})[0-9a-f]{16}\b")
_DAY = 86_400.0
_UNITS = (
    (_DAY * 365.25, "year"),
    (_DAY * 30.44, "month"),
    (_DAY, "day"),
    (3_600.0, "hour"),
    (60.0, "minute"),
)


def ago(moment: datetime, now: datetime) -> str:
    """`3 days ago`, `just now`, `in 2 hours`: the largest whole unit; or that the day is unknown."""
    if is_unknown(moment):
        return DAY_UNKNOWN
    seconds = (now - moment).total_seconds()
    for length, unit in _UNITS:
        count = int(abs(seconds) // length)
        if count:
            amount = several(count, unit)
            return f"{amount} ago" if seconds > 0 else f"in {amount}"
    return "just now"


def until(end: datetime | None) -> str:
    """` until 2026-05-01`, or nothing."""
    return f" until {day_of(end)}" if end else ""


def valid(since: datetime, end: datetime | None) -> str:
    """`from 2026-05-01 until 2026-06-01`."""
    return f"{from_day(since)}{until(end)}"


def short(whole_id: str) -> str:
    """The beginning of an id, by which every call knows it."""
    return whole_id[:SHOWN_ID]


def shorts(ids: Iterable[str]) -> str:
    """The beginnings of several ids."""
    return ", ".join(map(short, ids))


def with_short_ids(text: str) -> str:
    """Our own words about memories, with the ids in them cut to their beginnings."""
    return _WHOLE_ID.sub(r"\1", text)


def clipped(text: str, most: int = TEXT_CHARACTERS) -> str:
    """Text in one line of at most so many characters, with a mark where it was cut."""
    flat = " ".join(text.split())
    return flat if len(flat) <= most else f"{flat[:most].rstrip()} ..."


def listed(counts: dict[str, int]) -> str:
    """`fact 12, decision 3`; what is zero is left out."""
    return ", ".join(f"{name} {count:,}" for name, count in counts.items() if count)
