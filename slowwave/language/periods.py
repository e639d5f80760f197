"""The period that is named at one place of a text, in English words: what filters and questions are read with.

`time_forms` has the forms; here the longest one wins, and a part of it is taken ("the end of May"). Nothing here
knows what a question asks.
"""

import re
from dataclasses import dataclass
from datetime import datetime

from slowwave.language.calendar_words import DAY, PARTS, SATURDAY, Span, midnight
from slowwave.language.lexicon import ORDINALS
from slowwave.language.time_forms import FORMS, Asked, Kind


@dataclass(frozen=True)
class Period:
    """A period [start, end) in UTC that words name; `until` is the position past their last character."""

    start: datetime
    end: datetime
    until: int
    kind: Kind


_PART = re.compile(
    r"(?:the\s+)?(?:(?P<part>(?:early|mid|late)(?=[\s-])|(?:beginning|start|middle|end|(?:first|second)\s+half)"
    rf"(?=\s+of\s))[\s-]+(?:of\s+)?|(?P<nth>{'|'.join(ORDINALS)}|last)\s+(?P<unit>day|week|weekend)\s+(?:of|in)\s+)"
    r"(?:the\s+)?(?:(?:month|year)\s+of\s+)?",
    re.I | re.A,
)
_WEEK_OF = re.compile(
    r"(?:the\s+)?week\s+(?:(?P<from>starting|beginning)(?:\s+on)?|of)\s+(?:the\s+)?", re.I | re.A
)
_GOES_ON = re.compile(r"[-_]\w")
_GOES_ON_AFTER_DIGIT = re.compile(r"[-_./:]\w")


def read_period(
    text: str, position: int, *, now: datetime, lead: str | None = None, exact: bool = False
) -> Period | None:
    """The period that is named at a position of a text; None where none is.

    `lead` is the preposition before it, in lower case and empty where there is none: it decides for words that
    are a time only after one. With None any form is taken. `now` is in UTC; with `exact` nothing is widened.
    """
    found = _by_form(text, position, now, lead, exact)
    return found or _part(text, position, now, exact) or _week_of(text, position, now, exact)


def _by_form(text: str, position: int, now: datetime, lead: str | None, exact: bool) -> Period | None:
    """The reading that takes most of the text; of two as long the later form."""
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


def _part(text: str, position: int, now: datetime, exact: bool) -> Period | None:
    """The beginning, the middle, the end, a half, a week or a day of a period."""
    match = _PART.match(text, position)
    whole = _by_form(text, match.end(), now, None, exact) if match else None
    if match is None or whole is None:
        return None
    start, length = whole.start, whole.end - whole.start
    if match["nth"]:
        span = _nth(match["nth"].lower(), match["unit"].lower(), whole)
    elif length > DAY * 2:
        first, last = PARTS[" ".join(match["part"].lower().split())]
        span = midnight(start + length * first / 3), min(midnight(start + length * last / 3), whole.end)
    else:
        span = start, whole.end
    return Period(*span, whole.until, whole.kind)


def _nth(nth: str, unit: str, whole: Period) -> Span:
    """The nth day, week or weekend of a period, no longer than the period itself."""
    length = DAY * {"day": 1, "week": 7, "weekend": 2}[unit]
    if nth == "last":
        end = whole.end - DAY * (whole.end.weekday() if unit == "weekend" else 0)
        return max(whole.start, end - length), end
    first = whole.start + DAY * ((SATURDAY - whole.start.weekday()) % 7 if unit == "weekend" else 0)
    start = min(first + max(length, DAY * 7 * (unit != "day")) * ORDINALS.index(nth), whole.end - DAY)
    return start, min(start + length, whole.end)


def _week_of(text: str, position: int, now: datetime, exact: bool) -> Period | None:
    """The week, Monday to Sunday, in which a day lies, or the seven days that start on it."""
    match = _WEEK_OF.match(text, position)
    day = _by_form(text, match.end(), now, None, exact) if match else None
    if match is None or day is None or day.end - day.start > DAY:
        return None
    start = day.start if match["from"] else day.start - DAY * day.start.weekday()
    return Period(start, start + DAY * 7, day.until, day.kind)
