"""The forms in which English names a time: what each looks like, how it is counted, and the period at one place.

Some forms are a time only after a preposition ("in May" is one, "it may" is none). "N units ago" is the day N units
back, wider by half a unit on both sides (`SPREAD`), and by three quarters of one after "about" and for "a couple",
"a few" and "several" (`VAGUE`). If a filter asks (`exact`), it is that day alone.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Literal

from slowwave.deferred import pattern
from slowwave.language.calendar_words import (
    AMOUNTS,
    DAY,
    LAST_MONTH,
    MONTH_NUMBERS,
    SEASONS,
    SPREAD,
    VAGUE,
    WEEKDAY_NUMBERS,
    Span,
    counted,
    days_of,
    latest,
    midnight,
    months_from,
    shifted,
    units_back,
)
from slowwave.language.lexicon import AFTER, AROUND, BEFORE, INSIDE, ORDINALS, SINCE, UNTIL, WEEKDAYS

Kind = Literal["full", "yearless", "relative"]
"""A date with its year, one without (the latest that is not in the future), or one counted from now."""
LEADS_OF_BORDERS = (AFTER | SINCE | BEFORE | UNTIL | AROUND | {"between"}) - {"by"}
"""Prepositions that name a side of a period, and hardly anything but time."""
_LEADS_OF_DATES = INSIDE | LEADS_OF_BORDERS | {"from", "by"}
_LEADS_OF_DAYS = LEADS_OF_BORDERS | {"on", "at", "over", "during", "from", "by"}
_LEADS_OF_ROLLING = INSIDE | {"for"}
CLEAR: frozenset[str] = frozenset()
PEOPLE = {"april", "may", "june", "august", "jan"}
"""Months that are first names too: "by June" is a person as likely as a time."""
VERBS = {"may", "march", "mar"}

_MONTH = rf"(?P<month>{'|'.join(sorted(MONTH_NUMBERS, key=len, reverse=True))})\.?(?![a-z])"
_WEEKDAY = rf"(?P<weekday>{'|'.join(sorted(WEEKDAY_NUMBERS, key=len, reverse=True))})(?![a-z])"
_DAY_NAME = rf"(?:{'|'.join(WEEKDAYS)}),?\s+"
_FULL_YEAR = r"(?P<year>[12]\d{3})(?!\d)"
_YEAR = rf"(?:(?:,?\s+|\s*,\s*)(?:of\s+)?(?:the\s+year\s+)?(?:{_FULL_YEAR}|(?P<year_word>last|this)\s+year))"
_NTH = r"(?P<nth>st|[nr]d|th)?(?!\d)"
_COUNT = rf"(?P<count>\d{{1,3}}|{'|'.join(sorted(AMOUNTS, key=len, reverse=True))})"
_UNIT = rf"(?P<unit>{'|'.join(SPREAD)})s?"
ABOUT = r"(?:(?P<about>about|around|roughly|approximately|almost|nearly|some|over|more\s+than|maybe)\s+)?"
COUNTED = rf"{ABOUT}{_COUNT}\s+{_UNIT}"
_COUNTED_NOUN = (
    r"(?!\s*[%$€]|\s+(?:rows|lines|files|users|requests|records|events|items|times|tokens|words|characters|people|"
    r"tests|steps|calls|bytes|points|dollars|euros|years|days|hours|minutes|seconds|ms|kb|mb|gb|km|miles|cells|"
    r"cases|messages|turns|pages|more)\b)"
)
_SPRING_SOFTWARE = (
    r"(?!\s+(?:framework|boot|security|cloud|data|mvc|batch|beans?|context|app|config|webflux|jpa)\b)"
)
_OF_OTHER = r"(?!\s+of\b)"
_OWN = pattern(r"(?:\b(?:my|our|your|his|her|its|their|one)|['’]s?)\s+(?:the\s+)?$", re.I)


@dataclass(frozen=True)
class Asked:
    """One match of a form, and the moment from which it is counted."""

    match: re.Match[str]
    now: datetime
    exact: bool

    def word(self, name: str) -> str:
        """A named group in lower case, one blank between words; empty where the group is not there."""
        found = self.match.groupdict().get(name)
        return " ".join(found.lower().split()) if found else ""


Found = tuple[Span | None, Kind, frozenset[str]]
"""The span that a form names (None: no such day), its kind, and the prepositions of which one must stand before it."""
Read = Callable[[Asked], Found]


def _years(asked: Asked, most: int = 8) -> list[int]:
    """The one year that is named, else this one and those before it."""
    if asked.word("year"):
        return [int(asked.word("year"))]
    if asked.word("year_word"):
        return [asked.now.year - (asked.word("year_word") == "last")]
    return [asked.now.year - back for back in range(min(most, asked.now.year))]


def _dated(asked: Asked, spans: list[Span | None]) -> tuple[Span | None, Kind]:
    if asked.word("year"):
        return spans[0], "full"
    if asked.word("year_word"):
        return spans[0], "relative"
    return latest(spans, asked.now), "yearless"


def _iso(asked: Asked) -> Found:
    year, month, day = (int(asked.word(name) or 0) for name in ("year", "month", "day"))
    if asked.word("clock"):
        try:
            at = datetime.fromisoformat(asked.match[0].upper().replace(",", "."))
        except ValueError:
            return None, "full", CLEAR
        at = at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
        hour = timedelta(hours=1)
        return (at, at + timedelta.resolution) if asked.exact else (at - hour, at + hour), "full", CLEAR
    if day or not 1 <= month <= LAST_MONTH:
        return days_of(year, month, day, day), "full", CLEAR
    return months_from(year, month, 1), "full", CLEAR


def _numeric(asked: Asked) -> Found:
    """Dots put the day first; with slashes it must be told from the month."""
    one, other, year = (int(asked.word(name)) for name in ("one", "other", "year"))
    days = [days_of(year, month, day, day) for day, month in ((one, other), (other, one))]
    if asked.word("separator") == "." or days[0] == days[1] or days[1] is None:
        return days[0], "full", CLEAR
    return days[1] if days[0] is None else None, "full", CLEAR


def _date(asked: Asked) -> Found:
    month = MONTH_NUMBERS[asked.word("month")]
    named = asked.word("day")
    day = int(named) if named.isdecimal() else ORDINALS.index(named) + 1
    first, last = int(asked.word("first") or day), int(asked.word("last") or day)
    span, kind = _dated(asked, [days_of(year, month, first, last) for year in _years(asked)])
    sure = kind != "yearless" or asked.word("nth") or asked.word("of") or not named.isdecimal()
    return span, kind, CLEAR if sure or asked.word("month") not in VERBS else _LEADS_OF_DATES | _LEADS_OF_DAYS


def _month(asked: Asked) -> Found:
    name, which = asked.word("month"), asked.word("which")
    spans: list[Span | None] = [months_from(year, MONTH_NUMBERS[name], 1) for year in _years(asked, 2)]
    if which:
        wanted = None if which == "this" and name in VERBS else _which(which, spans, asked.now)
        return wanted, "relative", CLEAR
    span, kind = _dated(asked, spans)
    if kind != "yearless":
        return span, kind, CLEAR
    return span, kind, _LEADS_OF_DATES - {"by", "from"} if name in PEOPLE else _LEADS_OF_DATES


def _which(which: str, spans: list[Span | None], now: datetime) -> Span | None:
    """The last, this year's or the next of spans that come once a year; the first of them is this year's."""
    current = spans[0]
    if which in ("last", "this past", "past", "previous"):
        return latest(spans, now, is_over=True)
    if which == "this" or current is None:
        holding = [span for span in spans if span and span[0] <= now < span[1]]
        return holding[0] if holding else current
    if current[0] > now:
        return current
    return shifted(current[0], 12), shifted(current[1], 12)


def _year(asked: Asked) -> Found:
    if asked.word("decade"):
        return months_from(int(asked.word("decade")) * 10, 1, 120), "full", _LEADS_OF_DATES
    return months_from(int(asked.word("year")), 1, 12), "full", _LEADS_OF_DATES


def _quarter(asked: Asked) -> Found:
    named = asked.word("quarter")
    number = int(named) if named.isdecimal() else ORDINALS.index(named) + 1
    years = [int(asked.word("before"))] if asked.word("before") else _years(asked, 2)
    spans: list[Span | None] = [months_from(year, 3 * number - 2, 3) for year in years]
    if asked.word("before"):
        return spans[0], "full", CLEAR
    span, kind = _dated(asked, spans)
    return span, kind, _LEADS_OF_DATES if kind == "yearless" else CLEAR


def _season(asked: Asked) -> Found:
    season, which = asked.word("season"), asked.word("which")
    spans: list[Span | None] = [months_from(year, SEASONS[season], 3) for year in _years(asked, 3)]
    if which:
        return _which(which, spans, asked.now), "relative", CLEAR
    span, kind = _dated(asked, spans)
    if kind == "yearless" and season == "spring" and not asked.word("the") and not asked.exact:
        return None, kind, CLEAR
    return span, kind, CLEAR if kind != "yearless" else (INSIDE | LEADS_OF_BORDERS)


def _of_unit(unit: str, back: int, now: datetime) -> Span:
    """The calendar's week, weekend, month, quarter or year that lies `back` before the present one."""
    today = midnight(now)
    monday = today - DAY * (today.weekday() + 7 * back)
    if unit == "week":
        return monday, monday + DAY * 7
    if unit == "weekend":
        return monday + DAY * 5, monday + DAY * 7
    length = {"month": 1, "quarter": 3, "year": 12}[unit]
    first = today.replace(day=1, month=(today.month - 1) // length * length + 1)
    return shifted(first, -length * back), shifted(first, length - length * back)


def _unit(asked: Asked) -> Found:
    which, unit = asked.word("which"), asked.word("unit")
    if which in ("last", "next") and _OWN.search(asked.match.string[: asked.match.start()]):
        return None, "relative", CLEAR
    back = {"this": 0, "current": 0, "next": -1, "": 2}.get(which, 1)
    return _of_unit(unit, back, asked.now), "relative", CLEAR


def _the_weekend(asked: Asked) -> Found:
    weekend = latest([_of_unit("weekend", back, asked.now) for back in (0, 1)], asked.now)
    return weekend, "relative", _LEADS_OF_DAYS


def _day_word(asked: Asked) -> Found:
    word, today = asked.word("day"), midnight(asked.now)
    if word in ("last night", "last evening"):
        return (today - DAY / 2, min(today + DAY / 2, max(asked.now, today))), "relative", CLEAR
    days = {"yesterday": -1, "tomorrow": 1, "the day before yesterday": -2, "day before yesterday": -2}.get(
        word, 0
    )
    return (today + DAY * days, today + DAY * (days + 1)), "relative", CLEAR


def _weekday(asked: Asked) -> Found:
    """The latest before today, unless this or the next is named, or the week."""
    which, week, name = asked.word("which"), asked.word("week"), asked.word("weekday")
    if len(name) < len("friday") and not (which or week or asked.exact):
        return None, "relative", CLEAR
    number, today = WEEKDAY_NUMBERS[name], midnight(asked.now)
    if week or which == "this":
        back = {"last": 1, "next": -1}.get(week, 0)
        day = _of_unit("week", back, asked.now)[0] + DAY * number
    elif which == "next":
        day = today + DAY * ((number - today.weekday() - 1) % 7 + 1)
    else:
        day = today - DAY * ((today.weekday() - number - 1) % 7 + 1)
    return (day, day + DAY), "relative", CLEAR if which or week else _LEADS_OF_DAYS


def spread(unit: str, counted_match: re.Match[str]) -> timedelta:
    """The time on both sides of a count of units (a match of `COUNTED`)."""
    is_vague = bool(counted_match["about"]) or " ".join(counted_match["count"].lower().split()) in VAGUE
    return timedelta(days=SPREAD[unit][is_vague])


def _ago(asked: Asked) -> Found:
    unit = asked.word("unit")
    start = units_back(asked.now, counted(asked.word("count")), unit)
    if start is None or start.year <= 1:
        return None, "relative", CLEAR
    length = timedelta.resolution
    if unit not in ("minute", "hour"):
        start, length = midnight(start), DAY
    if asked.exact:
        return (start, start + length), "relative", CLEAR
    aside = spread(unit, asked.match)
    return (start - aside, min(start + length + aside, asked.now)), "relative", CLEAR


def _rolling(asked: Asked) -> Found:
    """From so many units back until now; days and longer from the beginning of that day."""
    if _OWN.search(asked.match.string[: asked.match.start()]):
        return None, "relative", CLEAR
    count, unit = asked.word("count"), asked.word("unit")
    start = units_back(asked.now, counted(count) if count else 1, unit)
    if start is not None and unit not in ("minute", "hour"):
        start = midnight(start)
    return (start, asked.now) if start else None, "relative", CLEAR if count else _LEADS_OF_ROLLING


_WHICH = r"(?P<which>this\s+past|last|this|next|past|previous)\s+"
_DAYS_TO = r"(?:(?P<first>\d{1,2})(?:st|[nr]d|th)?\s*(?:-|–|to|and)\s*)?"
_TO_DAY = r"(?:\s*(?:-|–|to)\s*(?P<last>\d{1,2})(?:st|[nr]d|th)?(?!\d))?"
_DAY_OR_NTH = rf"(?P<day>\d{{1,2}}|{'|'.join(ORDINALS)})"
_FORMS: tuple[tuple[str, Read], ...] = (
    (rf"{_FULL_YEAR}-(?P<month>\d\d)(?:-(?P<day>\d\d)(?P<clock>[T ]\d\d:\d\d(?::\d\d(?:[.,]\d{{1,9}})?)?"
     r"(?:Z|[+-]\d\d:?\d\d)?)?)?", _iso),
    (rf"(?P<one>\d{{1,2}})(?P<separator>[./])(?P<other>\d{{1,2}})(?P=separator){_FULL_YEAR}", _numeric),
    (rf"(?:{_DAY_NAME})?(?:the\s+)?{_DAYS_TO}{_DAY_OR_NTH}{_NTH}\s+(?P<of>of\s+)?{_MONTH}{_YEAR}?", _date),
    (rf"(?:{_DAY_NAME})?{_MONTH}\s+(?:the\s+)?(?P<day>\d{{1,2}}){_NTH}{_TO_DAY}{_YEAR}?", _date),
    (rf"{_MONTH}{_YEAR}?", _month),
    (rf"{_WHICH}{_MONTH}", _month),
    (rf"(?:{_FULL_YEAR}{_COUNTED_NOUN}|(?:the\s+)?(?P<decade>(?:19|20)\d)0s)", _year),
    (rf"q(?P<quarter>[1-4]){_YEAR}?", _quarter),
    (r"(?P<before>[12]\d{3})[\s-]?q(?P<quarter>[1-4])", _quarter),
    (rf"(?:the\s+)?(?P<quarter>{'|'.join(ORDINALS[:4])})\s+quarter{_YEAR}", _quarter),
    (rf"(?:{_WHICH}|(?P<the>the\s+))?(?P<season>{'|'.join(SEASONS)}){_SPRING_SOFTWARE}{_YEAR}?{_OF_OTHER}", _season),
    (rf"(?:the\s+)?(?P<which>this\s+past|last|this|next|past|previous|current)\s+(?P<unit>week|weekend|month|quarter|"
     rf"year){_OF_OTHER}", _unit),
    (r"(?:the\s+)?(?P<unit>week|weekend|month|quarter|year)\s+before\s+last", _unit),
    (r"(?:the\s+)?weekend", _the_weekend),
    (r"(?P<day>(?:the\s+)?day\s+before\s+yesterday|last\s+(?:night|evening)|yesterday|tomorrow|today|tonight|"
     r"this(?=\s+(?:morning|afternoon|evening)))(?:\s+(?:morning|afternoon|evening|night))?", _day_word),
    (rf"(?:{_WHICH})?{_WEEKDAY}(?:,?\s+(?:of\s+)?(?P<week>last|this|next)\s+week)?", _weekday),
    (rf"{COUNTED}\s+(?:ago|back)", _ago),
    (rf"(?:the\s+)?(?:last|past|previous)\s+{_COUNT}\s+{_UNIT}{_OF_OTHER}", _rolling),
    (rf"the\s+(?:last|past)\s+{_UNIT}{_OF_OTHER}", _rolling),
)  # fmt: skip
FORMS = tuple((pattern(form + r"(?!\w)", re.I | re.A), read) for form, read in _FORMS)
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
    for form, read in FORMS:
        match = form.match(text, position)
        if match is None or (best and match.end() < best.until) or _goes_on(text, match.end()):
            continue
        span, kind, leads = read(Asked(match, now, exact))
        if span is not None and span[0] < span[1] and (lead is None or not leads or lead in leads):
            best = Period(*span, match.end(), kind)
    return best


def _goes_on(text: str, end: int) -> bool:
    """Return whether the word goes on past what was read: a file's name, a version, a letter of another script."""
    joined = _GOES_ON_AFTER_DIGIT if text[end - 1].isdecimal() else _GOES_ON
    return joined.match(text, end) is not None or text[end : end + 1].isalnum()
