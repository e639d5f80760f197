"""Pass phrases: four plain words or more that make no sentence."""

import re
from collections.abc import Iterator
from typing import Final

from slowwave.deferred import pattern
from slowwave.language.lexicon import STOP_WORDS
from slowwave.redaction.labelled.labels import ABOUT, LABEL_WORDS, Label
from slowwave.redaction.labelled.written import line_end, line_start

_WORD = pattern(r"[^\W\d_]{3,12}")
_SEPARATOR = pattern(r" (?! )")
_NAMES_PHRASE = pattern(r"phrase|frase|fraza|satz|zin\b|parole|diceware|vault")
_REACH: Final = 200
_LONGEST_NAME: Final = 16
_LEAST: Final = 4
_MOST: Final = 10
_END = pattern(r"[\"'`”»“]?[.!]?[ \t]*(?=\r?\n|\Z)")
_QUOTES: Final = {'"': '"', "'": "'", "`": "`", "“": "”", "„": "“", "«": "»"}
_OPENING = pattern(
    r"(?:[ \t]{0,4}\([^)\n]{1,40}\))?(?:[^\n:]{0,60}(?::|\b(?:is|ist|lautet|est|es|è|é|jest|to|below|this))[ \t]*\r?\n[ \t>]{0,8}(?=[a-z])|[ \t]{1,8}(?=[\"'`“„«])|[ \t]*[:=→]?[ \t]*(?:[|>][+-]?\d?)?[ \t]*\r?\n[ \t>=*•\"'`“„«-]{0,8}|[ \t]*[:=→][ \t]*(?P<colon>)|[ \t]{2,40}|\t)"
)


def phrase_spans(text: str, label: Label) -> Iterator[tuple[int, int]]:
    """The place of a pass phrase after a label: in quotes, in the next column, on the next line."""
    if label.kind != "password" or not (opened := _OPENING.match(text, label.name_end)):
        return
    is_heading = label.name_start - line_start(text, label.name_start, _REACH) <= _LONGEST_NAME
    if opened["colon"] is not None and not (is_heading or _NAMES_PHRASE.search(label.word)):
        return
    position = opened.end() - (text[opened.end() - 1 : opened.end()] in _QUOTES)
    if phrase := phrase_alone(text, position, line_end(text, position, _REACH)):
        yield phrase


def phrase_within(text: str, position: int, limit: int) -> tuple[int, int] | None:
    """The place of the first words in a row, on a line that answers a question, that make no sentence."""
    row: list[re.Match[str]] = []
    for word in _WORD.finditer(text, position, limit):
        is_next = not row or text[row[-1].end() : word.start()] in (" ", "-")
        is_drawn = word[0].islower() and word[0] not in STOP_WORDS and word[0] not in ABOUT
        if row and not (is_next and is_drawn):
            if len(row) >= _LEAST:
                break
            row = []
        row += [word] if is_drawn else []
    return (row[0].start(), row[-1].end()) if len(row) >= _LEAST else None


def phrase_alone(text: str, position: int, limit: int) -> tuple[int, int] | None:
    """The place of a pass phrase that is all from `position` to the end of its line, but for quotes.

    One of its words may be one with which people speak about secrets, since it was drawn from a list.
    """
    begin = at = position + (text[position : position + 1] in _QUOTES)
    words = doubtful = 0
    while word := _WORD.match(text, at, limit):
        if not word[0].islower() or word[0] in STOP_WORDS:
            return None
        doubtful += word[0] in ABOUT or word[0] in LABEL_WORDS
        words += 1
        at = word.end()
        gap = _SEPARATOR.match(text, at, limit)
        if not gap:
            break
        at = gap.end()
    closing = _QUOTES.get(text[position : position + 1]) if begin > position else None
    is_whole = text[at : at + 1] == closing if closing else bool(_END.match(text, at))
    if not _LEAST <= words <= _MOST or doubtful > 1 or not is_whole:
        return None
    return begin, at
