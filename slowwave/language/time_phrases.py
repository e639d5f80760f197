"""The times that filters and questions name.

A filter is the text that a user writes after `--after`, `--before` or `--as-of`, and must be understood. A question
is read only where it surely names a time: a wrong range hides the right memory, none at all costs a little ranking.
Time is counted from now or from a date, and from no event ("before the launch"): only the memory knows when that was.
Nothing here reads a clock: `now` is an argument.
"""

import re
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Literal

from slowwave.deferred import pattern
from slowwave.errors import InputError
from slowwave.language.lexicon import WEEKDAYS
from slowwave.language.time_forms import (
    AFTER,
    AROUND,
    BEFORE,
    COUNTED,
    DAY,
    LEADS,
    SINCE,
    UNIT_DAYS,
    UNTIL,
    Period,
    counted,
    half_unit,
    midnight,
    read_period,
)

Use = Literal["after", "before", "as_of", "since"]
LONGEST_QUESTION = 2_000
"""Characters of a question that are read; a longer one is a pasted document."""
LONGEST_FILTER = 120
_PAIR_RANK = 4


@dataclass(frozen=True)
class TimeRange:
    """A range [start, end) in UTC that the words `text` name; None is an open side."""

    start: datetime | None
    end: datetime | None
    text: str


_LEAD_WORDS = "|".join(sorted(LEADS | {"for"}, key=len, reverse=True)).replace(" ", r"\s+")
_PART = r"(?:beginning|start|middle|(?:first|second)\s+(?:half|week))\s+of"
"""A part of a period is read as the whole of it."""
_LEAD = pattern(
    rf"(?:(?P<lead>{_LEAD_WORDS})\s+(?:(?:the\s+)?(?:(?:month|year)(?:\s+of)?|{_PART})\s+(?=\w))?)?(?P<rest>\w)",
    re.I | re.A,
)
_WORD = pattern(r"(?<![\w./@#:\\-])(?=[A-Za-z0-9])[^\W_]+")
_TO = pattern(r"\s*(?:\b(?P<word>and|to|until|till|through)\b|[–—]|\s-\s)\s*", re.I | re.A)
_POSSESSIVE = pattern(r"['’]s?(?!\w)")
_QUOTED = pattern(r"\"[^\"\n]{1,200}\"|“[^”\n]{1,200}”|`[^`\n]{1,200}`")


def time_of_filter(word: str, *, use: Use, now: datetime) -> datetime:
    """The moment that a filter means, in UTC: memories at or after it (`after`), before it (`before`, `as_of`).

    `since` is the day of a change.

    A period counts from its start for `after` and `before`, and to its end for `as_of`: `after 2026-05` and
    `after last_week` take in May and last week, `before 2026-05-01` leaves 1 May out, `as_of 2026-05-01` is what
    was known when that day was over. Case, `-`, `_` and blanks do not count; a time without a zone is UTC.

    Raises:
        InputError: the words name no time, or a date that can be read in two ways.
    """
    now = now.astimezone(UTC)
    text = " ".join(re.sub(r"(?<!\d)-|-(?!\d)|_", " ", word).split())
    if text.lower() == "now":
        return now
    found = None if len(text) > LONGEST_FILTER else read_period(text, 0, now=now, exact=True)
    if found is None or found.until != len(text):
        raise InputError(
            f"{use}: {word[:40]!r} is no time. Write a date (2026-05-01), a month (2026-05), or words such as "
            "last_week, yesterday, 3_days_ago."
        )
    return found.end if use == "as_of" else found.start


def time_of_question(question: str, *, now: datetime) -> TimeRange | None:
    """The time that a question in English names; None where it surely names none.

    Only what is said counts: "When did we move?" names no time, "When did we go camping in June?" names June.
    Months, weekdays and seasons without a year are the latest that have begun. "before" and "until" leave the
    start open, "since" and "after" the end; "after X" begins when X is over, "until X" takes X in. Of several
    times a range wins, then a date with its year after a preposition, then what is without a year, then the rest;
    of equals the first. What is past ends by now; a range may lie in the future only if the question says so
    ("tomorrow", "in 2031").
    """
    now = now.astimezone(UTC)
    # quoted names are blanked out; positions stay
    text = _QUOTED.sub(lambda quoted: '"' * len(quoted[0]), question[:LONGEST_QUESTION])
    dated = _from_date(text, question, now)
    if dated is not None:
        return dated
    best: tuple[int, TimeRange] | None = None
    position = 0
    while (start := _WORD.search(text, position)) is not None:
        found = _range_at(text, start.start(), question, now)
        position = found[2] if found else start.end() + 1
        if found and (best is None or found[0] > best[0]):
            best = found[0], found[1]
    return best[1] if best else None


def _range_at(text: str, position: int, question: str, now: datetime) -> tuple[int, TimeRange, int] | None:
    """Rank, range and end of the time that is named at a position."""
    match = _LEAD.match(text, position)
    if match is None:
        return None
    lead = " ".join((match["lead"] or "").lower().split())
    rest = match.start("rest")
    sure = read_period(text, rest, now=now, lead=lead)
    first = sure or read_period(text, rest, now=now)
    pair = _second(text, first, rest, lead, now) if first else None
    if pair is not None and (sure or pair[1].kind == "full"):
        until = pair[1].until
        return _PAIR_RANK, TimeRange(pair[0].start, pair[1].end, question[position:until]), until
    if sure is None or (lead == "between" and " and " not in text[position : sure.until]):
        return None
    rank = 2 if sure.kind != "full" else 3 if lead else 1
    side = _sided(lead, sure, follows=text[sure.until :], now=now)
    return rank, TimeRange(*side, question[position : sure.until]), sure.until


def _sided(
    lead: str, period: Period, *, follows: str, now: datetime
) -> tuple[datetime | None, datetime | None]:
    """Start and end of a period after its preposition is counted in."""
    if _POSSESSIVE.match(follows):
        return period.start, period.end
    if lead in SINCE:
        return period.start, None
    if lead in AFTER:
        return period.end, None
    if lead in UNTIL:
        return None, period.end
    if lead in BEFORE:
        return None, period.start
    if lead not in AROUND:
        return period.start, period.end
    aside = max((period.end - period.start) / 2, DAY * 3)
    end = period.end + aside
    return period.start - aside, min(end, now) if period.end <= now else end


def _second(
    text: str, first: Period, position: int, lead: str, now: datetime
) -> tuple[Period, Period] | None:
    """Both ends of "between March and May 2026": an end without a year takes it from the other."""
    to = _TO.match(text, first.until)
    if to is None or (lead == "between") != ((to["word"] or "").lower() == "and"):
        return None
    last = read_period(text, to.end(), now=now)
    if last is None or (last.kind == "yearless" and lead not in ("from", "between")):
        return None
    if first.kind == "full" and last.kind == "yearless":
        last = read_period(text, to.end(), now=first.start + 365 * DAY) or last
    elif first.kind == "yearless":
        first = read_period(text, position, now=last.start) or first
    return (first, last) if first.start < last.end and first.until <= to.start() else None


_UNITS = "|".join([*WEEKDAYS, *UNIT_DAYS])
_DISTANCE = pattern(
    rf"(?<![\w-])(?:{COUNTED}|(?:the|a|last|one)\s+(?P<next>{_UNITS}))\s+"
    r"(?:(?P<before>before|prior\s+to)|after|following)\s+",
    re.I | re.A,
)


def _from_date(text: str, question: str, now: datetime) -> TimeRange | None:
    """A range counted from a date: "two weeks before 16 November 2023", and "the week before" is up to that day.

    "The Sunday before" is the seven days before, too.
    """
    for match in _DISTANCE.finditer(text):
        date = read_period(text, match.end(), now=now, lead="after")
        if date is not None:
            with suppress(OverflowError):  # beyond the calendar
                nearest, farthest = _away(match)
                day = midnight(date.start if match["before"] else date.end - timedelta.resolution)
                said = question[match.start() : date.until]
                if match["before"]:
                    return TimeRange(day - farthest, day + DAY - nearest, said)
                return TimeRange(day + nearest, day + DAY + farthest, said)
    return None


def _away(match: re.Match[str]) -> tuple[timedelta, timedelta]:
    """The distance in days from a date's day that words name, at least and at most."""
    if match["next"]:
        return DAY, max(DAY * UNIT_DAYS.get(match["next"].lower(), 7), DAY)
    unit = match["unit"].lower()
    days = DAY * int(UNIT_DAYS[unit] * counted(match["count"]))
    return days - half_unit(unit), days + half_unit(unit)
