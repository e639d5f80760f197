"""Relevance of a text to a question, whatever else was found: by telling words and by similarity. Pure.

Fused scores are shares of the best that was found, and the best of what has nothing to do with a question is the best,
too. Relevance compares with the question itself, so that memories and turns can be weighed against each other.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from slowwave.language.query_words import plain_words
from slowwave.language.signals import stem

SURE = 2.0
"""Similarity, in `relevance_threshold`s, from which on a text needs none of the words."""

NEAR = 0.75
"""Similarity, in `relevance_threshold`s, below which a text without any of the words is not relevant."""

WORDLESS = 1.5
"""Similarity, in `relevance_threshold`s, from which search finds a memory that no list of words brought."""


@dataclass(frozen=True)
class Relevance:
    """The telling words of a question, by their stems with their weights, and the embedder's `relevance_threshold`."""

    weights: Mapping[str, float]
    threshold: float | None

    def of(self, text: str, similarity: float) -> float:
        """Relevance of a text, 0..1: the share of the words that it holds, by weight, or what its similarity says."""
        said = set(map(stem, plain_words(text)))
        held = sum(weight for word, weight in self.weights.items() if word in said)
        return max(held / (sum(self.weights.values()) or 1.0), self.nearness(similarity))

    def of_statement(self, text: str, similarity: float) -> float:
        """The same of what somebody told Slowwave itself: it says alone what it is about, so its words count for half.

        Without any of the words it must be as near as search asks of such a memory.
        """
        words = self.of(text, -1.0)
        is_told = words > 0 or (self.threshold is not None and similarity >= WORDLESS * self.threshold)
        return (words + self.of(text, similarity)) / 2 if is_told else 0.0

    def nearness(self, similarity: float) -> float:
        """The share of `SURE` that a similarity reaches, 0..1; 0 below `NEAR`, and without an embedder."""
        if self.threshold is None or similarity < NEAR * self.threshold:
            return 0.0
        return min(similarity / (SURE * self.threshold), 1.0)


def relevance_to(words: Sequence[str], rarities: Iterable[float], threshold: float | None) -> Relevance:
    """The relevance to a question of these telling words, the rarer a word the more it weighs."""
    weights: dict[str, float] = {}
    for word, rarity in zip(words, rarities, strict=True):
        weights[stem(word)] = max(rarity, weights.get(stem(word), 0.0))
    return Relevance(weights, threshold)
