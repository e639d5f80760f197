"""Values found once, elsewhere: the same value again, and others of its make beside it.

A password told in one line is repeated in the next; of a list of keys only the first stands behind its label.
"""

import re
from collections.abc import Iterator
from typing import Final

from slowwave.redaction.labelled.near import is_generated, is_invented, is_word_and_number
from slowwave.redaction.shapes import is_identifier, is_mixed, is_mundane
from slowwave.redaction.values import is_ordinary, is_reference

_SHORTEST: Final = 7
_SHORTEST_SIBLING: Final = 10
_WORDS_OF_PHRASE: Final = 3
_MOST: Final = 300
_REACH: Final = 300
_LONGEST: Final = 400
_WITH_SIBLINGS: Final = frozenset({"token", "secret", "recovery-code", "key", "aws", "azure"})


def again(text: str, places: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Other places of values that stand at `places` and are no plain words."""
    values = {text[start:end] for start, end in places if _SHORTEST <= end - start <= _LONGEST}
    for value in sorted(values, key=len, reverse=True)[:_MOST]:
        if not is_telling(value):
            continue
        position = text.find(value)
        while position >= 0:
            end = position + len(value)
            if _stands_alone(text, position, end) and (position, end) not in places:
                yield position, end
            position = text.find(value, end)


def is_telling(value: str) -> bool:
    """Return whether a value can be nothing else where it stands again: letters with digits or signs, a phrase."""
    if value.count(" ") >= _WORDS_OF_PHRASE and "\n" not in value:
        return True
    is_made = is_mixed(value) or is_generated(value) or is_invented(value) or is_word_and_number(value)
    return is_made and not is_ordinary(value) and not is_reference(value, is_shell=False)


def _stands_alone(text: str, start: int, end: int) -> bool:
    return not (text[start - 1 : start].isalnum() and text[start].isalnum()) and not (
        text[end : end + 1].isalnum() and text[end - 1].isalnum()
    )


def siblings(text: str, start: int, end: int, kind: str) -> Iterator[tuple[int, int]]:
    """Values behind a generated one that have its length and its signs, on its line and the three after it."""
    value = text[start:end]
    if kind not in _WITH_SIBLINGS or not is_mixed(value) or is_identifier(value) or "/" in value[:1]:
        return
    if not _SHORTEST_SIBLING <= len(value) <= _REACH // 2:
        return
    limit = _paragraph_end(text, end)
    for sibling in re.finditer(rf"(?<![\w/+=.-])[\w/+=.-]{{{len(value)}}}(?![\w/+=-])", text[end:limit]):
        other = sibling[0]
        if is_mixed(other) and _make(other) == _make(value) and not _is_public(other):
            yield end + sibling.start(), end + sibling.end()


def _paragraph_end(text: str, position: int) -> int:
    end = position
    for _ in range(4):
        found = text.find("\n", end + 1, position + _REACH)
        if found < 0:
            return min(len(text), position + _REACH)
        end = found
    return end


def _make(value: str) -> tuple[bool, bool, tuple[int, ...]]:
    """The make of a value: whether it has small and capital letters, and the places of its hyphens."""
    dashes = tuple(place for place, sign in enumerate(value) if sign == "-")
    return any(map(str.islower, value)), any(map(str.isupper, value)), dashes


def _is_public(value: str) -> bool:
    return is_identifier(value) or is_mundane(value) or is_ordinary(value)
