"""Secrets that a conversation showed once, masked where they stand again without what showed them.

"The password of the wiki is ..." tells a secret; the reply that repeats it alone does not. Known are digests under a key
of this process, never the values, and only of values that can be nothing else where they stand again.
"""

import os
import re
from collections import Counter
from collections.abc import Iterator
from hashlib import blake2b
from typing import Final

from slowwave.redaction.again import is_telling
from slowwave.redaction.finding import Covered, Span, find
from slowwave.redaction.own import in_force
from slowwave.redaction.remembering import forget

MOST_VALUES: Final = 100
"""Values of one conversation that are known at once; of more the oldest are forgotten."""

_SHORTEST: Final = 7
_LONGEST: Final = 400
_KEY: Final = os.urandom(32)
_RUN: Final = re.compile(r"\S+")
_EDGE: Final = re.compile(r"(?<![^\W_])|(?![^\W_])")
"""Places where a value can begin or end: not between two letters or digits."""


class Told:
    """The secrets of one conversation so far; `count` says how often a new one came."""

    def __init__(self) -> None:
        self._kinds: dict[bytes, tuple[int, str, bool]] = {}
        self.count = 0

    def redact(self, text: str) -> tuple[str, dict[str, int]]:
        """Text without secrets, and without those told before; and how many of each kind were replaced."""
        spans = find(text, in_force())
        for span in spans:
            self.learn(text[span.start : span.end], span.kind)
        forget()
        safe = Covered.of(text, spans).text if spans else text
        safe, found = self.mask(safe)
        return safe, dict(Counter(span.kind for span in spans) + Counter(found))

    def mask(self, text: str) -> tuple[str, dict[str, int]]:
        """Text with marks in the place of what was told before, and how many of each kind."""
        known = self._kinds.copy()
        phrases = {length for length, _, is_phrase in known.values() if is_phrase}
        words = {length for length, _, is_phrase in known.values() if not is_phrase}
        spans: list[Span] = []
        for start, end in _candidates(text, words, phrases):
            found = known.get(_digest(text[start:end]))
            if found and not (spans and start < spans[-1].end):
                spans.append(Span(start, end, found[1], "told"))
        if not spans:
            return text, {}
        return Covered.of(text, spans).text, dict(Counter(span.kind for span in spans))

    def learn(self, value: str, kind: str) -> None:
        """Know a value from now on, if it can be nothing else where it stands again."""
        if not _SHORTEST <= len(value) <= _LONGEST or not is_telling(value):
            return
        digest = _digest(value)
        if digest not in self._kinds:
            self.count += 1
            self._kinds[digest] = (len(value), kind, len(value.split()) > 1)
            while len(self._kinds) > MOST_VALUES:
                self._kinds.pop(next(iter(self._kinds)), None)


def _candidates(text: str, words: set[int], phrases: set[int]) -> Iterator[tuple[int, int]]:
    """Places of these lengths from edge to edge, in order and the longest of one begin first; words hold no blank."""
    runs = [*_RUN.finditer(text)] if words else []
    places = [
        place for run in runs if len(run[0]) >= min(words) for place in _within(text, *run.span(), words)
    ]
    if phrases:
        places += _within(text, 0, len(text), phrases)
    yield from sorted(places, key=lambda place: (place[0], -place[1]))


def _within(text: str, begin: int, end: int, lengths: set[int]) -> Iterator[tuple[int, int]]:
    edges = [edge.start() for edge in _EDGE.finditer(text, begin, end)]
    edges += [end] if edges[-1:] != [end] else []
    ends = frozenset(edges)
    for start in edges:
        yield from ((start, start + length) for length in lengths if start + length in ends)


def _digest(value: str) -> bytes:
    return blake2b(value.encode("utf-8", "surrogatepass"), key=_KEY, digest_size=16).digest()
