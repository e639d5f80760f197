"""Plain rules that tell small talk from what may be remembered, as columns: what neither rule knows is asked about."""

from typing import Final

import polars as pl

from slowwave.language.lexicon import (
    ANNOUNCING,
    DAY_WORDS,
    MONTHS,
    NUMBERS,
    PERSONAL,
    SMALL_TALK,
    TENS,
    WEEKDAYS,
)
from slowwave.language.text import straight_text

LONG_TURN = 25
"""Words from which a turn is not looked at closer: nobody says so much and nothing."""

STATEMENT = 6
"""Words of a turn in which somebody speaks of themselves, or names something, and says something of it."""

ANNOUNCEMENT = 14
"""Words of an announcement of the next step, at most; a longer one says why."""

_LETTERS: Final = r"[\p{L}\p{N}_']+"
_NUMBER = rf"\d|\b(?:{'|'.join([*NUMBERS[2:], *TENS])})\b"
_DATE = rf"\b(?:{'|'.join([*MONTHS, *WEEKDAYS, *DAY_WORDS])})\b"
_PERSON = rf"\b(?:{'|'.join(PERSONAL)})\b"
_PATH = r"\w[/\\]\w|\b\w+[_.]\w+\b|`[^`]+`"
_NAME = r"[\p{L}\p{N},;:'’)-]\s+\p{Lu}[\p{L}\p{N}-]+"
"""A capital within a sentence: at its beginning every word has one."""
_ANNOUNCES = rf"^(?:{'|'.join(ANNOUNCING)})\b"


def is_telling(text: pl.Expr) -> pl.Expr:
    """Return whether a turn is worth a closer look in any case.

    It is long, holds a number, a date or a path, or is of some words and names or concerns somebody.
    """
    plain = straight_text(text).str.strip_chars()
    count = _words(plain).list.len()
    is_about = plain.str.contains(_PERSON) | text.str.contains(_NAME)
    is_exact = plain.str.contains(_NUMBER) | plain.str.contains(_DATE) | text.str.contains(_PATH)
    return ((count >= LONG_TURN) | is_exact | (is_about & (count >= STATEMENT))).fill_null(value=False)


def is_small_talk(text: pl.Expr) -> pl.Expr:
    """Return whether a turn surely holds nothing: greetings, thanks, acknowledgements, the next step announced."""
    plain = straight_text(text).str.strip_chars()
    rest = _words(plain).list.set_difference(sorted(SMALL_TALK))
    is_announcement = plain.str.contains(_ANNOUNCES) & (_words(plain).list.len() <= ANNOUNCEMENT)
    return (rest.list.len() == 0) | (is_announcement & ~is_telling(text))


def _words(plain: pl.Expr) -> pl.Expr:
    return plain.str.extract_all(_LETTERS)
