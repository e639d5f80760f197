"""Values split over lines: the text as it reads when the pieces are put together again, and the way back.

Concatenated strings, lines that go on after a backslash, folded blocks of YAML, and a token that was wrapped.
"""

import re
from bisect import bisect_right
from dataclasses import dataclass

from slowwave.deferred import pattern

_BEFORE = r"[\w+/=.!@#$%^&*-]"
_GLUE = pattern(
    rf"(?:(?P<mark>[\"'])(?<={_BEFORE}[\"'])[ \t]{{0,20}}(?:[+.&]|\|\||\.\.|<>)?[ \t]{{0,20}}\\?(?:[ \t]{{0,8}}\r?\n[ \t>|]{{0,60}})?"
    rf"(?:[+.&]|\|\||\.\.|<<)?[ \t]{{0,20}}[brfu]?(?P=mark)|[\\`^](?<={_BEFORE}[\\`^])\r?\n[ \t]{{0,60}})(?={_BEFORE})"
)
_FOLDED = pattern(
    r"(?P<name>[\w.\"'-]{1,80}:[ \t]{0,4})[>|][+-]?\d?[ \t]{0,4}\r?\n(?P<indent>[ \t]{1,32})(?P<lines>\S{4,200}(?:\r?\n(?P=indent)\S{1,200}){0,40})(?=\r?\n|\Z)"
)
_AROUND = 400
_ESCAPES = pattern(r"\\{1,3}(?=\")|\x1b\[[\d;]{0,12}[mK]")
_BREAKS = pattern(r"(?<!\\)\\n|(?<!\\)\\{2}n")

_WRAP = pattern(
    r"\n(?:(?<=[A-Za-z0-9_+/=.-]{12}\n)|(?<=[A-Za-z0-9_+/=.-]{12}\r\n))[ \t>|]{0,24}(?=[A-Za-z0-9_+/=.-]{4,}(?:[\s\"'`,;)]|\Z))"
)


@dataclass(frozen=True)
class Joined:
    """A text with pieces left out; `starts` and `shifts` lead from a place in it to the one in the whole text."""

    text: str
    starts: list[int]
    shifts: list[int]

    def place(self, position: int) -> int:
        """The place in the whole text of a character of this one."""
        return position + self.shifts[bisect_right(self.starts, position) - 1]

    def span(self, start: int, end: int) -> tuple[int, int]:
        """The span in the whole text, which takes in what was left out between its ends."""
        return self.place(start), self.place(end - 1) + 1

    def is_joined(self, start: int, end: int) -> bool:
        """Return whether something was left out between these places."""
        return self.place(end - 1) - self.place(start) != end - 1 - start


def join_strings(text: str) -> Joined | None:
    """The text with the pieces of split strings put together; null where none is split."""
    gaps = [match.span() for match in _GLUE.finditer(text)]
    for match in _FOLDED.finditer(text):
        gaps.append((match.end("name"), match.start("lines")))
        lines, at = match["lines"], match.start("lines")
        gaps += [(at + gap.start(), at + gap.end()) for gap in re.finditer(r"\r?\n[ \t]*", lines)]
    return _without(text, sorted(gaps))


def escaped_lines(text: str) -> list[tuple[int, int]]:
    """The lines with escaped quotes, several escaped line breaks or colours, those beside each other as one."""
    kept: list[tuple[int, int]] = []
    if '\\"' not in text and "\\n" not in text and "\x1b[" not in text:
        return kept
    start = 0
    for line in text.split("\n"):
        end = start + len(line)
        if '\\"' in line or "\x1b[" in line or line.count("\\n") > 1:
            if kept and kept[-1][1] == start - 1:
                start = kept.pop()[0]
            kept.append((start, end))
        start = end + 1
    return kept


def unescape(text: str) -> Joined:
    """The text without the backslashes before its quotes and without colours, its line breaks as such."""
    broken = _BREAKS.sub(lambda match: "\n".rjust(len(match[0])), text)
    return _without(broken, [match.span() for match in _ESCAPES.finditer(broken)]) or Joined(broken, [0], [0])


def near_gaps(joined: Joined) -> list[tuple[int, int]]:
    """The lines in which something was left out and those around them, in the joined text."""
    kept: list[tuple[int, int]] = []
    text = joined.text
    for start in joined.starts[1:]:
        if kept and start + _AROUND < kept[-1][1]:
            continue
        begin = text.rfind("\n", max(0, start - 2 * _AROUND), max(0, start - _AROUND)) + 1
        begin = begin or max(0, start - 2 * _AROUND)
        end = text.find("\n", start + _AROUND, start + 2 * _AROUND)
        end = min(len(text), start + 2 * _AROUND) if end < 0 else end
        if kept and begin <= kept[-1][1]:
            begin = kept.pop()[0]
        kept.append((begin, end))
    return kept


def join_wrapped(text: str) -> Joined | None:
    """The text with words put together that may be one word, broken at the end of a line; null where there is none."""
    return _without(text, [match.span() for match in _WRAP.finditer(text)])


def only(text: str, kept: list[tuple[int, int]]) -> Joined:
    """The text of the kept spans alone, a line break after each."""
    pieces, starts, shifts, length = [], [], [], 0
    for start, end in kept:
        starts.append(length)
        shifts.append(start - length)
        pieces += [text[start:end], "\n"]
        length += end - start + 1
    return Joined("".join(pieces), starts, shifts)


def _without(text: str, gaps: list[tuple[int, int]]) -> Joined | None:
    if not gaps:
        return None
    pieces, starts, shifts = [], [0], [0]
    done = length = 0
    for start, end in gaps:
        if start < done:
            continue
        pieces.append(text[done:start])
        length += start - done
        starts.append(length)
        shifts.append(end - length)
        done = end
    return Joined("".join([*pieces, text[done:]]), starts, shifts)
