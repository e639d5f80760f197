"""Counts of what a file gave and what was left out of it, by reason.

Nothing over a bound disappears silently: it is counted by its reason and named by its place.
"""

from collections import Counter
from dataclasses import dataclass, field
from typing import Final

SHOWN_PLACES: Final = 20
"""Sentences kept for one reason, in a file and in a report; further ones are only counted."""

LONG_LINE: Final = "line over its bound"
LATE_LINE: Final = "line behind the last one that is taken"
CUT_MESSAGE: Final = "message cut at its bound"

BLANK: Final = "blank line"
UNSPOKEN: Final = "line without text"
"""A line whose blocks are counted by their own reasons, if it has any."""

QUIET: Final = frozenset({BLANK, UNSPOKEN})
"""Reasons that no report shows."""


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

    @property
    def is_empty(self) -> bool:
        """Return whether there was nothing but blank lines."""
        return self.entry_count == self.skipped[BLANK] and not self.taken_count

    def skip(self, reason: str, number: int = 1) -> None:
        """Count entries that are left out."""
        if number:
            self.skipped[reason] += number

    def leave_out(self, reason: str, excess: str = "") -> None:
        """Count something as an entry that is left out; `excess` is a sentence for what is over a bound."""
        self.entry_count += 1
        self.skip(reason)
        if excess:
            self.exceed(reason, excess)

    def exceed(self, reason: str, sentence: str) -> None:
        """Name something over its bound, unless the reason has `SHOWN_PLACES` sentences already."""
        if sum(reason == known for known, _ in self.excesses) < SHOWN_PLACES:
            self.excesses.append((reason, sentence))

    def taken_over(self) -> "Counts":
        """Return the counts so far and begin anew."""
        found = Counts(**vars(self))
        vars(self).update(vars(Counts()))
        return found
