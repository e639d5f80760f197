"""Bounds of what is read, and the counts of what was taken and left out.

Nothing that is over a bound goes away unseen: it is counted by its reason and named by its place.
"""

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import cast

import polars as pl

from slowwave.ingest.redact import redact
from slowwave.schemas.moments import FIRST_KNOWN, are_impossible, unknown_until
from slowwave.settings.readers import ReaderSettings

DEFAULTS = ReaderSettings()

LONG_LINE = "line over its bound"
LATE_LINE = "line behind the last one that is taken"
CUT_MESSAGE = "message cut at its bound"
CUT_DOCUMENT = "document cut at its bound"

BLANK = "blank line"
UNSPOKEN = "line without text"
"""A line whose blocks are counted by their own reasons, if it has any."""

QUIET = frozenset({BLANK, UNSPOKEN})

MARGIN = 20_000
"""Characters beyond a cut that the search for secrets sees too, so that none is cut in two and stays: a private key."""

_BLANKS = re.compile(r"\s")
_BORDER_SHARE = 10
"""A cut moves to white space within this part of the length, where there is any."""


@dataclass
class Counts:
    """Counts of the entries of a file so far: each line of a transcript, or section of a document, counts once."""

    entry_count: int = 0
    taken_count: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    """Entries left out, by reason."""
    parts: Counter[str] = field(default_factory=Counter)
    """Things left out within entries, such as a block without text, by reason."""
    redacted: Counter[str] = field(default_factory=Counter)
    excesses: list[tuple[str, str]] = field(default_factory=list)
    """What was over a bound: the reason, and a sentence without the file's name."""

    def skip(self, reason: str, number: int = 1) -> None:
        """Counts entries that are left out."""
        self.skipped[reason] += number

    def exceed(self, reason: str, told: str, *, most: int) -> None:
        """Names something over its bound; of more than `most` for one reason in a file the rest are only counted."""
        if sum(reason == known for known, _ in self.excesses) < most:
            self.excesses.append((reason, told))

    def taken_over(self) -> "Counts":
        """The counts so far; counting begins anew."""
        found = Counts(**vars(self))
        vars(self).update(vars(Counts()))
        return found

    def add(self, other: "Counts") -> None:
        """Adds what another part of the file counted."""
        self.entry_count += other.entry_count
        self.taken_count += other.taken_count
        self.skipped += other.skipped
        self.parts += other.parts
        self.redacted += other.redacted
        self.excesses += other.excesses


def with_possible_times(
    rows: pl.DataFrame, *, now: datetime, bounds: ReaderSettings
) -> tuple[pl.DataFrame, pl.Series]:
    """Rows with `event_time`, and which of them were dated after `now`: those were said on an unknown day before.

    Clocks differ, so `readers.ahead_hours` more are possible. What holds since it was said (`valid_from`) goes with it.
    """
    last = now + timedelta(hours=bounds.ahead_hours)
    times = rows["event_time"]
    first_time, last_time = cast("datetime", times.min()), cast("datetime", times.max())
    if rows.is_empty() or (
        first_time >= FIRST_KNOWN and last_time <= last
    ):  # as nearly always: it is quicker
        return rows, pl.repeat(value=False, n=rows.height, eager=True)
    is_late = rows.select(are_impossible(pl.col("event_time"), last=last)).to_series()
    said, undated = pl.col("event_time"), pl.lit(unknown_until(now))
    dates = [name for name in ("valid_from", "event_time") if name in rows.columns]
    changed = {
        name: pl.when(is_late & (pl.col(name) == said)).then(undated).otherwise(name) for name in dates
    }
    return rows.with_columns(**changed), is_late


Redact = Callable[[str], tuple[str, dict[str, int]]]
"""A way to take secrets out of a text, with how many of each kind there were."""


def bounded_text(text: str, most: int, redact: Redact = redact) -> tuple[str, dict[str, int], int]:
    """A text without secrets and of about `most` characters, the secrets found, and the characters left out.

    Of a longer text the beginning and the end are kept: a question often stands behind what was pasted.
    """
    if len(text) <= most:
        safe, found = redact(text)
        return safe, found, 0
    before, after = most - most // 4, most // 4
    head, of_head = redact(text[: before + MARGIN])
    tail, of_tail = redact(text[max(len(text) - after - MARGIN, before) :])
    head = head[: border_before(head, before)].rstrip()
    tail = tail[border_after(tail, max(len(tail) - after, 0)) :].lstrip()
    left_out = len(text) - len(head) - len(tail)
    mark = f"\n[{left_out} characters left out]\n"
    return f"{head}{mark}{tail}", dict(Counter(of_head) + Counter(of_tail)), left_out


def border_before(text: str, most: int) -> int:
    """The last place before `most` where white space stands, if there is any nearby."""
    if len(text) <= most:
        return len(text)
    for mark in ("\n\n", "\n", " "):
        if (place := text.rfind(mark, most - most // _BORDER_SHARE, most)) > 0:
            return place
    return most


def border_after(text: str, least: int) -> int:
    """The first place from `least` on where white space stands, if there is any nearby."""
    found = _BLANKS.search(text, least, least + max((len(text) - least) // _BORDER_SHARE, 1))
    return found.end() if found and least else least
