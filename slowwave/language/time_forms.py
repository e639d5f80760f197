"""The forms in which English names a time: what each looks like, how it is counted, and the period at one position.

Weeks begin on Monday, days at midnight UTC. Seasons are the meteorological ones of the north; a winter has the year
in which it began. Some forms are a time only after a preposition ("in May" is one, "it may" is none). "N units ago" is
the day N units back, wider by half a unit on both sides; if a filter asks (`exact`), it is that day alone.
"""

import calendar
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Literal

from slowwave.deferred import pattern
from slowwave.language.lexicon import MONTHS, NUMBERS, WEEKDAYS, word_set, words

Kind = Literal["full", "yearless", "relative"]
"""A date with its year, one without (the latest that is not in the future), or one counted from now."""

Span = tuple[datetime, datetime]

DAY = timedelta(days=1)
AFTER, SINCE, BEFORE = word_set("after"), word_set("since"), word_set("before")
UNTIL, AROUND, INSIDE = word_set("until"), word_set("around"), word_set("inside")
LEADS = INSIDE | AFTER | SINCE | BEFORE | UNTIL | AROUND | {"between", "on", "at", "from", "by"}
"""Prepositions after which a month, a weekday or a season is a time."""
CLEAR: frozenset[str] = frozenset()
PEOPLE = {"april", "may", "june", "august", "jan"}
"""Months that are first names too: "by June" is a person as likely as a time."""
VERBS = {"may", "march", "mar"}

UNIT_DAYS = {"minute": 1 / 1440, "hour": 1 / 24, "day": 1, "week": 7, "weekend": 7, "month": 30, "year": 365}
_UNIT_MONTHS = {"month": 1, "quarter": 3, "year": 12}
_HALF_UNITS = {"week": 3, "month": 15, "year": 183}
"""Days on both sides of a count of units; shorter units are counted exactly."""
_MONTH_NUMBERS = {name: number for number, one in enumerate(MONTHS, 1) for name in (one, one[:3])} | {
    "sept": 9
}
_WEEKDAY_NUMBERS = {name: number for number, one in enumerate(WEEKDAYS) for name in (one, one[:3])}
_ORDINALS = words("ordinals")
_SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}
_AMOUNTS = {word: number for number, word in enumerate(NUMBERS)} | {"a": 1, "an": 1}

_MONTH = rf"(?P<month>{'|'.join(sorted(_MONTH_NUMBERS, key=len, reverse=True))})\.?(?![a-z])"
_WEEKDAY = rf"(?P<weekday>{'|'.join(sorted(_WEEKDAY_NUMBERS, key=len, reverse=True))})(?![a-z])"
_DAY_NAME = rf"(?:{'|'.join(WEEKDAYS)}),?\s+"
_FULL_YEAR = r"(?P<year>[12]\d{3})(?!\d)"
_YEAR = rf"(?:(?:,?\s+|\s*,\s*)(?:of\s+)?(?:the\s+year\s+)?(?:{_FULL_YEAR}|(?P<year_word>last|this)\s+year))"
_NTH = r"(?P<nth>st|[nr]d|th)?(?!\d)"
_COUNT = rf"(?P<count>\d{{1,3}}|{'|'.join(sorted(_AMOUNTS, key=len, reverse=True))})"
_UNIT = r"(?P<unit>minute|hour|day|week|month|year)s?"
COUNTED = rf"{_COUNT}\s+{_UNIT}"
_COUNTED_NOUN = (
    r"(?!\s*[%$€]|\s+(?:rows|lines|files|users|requests|records|events|items|times|tokens|words|characters|people|"
    r"tests|steps|calls|bytes|points|dollars|euros|years|days|hours|minutes|seconds|ms|kb|mb|gb|km|miles|cells|"
    r"cases|messages|turns|pages|more)\b)"
)
"""What a number of four digits counts: it is no year then."""
_SPRING_SOFTWARE = (
    r"(?!\s+(?:framework|boot|security|cloud|data|mvc|batch|beans?|context|app|config|webflux|jpa)\b)"
)
_OF_OTHER = r"(?!\s+of\b)"
_OWN = pattern(r"(?:\b(?:my|our|your|his|her|its|their|one)|['’]s?)\s+(?:the\s+)?$", re.I)
"""Before "last year": it is somebody's last one, and not the calendar's."""


@dataclass(frozen=True)
class _Asked:
    """One match of a form, and the moment from which it is counted."""

    match: re.Match[str]
    now: datetime
    exact: bool

    def word(self, name: str) -> str:
        """A named group in lower case, one blank between words; empty where the group is not there."""
        found = self.match.groupdict().get(name)
        return " ".join(found.lower().split()) if found else ""

    @property
    def is_owned(self) -> bool:
        """Return whether a possessive precedes the match."""
        return bool(_OWN.search(self.match.string[: self.match.start()]))


_Found = tuple[Span | None, Kind, frozenset[str]]
"""The span that a form names (None: no such day), its kind, and the prepositions of which one must precede it."""


def midnight(at: datetime) -> datetime:
    """The beginning of a moment's day."""
    return at.replace(hour=0, minute=0, second=0, microsecond=0)


def counted(count: str) -> int:
    """A count in words or digits."""
    return int(count) if count.isdecimal() else _AMOUNTS[count.lower()]


def half_unit(unit: str) -> timedelta:
    """The time on both sides of a count of these units."""
    return timedelta(days=_HALF_UNITS.get(unit, 0))


def _shifted(first: datetime, months: int) -> datetime:
    """A moment some months later (earlier if negative); a day that the month lacks becomes its last one."""
    year, month = divmod(first.year * 12 + first.month - 1 + months, 12)
    return first.replace(
        year=year, month=month + 1, day=min(first.day, calendar.monthrange(year, month + 1)[1])
    )


def _months(year: int, month: int, length: int) -> Span:
    """So many months from the first day of one."""
    first = datetime(year, month, 1, tzinfo=UTC)
    return first, _shifted(first, length)


def _days(year: int, month: int, day: int, last: int) -> Span | None:
    """The days from `day` to `last` of a month; None where the month has no such day."""
    if not 1 <= month <= len(MONTHS) or not 1 <= day <= last <= calendar.monthrange(year, month)[1]:
        return None
    first = datetime(year, month, day, tzinfo=UTC)
    return first, first + DAY * (last - day + 1)


def _yearly(asked: _Asked, in_year: Callable[[int], Span | None]) -> tuple[Span | None, Kind]:
    """The one that is named of spans that come every year: without a word for its year, the latest that has begun."""
    now, which = asked.now, asked.word("which")
    if asked.word("year"):
        return in_year(int(asked.word("year"))), "full"
    if asked.word("year_word"):
        return in_year(now.year - (asked.word("year_word") == "last")), "relative"
    around = range(now.year - 8, now.year + 2)  # a 29 February may lie eight years back
    spans = [span for year in around if (span := in_year(year))]
    if which == "next":
        return next((span for span in spans if span[0] > now), None), "relative"
    if which == "this":
        current = in_year(now.year)
        return next((span for span in spans if span[0] <= now < span[1]), current), "relative"
    border = 1 if which else 0  # the last one is over, the latest has begun
    found = max((span for span in spans if span[border] <= now), default=None)
    return found, "relative" if which else "yearless"


def _iso(asked: _Asked) -> _Found:
    year, month, day = (int(asked.word(name) or 0) for name in ("year", "month", "day"))
    if asked.word("clock"):
        try:
            at = datetime.fromisoformat(asked.match[0].upper().replace(",", "."))
        except ValueError:
            return None, "full", CLEAR
        at = at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
        hour = timedelta(hours=1)
        return (at, at + timedelta.resolution) if asked.exact else (at - hour, at + hour), "full", CLEAR
    if day or not 1 <= month <= len(MONTHS):
        return _days(year, month, day, day), "full", CLEAR
    return _months(year, month, 1), "full", CLEAR


def _date(asked: _Asked) -> _Found:
    month, named = _MONTH_NUMBERS[asked.word("month")], asked.word("day")
    day = int(named) if named.isdecimal() else _ORDINALS.index(named) + 1
    first, last = int(asked.word("first") or day), int(asked.word("last") or day)
    span, kind = _yearly(asked, lambda year: _days(year, month, first, last))
    is_sure = kind != "yearless" or asked.word("nth") or asked.word("of") or not named.isdecimal()
    return span, kind, CLEAR if is_sure or asked.word("month") not in VERBS else LEADS


def _month(asked: _Asked) -> _Found:
    name = asked.word("month")
    if asked.word("which") == "this" and name in VERBS:
        return None, "relative", CLEAR
    span, kind = _yearly(asked, lambda year: _months(year, _MONTH_NUMBERS[name], 1))
    if kind != "yearless":
        return span, kind, CLEAR
    return span, kind, LEADS - {"by", "from"} if name in PEOPLE else LEADS


def _season(asked: _Asked) -> _Found:
    season = asked.word("season")
    span, kind = _yearly(asked, lambda year: _months(year, _SEASONS[season], 3))
    if kind != "yearless":
        return span, kind, CLEAR
    if season == "spring" and not asked.word("the") and not asked.exact:
        return None, kind, CLEAR
    return span, kind, LEADS - {"on", "at", "from", "by"}


def _year(asked: _Asked) -> _Found:
    return _months(int(asked.word("year")), 1, 12), "full", LEADS


def _of_unit(unit: str, back: int, now: datetime) -> Span:
    """The calendar's week, weekend, month, quarter or year that lies `back` before the present one."""
    today = midnight(now)
    monday = today - DAY * (today.weekday() + 7 * back)
    if unit == "week":
        return monday, monday + DAY * 7
    if unit == "weekend":
        return monday + DAY * 5, monday + DAY * 7
    length = _UNIT_MONTHS[unit]
    first = today.replace(day=1, month=(today.month - 1) // length * length + 1)
    return _shifted(first, -length * back), _shifted(first, length - length * back)


def _unit(asked: _Asked) -> _Found:
    which, unit = asked.word("which"), asked.word("unit")
    if not which:  # "at the weekend"
        spans = [_of_unit(unit, back, asked.now) for back in (0, 1)]
        return next(span for span in spans if span[0] <= asked.now), "relative", LEADS - INSIDE | {"over"}
    if which in ("last", "next") and asked.is_owned:
        return None, "relative", CLEAR
    back = {"this": 0, "current": 0, "next": -1}.get(which, 1)
    return _of_unit(unit, back, asked.now), "relative", CLEAR


def _day_word(asked: _Asked) -> _Found:
    shifts = {"last": -1, "yesterday": -1, "tomorrow": 1, "before": -2}
    shift = next((shifts[word] for word in asked.word("day").split() if word in shifts), 0)
    day = midnight(asked.now) + DAY * shift
    return (day, day + DAY), "relative", CLEAR


def _weekday(asked: _Asked) -> _Found:
    """The latest before today, unless this or the next is named, or the week."""
    which, week, name = asked.word("which"), asked.word("week"), asked.word("weekday")
    if len(name) < len("friday") and not (which or week or asked.exact):
        return None, "relative", CLEAR
    number, today = _WEEKDAY_NUMBERS[name], midnight(asked.now)
    if week or which == "this":
        back = {"last": 1, "next": -1}.get(week, 0)
        day = _of_unit("week", back, asked.now)[0] + DAY * number
    elif which == "next":
        day = today + DAY * ((number - today.weekday() - 1) % 7 + 1)
    else:
        day = today - DAY * ((today.weekday() - number - 1) % 7 + 1)
    return (day, day + DAY), "relative", CLEAR if which or week else LEADS - {"in", "within"}


def _units_back(asked: _Asked) -> datetime | None:
    """The moment so many units ago, months and years by the calendar, days and longer from midnight; or None."""
    unit, count = asked.word("unit"), counted(asked.word("count") or "1")
    months = _UNIT_MONTHS.get(unit, 0) * count
    try:
        start = _shifted(asked.now, -months) if months else asked.now - timedelta(UNIT_DAYS[unit] * count)
    except (ValueError, OverflowError):  # before the year 1
        return None
    if start.year <= 1:  # half a unit earlier there may be no year
        return None
    return start if unit in ("minute", "hour") else midnight(start)


def _ago(asked: _Asked) -> _Found:
    start, unit = _units_back(asked), asked.word("unit")
    if start is None:
        return None, "relative", CLEAR
    end = start + (timedelta.resolution if unit in ("minute", "hour") else DAY)
    aside = timedelta(0) if asked.exact else half_unit(unit)
    return (start - aside, end if asked.exact else min(end + aside, asked.now)), "relative", CLEAR


def _rolling(asked: _Asked) -> _Found:
    """From so many units back until now."""
    start = None if asked.is_owned else _units_back(asked)
    leads = CLEAR if asked.word("count") else INSIDE | {"for"}
    return (start, asked.now) if start else None, "relative", leads


_WHICH = r"(?P<which>this\s+past|last|this|next|past|previous)\s+"
_DAYS_TO = r"(?:(?P<first>\d{1,2})(?:st|[nr]d|th)?\s*(?:-|–|to|and)\s*)?"
_TO_DAY = r"(?:\s*(?:-|–|to)\s*(?P<last>\d{1,2})(?:st|[nr]d|th)?(?!\d))?"
_DAY_OR_NTH = rf"(?P<day>\d{{1,2}}|{'|'.join(_ORDINALS)})"
_FORMS: tuple[tuple[str, Callable[[_Asked], _Found]], ...] = (
    (rf"{_FULL_YEAR}-(?P<month>\d\d)(?:-(?P<day>\d\d)(?P<clock>[T ]\d\d:\d\d(?::\d\d(?:[.,]\d{{1,9}})?)?"
     r"(?:Z|[+-]\d\d:?\d\d)?)?)?", _iso),
    (rf"(?:{_DAY_NAME})?(?:the\s+)?{_DAYS_TO}{_DAY_OR_NTH}{_NTH}\s+(?P<of>of\s+)?{_MONTH}{_YEAR}?", _date),
    (rf"(?:{_DAY_NAME})?{_MONTH}\s+(?:the\s+)?(?P<day>\d{{1,2}}){_NTH}{_TO_DAY}{_YEAR}?", _date),
    (rf"{_MONTH}{_YEAR}?", _month),
    (rf"{_WHICH}{_MONTH}", _month),
    (rf"{_FULL_YEAR}{_COUNTED_NOUN}", _year),
    (rf"(?:{_WHICH}|(?P<the>the\s+))?(?P<season>{'|'.join(_SEASONS)}){_SPRING_SOFTWARE}{_YEAR}?{_OF_OTHER}", _season),
    (rf"(?:the\s+)?(?P<which>this\s+past|last|this|next|past|previous|current)\s+(?P<unit>week|weekend|month|quarter|"
     rf"year){_OF_OTHER}", _unit),
    (r"(?:the\s+)?(?P<unit>weekend)", _unit),
    (r"(?P<day>(?:the\s+)?day\s+before\s+yesterday|last\s+(?:night|evening)|yesterday|tomorrow|today|tonight|"
     r"this(?=\s+(?:morning|afternoon|evening)))(?:\s+(?:morning|afternoon|evening|night))?", _day_word),
    (rf"(?:{_WHICH})?{_WEEKDAY}(?:,?\s+(?:of\s+)?(?P<week>last|this|next)\s+week)?", _weekday),
    (rf"{COUNTED}\s+(?:ago|back)", _ago),
    (rf"(?:the\s+)?(?:last|past|previous)\s+{COUNTED}{_OF_OTHER}", _rolling),
    (rf"the\s+(?:last|past)\s+{_UNIT}{_OF_OTHER}", _rolling),
)  # fmt: skip
_READERS = tuple((pattern(form + r"(?!\w)", re.I | re.A), read) for form, read in _FORMS)
_GOES_ON = re.compile(r"[-_]\w")
_GOES_ON_AFTER_DIGIT = re.compile(r"[-_./:]\w")


@dataclass(frozen=True)
class Period:
    """A period [start, end) in UTC that words name; `until` is the position past their last character."""

    start: datetime
    end: datetime
    until: int
    kind: Kind


def read_period(
    text: str, position: int, *, now: datetime, lead: str | None = None, exact: bool = False
) -> Period | None:
    """The period that is named at a position of a text, by the form that takes most of it; None if none is.

    `lead` is the preposition before it, in lower case and empty if there is none: it decides for words that are a
    time only after one. With None any form is taken. `now` is in UTC; with `exact` nothing is widened.
    """
    best: Period | None = None
    for form, read in _READERS:
        match = form.match(text, position)
        if match is None or (best and match.end() < best.until) or _goes_on(text, match.end()):
            continue
        span, kind, leads = read(_Asked(match, now, exact))
        if span is not None and span[0] < span[1] and (lead is None or not leads or lead in leads):
            best = Period(*span, match.end(), kind)
    return best


def _goes_on(text: str, end: int) -> bool:
    """Return whether the word goes on past what was read: a file's name, a version, a letter of another script."""
    joined = _GOES_ON_AFTER_DIGIT if text[end - 1].isdecimal() else _GOES_ON
    return joined.match(text, end) is not None or text[end : end + 1].isalnum()
