"""The statements of a passage that another text is about: a correction of one point means no other. Pure.

A passage is the talk of several minutes. What corrects or takes back one point of it names that point in its own words,
so the statement that shares most of its telling words is meant, with those that repeat it.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import sqrt

from slowwave.excerpts.units import Unit, units_of
from slowwave.language.lexicon import SMALL_TALK, THEMELESS_WORDS
from slowwave.store.terms import terms_of_words

AS_NEAR = 0.75
"""Nearness to the text, as a share of the best, from which on a statement tells the same matter."""

REPEATED = 0.5
"""Nearness of two statements from which on one repeats the other."""

EXACT = 2.0
"""Weight of names and numbers, beside other words: they say which one is meant."""

FEWEST_TERMS = 3
"""Telling terms of a statement that can stand alone: a shorter one goes with what stands before it."""

_WORD = re.compile(r"[^\W_]+")
_WORDLESS = THEMELESS_WORDS | SMALL_TALK
Rarity = Callable[[Sequence[str]], Sequence[float]]
"""Weights of terms: the fewer texts have one, the more it tells."""


@dataclass(frozen=True)
class Said:
    """A statement of a passage; one that begins a message of a person stands apart from what was said before it."""

    text: str
    is_apart: bool = False


def statements_on(said: Sequence[Said], text: str, rarity: Rarity) -> set[int]:
    """Places of the statements that tell what a text is about; none where no word says which."""
    wanted = _terms(text)
    terms = [_terms(one.text) for one in said]
    exact = _exact(text).union(*(_exact(one.text) for one in said))
    known = sorted(wanted.union(*terms))
    weights = {
        term: weight * (EXACT if term in exact else 1.0)
        for term, weight in zip(known, rarity(known), strict=True)
    }
    near = [nearness(wanted, one, weights) for one in terms]
    best = max(near, default=0.0)
    if best == 0.0:
        return set()
    found = {place for place, value in enumerate(near) if value >= AS_NEAR * best}
    former = frozenset[str]().union(*(terms[place] for place in found)) - wanted
    for place, one in enumerate(terms):
        is_of_it = bool(one & wanted) and bool(one & former & exact)
        if is_of_it or any(nearness(one, terms[other], weights) >= REPEATED for other in found):
            found.add(place)
    for place in range(1, len(said)):
        if not said[place].is_apart and len(terms[place]) < FEWEST_TERMS and place - 1 in found:
            found.add(place)
    return found


def nearness(one: frozenset[str], other: frozenset[str], weights: Mapping[str, float]) -> float:
    """The cosine of two texts' terms, 0..1, each weighing as much as is given."""
    shared, left, right = (sum(weights[term] for term in part) for part in (one & other, one, other))
    return shared / (sqrt(left * right) or 1.0)


def tells_something(text: str) -> bool:
    """Return whether a statement can stand alone."""
    return len(_terms(text)) >= FEWEST_TERMS


def joined_units(text: str, units: Sequence[Unit]) -> str:
    """Some units of a text in their order; a blank, or the end of a line, stands for what is left out."""
    place = {unit: number for number, unit in enumerate(units_of(text))}
    told = ""
    for before, unit in zip([None, *units], units, strict=False):
        if before is not None:
            gap = text[before.end : unit.start]
            is_next = place[unit] == place[before] + 1
            told += gap if is_next else "\n" if "\n" in gap else " "
        told += text[unit.start : unit.end]
    return told


def told_in(passages: Sequence[str], text: str) -> str:
    """The statements of a text that passages hold word by word."""
    held = [unit for unit in units_of(text) if any(text[unit.start : unit.end] in one for one in passages)]
    return joined_units(text, held)


# Inside


@lru_cache(maxsize=1_000)
def _terms(text: str) -> frozenset[str]:
    words = [word.lower() for word in _WORD.findall(text)]
    return terms_of_words(word for word in words if word not in _WORDLESS)


@lru_cache(maxsize=1_000)
def _exact(text: str) -> frozenset[str]:
    """The terms of numbers, and of words with a capital letter past the first word."""
    words = [
        word
        for place, word in enumerate(_WORD.findall(text))
        if any(letter.isdigit() for letter in word) or (place and word[0].isupper())
    ]
    return terms_of_words(words)
