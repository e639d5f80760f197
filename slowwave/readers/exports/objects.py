"""The objects of a long JSON array, one in memory at a time, whatever the size of the whole text."""

import json
import re
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

_TO_BRACKET: Final = re.compile(
    rb'[^{}\[\]"]*+(?:"[^"\\]*+(?:\\.[^"\\]*+)*+"[^{}\[\]"]*+)*+[{}\[\]]', re.DOTALL
)
"""Whole texts and all else, up to the next bracket outside texts."""

_WHOLE_TEXTS: Final = re.compile(rb'[^"]*+(?:"[^"\\]*+(?:\\.[^"\\]*+)*+"[^"]*+)*+', re.DOTALL)
_REST_OF_TEXT: Final = re.compile(rb'[^"\\]*+(?:\\.[^"\\]*+)*+', re.DOTALL)

_ABOVE: Final = (b"[", b"{[")
"""The brackets above an element: of an array that is the whole text, or a field of the whole object."""


class Element(NamedTuple):
    """An element of the array: its number from 1, its size in bytes, and its bytes; null where over the bound."""

    number: int
    size: int
    data: bytes | None
    is_ended: bool


class _Split:
    """The state of the reading between two blocks."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._above = b""
        """The first brackets that are open; more than two are only counted."""
        self._depth = 0
        self._outside = -1
        """The depth outside the open element; -1 where none is open."""
        self._is_text = False
        self._number = self._size = 0
        self._pieces: list[bytes] = []

    def elements(self, block: bytes) -> Iterator[Element]:
        """The elements that end in a block; `rest` has what must stand before the next one."""
        place = start = 0
        self.rest = b""
        while place < len(block):
            if self._is_text:
                place = _end(_REST_OF_TEXT, block, place)
                self._is_text = block[place : place + 1] != b'"'
                if self._is_text:
                    break  # at the end of the block, or at an escape that the block cuts
                place += 1
                continue
            found = _TO_BRACKET.match(block, place)
            if found is None:
                place = _end(_WHOLE_TEXTS, block, place)
                self._is_text = place < len(block)
                place += self._is_text
                continue
            place = found.end()
            if block[place - 1 : place] in b"{[":
                if self._opens(block[place - 1 : place]):
                    start = place - 1
            elif self._closes():
                yield self._taken(block[start:place], is_ended=True)
        self.rest = block[place:] if self._is_text else b""
        self._keep(block[start : len(block) - len(self.rest)])

    def last(self) -> Element | None:
        """The element that never ended, if there is one."""
        return self._taken(b"", is_ended=False) if self._outside >= 0 else None

    def _opens(self, bracket: bytes) -> bool:
        """Takes an opening bracket; returns whether an element begins with it."""
        is_element = (
            bracket == b"{"
            and self._outside < 0
            and self._depth == len(self._above)
            and self._above in _ABOVE
        )
        if is_element:
            self._outside = self._depth
        if self._depth == len(self._above) < 2:  # noqa: PLR2004 - the deepest place of an element
            self._above += bracket
        self._depth += 1
        return is_element

    def _closes(self) -> bool:
        """Takes a closing bracket; returns whether the open element ends with it."""
        self._depth = max(self._depth - 1, 0)
        self._above = self._above[: self._depth]
        return self._outside >= 0 and self._depth == self._outside

    def _keep(self, piece: bytes) -> None:
        if self._outside < 0:
            return
        self._size += len(piece)
        self._pieces.append(piece)
        if self._size > self._most:
            self._pieces.clear()

    def _taken(self, piece: bytes, *, is_ended: bool) -> Element:
        self._keep(piece)
        self._number += 1
        data = b"".join(self._pieces) if self._size <= self._most else None
        found = Element(self._number, self._size, data, is_ended)
        self._outside, self._size, self._pieces = -1, 0, []
        return found


def elements_of(blocks: Iterable[bytes], *, most: int) -> Iterator[Element]:
    """The objects of the array in a JSON text: the text itself, or a field of the object that the text is.

    Elements of more than `most` bytes are counted and not kept. What stands between the elements is not looked at.
    """
    split = _Split(most)
    rest = b""
    for block in blocks:
        yield from split.elements(rest + block)
        rest = split.rest
    if (cut := split.last()) is not None:
        yield cut


def fields_of(data: bytes) -> dict[str, object] | None:
    """The fields of an element; null where it is no JSON."""
    try:
        value: object = json.loads(data.decode("utf-8", "replace"), strict=False)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _end(pattern: re.Pattern[bytes], block: bytes, place: int) -> int:
    found = pattern.match(block, place)
    return found.end() if found else place
