"""Sentences in which somebody says how things are to be done from then on, or what to remember, or takes that back.

English, German, French, Spanish and Portuguese. What only tells, what is asked, and an order for the matter at hand
are none.
"""

import re
from typing import Final

from slowwave.language.lexicon import STOP_WORDS, any_of, word_set, words
from slowwave.language.text import plain_sentences

ORDER_WORDS: Final = 16
"""Words of a sentence that chooses between two ways or forbids one, at most: a longer one tells of a matter."""

TELLING_LETTERS: Final = 5


_OPENER = (
    r"(?:(?:ok|okay|and|but|also|please|so|yes|no|remember|note|und|aber|bitte|et|mais|s'il \w+ plaît|y|pero"
    r"|por favor|e|mas)[,.:]?\s+)*"
)
_WORDS = rf"{any_of('standing')}\b(?!,?\s+{any_of('no_order')}\b|[.!])"
_REMEMBER = rf"{any_of('keep_in_mind')}(?::\s*\S|,?\s+(?:that|dass)\b|\s+(?:que|qu'|we|our)\b)"
_STANDING = re.compile(
    rf"^{_OPENER}(?:{_WORDS}|{any_of('henceforth_first')}\b|{_REMEMBER})"
    rf"|\b(?:please|you (?:should|must)|i want you to)\s+{_WORDS}"
    rf"|\b(?:i|we|[\w-]+ and i)\s+(?:\w+ly\s+)?prefer\b|^[\w-]+ prefers\b|\b{any_of('henceforth')}\b"
)
_ORDER = re.compile(
    rf"^{_OPENER}(?:{any_of('choosing')}\b.+,\s*(?:(?:and|und|et|y)\s+)?(?:not|never|nicht|nie|kein\w*|pas|jamais|no|nunca)\s+\w"
    r"|(?:don't|do not)\b.+\b(?:unless|without asking)\b|(?:kein\w*|nicht)\b.+\b(?:es sei denn|außer|ohne zu fragen)\b"
    rf"|{any_of('choosing')}\b\s+(?:(?!(?:and|und|et|y|e)\s)[^\W_]+\s+){{0,3}}?{any_of('standing_behind')}\b(?!,?\s+{any_of('no_order')}\b)"
    rf"|{any_of('never_again')}\s+(?!{any_of('no_order')}\b)\w|{any_of('giving_up')}\w|stop\s+\w+ing\s+\w"
    r"|(?:ne\s|n')\w+\s+(?:plus\s+)?jamais\b"
    r"|(?:ne\s|n').+\b(?:sauf si|à moins|sans demander)\b|no\b.+\b(?:a menos que|salvo que|sin preguntar)\b)"
)
_AT_HAND = re.compile(rf"\b{any_of('at_hand')}\b")

WISH_WORDS: Final = (
    " ".join(words("standing")),
    words("henceforth")[0],
    " ".join(
        word
        for phrase in (
            *words("henceforth")[1:],
            *words("henceforth_first"),
            *words("keep_in_mind"),
            "unless",
            "without asking",
        )
        for word in re.findall(r"[^\W_]+", phrase)
        if len(word) >= TELLING_LETTERS
    ),
    "use not verwende nicht utilise pas usa no",
    "stop ever again hör auf arrête cesse deja vuelvas deixa pare voltes",
)
"""Words by which such sentences are looked up in full text: one list for each kind, so that none crowds out another."""


WITHDRAWAL_WORDS: Final = (
    "take back rule",
    "forget ignore disregard what said about",
    "scrap retire retiro nehme zurück",
    "vergiss was über oublie ce que dit olvida lo que dije esquece disse sobre",
)
"""The same for sentences that withdraw a wish."""

_WITHDRAWN = re.compile(
    rf"\b{any_of('withdrawing')}\s+(?P<behind>[^.:;,!?()]+)|\btake\s+(?P<within>[^.:;,!?()]+?)\s+back\b"
    r"|\bnehme\s+(?P<before>[^.:;,!?()]+?)\s+zurück\b"
)
_REASON = re.compile(r"\s(?:because|since|as|now|weil|denn|parce|car|puisque|porque|ya que|pois)\b.*")


def is_standing(text: str) -> bool:
    """Return whether a text says, and does not ask, what is to be done or known from then on."""
    return any(
        not part.endswith("?") and (_STANDING.search(part) or _orders(part)) for part in plain_sentences(text)
    )


def withdrawn_matters(text: str) -> list[frozenset[str]]:
    """The telling words of each matter of which a text takes back a wish ("I take back the Friday rule": friday)."""
    found = list[frozenset[str]]()
    for sentence in plain_sentences(text):
        for match in () if sentence.endswith("?") else _WITHDRAWN.finditer(sentence):
            matter = _REASON.sub("", next(part for part in match.groups() if part))
            words = frozenset(re.findall(r"[^\W_]+", matter)) - STOP_WORDS - word_set("wish_nouns")
            found += [words] if words else []
    return found


def _orders(sentence: str) -> bool:
    """Return whether a sentence orders one way and not the other, whatever the matter at hand."""
    is_short = len(sentence.split()) <= ORDER_WORDS
    return is_short and bool(_ORDER.search(sentence)) and not _AT_HAND.search(sentence)
