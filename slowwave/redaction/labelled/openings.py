"""Digits that open something: a door, a safe, a phone, named in the same sentence, in any order of words.

Two witnesses are needed: a thing that opens, and right before the digits a word for a code or for typing one. Their
words stand in `labels.toml`.
"""

import re
from collections.abc import Iterator
from functools import cache
from itertools import chain
from typing import Final

from slowwave.deferred import pattern
from slowwave.redaction.labelled.labels import TABLE, alternatives

_REACH: Final = 140
_BEFORE: Final = 64
_STOP = pattern(r"[.!?;](?=\s)|\n")
_DIGITS = pattern(
    r"(?<![\w.,:/$€£#@=+%-])(?:[AB]?\d{4,8}[AB]?[#*]?|\d{2,4}(?:[ -]\d{2,4}){1,3}[#*]?)(?![\w%°€$£@]|[.,:/-]\d)"
    rf"(?!\s?(?i:{TABLE['opening']['units']})\b)"
)
_BETWEEN: Final = r"[\"'`”*_)]{0,3}[ ]{0,3}(?:[:=→–-][ ]{0,3})?(?:[^\W\d_]{1,14}['’]?[ ]{1,2}){0,%d}(?:[:=→(–-][ ]{0,2})?[\"'`“„(*_]{0,3}\Z"
_OTHER_CODE = pattern(TABLE["opening"]["other_codes"])
_OTHER_NUMBER = pattern(rf"(?:{TABLE['opening']['other_numbers']})[ ]?\Z")
_YEAR = pattern(r"(?:19|20)\d\d")


@cache
def _words() -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    """Patterns of things that open, and of a word for a code and a verb right before the digits."""
    table = {kind: list(chain(*TABLE["opening"][kind].values())) for kind in ("things", "codes", "verbs")}
    code, verb = "|".join(map(re.escape, table["codes"])), "|".join(map(re.escape, table["verbs"]))
    return (
        alternatives(table["things"]),
        re.compile(rf"(?:{code})" + _BETWEEN % 5),
        re.compile(rf"\b(?:{verb})" + _BETWEEN % 3),
    )


def opening_spans(text: str, lowered: str) -> Iterator[tuple[int, int]]:
    """Places of digits in sentences that name what they open; `lowered` is the text in lower case."""
    things, *_ = _words()
    done = 0
    for thing in things.finditer(lowered):
        if thing.start() < done:
            continue
        start, end = _sentence(text, thing.start())
        begin, done = max(start, done), end
        for digits in _DIGITS.finditer(text, begin, end):
            if _opens(lowered, start, digits.start(), digits[0]):
                yield digits.span()


def _sentence(text: str, position: int) -> tuple[int, int]:
    start, end = max(0, position - _REACH), min(len(text), position + _REACH)
    for stop in _STOP.finditer(text, start, end):
        if stop.start() >= position:
            return start, stop.start()
        start = stop.end()
    return start, end


def _opens(lowered: str, start: int, position: int, value: str) -> bool:
    """Return whether the words right before digits say that they open something."""
    _, code, verb = _words()
    begin = max(start, position - _BEFORE)
    before = lowered[begin:position]
    if _OTHER_NUMBER.search(before):
        return False
    if named := code.search(before):
        return not _OTHER_CODE.search(before, max(0, named.start() - 20), named.start()) and (
            named.end() - named.start() <= 16 or not _YEAR.fullmatch(value)
        )
    return bool(verb.search(before))
