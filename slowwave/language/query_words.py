"""The words of a question for full-text search."""

import re
from collections.abc import Collection
from functools import lru_cache

from slowwave.language.lexicon import STOP_WORDS, THEMELESS_WORDS, word_set

QUERY_WORDS = 64
"""Most different words of a question in a full-text search."""

STATEMENT_CHARACTERS = 2_000
"""A longer text is a paste, and too long to be kept beside its words."""

_WORD = re.compile(r"\w+")
_MATTERLESS = STOP_WORDS | word_set("any_matter")


def telling_words(text: str, *, most: int) -> str:
    """The first `most` different words of a question that are no stop words, in order, lower case.

    A question of nothing but stop words ("who am I?") keeps them all; "" has no words at all.
    """
    words = list(dict.fromkeys(_WORD.findall(text.lower())))
    telling = [word for word in words if word not in STOP_WORDS]
    return " ".join((telling or words)[:most])


def plain_words(text: str) -> frozenset[str]:
    """The words of a text, lower case."""
    return _words_of(text) if len(text) <= STATEMENT_CHARACTERS else _words_of.__wrapped__(text)


@lru_cache(maxsize=2_000)  # what a question finds is compared with it, and with one another, several times
def _words_of(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.lower()))


def names_a_thing(text: str) -> bool:
    """Return whether a question asks for something, and not for whatever there was ("what happened?")."""
    return not plain_words(text) <= _MATTERLESS


def calls_for_nothing(text: str) -> bool:
    """Return whether a message only greets, thanks or tells to go on ("ok", "go on", "continue with the next step")."""
    return plain_words(text) <= THEMELESS_WORDS


def is_repeated(text: str, other: str) -> bool:
    """Return whether two texts have the same words in the same order."""
    return _WORD.findall(text.lower()) == _WORD.findall(other.lower())


def named_speaker(speakers: Collection[str], words: Collection[str]) -> str | None:
    """The one speaker whose first name is among the words of a question; None where it is none or several."""
    named = [speaker for speaker in speakers if set(speaker.lower().split()[:1]) & set(words)]
    return named[0] if len(named) == 1 else None
