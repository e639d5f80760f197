"""A text cut into units that can stand alone: lines, the sentences of prose, pieces of what has neither."""

import re
import unicodedata
from dataclasses import dataclass

LONGEST_UNIT = 240
"""Characters of a unit; of what is longer, pieces of two thirds of that and more."""

LONGEST_NUMBER = 24
"""Characters within which the number of a list's item ends, what is before it included."""

ROOM_FOR_A_CUT = 32
"""So many characters back a cut looks for the begin of a character that is written as several."""

MACHINE_RUN = 80
"""Characters without a blank from which on a unit is what machines write: keys, encoded data, minified code."""

MACHINE_SHARE = 0.3
"""Share of brackets, quotes and the like from which on a unit is what machines write: JSON, dumps."""

_SENTENCE = re.compile(r"(?<=[.!?\u2026])[\"'\u201d\u2019)*_`]*\s+|(?<=[\u3002\uff01\uff1f])")
_NUMBERED = re.compile(r"\s*(?:[-*>#|]\s+)*\w{1,3}[.)]\s*$")
_ABBREVIATED = re.compile(r"\b(?:Dr|Mr|Mrs|Ms|Prof|St|No|Nr|vs|etc|e\.g|i\.e|z\.B|approx|ca)\.$")
"""A full stop behind which no sentence ends."""

_RUN = re.compile(rf"\S{{{MACHINE_RUN}}}")
_SIGN = re.compile(r"[{}\[\]\"\\<>=;&%$^]")
_CLAUSE = ",;:)]}|"


@dataclass(frozen=True)
class Unit:
    """A piece of a text without white space at its ends."""

    start: int
    end: int

    @property
    def length(self) -> int:
        """Characters."""
        return self.end - self.start


def units_of(text: str) -> list[Unit]:
    """The units of a text, in order; together they hold all of it but white space."""
    found, start = list[Unit](), 0
    for line in text.splitlines(keepends=True):
        for begin, end in _sentences(line):
            found += [Unit(start + left, start + right) for left, right in _pieces(line, begin, end)]
        start += len(line)
    return found


def is_machine_written(text: str) -> bool:
    """Return whether a unit is data and no words: a long run without a blank, or mostly brackets and quotes."""
    return bool(_RUN.search(text)) or len(_SIGN.findall(text)) > MACHINE_SHARE * max(len(text), 1)


def cut_before(text: str, most: int) -> int:
    """The last place up to `most` where a text can be cut without parting a character that is written as several."""
    if most >= len(text):
        return len(text)
    for place in range(most, max(most - ROOM_FOR_A_CUT, 0), -1):
        if not _joins(text, place):
            return place
    return most


# Inside


def _sentences(line: str) -> list[tuple[int, int]]:
    ends = [
        match.end()
        for match in _SENTENCE.finditer(line)
        if not _is_number(line, match.end()) and not _ABBREVIATED.search(line, 0, match.start())
    ]
    return list(zip([0, *ends], [*ends, len(line)], strict=True))


def _is_number(line: str, end: int) -> bool:
    """Return whether what ends there is the number of a list's item and no sentence."""
    return end <= LONGEST_NUMBER and _NUMBERED.fullmatch(line, 0, end) is not None


def _pieces(line: str, start: int, end: int) -> list[tuple[int, int]]:
    """The stretch without white space at its ends, in pieces where it is too long: at clauses, else at blanks."""
    found = list[tuple[int, int]]()
    while True:
        while start < end and line[start].isspace():
            start += 1
        while end > start and line[end - 1].isspace():
            end -= 1
        if start == end:
            return found
        if end - start <= LONGEST_UNIT:
            return [*found, (start, end)]
        cut = start + _cut(line[start : start + LONGEST_UNIT + 1])
        stop = cut
        while line[stop - 1].isspace():
            stop -= 1
        found.append((start, stop))
        start = cut


def _cut(window: str) -> int:
    """The place to cut a piece: behind the last clause, else blank, of its last third; else between characters."""
    least = 2 * LONGEST_UNIT // 3
    blanks = [place for place in range(least, len(window)) if window[place].isspace()]
    clauses = [place for place in blanks if window[place - 1] in _CLAUSE]
    return (clauses or blanks or [cut_before(window, LONGEST_UNIT)])[-1]


def _joins(text: str, place: int) -> bool:
    """Return whether the characters before and behind a place are parts of one."""
    before, behind = text[place - 1], text[place]
    if unicodedata.category(behind) in ("Mn", "Mc", "Me") or "\U0001f3fb" <= behind <= "\U0001f3ff":
        return True
    if "\u200d" in (before, behind) or (before == "\r" and behind == "\n"):
        return True
    if "\ud800" <= before <= "\udbff" and "\udc00" <= behind <= "\udfff":
        return True
    if "\u1160" <= behind <= "\u11ff":
        return True
    return _is_flag(before) and _is_flag(behind)


def _is_flag(character: str) -> bool:
    return "\U0001f1e6" <= character <= "\U0001f1ff"
