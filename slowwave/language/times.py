"""The times that filters and questions name in English.

A filter is the text that a user writes after `--after`, `--before` or `--as-of`, and must be understood. A question
is read only where it surely names a time: a wrong range hides the right memory, none at all costs a little ranking.
Time is counted from now, and from no event ("before the launch"): only the memory knows when that was. Weeks begin on
Monday, days at midnight UTC. Seasons are the meteorological ones of the north; a winter has the year in which it began.
Nothing here reads a clock: `now` is an argument.
"""

import calendar
import re
from collections import defaultdict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Literal

from slowwave.deferred import pattern
from slowwave.errors import InputError
from slowwave.language.lexicon import MONTHS, NUMBERS, WEEKDAYS, word_set, words

Use = Literal["after", "before", "as_of", "since"]
LONGEST_QUESTION = 2_000
"""Characters of a question that are read; a longer one is a pasted document."""
LONGEST_FILTER = 120

DAY = timedelta(days=1)
Span = tuple[datetime, datetime]
Leads = frozenset[str] | None
"""Prepositions of which one must precede words that are a time only then; None where they always are one."""

_AFTER, _SINCE, _BEFORE = word_set("after"), word_set("since"), word_set("before")
_UNTIL, _AROUND, _INSIDE = word_set("until"), word_set("around"), word_set("inside")
_LEADS = _INSIDE | _AFTER | _SINCE | _BEFORE | _UNTIL | _AROUND | {"between", "on", "at", "from", "for"}
_OF_NAMES = _LEADS - {"by", "from", "for"}
"""Before a month or a season: "by June" is a person as likely as a time."""
_NEVER: Leads = frozenset()

_UNIT_DAYS = {"minute": 1 / 1440, "hour": 1 / 24, "day": 1, "week": 7}
_UNIT_MONTHS = {"month": 1, "quarter": 3, "year": 12}
_HALF_UNITS = {"week": 3, "month": 15, "year": 183}
"""Days on both sides of a count of units that a question names; shorter units are counted exactly."""
_MONTH_NUMBERS = {name: at for at, one in enumerate(MONTHS, 1) for name in (one, one[:3])} | {"sept": 9}
_WEEKDAY_NUMBERS = {name: at for at, one in enumerate(WEEKDAYS) for name in (one, one[:3])}
_ORDINALS = words("ordinals")
_SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}
_AMOUNTS = {word: number for number, word in enumerate(NUMBERS)} | {"a": 1, "an": 1}

Kind = Literal["full", "yearless", "relative"]
"""A date with its year, one without (the latest that is not in the future), or one counted from now."""


@dataclass(frozen=True)
class Period:
    """A period [start, end) in UTC that words name; `until` is the position past their last character."""

    start: datetime
    end: datetime
    until: int
    kind: Kind


@dataclass(frozen=True)
class TimeRange:
    """A range [start, end) in UTC that the words `text` name; None is an open side."""

    start: datetime | None
    end: datetime | None
    text: str


Words = defaultdict[str, str]
"""The named groups of a match, in lower case, one blank between words; "" for one that is not there."""

_Found = tuple[Span | None, Kind, Leads]
"""The span that a form names (None: no such day), its kind, and what must precede it."""


def _midnight(at: datetime) -> datetime:
    return at.replace(hour=0, minute=0, second=0, microsecond=0)


def _shifted(first: datetime, months: int) -> datetime:
    """A moment some months later (earlier if negative); a day that the month lacks becomes its last one."""
    year, month = divmod(first.year * 12 + first.month - 1 + months, 12)
    last = calendar.monthrange(year, month + 1)[1]
    return first.replace(year=year, month=month + 1, day=min(first.day, last))


def _months(year: int, month: int, length: int) -> Span:
    """The span of some months from the first day of one."""
    first = datetime(year, month, 1, tzinfo=UTC)
    return first, _shifted(first, length)


def _days(year: int, month: int, day: int, last: int) -> Span | None:
    """The days from `day` to `last` of a month; None where the month has no such day."""
    if not 1 <= month <= len(MONTHS) or not 1 <= day <= last <= calendar.monthrange(year, month)[1]:
        return None
    first = datetime(year, month, day, tzinfo=UTC)
    return first, first + DAY * (last - day + 1)


def _yearly(said: Words, now: datetime, in_year: Callable[[int], Span | None]) -> tuple[Span | None, Kind]:
    """The one that is named of spans that come every year: without a word for its year, the latest that has begun."""
    which = said["which"]
    if said["year"]:
        return in_year(int(said["year"])), "full"
    if said["year_word"]:
        return in_year(now.year - (said["year_word"] == "last")), "relative"
    around = range(now.year - 8, now.year + 2)  # a 29 February may lie eight years back
    spans = [span for year in around if (span := in_year(year))]
    if which == "next":
        return next((span for span in spans if span[0] > now), None), "relative"
    if which == "this":
        return next((span for span in spans if span[0] <= now < span[1]), in_year(now.year)), "relative"
    border = 1 if which else 0  # the last one is over, the latest has begun
    found = max((span for span in spans if span[border] <= now), default=None)
    return found, "relative" if which else "yearless"


def _iso(said: Words, now: datetime) -> _Found:
    year, month, day = (int(said[name] or 0) for name in ("year", "month", "day"))
    if day or not 1 <= month <= len(MONTHS):
        return _days(year, month, day, day), "full", None
    return _months(year, month, 1), "full", None


def _date(said: Words, now: datetime) -> _Found:
    month, named = _MONTH_NUMBERS[said["month"]], said["day"]
    day = int(named) if named.isdecimal() else _ORDINALS.index(named) + 1
    first, last = int(said["first"] or day), int(said["last"] or day)
    span, kind = _yearly(said, now, lambda year: _days(year, month, first, last))
    is_sure = kind != "yearless" or said["nth"] or said["of"] or not named.isdecimal()
    return span, kind, None if is_sure else _LEADS  # "it may fail in 5 steps; we march 5 miles"


def _month(said: Words, now: datetime) -> _Found:
    if said["which"] == "this" and said["month"] in ("may", "march", "mar"):
        return None, "relative", None
    span, kind = _yearly(said, now, lambda year: _months(year, _MONTH_NUMBERS[said["month"]], 1))
    return span, kind, _OF_NAMES if kind == "yearless" else None


def _season(said: Words, now: datetime) -> _Found:
    season = said["season"]
    span, kind = _yearly(said, now, lambda year: _months(year, _SEASONS[season], 3))
    if kind != "yearless":
        return span, kind, None
    is_software = season == "spring" and not said["the"]
    return span, kind, _NEVER if is_software else _OF_NAMES - {"on", "at"}


def _year(said: Words, now: datetime) -> _Found:
    return _months(int(said["year"]), 1, 12), "full", _LEADS


def _of_unit(unit: str, back: int, now: datetime) -> Span:
    """The calendar's week, weekend, month, quarter or year that lies `back` before the present one."""
    today = _midnight(now)
    monday = today - DAY * (today.weekday() + 7 * back)
    if unit == "week":
        return monday, monday + DAY * 7
    if unit == "weekend":
        return monday + DAY * 5, monday + DAY * 7
    length = _UNIT_MONTHS[unit]
    first = today.replace(day=1, month=(today.month - 1) // length * length + 1)
    return _shifted(first, -length * back), _shifted(first, length - length * back)


def _unit(said: Words, now: datetime) -> _Found:
    which, unit = said["which"], said["unit"]
    if not which:  # "at the weekend"
        spans = [_of_unit(unit, back, now) for back in (0, 1)]
        return next(span for span in spans if span[0] <= now), "relative", _LEADS - {"in", "within"}
    back = {"this": 0, "current": 0, "next": -1}.get(which, 1)
    return _of_unit(unit, back, now), "relative", None


def _day_word(said: Words, now: datetime) -> _Found:
    shifts = {"last": -1, "yesterday": -1, "tomorrow": 1, "before": -2}
    shift = next((shifts[word] for word in said["day"].split() if word in shifts), 0)
    day = _midnight(now) + DAY * shift
    return (day, day + DAY), "relative", None


def _weekday(said: Words, now: datetime) -> _Found:
    """The latest before today, unless this or the next is named, or the week."""
    which, week, name = said["which"], said["week"], said["weekday"]
    number, today = _WEEKDAY_NUMBERS[name], _midnight(now)
    if week or which == "this":
        back = {"last": 1, "next": -1}.get(week, 0)
        day = _of_unit("week", back, now)[0] + DAY * number
    elif which == "next":
        day = today + DAY * ((number - today.weekday() - 1) % 7 + 1)
    else:
        day = today - DAY * ((today.weekday() - number - 1) % 7 + 1)
    leads = _LEADS - {"in", "within"} if name in WEEKDAYS else _NEVER  # "in the sun"
    return (day, day + DAY), "relative", None if which or week else leads


def _back(said: Words, now: datetime) -> datetime:
    """The moment so many units ago, months and years by the calendar, days and longer from midnight."""
    unit, told = said["unit"], said["count"] or "1"
    count = int(told) if told.isdecimal() else _AMOUNTS[told]
    if unit in _UNIT_MONTHS:
        return _midnight(_shifted(now, -_UNIT_MONTHS[unit] * count))
    start = now - timedelta(_UNIT_DAYS[unit] * count)
    return start if unit in ("minute", "hour") else _midnight(start)


def _ago(said: Words, now: datetime) -> _Found:
    start, unit = _back(said, now), said["unit"]
    return (start, start + (timedelta.resolution if unit in ("minute", "hour") else DAY)), "relative", None


def _rolling(said: Words, now: datetime) -> _Found:
    """From so many units back until now."""
    return (_back(said, now), now), "relative", None if said["count"] else _INSIDE | {"for"}


_MONTH = rf"(?P<month>{'|'.join(sorted(_MONTH_NUMBERS, key=len, reverse=True))})\.?(?![a-z])"
_DAY_OF_WEEK = rf"(?P<weekday>{'|'.join(sorted(_WEEKDAY_NUMBERS, key=len, reverse=True))})(?![a-z])"
_DAY_NAME = rf"(?:(?:{'|'.join(WEEKDAYS)}),?\s+)?"
_FULL_YEAR = r"(?P<year>[12]\d{3})(?!\d)"
_OF_YEAR = (
    rf"(?:(?:,?\s+|\s*,\s*)(?:of\s+)?(?:the\s+year\s+)?(?:{_FULL_YEAR}|(?P<year_word>last|this)\s+year))?"
)
_NTH = r"(?P<nth>st|[nr]d|th)?(?!\d)"
_COUNTED = (
    rf"(?P<count>\d{{1,3}}|{'|'.join(sorted(_AMOUNTS, key=len, reverse=True))})\s+"
    r"(?P<unit>minute|hour|day|week|month|year)s?"
)
_WHICH = r"(?P<which>this\s+past|last|this|next|past|previous)\s+"
_DAYS_TO = r"(?:(?P<first>\d{1,2})(?:st|[nr]d|th)?\s*(?:-|–|to|and)\s*)?"
_TO_DAY = r"(?:\s*(?:-|–|to)\s*(?P<last>\d{1,2})(?:st|[nr]d|th)?(?!\d))?"
_NO_COUNT = (
    r"(?!\s*[%$€]|\s+(?:rows|lines|files|users|requests|records|events|items|times|tokens|words|characters|people|"
    r"tests|steps|calls|bytes|points|dollars|euros|years|days|hours|minutes|seconds|ms|kb|mb|gb|km|miles|cells|"
    r"cases|messages|turns|pages|more)\b)"
)
"""A number of four digits that counts something is no year."""
_NO_SOFTWARE = (
    r"(?!\s+(?:framework|boot|security|cloud|data|mvc|batch|beans?|context|app|config|webflux|jpa)\b)"
)
_NOT_OF = r"(?!\s+of\b)"
_OWN = "".join(rf"(?<!{one}\s)" for one in ("my", "our", "your", "his", "her", "its", "their", "['’]s"))
"""Before "last year": it is somebody's last one, and not the calendar's."""
_FORMS: tuple[tuple[str, Callable[[Words, datetime], _Found]], ...] = (
    (rf"{_FULL_YEAR}-(?P<month>\d\d)(?:-(?P<day>\d\d)(?:[T ]\d\d:\d\d[\d:.,Z+-]*)?)?", _iso),
    (rf"{_DAY_NAME}(?:the\s+)?{_DAYS_TO}(?P<day>\d{{1,2}}|{'|'.join(_ORDINALS)}){_NTH}\s+(?P<of>of\s+)?"
     rf"{_MONTH}{_OF_YEAR}", _date),
    (rf"{_DAY_NAME}{_MONTH}\s+(?:the\s+)?(?P<day>\d{{1,2}}){_NTH}{_TO_DAY}{_OF_YEAR}", _date),
    (rf"{_MONTH}{_OF_YEAR}", _month),
    (rf"{_WHICH}{_MONTH}", _month),
    (rf"{_FULL_YEAR}{_NO_COUNT}", _year),
    (rf"(?:{_WHICH}|(?P<the>the\s+))?(?P<season>{'|'.join(_SEASONS)}){_NO_SOFTWARE}{_OF_YEAR}{_NOT_OF}", _season),
    (rf"{_OWN}(?:the\s+)?(?P<which>this\s+past|last|this|next|past|previous|current)\s+"
     rf"(?P<unit>week|weekend|month|quarter|year){_NOT_OF}", _unit),
    (r"(?:the\s+)?(?P<unit>weekend)", _unit),
    (r"(?P<day>(?:the\s+)?day\s+before\s+yesterday|last\s+(?:night|evening)|yesterday|tomorrow|today|tonight|"
     r"this(?=\s+(?:morning|afternoon|evening)))(?:\s+(?:morning|afternoon|evening|night))?", _day_word),
    (rf"(?:{_WHICH})?{_DAY_OF_WEEK}(?:,?\s+(?:of\s+)?(?P<week>last|this|next)\s+week)?", _weekday),
    (rf"{_COUNTED}\s+(?:ago|back)", _ago),
    (rf"{_OWN}(?:the\s+)?(?:last|past|previous)\s+{_COUNTED}{_NOT_OF}", _rolling),
    (rf"the\s+(?:last|past)\s+(?P<unit>hour|day|week|month|year){_NOT_OF}", _rolling),
)  # fmt: skip
_READERS = tuple((pattern(form + r"(?!\w)", re.I | re.A), read) for form, read in _FORMS)
_GOES_ON = re.compile(r"[-_]\w")
_GOES_ON_AFTER_DIGIT = re.compile(r"[-_./:]\w")


def read_period(text: str, position: int, *, now: datetime, lead: str | None = None) -> Period | None:
    """The period that is named at a position of a text, by the form that takes most of it; None if none is.

    `lead` is the preposition before it, in lower case and empty if there is none: it decides for words that are a
    time only after one. With None any form is taken. `now` is in UTC.
    """
    best: Period | None = None
    for form, read in _READERS:
        match = form.match(text, position)
        if match is None or (best and match.end() < best.until) or _goes_on(text, match.end()):
            continue
        said = {name: " ".join((given or "").lower().split()) for name, given in match.groupdict().items()}
        span, kind, leads = read(defaultdict(str, said), now)
        if span is not None and span[0] < span[1] and (lead is None or leads is None or lead in leads):
            best = Period(*span, match.end(), kind)
    return best


def _goes_on(text: str, end: int) -> bool:
    """Return whether the word goes on past what was read: a file's name, a version, a letter of another script."""
    joined = _GOES_ON_AFTER_DIGIT if text[end - 1].isdecimal() else _GOES_ON
    return joined.match(text, end) is not None or text[end : end + 1].isalnum()


_CLOCK = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:[Zz]|[+-]\d\d:?\d\d)?", re.A)


def _at_clock(text: str) -> Period | None:
    """A moment that is written with its time of day; None where there is none such."""
    with suppress(ValueError):
        at = datetime.fromisoformat(text.upper())
        at = at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
        return Period(at, at + timedelta.resolution, len(text), "full")
    return None


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
    if _CLOCK.fullmatch(text):
        found = _at_clock(text)
    else:
        found = None if len(text) > LONGEST_FILTER or ":" in text else read_period(text, 0, now=now)
    if found is None or found.until != len(text):
        raise InputError(
            f"{use}: {word[:40]!r} is no time. Write a date (2026-05-01), a month (2026-05), or words such as "
            "last_week, yesterday, 3_days_ago."
        )
    return found.end if use == "as_of" else found.start


_LEAD_WORDS = "|".join(sorted(_LEADS, key=len, reverse=True)).replace(" ", r"\s+")
_PART = r"(?:beginning|start|middle|(?:first|second)\s+(?:half|week))\s+of"
"""A part of a period is read as the whole of it."""
_LEAD = pattern(
    rf"(?:(?P<lead>{_LEAD_WORDS})\s+(?:(?:the\s+)?(?:(?:month|year)(?:\s+of)?|{_PART})\s+(?=\w))?)?(?P<rest>\w)",
    re.I | re.A,
)
_WORD = pattern(r"(?<![\w./@#:\\-])(?=[A-Za-z0-9])[^\W_]+")
_TO = pattern(r"\s*(?:\b(?P<word>and|to|until|till|through)\b|[–—]|\s-\s)\s*", re.I | re.A)
_POSSESSIVE = pattern(r"['’]s?(?!\w)")
_COUNT_AGO = pattern(r"(?P<unit>week|month|year)s?\s+(?:ago|back)$", re.I)
_QUOTED = pattern(r"\"[^\"\n]{1,200}\"|“[^”\n]{1,200}”|`[^`\n]{1,200}`")
_BOTH_ENDS = 4


def time_of_question(question: str, *, now: datetime) -> TimeRange | None:
    """The time that a question in English names; None where it surely names none.

    Only what is said counts: "When did we move?" names no time, "When did we go camping in June?" names June.
    Months, weekdays and seasons without a year are the latest that have begun. "before" and "until" leave the
    start open, "since" and "after" the end; "after X" begins when X is over, "until X" takes X in. Of several
    times a range wins, then a date with its year after a preposition, then what is without a year, then the rest;
    of equals the first. "N units ago" is wider by half a unit on both sides. What is past ends by now; a range may
    lie in the future only if the question says so ("tomorrow", "in 2031").
    """
    now = now.astimezone(UTC)
    # quoted names are blanked out; positions stay
    text = _QUOTED.sub(lambda quoted: '"' * len(quoted[0]), question[:LONGEST_QUESTION])
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
    pair = _both_ends(text, first, rest, lead, now) if first else None
    if pair is not None and (sure or lead == "from" or pair[1].kind == "full"):
        until = pair[1].until
        return _BOTH_ENDS, TimeRange(pair[0].start, pair[1].end, question[position:until]), until
    if sure is None or (lead == "between" and " and " not in text[position : sure.until]):
        return None
    rank = 2 if sure.kind != "full" else 3 if lead else 1
    said = text[rest : sure.until]
    side = _sided(lead, sure, said, follows=text[sure.until :], now=now)
    return rank, TimeRange(*side, question[position : sure.until]), sure.until


def _sided(
    lead: str, period: Period, said: str, *, follows: str, now: datetime
) -> tuple[datetime | None, datetime | None]:
    """Start and end of a period after its preposition is counted in."""
    start, end, aside = period.start, period.end, timedelta(0)
    if count := _COUNT_AGO.search(said):
        aside = DAY * _HALF_UNITS[count["unit"].lower()]
    elif lead in _AROUND:
        aside = max((end - start) / 2, DAY * 3)
    start, end = start - aside, min(end + aside, now) if end <= now else end + aside
    if _POSSESSIVE.match(follows):
        return start, end
    if lead in _SINCE:
        return start, None
    if lead in _AFTER:
        return end, None
    if lead in _UNTIL:
        return None, end
    return (None, start) if lead in _BEFORE else (start, end)


def _both_ends(
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
