"""Plain rules for turns that are surely small talk, as a column; about all others a model is asked."""

from typing import Final

import polars as pl

from slowwave.language.lexicon import MONTHS, NUMBERS, TENS, WEEKDAYS, any_of, word_set, words
from slowwave.language.text import straight_text

STATEMENT = 6
"""Words of a turn in which somebody speaks of themselves, or names something, and says something of it."""

ANNOUNCEMENT = 14
"""Words of an announcement of the next step, at most; a longer one says why."""

_LETTERS: Final = r"[\p{L}\p{N}_']+"
_NUMBER = rf"\d|\b(?:{'|'.join([*NUMBERS[2:], *TENS])})\b"
_DATE = rf"\b(?:{'|'.join([*MONTHS, *WEEKDAYS, *words('day_words')])})\b"
_PERSON = rf"\b{any_of('personal')}\b"
_PATH = r"\w[/\\]\w|\b\w+[_.]\w+\b|`[^`]+`"
_NAME = r"[\p{L}\p{N},;:'’)-]\s+\p{Lu}[\p{L}\p{N}-]+"
"""A capital within a sentence: at its beginning every word has one."""
_ANNOUNCES = rf"^(?:{'|'.join(words('announcing'))})\b"


def is_small_talk(text: pl.Expr) -> pl.Expr:
    """Return whether a turn surely holds nothing: greetings, thanks, acknowledgements, the next step announced.

    An announcement with a number, a date or a path, or of some words that name or concern somebody, may hold something.
    """
    plain = straight_text(text).str.strip_chars()
    said = plain.str.extract_all(_LETTERS)
    count = said.list.len()
    is_exact = plain.str.contains(_NUMBER) | plain.str.contains(_DATE) | text.str.contains(_PATH)
    is_about = (plain.str.contains(_PERSON) | text.str.contains(_NAME)) & (count >= STATEMENT)
    is_announcement = plain.str.contains(_ANNOUNCES) & (count <= ANNOUNCEMENT) & ~is_exact & ~is_about
    return (said.list.set_difference(sorted(word_set("small_talk"))).list.len() == 0) | is_announcement
