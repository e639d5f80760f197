"""Codes of a list: recovery codes, and PINs that stand beside names, on the label's line or under it."""

import re
from collections.abc import Iterator
from typing import Final

from slowwave.deferred import pattern
from slowwave.redaction.labelled.labels import Label
from slowwave.redaction.labelled.written import line_end
from slowwave.redaction.shapes import is_mundane, word_share

_MOST: Final = 60
_REACH: Final = 140
_CODE = pattern(
    r"(?:[A-Za-z0-9]{3,12}(?:[-–][A-Za-z0-9]{3,12}){1,7}|\d{3,5} \d{3,5}(?=\s*(?:[,;/|•]|\n|\Z|\d{1,2}[.)]))"
    r"|[A-Za-z0-9]{5,16}|\d{3,5}(?: \d{3,5}){1,3}|[A-Za-z0-9]{4,6}(?: [A-Za-z0-9]{4,6}){1,3}|[A-Za-z0-9+/]{40,}={0,2})"
)
_GAP = pattern(
    r"(?:\s(?:and|und|et|y|e|en|i|or)\s)?(?:\[[ xX✓]?\](?=[ \t])|[\s,;|\"'`*•>\[\](){}:=/·✓✗☐☑-]){0,24}(?:\d{1,2}[.):][ \t]{1,4})?"
    r"[\s\"'`]{0,8}"
)
_OPENINGS: Final = tuple(
    map(
        pattern,
        (
            r"(?=\s|[\"'=:\[(])[\s\"'=:\[(]{1,8}",
            r"[^\n:]{0,60}:[ \t]{0,4}",
            r"[^\n]{0,80}\n",
            r"[^\n]{0,40}?\s(?:is|are|ist|sind|lautet|est|sont|es|son|è|sono|é|são|to|zijn)\s",
        ),
    )
)
"""What may stand between the label and the first of its codes: nothing, a colon, the rest of the line, a verb."""
_NAMED_PIN = pattern(r"[^\W\d_]{2,20}:?[ ](?P<code>\d{4,8}#?)(?=[,;.)\s]|\Z)")
_PINS = pattern(r"[:=]\s|\s[-–]\s")
_SPELLED = pattern(r"[^\n\d]{0,60}?[:\s](?P<code>\d(?: \d){3,9})(?![\d ]*\d)")


_BELOW = pattern(
    r"[^\n]{0,80}:[ \t]*\n(?:[ \t]*\n)?[ \t]{0,8}(?P<code>(?=[A-Z]*\d)[A-Z0-9]{4,8}|\d{3}[ -]\d{3})[ \t]*(?:\n|\Z)"
)


def code_spans(text: str, label: Label) -> Iterator[tuple[int, int]]:
    """Places of all codes of a list that a label names, and of digits between blanks."""
    if "codes" in label.kinds:
        yield from max((_row(text, start.end()) for start in _starts(text, label)), key=len, default=[])
    elif label.kind in ("pin", "code", "password"):
        end = line_end(text, label.name_end, _REACH)
        if label.kind != "password" and (below := _BELOW.match(text, label.name_end)):
            yield below.span("code")
            return
        if spelled := _SPELLED.match(text, label.name_end, end):
            yield spelled.span("code")
        elif label.kind == "pin" and (opened := _PINS.match(text, label.name_end)):
            named = list(_NAMED_PIN.finditer(text, opened.end(), end))
            yield from (one.span("code") for one in named)


def _starts(text: str, label: Label) -> Iterator[re.Match[str]]:
    for opening in _OPENINGS:
        if match := opening.match(text, label.name_end):
            yield match


def _row(text: str, position: int) -> list[tuple[int, int]]:
    """The codes that follow each other from a place on, with nothing but signs, numbers and boxes between them."""
    found: list[tuple[int, int]] = []
    while len(found) < _MOST:
        gap = _GAP.match(text, position)
        code = _CODE.match(text, gap.end() if gap else position)
        if not code or text[code.end() : code.end() + 1].isalnum() or not _is_code(code[0]):
            break
        found.append(code.span())
        position = code.end()
    is_list = len(found) > 1 or any("-" in text[start:end] or end - start > 7 for start, end in found)
    return found if is_list else []


def _is_code(value: str) -> bool:
    digits = sum(character.isdigit() for character in value)
    groups = re.split(r"[ –-]", value)
    is_even = len(groups) > 1 and len({len(group) for group in groups}) == 1 and word_share(value) <= 0.5
    return (
        is_even
        or (digits > 0 and not is_mundane(value))
        or (value.isupper() and len(value) >= 8)
        or value.isdigit()
    )
