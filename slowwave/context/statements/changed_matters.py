"""Two texts about one thing, of which the later one tells that it is otherwise by now. Pure functions over text."""

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from math import sqrt

from slowwave.language.lexicon import CHANGED, SMALL_TALK, THEMELESS_WORDS
from slowwave.language.query_words import plain_words
from slowwave.language.sentences import plain_sentences, straight
from slowwave.store.terms import word_terms

Rarity = Callable[[Sequence[str]], Sequence[float]]
"""Weights of terms: the fewer texts have one, the more it tells."""

SAME_MATTER = 0.3
"""Cosine of two texts' terms, each weighing its rarity, from which on they are about one thing."""

FEWEST_SHARED = 2
"""Terms that they share at least."""

RESTATED = 0.5
"""The same cosine, of a single sentence that names no change: it tells the same anew, perhaps with another value."""

FEWEST_RESTATED = 4

_CHANGED = re.compile(rf"\b(?:{'|'.join(map(re.escape, CHANGED))})\b")
_WORDLESS = THEMELESS_WORDS | SMALL_TALK


def tells_change(later: str, earlier: str, rarity: Rarity) -> bool:
    """Return whether a later text tells what an earlier one told as it is by now.

    One of its sentences does: with the one before it, it is about the same thing and names a change ("moved", "no
    longer"), or alone it tells nearly the same. A question tells nothing.
    """
    known, before = _terms(straight(earlier)), ""
    for sentence in plain_sentences(later):
        both = f"{before} {sentence}"
        before = sentence
        if sentence.endswith("?"):
            continue
        if _CHANGED.search(both) and _nearness(_terms(both), known, FEWEST_SHARED, rarity) >= SAME_MATTER:
            return True
        if _nearness(_terms(sentence), known, FEWEST_RESTATED, rarity) >= RESTATED:
            return True
    return False


def _nearness(said: frozenset[str], known: frozenset[str], fewest: int, rarity: Rarity) -> float:
    """The cosine of two texts' terms; 0 where they share fewer than `fewest`."""
    if len(said & known) < fewest:
        return 0.0
    terms = sorted(said | known)
    weights = dict(zip(terms, rarity(terms), strict=True))
    shared, one, other = (sum(weights[term] for term in part) for part in (said & known, said, known))
    return shared / (sqrt(one * other) or 1.0)


@lru_cache(maxsize=1_000)
def _terms(text: str) -> frozenset[str]:
    return frozenset(term for word in plain_words(text) - _WORDLESS for term in word_terms(word))
