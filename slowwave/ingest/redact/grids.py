"""Tables and lists: the cells under the name of a secret, and the codes behind it."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from slowwave.ingest.redact import looks
from slowwave.ingest.redact.labels import Label
from slowwave.ingest.redact.values import fits

_MOST_ROWS: Final = 200
_LONGEST_LINE: Final = 2000
_DELIMITERS: Final = ("|", "\t", ";", ",")
_GAP = re.compile(r"[ ]{2,}")
_RULE = re.compile(r"[\s|:=+-]+")
_CODE = re.compile(r"(?<![\w-])(?=[\w-]{0,40}\d)[A-Za-z0-9]{3,12}(?:[-][A-Za-z0-9]{3,12}){0,5}(?![\w-])")
_CODE_SIGN = re.compile(r"[(){}=<>]|: |[.,:;] *$")
_MOST_CODES: Final = 40
_MOST_WORDS: Final = 3
"""Words of a cell in the head of a table; a line with longer ones is text."""


def columns(text: str, labels: Sequence[Label]) -> Iterator[tuple[int, int, str]]:
    """The cells under a cell that is a label, with the kind of it, down to the first line with another number of cells."""
    done = 0
    for label in labels:
        if label.start < done or label.kind in ("seed", "codes"):
            continue
        begin = text.rfind("\n", max(0, label.start - _LONGEST_LINE), label.start) + 1
        head = _line(text, begin)
        split = next((sign for sign in _DELIMITERS if sign in head), "")
        cells = _cells(head, begin, split)
        column = next(
            (at for at, cell in enumerate(cells) if cell[0] <= label.start and label.end <= cell[1]), None
        )
        is_head = all(len(text[slice(*cell)].split()) <= _MOST_WORDS for cell in cells)
        if column is None or len(cells) < 2 or not is_head or _CODE_SIGN.search(head):
            continue
        place = begin + len(head) + 1
        for _ in range(_MOST_ROWS):
            row = _line(text, place)
            found, is_rule = _cells(row, place, split), bool(_RULE.fullmatch(row))
            if not row.strip() or (len(found) != len(cells) and not is_rule):
                break
            done = place = place + len(row) + 1
            if not is_rule and _is_secret(text[slice(*found[column])], label):
                yield *found[column], label.mark


def _is_secret(value: str, label: Label) -> bool:
    if label.kind == "password":
        return looks.is_given(value) and " " not in value and len(value) > 3
    if label.kind == "pin":
        return value.isdigit() and 3 <= len(value) <= 10
    return fits(value, label)


def _line(text: str, start: int) -> str:
    end = text.find("\n", start, start + _LONGEST_LINE)
    return text[start : end if end >= 0 else start + _LONGEST_LINE]


def _cells(line: str, at: int, split: str) -> list[tuple[int, int]]:
    """Places of the cells of a line without the blanks and quotation marks around them."""
    gaps = [
        (found.start(), found.end())
        for found in (re.finditer(re.escape(split), line) if split else _GAP.finditer(line))
    ]
    borders = [0, *(border for gap in gaps for border in gap), len(line)]
    cells = []
    for start, end in zip(borders[::2], borders[1::2], strict=True):
        cell = line[start:end]
        begin = start + len(cell) - len(cell.lstrip(" \t\"'`*"))
        cells.append((at + begin, at + max(begin, start + len(cell.rstrip(" \t\"'`*")))))
    return cells


def codes(text: str, label: Label) -> Iterator[tuple[int, int]]:
    """The codes of a list behind its name, on the same line or on those after it."""
    place, count = label.end, 0
    while count < _MOST_CODES and place < len(text):
        line = _line(text, place)
        found = [code for code in _CODE.finditer(text, place, place + len(line)) if len(code[0]) > 4]
        rest = _CODE.sub("", line) if place > label.end else ""
        if place > label.end and line.strip() and (not found or len(re.findall(r"[^\W\d_]{2,}", rest)) > 1):
            return
        yield from (code.span() for code in found)
        count += 1
        place += len(line) + 1
