"""The terms of a question and of a text, as full text has them, with their places."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from slowwave.language.query_words import QUERY_WORDS, telling_words
from slowwave.store.terms import query_terms, word_terms

_WORD = re.compile(r"[^\W_]+")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


@dataclass(frozen=True)
class Word:
    """A word of a question in a text: its place, and the asked terms that it, or a part of `camelCase`, stands for."""

    start: int
    end: int
    terms: tuple[str, ...]


@dataclass(frozen=True)
class Asked:
    """The terms of a question in their order, each with its weight above 0, the rarer the more."""

    weights: Mapping[str, float]


def asked_terms(question: str, rarity: Callable[[Sequence[str]], Sequence[float]] | None = None) -> Asked:
    """The terms of a question's telling words, each with its `rarity`; without one all weigh the same."""
    terms = list(dict.fromkeys(query_terms(telling_words(question, most=QUERY_WORDS))))
    return Asked(dict(zip(terms, rarity(terms) if rarity is not None else [1.0] * len(terms), strict=True)))


def asked_words(words: Iterable[str]) -> Asked:
    """The terms of words, all of one weight."""
    return Asked(dict.fromkeys((term for word in words for term in word_terms(word)), 1.0))


def said_words(text: str, asked: Asked) -> list[Word]:
    """The question's words in a text, in order; what is joined by `_`, `-`, `/` or `.` are several words."""
    found, weights = list[Word](), asked.weights
    for match in _WORD.finditer(text):
        terms = [term for term in _terms(match[0]) if term in weights]
        if terms:
            found.append(Word(match.start(), match.end(), tuple(terms)))
    return found


@lru_cache(maxsize=50_000)
def _terms(word: str) -> tuple[str, ...]:
    parts = _HUMP.split(word)
    return tuple(dict.fromkeys(term for part in dict.fromkeys([word, *parts]) for term in word_terms(part)))
