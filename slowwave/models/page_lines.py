"""Stored text as a line of a page that agents read: `MEMORY.md`, and the block that stands in a prompt.

Such a page has a fence of tags around it, so that beside what `fenced_line` takes out no text may hold anything that
looks like the fence or ends a part of a prompt, however it is spelled: in letters of other alphabets, in wide or
mathematical forms, with joiners between the letters, escaped, or as a fence of code.
"""

import re
import unicodedata
from collections.abc import Callable
from typing import Final

from slowwave.models.fences import JOINERS, fenced_line

_LIKE: Final = str.maketrans(
    "\u0430\u03b1\u0435\u03b5\u04bd\u043e\u03bf\u0455\u04cf\u0406\u0456\u03b9\u051d\u0461\u03c9\u0432\u03bd\u0475"
    "\u0433\u0443\u03b3\u04af\u043c\u03bc"
    "\u2039\u203a\u27e8\u27e9\u3008\u3009\u2329\u232a\u2044\u2215\u29f8\u01c0\u2223\uff5c",
    "aaeeeooslliiwwwvvvryyymm<><><><>///|||",
)
"""Letters and signs of other alphabets that look like those of a tag."""

_ARE_SAME: Final = {"Pd": "-", "Pc": "-"}
"""Every dash, and every low line, is a hyphen."""

_APART = r"[\u200c\u200d\ufe00-\ufe0f\u0300-\u036f]*"
_FENCE_NAME = re.compile(
    _APART.join("slow")
    + rf"{_APART}[\W_]{{0,3}}{_APART}"
    + _APART.join("wave")
    + r"[\W_]{0,3}"
    + _APART.join("memory"),
    re.IGNORECASE,
)
_ENDS = re.compile(
    r"(?:<|&lt;|\\u003c|%3c)(?=/|[|!?]|(?:s|bos|eos|pad|unk|think\w*|tool\w*|function\w*|sys\w*|user|human|assistant"
    r"|instructions?|start_of_turn|end_of_turn|im_start|im_end|context|prompt|message)\b|<\s*/?\s*sys)"
    r"|\[(?=\s*/?\s*(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS)\s*\])",
    re.IGNORECASE,
)
"""The beginning of a tag that ends something, or that begins a turn, in whatever notation."""

_CODE = re.compile(r"`{3,}|~{3,}")
_HEADING = re.compile(r"^#{1,6}(?=\s|$)")
_MARKS = re.compile(r"[<\[&\\%]|`{3}|~{3}|^\s*#|slow", re.IGNORECASE)


def page_line(text: str) -> str:
    """Text in one line that can neither open, close nor forge a fence, a tag or a heading of the page."""
    if text.isascii() and text.isprintable() and not _MARKS.search(text):
        # most texts are of this kind, and the full cleaning takes far longer
        return " ".join(text.split())
    line = str(fenced_line(text))
    line = _broken(line, _FENCE_NAME, lambda _: "slowwave memory")
    line = _broken(line, _ENDS, lambda found: f"{found} ")
    line = _broken(line, _CODE, " ".join)
    return _broken(line, _HEADING, lambda found: f"\\{found}")


def _broken(line: str, pattern: re.Pattern[str], broken: Callable[[str], str]) -> str:
    """The line with every match broken, where it looks like one in plain letters."""
    plain = line if line.isascii() else "".join(map(_plain, line))
    told, position = list[str](), 0
    for match in pattern.finditer(plain):
        told += [line[position : match.start()], broken(match[0])]
        position = match.end()
    return " ".join("".join([*told, line[position:]]).split()) if told else line


def _plain(character: str) -> str:
    """The letter or sign of a keyboard that a character looks like; one character for each."""
    if character.isascii() or character in JOINERS:
        return character
    same = _ARE_SAME.get(unicodedata.category(character))
    return same or unicodedata.normalize("NFKD", character.lower())[:1].translate(_LIKE) or character
