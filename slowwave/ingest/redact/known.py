"""Secrets that a conversation showed once, masked where they stand again without what showed them.

Known are digests under a key of this process, never the values, and only of values that can be nothing else.
"""

import os
import re
from collections import Counter
from collections.abc import Iterator
from hashlib import blake2b
from typing import Final

from slowwave.ingest.redact import looks
from slowwave.ingest.redact.spans import Span, find, find_in_reply, without
from slowwave.ingest.redact.table import in_force

MOST_VALUES: Final = 100
"""Values of one conversation that are known at once; of more the oldest are forgotten."""
_SHORTEST, _LONGEST = 7, 400
_KEY: Final = os.urandom(32)
_RUN: Final = re.compile(r"\S{7,}")
_EDGE: Final = re.compile(r"(?<![^\W_])|(?![^\W_])")
"""Places where a value can begin or end: not between two letters or digits."""


class Known:
    """The secrets of one conversation so far; `count` says how often a new one came.

    `last_said` is the session of the message before, and its text without secrets: a secret may be the answer to it.
    """

    def __init__(self) -> None:
        self._kinds: dict[bytes, tuple[int, str]] = {}
        self.count = 0
        self.last_said = ("", "")

    def redact(self, text: str) -> tuple[str, dict[str, int]]:
        """Text without secrets, and without those known before; and how many of each kind were replaced."""
        safe, by_rules = self._without(text, find(text, in_force()))
        safe, by_repetition = self.mask(safe)
        return safe, dict(Counter(by_rules) + Counter(by_repetition))

    def redact_reply(self, text: str, before: str) -> tuple[str, dict[str, int]]:
        """Text without the secrets that only the message before it shows, and how many of each kind there were."""
        return self._without(text, find_in_reply(text, before, in_force()))

    def _without(self, text: str, spans: list[Span]) -> tuple[str, dict[str, int]]:
        for span in spans:
            self.learn(text[span.start : span.end], span.kind)
        return without(text, spans)

    def mask(self, text: str) -> tuple[str, dict[str, int]]:
        """Text with marks in the place of what is known, and how many of each kind."""
        known = self._kinds.copy()  # another thread may learn meanwhile
        spans: list[Span] = []
        for start, end in _places(text, {length for length, _ in known.values()}):
            found = known.get(_digest(text[start:end]))
            if found and not (spans and start < spans[-1].end):
                spans.append(Span(start, end, found[1], "known"))
        return without(text, spans)

    def learn(self, value: str, kind: str) -> None:
        """Know a value from now on, if it can be nothing else where it stands again."""
        is_word = _SHORTEST <= len(value) <= _LONGEST and not any(map(str.isspace, value))
        if not is_word or not (looks.is_chosen(value) or looks.is_phrase(value)):
            return
        digest = _digest(value)
        if digest not in self._kinds:
            self.count += 1
            self._kinds[digest] = (len(value), kind)
            while len(self._kinds) > MOST_VALUES:
                self._kinds.pop(next(iter(self._kinds)), None)


def _places(text: str, lengths: set[int]) -> Iterator[tuple[int, int]]:
    """Places of these lengths in words, from edge to edge, in order and the longest of one begin first."""
    for run in _RUN.finditer(text) if lengths else ():
        edges = [edge.start() for edge in _EDGE.finditer(text, *run.span())] + [run.end()]
        ends = frozenset(edges)
        for start in edges:
            yield from (
                (start, start + length) for length in sorted(lengths, reverse=True) if start + length in ends
            )


def _digest(value: str) -> bytes:
    return blake2b(value.encode("utf-8", "surrogatepass"), key=_KEY, digest_size=16).digest()
