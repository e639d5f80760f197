"""A table at the end of a TOML file, put in and taken out as text, so that nothing else of the file changes."""

import json
import re
import tomllib
from typing import Any

from slowwave.errors import InputError

Path = tuple[str, ...]

TOKEN = re.compile(
    r'"""(?:[^\\]|\\.)*?"{3,5}|\'\'\'.*?\'{3,5}|"(?:[^"\\\r\n]|\\.)*"|\'[^\'\r\n]*\'|#[^\r\n]*|[\[\]{}]|\r?\n',
    re.DOTALL,
)
"""Texts, comments, brackets and line ends of a document; what stands between them is nothing of these."""

_HEADER = re.compile(r"[ \t]*(\[\[?)([^\r\n]*?)(\]\]?)[ \t]*(?:#[^\r\n]*)?(?=\r?\n|\Z)")


def read_toml(text: str, name: str) -> dict[str, Any]:
    """The values of a document.

    Raises:
        InputError: it is no TOML; says where in `name`.
    """
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise InputError(f"{name}: {_told(error)}. Mend the file, then try again.") from error


def append_table(text: str, path: Path, values: dict[str, str | int | list[str]], *, name: str) -> str:
    """The text with a table at its end, one empty line after what is there.

    Raises:
        InputError: the text is no TOML, or what is there leaves no room for such a table.
    """
    known = read_toml(text, name)
    newline = "\r\n" if "\r\n" in text else "\n"
    lines = [
        f"[{'.'.join(path)}]",
        *(f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in values.items()),
    ]
    ends_in_line = not text or text.endswith("\n")
    lead = newline if text else ""
    table = lead + ("" if ends_in_line else newline) + newline.join(lines) + (newline if ends_in_line else "")
    try:
        made = tomllib.loads(text + table)
    except tomllib.TOMLDecodeError as error:
        kind = path[0]
        raise InputError(
            f"{name}: {kind} is written in a form to which no table can be added ({_told(error)}). "
            f"Write its entries as [{kind}.name] tables, then try again."
        ) from error
    for step in path[:-1]:
        made, known = made[step], known.get(step, {})
    if {key for key in made if key != path[-1]} != set(known):
        raise InputError(f"{name}: a table {'.'.join(path)} at its end would hide others")
    return text + table


def remove_table(text: str, path: Path, *, name: str) -> str:
    """The text without a table and those below it, and without the empty line that `append_table` put before it."""
    read_toml(text, name)
    while True:
        heads = headers(text)
        found = next((index for index, (own, _) in enumerate(heads) if own[: len(path)] == path), None)
        if found is None:
            return text
        start = heads[found][1]
        end = heads[found + 1][1] if found + 1 < len(heads) else len(text)
        text = _cut(text, start, _content_end(text, start, end))


def _cut(text: str, start: int, end: int) -> str:
    """The text without the lines from `start`, and without one line end before them and one after."""
    before, after = text[:start], text[end:]
    following = re.match(r"\r?\n", after)
    if following:
        after = after[following.end() :]
        return re.sub(r"(\A|\n)\r?\n\Z", r"\1", before) + after
    return re.sub(r"\r?\n\r?\n\Z", "", before) + after


def _content_end(text: str, start: int, end: int) -> int:
    """The end of the last line of a table that is neither empty nor a comment, without its line end."""
    ends = [found.end() for found in re.finditer(r"^[ \t]*[^\s#][^\r\n]*", text[start:end], re.MULTILINE)]
    return start + ends[-1]


def headers(text: str) -> list[tuple[Path, int]]:
    """Each table's path with the place of its line, in order."""
    depth, at_line_start, offset = 0, True, 0
    heads: list[tuple[Path, int]] = []
    while offset < len(text):
        head = _HEADER.match(text, offset) if at_line_start and depth == 0 else None
        if head:
            heads.append((_header_path(head[2]), offset))
            offset, at_line_start = head.end(), False
            continue
        found = TOKEN.match(text, offset)
        mark = found[0] if found else text[offset]
        depth += (mark in ("[", "{")) - (mark in ("]", "}"))
        at_line_start = mark in ("\n", "\r\n") or (at_line_start and mark in " \t")
        offset += len(mark)
    return heads


def _header_path(words: str) -> Path:
    value: Any = tomllib.loads(f"[{words.strip()}]")
    path: list[str] = []
    while isinstance(value, dict) and value:
        (key, value), *_ = value.items()
        path.append(key)
    return tuple(path)


def _told(error: Exception) -> str:
    """The parser's complaint as part of a sentence."""
    return re.sub(r"^(\w)", lambda found: found[1].lower(), str(error) or "it is nested too deep").rstrip(".")
