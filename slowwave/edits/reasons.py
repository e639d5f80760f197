"""The reason of a correction: the value changed, and was true until a day, or it was wrong and never held.

Who corrects it says so. Where nobody does, the words of the note and of the new text decide, by the lists of cues in
`lexicon.toml`; without any cue it was wrong. The answer says what was assumed, and how to say the other one.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from slowwave.deferred import pattern
from slowwave.errors import InputError
from slowwave.language.lexicon import CHANGE_CUES, CHANGE_LEADS, MISTAKE_CUES
from slowwave.language.times import read_period, time_of_filter
from slowwave.schemas.choices import CorrectionReason
from slowwave.schemas.moments import day_of, latest_of
from slowwave.schemas.refusals import in_utc, possible_moment
from slowwave.schemas.requests import CorrectRequest


def _any_of(cues: Sequence[str]) -> str:
    return rf"(?<!\w)(?:{'|'.join(cues)})(?!\w)"


_LEAD: Final = pattern(rf"{_any_of(CHANGE_LEADS)}\s+(?=\w)", re.I)
_CHANGE: Final = pattern(_any_of(CHANGE_CUES), re.I)
_MISTAKE: Final = pattern(_any_of(MISTAKE_CUES), re.I)

_AT_ONCE: Final = timedelta.resolution
"""The least time that a value held: what ends at its own beginning counts as never true."""


@dataclass(frozen=True)
class Taken:
    """The reason that a correction has: `since` is the moment of the change, null where the old memory never held.

    `told` is a sentence on what was assumed; empty where somebody said it.
    """

    since: datetime | None
    told: str = ""

    @property
    def reason(self) -> CorrectionReason:
        """The reason by its name."""
        return "wrong" if self.since is None else "changed"


def taken_as(
    request: CorrectRequest,
    old: Mapping[str, Any],
    *,
    now: datetime,
    proposal: Mapping[str, Any] | None = None,
) -> Taken:
    """Decide how a correction of a memory (`old`, a row of `cells`) is taken.

    `proposal` is an assistant's statement with the same text, to which a person agrees now: its dates say the reason.

    Raises:
        InputError: the day of the change is none, is still to come, or lies before the memory was true at all.
    """
    texts = (request.note, request.text)  # a note is about the correction, so it comes first
    if request.reason == "wrong":
        return Taken(None)
    if request.since is not None:
        return Taken(_surely_until(_day_named(request.since, now), old, now=now))
    day = next((day for text in texts if (day := _day_in(text, now)[0]) is not None), None)
    until = _until(day, old, now=now) or _until(now, old, now=now)
    if request.reason == "changed":
        return Taken(until or _surely_until(now, old, now=now))
    if proposal is not None:
        began = latest_of(old["valid_from"])
        since = proposal["valid_from"] if proposal["valid_from"] > began else None
        return Taken(since, _told(since, "as the assistant proposed it"))
    is_wrong, cue = next((found for text in texts if (found := _cue(text, now))), (True, ""))
    is_before = day is not None and day.date() < latest_of(old["valid_from"]).date()
    since = None if is_wrong or is_before else until
    return Taken(since, _told(since, f"by {cue!r}" if cue else "as no word says otherwise"))


# Inside


def _cue(text: str, now: datetime) -> tuple[bool, str] | None:
    """Return whether something never held, and the words that say so; None where a text does not say why."""
    if (mistake := _MISTAKE.search(text)) is not None:
        return True, mistake[0]
    if (change := _CHANGE.search(text)) is not None:
        return False, change[0]
    day, words = _day_in(text, now)
    return None if day is None else (False, words)


def _day_in(text: str, now: datetime) -> tuple[datetime | None, str]:
    """The first day behind a word such as "since", with both words; none where no such day is named."""
    for lead in _LEAD.finditer(text):
        if (found := read_period(text, lead.end(), now=now)) is not None:
            return found.start, text[lead.start() : found.until]
    return None, ""


def _day_named(since: datetime | str, now: datetime) -> datetime:
    if isinstance(since, str):
        return time_of_filter(since, use="since", now=now)
    return in_utc(possible_moment(since))


def _until(day: datetime | None, old: Mapping[str, Any], *, now: datetime) -> datetime | None:
    """The end of a memory that was true until a day; None where the day is to come, or before its beginning."""
    began = latest_of(old["valid_from"])
    if day is None or day > now or day.date() < began.date():
        return None
    return max(day, began + _AT_ONCE)


def _surely_until(day: datetime, old: Mapping[str, Any], *, now: datetime) -> datetime:
    """The same of a day that somebody names.

    Raises:
        InputError: the memory cannot have been true until then.
    """
    until = _until(day, old, now=now)
    if until is not None:
        return until
    if day > now:
        raise InputError(f"since: {day_of(day)} is still to come, and the old memory is true until then")
    raise InputError(
        f"since: memory {old['cell_id']} is of {day_of(latest_of(old['valid_from']))}, after {day_of(day)}: "
        "choose a later day, or the reason wrong"
    )


def _told(since: datetime | None, why: str) -> str:
    """A sentence on what was assumed, and how to say the other one."""
    if since is None:
        return f"taken as wrong ({why}): the old memory never held; with the reason changed it was true until then"
    return (
        f"taken as changed on {day_of(since)} ({why}): the old memory was true until then; "
        "with the reason wrong it never held"
    )
