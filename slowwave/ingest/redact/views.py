"""A text as it is read: without the signs that a carrier puts around its lines, and with a way back.

Numbers of lines, quotation marks of mail, prefixes of logs, colours, escapes of JSON and HTML. Marks become one sign each, so
that nothing is found inside of them.
"""

import html
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

MARK: Final = re.compile(r"\[redacted:(?P<kind>[a-z0-9-]{1,60})\]")
SIGN: Final = "\ue000"
"""What stands for a mark."""
_PREFIX: Final = re.compile(
    r"""(?mx)^[ \t]{0,8}(?:
      \d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d\S{0,8}[ \t]+(?:[A-Z]{3,8}[ \t]+)?(?:\[[^\]\n]{1,40}\][ \t]?)?   # a log
      | [\w.-]{1,30}-\d{1,3}[ \t]{1,12}\|[ \t]? | [\w./-]{1,80}\.\w{1,5}:\d{1,6}:[ \t]?                    # compose, grep
      | \d{1,6}(?:→|\t|:[ \t]|[ ]\|[ ]) | (?:>[ ]?){1,4} | \+(?![+\d]) | \#{1,3}[ ] | //[ ])"""
)
_ESCAPE: Final = re.compile(r"\\{1,3}(?P<sign>[\"'nrt/])|\\u00(?P<code>[0-7][0-9a-fA-F])")
_ENTITY: Final = re.compile(r"&(?:quot|amp|lt|gt|apos|nbsp|#\d{1,5}|#x[0-9a-fA-F]{1,4});")
_COLOUR: Final = re.compile(r"\x1b\[[\d;]{0,12}[A-Za-z]")
_BREAKS: Final = {"n": "\n", "r": "\r", "t": "\t"}
_LINE_BREAK: Final = re.compile(r"\r\n")


@dataclass(frozen=True, slots=True)
class View:
    """A text with pieces of another replaced: `starts` are places in it, `spans` where the same piece lies in the other."""

    text: str
    starts: list[int]
    spans: list[tuple[int, int, bool]]

    def span(self, start: int, end: int) -> tuple[int, int]:
        """The span in the other text, which takes in what was left out between its ends."""
        return self._place(start)[0], self._place(end - 1)[1]

    def _place(self, place: int) -> tuple[int, int]:
        number = bisect_right(self.starts, place) - 1
        begin, end, is_kept = self.spans[number]
        at = begin + place - self.starts[number]
        return (at, at + 1) if is_kept else (begin, end)


def as_read(text: str) -> View | None:
    """The text without what its carrier put into it; null where there is nothing."""
    edits = sorted(_edits(text))
    return replaced(text, edits) if edits else None


def replaced(text: str, edits: Iterable[tuple[int, int, str]]) -> View:
    """The text with each span (start, end, what stands there instead) replaced; one that overlaps another is left out."""
    pieces: list[str] = []
    starts, spans, done, length = [], [], 0, 0
    for start, end, instead in edits:
        if start < done:
            continue
        for piece, span in ((text[done:start], (done, start, True)), (instead, (start, end, False))):
            if piece:
                pieces.append(piece)
                starts.append(length)
                spans.append(span)
                length += len(piece)
        done = end
    starts.append(length)
    spans.append((done, len(text), True))
    return View("".join([*pieces, text[done:]]), starts, spans)


def _edits(text: str) -> Iterator[tuple[int, int, str]]:
    if "\\" in text:
        start = 0
        for line in text.split("\n"):
            if '\\"' in line or line.count("\\n") > 1 or ("\\n" in line and '":' in line):
                for found in _ESCAPE.finditer(text, start, start + len(line)):
                    yield (
                        *found.span(),
                        chr(int(found["code"], 16))
                        if found["code"]
                        else _BREAKS.get(found["sign"], found["sign"]),
                    )
            start += len(line) + 1
    if "[redacted:" in text:
        yield from ((*mark.span(), SIGN) for mark in MARK.finditer(text))
    if "&" in text:
        yield from ((*found.span(), html.unescape(found[0])[:1]) for found in _ENTITY.finditer(text))
    if "\x1b[" in text:
        yield from ((*found.span(), "") for found in _COLOUR.finditer(text))
    if "\r\n" in text:
        yield from ((*found.span(), "\n") for found in _LINE_BREAK.finditer(text))
    yield from ((*found.span(), "") for found in _PREFIX.finditer(text))
