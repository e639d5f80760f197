"""Near-duplicates on one page: the richer form stands for all. Pure."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from slowwave.language.lexicon import DENIALS, STOP_WORDS
from slowwave.language.query_words import plain_words
from slowwave.language.sentences import straight
from slowwave.language.signals import stem
from slowwave.schemas.search import CellHit

CONTAINED = 0.9
"""Share of a memory's telling words that a richer one must hold."""

FEWEST_WORDS = 3
"""A memory of fewer telling words repeats nothing: it stands in too many others."""

_NUMBER = re.compile(r"\d+")
_DENIAL = re.compile(rf"\b(?:{'|'.join(DENIALS)})\b")


@dataclass(frozen=True)
class Richest:
    """A memory, and those that it holds: nine tenths of their telling words, and all numbers and denials."""

    hit: CellHit
    repeats: tuple[CellHit, ...] = ()


def without_repeats(hits: Sequence[CellHit]) -> list[Richest]:
    """Each memory once, in the order of its best form; of two of which one holds the other the richer is kept."""
    texts = [straight(" ".join((hit.content, *hit.steps))) for hit in hits]
    words = [{stem(word) for word in plain_words(text) - STOP_WORDS} for text in texts]
    hard = [(frozenset(_NUMBER.findall(text)), _DENIAL.search(text) is not None) for text in texts]
    holder: dict[int, int] = {}
    for poorer, richer in _contained(words):
        (numbers, is_denied), (others, is_other_denied) = hard[poorer], hard[richer]
        if numbers <= others and is_denied == is_other_denied and poorer not in holder:
            holder[poorer] = richer
    held: dict[int, list[int]] = {place: [] for place in range(len(hits)) if place not in holder}
    for place in holder:
        held[_end(holder, place)].append(place)
    first = sorted(held, key=lambda place: min(place, *held[place], place))
    return [Richest(hits[place], tuple(hits[other] for other in held[place])) for place in first]


def _contained(words: Sequence[set[str]]) -> list[tuple[int, int]]:
    """Pairs of places: the words of the first stand in the second, which has more, or as many and comes first."""
    bit_of = {word: 1 << place for place, word in enumerate(sorted(set().union(*words)))}
    whole = [sum(bit_of[word] for word in named) for named in words]
    order = sorted(range(len(words)), key=lambda place: (-len(words[place]), place))
    found = list[tuple[int, int]]()
    for at, poorer in enumerate(order):
        count = len(words[poorer])
        if count >= FEWEST_WORDS:
            bits, needed = whole[poorer], CONTAINED * count
            found += [(poorer, other) for other in order[:at] if (bits & whole[other]).bit_count() >= needed]
    return found


def _end(holder: dict[int, int], place: int) -> int:
    while place in holder:
        place = holder[place]
    return place
