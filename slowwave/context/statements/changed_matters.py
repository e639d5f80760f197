"""Two texts about one thing, of which the later one tells that it is otherwise by now. Pure functions over text."""

import re
from dataclasses import dataclass
from functools import lru_cache

from slowwave.excerpts.matter import Rarity, nearness
from slowwave.language.lexicon import CHANGED, SMALL_TALK, THEMELESS_WORDS
from slowwave.language.query_words import plain_words
from slowwave.language.sentences import plain_sentences, straight
from slowwave.store.terms import terms_of_words

SAME_MATTER = 0.3
"""Cosine of two texts' terms, each weighing its rarity, from which on they are about one thing."""

FEWEST_SHARED = 2
"""Terms that they share at least."""

RESTATED = 0.5
"""The same cosine, of a single sentence that names no change: it tells the same anew, perhaps with another value."""

FEWEST_RESTATED = 4

GIVEN_UP, TOLD_ANEW = 0.2, 0.3
"""The same cosine where both answer a question: of a sentence that names a change, and of one that names none and is as
near to the question."""

_CHANGED = re.compile(rf"\b(?:{'|'.join(map(re.escape, CHANGED))})\b(?!\s\d{{4}}-)")
_WORDLESS = THEMELESS_WORDS | SMALL_TALK


@dataclass(frozen=True)
class Matter:
    """The matter that is asked for: terms of the question, what terms weigh, and the terms of names in the question."""

    asked: frozenset[str]
    rarity: Rarity
    names: frozenset[str] = frozenset()


def tells_change(later: str, earlier: str, matter: Matter, *, is_as_near: bool = False) -> bool:
    """Return whether a later text tells what an earlier one told as it is by now.

    One of its sentences does: with the one before it, it is about the same thing and names a change ("moved", "no
    longer"), or alone it tells nearly the same. Or the question that both answer tells that they are about one thing:
    the later one names a change, and shares a term with the earlier one that the question has not (what is given up),
    or one that it has while it is as near to the question (`is_as_near`). A question tells nothing.
    """
    known, rarity = _terms(straight(earlier)), matter.rarity
    before = ""
    for sentence in plain_sentences(later):
        both = f"{before} {sentence}"
        before = sentence
        if sentence.endswith("?"):
            continue
        names_change = _CHANGED.search(both) is not None
        if names_change and _nearness(_terms(both), known, FEWEST_SHARED, rarity) >= SAME_MATTER:
            return True
        if _nearness(_terms(sentence), known, FEWEST_RESTATED, rarity) >= RESTATED:
            return True
        if matter.asked and _answers_anew(sentence, known, matter, names_change, is_as_near=is_as_near):
            return True
    return False


def _answers_anew(
    sentence: str, known: frozenset[str], matter: Matter, names_change: bool, *, is_as_near: bool
) -> bool:
    said = _terms(sentence)
    shared = said & known
    if not known & matter.names <= said:
        return False
    is_asked = is_as_near and not shared.isdisjoint(matter.asked)
    if names_change:
        return is_asked or (
            not shared <= matter.asked and _nearness(said, known, 1, matter.rarity) >= GIVEN_UP
        )
    return is_asked and _nearness(said, known, FEWEST_SHARED, matter.rarity) >= TOLD_ANEW


def _nearness(said: frozenset[str], known: frozenset[str], fewest: int, rarity: Rarity) -> float:
    """The cosine of two texts' terms; 0 where they share fewer than `fewest`."""
    if len(said & known) < fewest:
        return 0.0
    terms = sorted(said | known)
    return nearness(said, known, dict(zip(terms, rarity(terms), strict=True)))


@lru_cache(maxsize=1_000)
def _terms(text: str) -> frozenset[str]:
    return terms_of_words(plain_words(text) - _WORDLESS)
