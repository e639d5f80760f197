"""Sentences in which somebody says how things are to be done from then on, or asks to remember something.

English, German, French and Spanish. What only tells, what is asked, and an order for the matter at hand are none.
"""

import re
from collections.abc import Iterable
from typing import Final

from slowwave.language.lexicon import (
    AT_HAND,
    CHOOSING,
    HENCEFORTH,
    HENCEFORTH_FIRST,
    KEEP_IN_MIND,
    NO_ORDER,
    STANDING,
)
from slowwave.language.sentences import plain_sentences

ORDER_WORDS: Final = 16
"""Words of a sentence that chooses between two ways or forbids one, at most: a longer one tells of a matter."""

TELLING_LETTERS: Final = 5


def _any_of(words: Iterable[str]) -> str:
    return rf"(?:{'|'.join(map(re.escape, words))})"


_OPENER = (
    r"(?:(?:ok|okay|and|but|also|please|so|yes|no|remember|note|und|aber|bitte|et|mais|s'il \w+ plaît|y|pero|por favor)"
    r"[,.:]?\s+)*"
)
_WORDS = rf"{_any_of(STANDING)}\b(?!,?\s+{_any_of(NO_ORDER)}\b|[.!])"
_REMEMBER = rf"{_any_of(KEEP_IN_MIND)}(?::\s*\S|,?\s+(?:that|dass)\b|\s+(?:que|qu'|we|our)\b)"
_STANDING = re.compile(
    rf"^{_OPENER}(?:{_WORDS}|{_any_of(HENCEFORTH_FIRST)}\b|{_REMEMBER})"
    rf"|\b(?:please|you (?:should|must)|i want you to)\s+{_WORDS}"
    rf"|\b(?:i|we|[\w-]+ and i)\s+(?:\w+ly\s+)?prefer\b|^[\w-]+ prefers\b|\b{_any_of(HENCEFORTH)}\b"
)
_ORDER = re.compile(
    rf"^{_OPENER}(?:{_any_of(CHOOSING)}\b.+,\s*(?:(?:and|und|et|y)\s+)?(?:not|never|nicht|nie|kein\w*|pas|jamais|no|nunca)\s+\w"
    r"|(?:don't|do not)\b.+\b(?:unless|without asking)\b|(?:kein\w*|nicht)\b.+\b(?:es sei denn|außer|ohne zu fragen)\b"
    r"|(?:ne\s|n').+\b(?:sauf si|à moins|sans demander)\b|no\b.+\b(?:a menos que|salvo que|sin preguntar)\b)"
)
_AT_HAND = re.compile(rf"\b{_any_of(AT_HAND)}\b")

WISH_WORDS: Final = (
    " ".join(STANDING),
    HENCEFORTH[0],
    " ".join(
        word
        for phrase in (*HENCEFORTH[1:], *HENCEFORTH_FIRST, *KEEP_IN_MIND, "unless", "without asking")
        for word in re.findall(r"[^\W_]+", phrase)
        if len(word) >= TELLING_LETTERS
    ),
    "use not verwende nicht utilise pas usa no",
)
"""Words by which such sentences are looked up in full text: one list for each kind, so that none crowds out another."""


def is_standing(text: str) -> bool:
    """Return whether a text says, and does not ask, what is to be done or known from then on."""
    return any(
        not part.endswith("?") and (_STANDING.search(part) or _orders(part)) for part in plain_sentences(text)
    )


def _orders(sentence: str) -> bool:
    """Return whether a sentence orders one way and not the other, whatever the matter at hand."""
    is_short = len(sentence.split()) <= ORDER_WORDS
    return is_short and bool(_ORDER.search(sentence)) and not _AT_HAND.search(sentence)
