"""The times that filters and questions name, and events that stand for a time.

A filter is the text that a user writes after `--after`, `--before` or `--as-of`, and must be understood. A question
is read only where it surely names a time: a wrong range hides the right memory, none at all costs a little ranking.
An event ("two weeks before the launch") is given back as words and an offset, since only the memory knows when it
was. Nothing here reads a clock: `now` is an argument.
"""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Literal, NamedTuple

from slowwave.deferred import pattern
from slowwave.errors import InputError
from slowwave.language.calendar_words import DAY, MONTH_NUMBERS, PARTS, SPREAD, UNIT_DAYS, counted, midnight
from slowwave.language.lexicon import AFTER, AROUND, BEFORE, INSIDE, ORDINALS, SINCE, UNTIL, WEEKDAYS
from slowwave.language.periods import Period, read_period
from slowwave.language.time_forms import COUNTED, LEADS_OF_BORDERS
from slowwave.schemas.moments import is_unknown

Use = Literal["after", "before", "as_of", "since"]
LONGEST_QUESTION = 2_000
"""Characters of a question that are read; a longer one is a pasted document."""
LONGEST_ANCHOR = 120
_PAIR_RANK = 4
_WEEK = DAY * 7
_AHEAD = DAY * 180
"""Longest time from the moment of telling to a day that is named without a year."""
_ANY_DAY = datetime(2000, 6, 15, tzinfo=UTC)


@dataclass(frozen=True)
class TimeRange:
    """A range [start, end) in UTC that the words `text` name; None is an open side."""

    start: datetime | None
    end: datetime | None
    text: str


@dataclass(frozen=True)
class Offset:
    """A range [start, end) counted from the beginning of an event's day; None is an open side."""

    start: timedelta | None
    end: timedelta | None


class Anchored(NamedTuple):
    """An event from which a question counts, how far from it, and the words that say how far ("two weeks before")."""

    event: str
    offset: Offset
    distance: str


_LEADS = INSIDE | LEADS_OF_BORDERS | {"on", "at", "for", "from", "by"}
_LEAD_WORDS = "|".join(sorted(_LEADS, key=len, reverse=True)).replace(" ", r"\s+")
_LEAD = pattern(
    rf"(?:(?P<lead>{_LEAD_WORDS})\s+(?:(?:the\s+)?(?:month|year)\s+(?:of\s+)?(?=\w))?)?(?P<rest>\w)",
    re.I | re.A,
)
_DIGIT = pattern(r"\d")
_WORD = pattern(r"(?<![\w./@#:\\-])(?=[A-Za-z0-9])[^\W_]+")
_DAY_BEGINS = pattern(
    rf"(?<![\w./@#:\\-])(?=\d|(?:the\b|last\b|{'|'.join([*PARTS, *WEEKDAYS, *MONTH_NUMBERS, *ORDINALS])})"
    r"(?s:.){0,60}?\d)",
    re.I | re.A,
)
"""The places where a date of one day may begin: its first word, with a digit behind it."""
_TO = pattern(r"\s*(?:\b(?P<word>and|to|until|till|through)\b|[–—]|\s-\s)\s*", re.I | re.A)
_POSSESSIVE = pattern(r"['’]s?(?!\w)")
_END_OF = pattern(r"(?:the\s+)?end\s+of\b", re.I | re.A)
_ONWARDS = pattern(r"\s+(?:on|onwards?)\b(?!\s+(?:the|a|an)\b)", re.I | re.A)
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
    found = None if len(text) > LONGEST_ANCHOR else read_period(text, 0, now=now, exact=True)
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
    text = _readable(question)
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


def _readable(question: str) -> str:
    """The beginning of a question with every quoted name blanked out; positions stay."""
    return _QUOTED.sub(lambda quoted: '"' * len(quoted[0]), question[:LONGEST_QUESTION])


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
    rank = {"full": 1, "yearless": 2, "relative": 2}[sure.kind] + 2 * (sure.kind == "full" and bool(lead))
    is_end = _END_OF.match(text, rest) is not None
    side = _sided(lead, sure, is_end=is_end, follows=text[sure.until :], now=now)
    return rank, TimeRange(*side, question[position : sure.until]), sure.until


def _sided(
    lead: str, period: Period, *, is_end: bool, follows: str, now: datetime
) -> tuple[datetime | None, datetime | None]:
    """Start and end of a period after its preposition is counted in."""
    if _POSSESSIVE.match(follows):
        return period.start, period.end
    if lead in SINCE or (lead == "from" and _ONWARDS.match(follows)):
        return period.start, None
    if lead in AFTER:
        return period.end, None
    if lead in UNTIL or (lead in BEFORE and is_end):
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


_UNIT_NAMES = "|".join([*WEEKDAYS, *UNIT_DAYS])
_SIDE = r"(?P<side>before|prior\s+to|after|following|later\s+than)"
_ANCHORED = pattern(
    rf"(?<![\w-])(?:{COUNTED}\s+{_SIDE}"
    rf"|(?:the|a|last|one)\s+(?P<next>{_UNIT_NAMES})\s+(?P<next_side>before|prior\s+to|after|following)"
    rf"|the\s+(?P<same>day|night|morning|evening|week|weekend)\s+of(?=\s+(?:the|our|my|his|her|their|your)\s)"
    r"|(?P<close>(?:right|just|immediately|shortly|soon|directly|straight)\s+)?(?P<open>before|after|since|until))\s+",
    re.I | re.A,
)
_NO_EVENT = pattern(
    r"(?:all|long|that|this|then|it|hours|which|what|who|whom|how|and|or|me|you|him|them|us|each|every|yesterday|"
    r"today|now|dark|noon|midnight|lunch|dinner|breakfast|work|school|bed|last)(?:\s*[,.;:?!]|\s*$|\s+(?:many|much|long)\b)"
    r"|(?:which|what|who|whom|how|and|or)\b",
    re.I | re.A,
)
_VERB_OF_AFTER = pattern(r"\b(?:look(?:s|ed|ing)?|named?|naming|tak(?:es?|ing)|took|ask(?:s|ed|ing)?|call(?:ed)?|"
                            r"ever|day|week|month|year|one|and)\s+$", re.I | re.A)  # fmt: skip
_ANCHOR_END = pattern(r"[?!,;:\n]|\.(?:\s|$)", re.A)
_MAIN_CLAUSE = pattern(
    r"\s(?:what|who|which|how|why|where|when|did|do|does|was|were|is|are|has|have)\s", re.I | re.A
)


def anchored_time(question: str) -> Anchored | None:
    """The words of the event from which a question counts, and how far from it; None where it names none.

    "two weeks before the launch" is ("the launch", 17 to 10 days before it), by the rule of `periods`; "the week
    before" is the seven days up to it, also for "the Sunday before"; "right after" is a week. A bare "before" or
    "after" is open on that side and takes in the event's own day, on which memories are told only by the day.
    An event that is itself a date ("before 3 June") is a time of the question, and None here.
    """
    text = _readable(question)
    for match in _ANCHORED.finditer(text):
        if match["open"] and not _opens(text, match):
            continue
        anchor = _anchor_words(text, question, match)
        lead = (match["open"] or "after").lower()
        is_date = read_period(text, match.end(), now=_ANY_DAY, lead=lead) is not None
        if anchor and not is_date and not _NO_EVENT.match(text, match.end()):
            return Anchored(anchor, _offset_of(match), question[match.start() : match.end()])
    return None


def _opens(text: str, match: re.Match[str]) -> bool:
    """Return whether a bare before, after, since or until is about time, unlike "look after" or "since" for because."""
    if match["open"].lower() == "since" and not text[: match.start()].strip():
        return False
    return _VERB_OF_AFTER.search(text, 0, match.start()) is None


def _anchor_words(text: str, question: str, match: re.Match[str]) -> str:
    """The event: up to a mark, and where the question begins with it, up to its main clause."""
    stop = _ANCHOR_END.search(text, match.end())
    end = stop.start() if stop else len(text)
    if not re.search(r"\w+\s+\w+\s+\w", text[: match.start()]):
        clause = _MAIN_CLAUSE.search(text, match.end(), end)
        end = clause.start() if clause else end
    return question[match.end() : min(end, match.end() + LONGEST_ANCHOR)].strip()


def _is_before(match: re.Match[str]) -> bool:
    side = match["side"] or match["next_side"] or match["open"] or ""
    return side.lower().startswith(("before", "prior"))


def _offset_of(match: re.Match[str]) -> Offset:
    is_before = _is_before(match)
    if match["count"]:
        unit = match["unit"].lower()
        fewest, most = counted(" ".join(match["count"].lower().split()))
        aside = timedelta(days=SPREAD[unit][bool(match["about"])])
        near, far = timedelta(days=int(UNIT_DAYS[unit] * fewest)), timedelta(days=int(UNIT_DAYS[unit] * most))
        span = (-far, -near) if is_before else (near, far)
        return Offset(span[0] - aside, span[1] + aside + DAY)
    if match["next"]:
        days = DAY * UNIT_DAYS.get(match["next"].lower(), 7)
        return Offset(-days, timedelta(0)) if is_before else Offset(DAY, DAY + days)
    if match["same"]:
        return Offset(timedelta(0), DAY * UNIT_DAYS[match["same"].lower()])
    if match["close"]:
        return Offset(-_WEEK, DAY) if is_before else Offset(timedelta(0), _WEEK + DAY)
    is_open_before = is_before or match["open"].lower() == "until"
    return Offset(None, DAY) if is_open_before else Offset(timedelta(0), None)


def _from_date(text: str, question: str, now: datetime) -> TimeRange | None:
    """A range counted from a date, such as "the week before 16 November 2023"."""
    for match in _ANCHORED.finditer(text):
        if match["open"] and not match["close"]:
            continue
        period = read_period(text, match.end(), now=now, lead="after")
        if period is None:
            continue
        at = period.start if match["same"] or _is_before(match) else period.end - timedelta.resolution
        return resolve_anchor(_offset_of(match), at, text=question[match.start() : period.until])
    return None


@lru_cache(maxsize=5_000)  # a question about a time asks it of the same memories twice
def day_told(text: str, *, at: datetime) -> datetime | None:
    """The beginning of the one day that a memory of the moment `at` tells something of; None where it names none.

    Of a memory of an unknown moment nothing can be counted from that, and only a date with its year tells a day.

    "The regatta is on Saturday 18 July", told on the 8th or the 21st, tells of 18 July.
    """
    days: dict[str, datetime] = {}
    for begin in _DAY_BEGINS.finditer(text[:LONGEST_QUESTION]):
        found = read_period(text, begin.start(), now=at + _AHEAD)
        if found and found.end - found.start <= DAY and _DIGIT.search(text, begin.start(), found.until):
            days.setdefault(found.kind, found.start)
    return days.get("full", None if is_unknown(at) else days.get("yearless"))


def resolve_anchor(offset: Offset, at: datetime, *, text: str = "") -> TimeRange:
    """The range that an offset means from an event at `at`; a side beyond the calendar is open."""
    day = midnight(at.astimezone(UTC))
    return TimeRange(_moved(day, offset.start), _moved(day, offset.end), text)


def _moved(day: datetime, by: timedelta | None) -> datetime | None:
    try:
        return None if by is None else day + by
    except OverflowError:
        return None
