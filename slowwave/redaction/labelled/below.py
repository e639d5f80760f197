"""Values that stand under a label: on the next line, in a column of a table, in a list, after a command that prints them."""

import re
from collections.abc import Iterator
from typing import Final

from slowwave.deferred import pattern
from slowwave.redaction.labelled.given import fits, fitting_at
from slowwave.redaction.labelled.labels import ABOUT, Label
from slowwave.redaction.labelled.written import line_end, line_start, value_at
from slowwave.redaction.shapes import is_identifier, is_mixed, is_mundane, is_strong, is_uuid
from slowwave.redaction.values import (
    SHORTEST_GIVEN,
    is_ordinary,
    is_random,
    is_reference,
    is_sentence,
    looks_chosen,
)

_LONGEST_LINE: Final = 400
_MOST_ROWS: Final = 200
_MOST_EMPTY: Final = 8
_RULE = pattern(r"[\s>]{0,8}[|+]?[\s:|+=─┼│├┤╞═╪╡╠╬╣┌┐└┘┬┴-]{3,400}")
_NEXT = pattern(
    r"(?P<rest>[^\n]{0,80}?)[:：=>→.)*`\"'_#\]]{0,4}[ \t]{0,8}(?:\|[ \t]?-?[ \t]*|>-?[ \t]*|[|>][+-]?[ \t]*)?\r?\n"
    r"(?:[ \t>|]{0,12}\r?\n){0,2}(?:[ \t>|]{0,12}(?:```|~~~)[^\n]{0,20}\n)?[ \t>|]{0,24}(?:[-*•$][ \t]{1,4}|\d{1,2}[.)][ \t]{1,4})?"
)
_FULL_LINE = pattern(r"[ \t]{0,8}(?:[\"'`”»|*,.]{0,4})[ \t]{0,8}(?:\r?\n|\Z)")
_PROMPT = pattern(
    r"[ \t>]{0,8}(?:[\w.@~:/\\ \[\]()-]{0,60}[$#%❯➜>][ \t]|(?:cat|echo|printenv|pass|op|gopass|bw|vault|kubectl|less|more|head|type)[ \t])"
)
_ENDS = pattern(
    r"[:：=→]\s*\Z|(?i:below|this|follows|following|unten|folgt|suivant|siguiente|seguente|seguinte|volgt|poniżej|here|now|\bis|\bist|\best|\bes|è|\bé|jest|lautet)[.:]?\s*\Z"
)


def below_spans(text: str, label: Label) -> Iterator[tuple[int, int]]:
    """Places of the values under a label."""
    if label.kind in ("login", "seed", "codes"):
        return
    start = line_start(text, label.name_start, _LONGEST_LINE)
    end = line_end(text, label.end, _LONGEST_LINE)
    line = text[start:end]
    yield from _next_line(text, label, line)
    if end >= len(text) or end - start >= _LONGEST_LINE:
        return
    if "<th" in text[max(0, label.start - 40) : label.start]:
        yield from _html_column(text, label)
    elif "|" in line or "│" in line:
        yield from _column(text, label, line, start, end, "|" if "|" in line else "│")
    elif separator := next((one for one in "\t;," if one in line), ""):
        yield from _column(text, label, line, start, end, separator)
    elif "  " in line.strip():
        yield from _aligned(text, label, line, start, end)


_OTHER_SETTING = pattern(r"[a-z_]{3,30}=[a-z0-9.-]+|[a-z]+(?:[._-][a-z]+)+=.*|[a-z-]+-token-[a-z0-9]{5}")
_ITEM = pattern(r"""\s*["'`][^"'`]*["'`],\s*""")
"""An item of a list: what stands under it is the next, and not its value."""


def _next_line(text: str, label: Label, line: str) -> Iterator[tuple[int, int]]:
    """A value alone on the line under its label, or what a command printed that names it."""
    following = _NEXT.match(text, label.name_end)
    if not following or _ITEM.fullmatch(line) or line.strip() == "pass":
        return
    is_heading = not following["rest"].strip(" \t:=*`\"'_#.)]>")
    is_prompt = bool(_PROMPT.match(line))
    if fitting := fitting_at(text, label, following.end()):
        yield fitting
        return
    is_title = is_heading or is_prompt or bool(_ENDS.search(line))
    if not is_title and len(line) > 70:
        return
    found = value_at(text, following.end())
    is_title = is_title or bool(
        found and not is_mundane(found.text) and is_mixed(found.text) and len(found.text) >= 16
    )
    if found and not is_title and not is_strong(found.text):
        return
    if not found or not _FULL_LINE.match(text, found.end):
        return
    value = found.text
    if fits(label, value) or _is_secret_alone(label, value, is_prompt=is_prompt):
        yield found.start, found.end


def _is_secret_alone(label: Label, value: str, *, is_prompt: bool) -> bool:
    if (
        is_ordinary(value)
        or is_reference(value, is_shell=False)
        or is_mundane(value)
        or value[0] in "@|"
        or value.endswith(":")
        or (value[0] in "-#" and not is_strong(value))
        or _OTHER_SETTING.fullmatch(value)
    ):
        return False
    if label.kind == "password" and looks_chosen(value):
        return True
    if label.kind == "password" and not is_prompt:
        return False
    return len(value) >= 12 and (
        is_random(value) if label.kind != "weak" else is_mixed(value) and not is_identifier(value)
    )


def _column(
    text: str, label: Label, line: str, start: int, end: int, separator: str
) -> Iterator[tuple[int, int]]:
    """The cells under a label that heads a column."""
    number = line.count(separator, 0, label.start - start)
    width = line.count(separator)
    cell = line.split(separator)[number].strip(" \t|│*`\"'")
    names_keys = number > line.startswith(("|", "│")) and cell.lower() == label.word
    if len(cell) > 40 or not _heads(line, separator):
        return
    position, is_table, empty = end + 1, separator in "|│", 0
    for row in range(_MOST_ROWS):
        row_end = line_end(text, position, 4 * _LONGEST_LINE)
        there = text[position:row_end]
        if row == 0 and is_table and not _RULE.fullmatch(there):
            return
        if not _RULE.fullmatch(there):
            count = there.count(separator)
            if count == 0 if is_table else count != width:
                return
            cells = list(_cell(text, label, position, there, separator, number, names_keys=names_keys))
            yield from cells
            empty = 0 if cells else empty + 1
        position = row_end + 1
        if position >= len(text) or empty >= _MOST_EMPTY:
            return


def _html_column(text: str, label: Label) -> Iterator[tuple[int, int]]:
    """The cells under a label that heads a column of an HTML table."""
    begin = max(text.rfind("<tr", max(0, label.start - 1000), label.start), 0)
    number = text.count("<th", begin, label.start)
    rows = re.compile(r"<tr[^>]{0,80}>(?P<row>(?:(?!</?tr)[^\0]){1,3000}?)</tr>").finditer(
        text, label.end, label.end + 20_000
    )
    for row in rows:
        cells = list(re.finditer(r"<td[^>]{0,80}>\s*(?:<\w+>)?(?P<cell>[^<]{1,200})", row["row"]))
        if len(cells) >= number > 0:
            start, stop = cells[number - 1].span("cell")
            yield from _in_cell(text, label, row.start("row") + start, row.start("row") + stop)


def _heads(line: str, separator: str) -> bool:
    """Return whether a line can be the head of a table: each cell a few words."""
    cells = [cell.strip(" \t>|│*`\"'#") for cell in line.split(separator)]
    return (
        all(len(cell) <= 40 and re.fullmatch(r"[\w .()/'’:#-]*", cell) for cell in cells)
        and sum(map(bool, cells)) > 1
        and not (separator in ",;" and ("(" in line or line.rstrip(' "').endswith((".", "{"))))
    )


def _cell(
    text: str, label: Label, position: int, row: str, separator: str, number: int, *, names_keys: bool
) -> Iterator[tuple[int, int]]:
    start = position
    for _ in range(number):
        start = text.find(separator, start, position + len(row)) + 1
    end = text.find(separator, start, position + len(row))
    end = position + len(row) if end < 0 else end
    yield from _in_cell(text, label, start, end, names_keys=names_keys)


def _in_cell(
    text: str, label: Label, start: int, end: int, *, names_keys: bool = False
) -> Iterator[tuple[int, int]]:
    """The value of a cell; with `names_keys` the head of a later column is a word for a key and nothing else."""
    raw = text[start:end]
    value = raw.strip(" \t\r\"'`*|")
    begin = start + raw.find(value)
    if fits(label, value):
        yield begin, begin + len(value)
        return
    if (
        not value
        or value.endswith(":")
        or _OTHER_SETTING.fullmatch(value)
        or is_ordinary(value)
        or is_reference(value, is_shell=False)
        or is_sentence(value)
        or is_mundane(value)
    ):
        return
    if label.kind == "password":
        is_secret = (
            len(value) >= SHORTEST_GIVEN
            and " " not in value
            and value.lower() not in ABOUT
            and (looks_chosen(value) or not value.isalpha() or len(value) >= 8)
        )
    elif label.kind == "weak":
        is_secret = (is_mixed(value) and not is_identifier(value)) or (
            names_keys and is_identifier(value) and len(value) >= 32 and not is_uuid(value)
        )
    else:
        is_secret = is_random(value)
    if is_secret:
        yield begin, begin + len(value)


def _aligned(text: str, label: Label, line: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """The cells under a label that heads a column of aligned text."""
    heads = [match.span() for match in re.finditer(r"\S+(?: \S+)*", line)]
    column = next((span for span in heads if span[0] <= label.start - start < span[1]), None)
    if column is None or len(heads) < 2 or any(head[1] - head[0] > 24 for head in heads):
        return
    position = end + 1
    for _ in range(_MOST_ROWS):
        row_end = line_end(text, position, _LONGEST_LINE)
        there = text[position:row_end]
        if not there.strip():
            return
        if not _RULE.fullmatch(there):
            cells = list(re.finditer(r"\S+(?: \S+)*", there))
            same = cells[heads.index(column)] if len(cells) == len(heads) else None
            cell = same or next(
                (one for one in cells if one.start() < column[1] and one.end() > column[0]), None
            )
            if cell:
                yield from _in_cell(text, label, position + cell.start(), position + cell.end())
        position = row_end + 1
        if position >= len(text):
            return
