"""Phrases and keys of wallets: known by the word list that they are drawn from, and by their checksum."""

import re
from collections.abc import Iterator
from hashlib import sha256
from importlib.resources import files
from typing import Final

from slowwave.deferred import pattern
from slowwave.language.lexicon import STOP_WORDS
from slowwave.redaction.labelled.labels import ABOUT

SEED_WORDS: Final = frozenset((files(__package__) / "seed_words.txt").read_text(encoding="ascii").split())
"""The 2048 English words of BIP-39; a phrase of any other list needs a label."""
_LENGTHS: Final = (12, 15, 18, 21, 24)
_SHORTEST: Final = 12
_REACH: Final = 1200
_BASE58: Final = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"

_GAP = pattern(r"(?:[\s,;|\"'`*_>\[\](){}/·-]|\\n){0,12}(?:(?:word\s?)?#?\d{1,2}[.):=]?[\s\"'`]{0,6})?")
_FOREIGN_GAP = pattern(r"(?:[\s,;|\"'`*>·-]|\\n){0,12}(?:(?:word\s?)?#?\d{1,2}[.):=]?[\s\"'`]{0,6})?")
_WORD = pattern(r"[^\W\d_]{3,8}(?![^\W\d_])")
_FOREIGN_WORD = pattern(r"[^\W\d_]{3,14}(?![^\W\d_])")
_RUN = pattern(
    r"[a-z](?<![a-z][a-z])[a-z]{2,7}(?:(?:[ ,\n\"'|;]|\\n){1,4}(?:\d{1,2}[.):]? {0,2})?[a-z]{3,8}(?![a-z])){7}",
    re.ASCII,
)
"""Eight short words with nothing but blanks, commas and numbers between them."""
_UNTIL_COLON = pattern(r"[^\n:]{0,100}?[:=\n][\s\"'`>*]{0,12}|[^\n]{0,20}?[\s\"'`=]{1,8}")


def seed_spans(text: str, lowered: str) -> Iterator[tuple[int, int]]:
    """Places of English seed phrases without a label: twelve words or more of the list in a row."""
    for match in _RUN.finditer(lowered):
        position = match.start()
        while position < match.end():
            words = _words_at(text, position, is_foreign=False)
            is_drawn = 2 * len({lowered[start:end] for start, end in words}) > len(
                words
            )  # few words come twice
            if len(words) >= _SHORTEST and is_drawn:
                yield words[0][0], words[-1][1]
                break
            position = (words[-1][1] if words else position) + 1
            while position < match.end() and lowered[position - 1].isalpha():
                position += 1


def labelled_phrase(text: str, position: int) -> tuple[int, int] | None:
    """The place of a seed phrase after its label, in any language; null where there is none."""
    opened = _UNTIL_COLON.match(text, position)
    for start in dict.fromkeys((opened.end() if opened else position, position)):
        words = _words_at(text, start, is_foreign=False)
        if len(words) >= _SHORTEST:
            return words[0][0], words[-1][1]
        if not text[max(0, start - 12) : start].rstrip(" \t\n\"'`>*").endswith((":", "=")):
            continue
        words = _words_at(text, start, is_foreign=True)
        if len(words) in _LENGTHS and text[words[0][0] : words[-1][1]].islower():
            return words[0][0], words[-1][1]
    return None


def _words_at(text: str, position: int, *, is_foreign: bool) -> list[tuple[int, int]]:
    """Places of the words of a phrase that begins at `position`, up to what is none of its words."""
    found: list[tuple[int, int]] = []
    limit = position + _REACH
    while len(found) < max(_LENGTHS) and position < limit:
        gap = (_FOREIGN_GAP if is_foreign else _GAP).match(text, position)
        start = gap.end() if gap else position
        word = (_FOREIGN_WORD if is_foreign else _WORD).match(text, start)
        if not word or (not is_foreign and word[0].lower() not in SEED_WORDS):
            break
        if is_foreign and (not word[0].islower() or word[0] in STOP_WORDS or word[0] in ABOUT):
            break
        if found and start == found[-1][1]:
            break
        found.append(word.span())
        position = word.end()
    return found


def has_checksum(value: str) -> bool:
    """Return whether the last four bytes of a number in base 58 are the hash of the others."""
    number = 0
    for character in value:
        number = number * 58 + _BASE58.index(character)
    raw = number.to_bytes((number.bit_length() + 7) // 8, "big")
    return sha256(sha256(raw[:-4]).digest()).digest()[:4] == raw[-4:]
