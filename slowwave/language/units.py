"""A text cut into units that can be shown alone: lines, sentences of prose, pieces of what has neither.

Behind them the statements that an edit of one point of a conversation is about. Pure.
"""

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import sqrt

from slowwave.language.lexicon import THEMELESS_WORDS
from slowwave.language.terms import terms_of_words

LONGEST_UNIT = 240
"""Characters of a unit; longer sentences are cut, behind a clause if one ends in the last third."""

ROOM_FOR_A_CUT = 32
"""Characters within which the begin of a character that is written as several is looked for."""

AS_NEAR = 0.75
"""Nearness to a text, as a share of the best, from which on a statement is about the same point."""

REPEATED = 0.5
"""Nearness of two statements from which on one repeats the other."""

EXACT = 2.0
"""Weight of names and numbers, relative to other words: they say which one is meant."""

FEWEST_TERMS = 3
"""Terms of a statement that is understood alone; a shorter one belongs to the one before it."""

_SENTENCE = re.compile(r"(?<=[.!?\u2026])[\"'\u201d\u2019)*_`]*\s+|(?<=[\u3002\uff01\uff1f])")
_NO_END = re.compile(
    r"^\s*(?:[-*>#|]\s+)*\w{1,3}[.)]$|\b(?:Dr|Mr|Mrs|Ms|Prof|St|No|Nr|vs|etc|e\.g|i\.e|z\.B|approx|ca)\.$"
)
"""The number of a list's item, and abbreviations: no sentence ends there."""

_PIECE = re.compile(
    rf"\S(?:.{{0,{LONGEST_UNIT - 1}}}\Z|.{{{2 * LONGEST_UNIT // 3},{LONGEST_UNIT - 2}}}[,;:)\]}}|](?=\s)"
    rf"|.{{0,{LONGEST_UNIT - 1}}}(?<=\S)(?=\s)|(?P<inside>.{{{LONGEST_UNIT - 1}}}))",
    re.S,
)
_JOINED = re.compile(
    "\r\n|\u200d.|.[\u200d\u1160-\u11ff\U0001f3fb-\U0001f3ff\udc00-\udfff]|[\U0001f1e6-\U0001f1ff]{2}", re.S
)
"""Pairs of code points inside one character: emoji, flags, Hangul, halves of a surrogate pair."""

_WORD = re.compile(r"[^\W_]+")

Rarity = Callable[[Sequence[str]], Sequence[float]]
"""Weights of terms: the fewer texts have a term, the higher."""


@dataclass(frozen=True)
class Unit:
    """A piece of a text without white space at its ends: the range [start, end) in characters."""

    start: int
    end: int

    @property
    def length(self) -> int:
        """Characters."""
        return self.end - self.start

    def of(self, text: str) -> str:
        """This piece of its text."""
        return text[self.start : self.end]


def units_of(text: str) -> list[Unit]:
    """The units of a text, in order; together they hold all of it but white space."""
    found, start = list[Unit](), 0
    for line in text.splitlines(keepends=True):
        for begin, end in _sentences(line):
            found += [Unit(start + left, start + right) for left, right in _pieces(line, begin, end)]
        start += len(line)
    return found


def cut_before(text: str, most: int) -> int:
    """The last place up to `most` where a cut splits no character that is written as several."""
    if most >= len(text):
        return len(text)
    places = range(most, max(most - ROOM_FOR_A_CUT, 0), -1)
    return next((place for place in places if not _is_inside(text, place)), most)


def joined_units(text: str, units: Sequence[Unit]) -> str:
    """Some units of a text in their order; a blank, or the end of a line, replaces what is left out."""
    places = {unit: place for place, unit in enumerate(units_of(text))}
    joined = ""
    for before, unit in zip([None, *units], units, strict=False):
        if before is not None:
            gap = text[before.end : unit.start]
            is_next = places[unit] == places[before] + 1
            joined += gap if is_next else "\n" if "\n" in gap else " "
        joined += unit.of(text)
    return joined


def units_within(passages: Sequence[str], text: str) -> str:
    """The units of a text that one of the passages has word by word, joined."""
    held = [unit for unit in units_of(text) if any(unit.of(text) in one for one in passages)]
    return joined_units(text, held)


@dataclass(frozen=True)
class Spoken:
    """One statement of a conversation; the first of a person's message has nothing to do with the one before."""

    text: str
    is_apart: bool = False


def statements_on(said: Sequence[Spoken], text: str, rarity: Rarity) -> set[int]:
    """Places of the statements that a text corrects or takes back; none where no word says which.

    It is the nearest statement, those about as near, what repeats one of them, and the short reply behind it.
    """
    wanted, terms = _terms(text), [_terms(one.text) for one in said]
    exact = _exact(text).union(*(_exact(one.text) for one in said))
    known = sorted(wanted.union(*terms))
    weights = {
        term: weight * (EXACT if term in exact else 1.0)
        for term, weight in zip(known, rarity(known), strict=True)
    }
    near = [_nearness(wanted, one, weights) for one in terms]
    best = max(near, default=0.0)
    found = {place for place, value in enumerate(near) if value >= AS_NEAR * best > 0.0}
    found |= {
        place
        for place, one in enumerate(terms)
        if any(_nearness(one, terms[other], weights) >= REPEATED for other in found)
    }
    for place in range(1, len(said)):
        if not said[place].is_apart and len(terms[place]) < FEWEST_TERMS and place - 1 in found:
            found.add(place)
    return found


def says_something(text: str) -> bool:
    """Return whether a statement is understood alone."""
    return len(_terms(text)) >= FEWEST_TERMS


# Inside


def _sentences(line: str) -> list[tuple[int, int]]:
    ends = [match.end() for match in _SENTENCE.finditer(line) if not _NO_END.search(line, 0, match.start())]
    return list(zip([0, *ends], [*ends, len(line)], strict=True))


def _pieces(line: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """A sentence without white space at its ends, in pieces if it is too long: at clauses, else at blanks."""
    end = start + len(line[start:end].rstrip())
    while (match := _PIECE.search(line, start, end)) is not None:
        start = cut_before(line, match.end()) if match["inside"] else match.end()
        yield match.start(), start


def _is_inside(text: str, place: int) -> bool:
    """Return whether the code points before and behind a place belong to one character."""
    is_mark = unicodedata.category(text[place]).startswith("M")
    return is_mark or _JOINED.match(text, place - 1, place + 1) is not None


def _nearness(one: frozenset[str], other: frozenset[str], weights: Mapping[str, float]) -> float:
    """The cosine of two sets of terms, 0..1."""
    shared, left, right = (sum(weights[term] for term in part) for part in (one & other, one, other))
    return shared / (sqrt(left * right) or 1.0)


@lru_cache(maxsize=1_000)
def _terms(text: str) -> frozenset[str]:
    words = [word.lower() for word in _WORD.findall(text)]
    return terms_of_words(word for word in words if word not in THEMELESS_WORDS)


@lru_cache(maxsize=1_000)
def _exact(text: str) -> frozenset[str]:
    """The terms of numbers, and of words with a capital letter past the first word."""
    words = [
        word
        for place, word in enumerate(_WORD.findall(text))
        if any(letter.isdigit() for letter in word) or (place and word[0].isupper())
    ]
    return terms_of_words(words)
