"""A scanner of JSON with comments that says where everything stands.

Settings of other programs are changed in place, so that comments, white space and number forms of their owners stay
as they are; for that each value needs its place in the text. Comments and a comma after the last entry are read,
since several harnesses allow them; whether this one does is for it to say.
"""

import json
import re
from bisect import bisect_right
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, NoReturn

from slowwave.errors import InputError

DEEPEST = 200
"""Levels of nesting that are read; no settings come near it, and Python's own stack ends at a thousand."""

_GAP = re.compile(r"(?:[ \t\r\n]+|//[^\r\n]*|/\*.*?\*/)*", re.DOTALL)
_STRING = re.compile(r'"[^"\\\x00-\x1f]*(?:\\.[^"\\\x00-\x1f]*)*"')
_SCALAR = re.compile(r"(?:-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)(?![\w.+-])")


@dataclass(frozen=True)
class Node:
    """A value from `start` up to `end`; an object and an array have children, a scalar its value."""

    kind: Literal["object", "array", "scalar"]
    start: int
    end: int
    children: tuple["Child", ...] = ()
    scalar: Any = None


@dataclass(frozen=True)
class Child:
    """An entry of an object or array. `start` is where its key or value begins, `comma` where the comma after it is."""

    key: str | None
    start: int
    node: Node
    comma: int | None


@lru_cache(maxsize=2)  # a change looks at the text before and after it several times, and it may be megabytes
def scan(text: str, name: str) -> Node | None:
    """The value of a document with the places of all its parts; None where there is nothing but space and comments.

    Raises:
        InputError: it is no JSON, also with comments; says the line and column in `name`.
    """
    begin = _gap(text, 0)
    if begin == len(text):
        return None
    root = _value(text, begin, name, 0)
    rest = _gap(text, root.end)
    if rest != len(text):
        _refuse(text, rest, name, "nothing more is expected here")
    return root


def plain(node: Node) -> object:
    """The value without its places, as `json.loads` gives it: of two entries with one key the last one counts."""
    if node.kind == "object":
        return {child.key: plain(child.node) for child in node.children}
    if node.kind == "array":
        return [plain(child.node) for child in node.children]
    return node.scalar


def child_at(node: Node | None, path: tuple[str | int, ...]) -> Node | None:
    """The value under keys and positions, or None."""
    for step in path:
        if node is None:
            return None
        if isinstance(step, int):
            items = node.children if node.kind == "array" else ()
            node = items[step].node if step < len(items) else None
        else:
            named = [child.node for child in node.children if child.key == step and node.kind == "object"]
            node = named[-1] if named else None
    return node


def place(text: str, offset: int) -> str:
    """`line 3, column 7` of an offset."""
    breaks = [found.end() for found in re.finditer(r"\r\n|\n|\r", text[:offset])]
    line = bisect_right(breaks, offset)
    return f"line {line + 1}, column {offset - (breaks[line - 1] if line else 0) + 1}"


def _refuse(text: str, offset: int, name: str, problem: str) -> NoReturn:
    raise InputError(f"{name}, {place(text, offset)}: {problem}. Mend the file, then try again.")


def _gap(text: str, offset: int) -> int:
    """The place after white space and comments."""
    found = _GAP.match(text, offset)
    return found.end() if found else offset


def _value(text: str, offset: int, name: str, depth: int) -> Node:
    if depth > DEEPEST:
        _refuse(text, offset, name, f"values are nested more than {DEEPEST} deep")
    opening = text[offset : offset + 1]
    if opening in ("{", "["):
        return _container(text, offset, name, depth)
    if opening == '"':
        end = _string_end(text, offset, name)
        return Node("scalar", offset, end, scalar=_decoded(text, offset, end, name))
    found = _SCALAR.match(text, offset)
    if not found:
        _refuse(text, offset, name, "a value is expected here")
    return Node("scalar", offset, found.end(), scalar=json.loads(found[0]))


def _container(text: str, start: int, name: str, depth: int) -> Node:
    kind: Literal["object", "array"] = "object" if text[start] == "{" else "array"
    closing = "}" if kind == "object" else "]"
    children: list[Child] = []
    offset = _gap(text, start + 1)
    while text[offset : offset + 1] != closing:
        if children and children[-1].comma is None:
            _refuse(text, offset, name, f"a comma or {closing} is expected here")
        begin, key = offset, None
        if kind == "object":
            key, offset = _key(text, offset, name)
        node = _value(text, offset, name, depth + 1)
        offset = _gap(text, node.end)
        comma = offset if text[offset : offset + 1] == "," else None
        children.append(Child(key, begin, node, comma))
        if comma is not None:
            offset = _gap(text, comma + 1)
    return Node(kind, start, offset + 1, tuple(children))


def _key(text: str, offset: int, name: str) -> tuple[str, int]:
    """A key and the place of its value."""
    if text[offset : offset + 1] != '"':
        _refuse(text, offset, name, "a name in double quotes or } is expected here")
    end = _string_end(text, offset, name)
    colon = _gap(text, end)
    if text[colon : colon + 1] != ":":
        _refuse(text, colon, name, "a colon is expected here")
    return _decoded(text, offset, end, name), _gap(text, colon + 1)


def _string_end(text: str, offset: int, name: str) -> int:
    found = _STRING.match(text, offset)
    if not found:
        _refuse(text, offset, name, "this text has no closing quote in its line")
    return found.end()


def _decoded(text: str, start: int, end: int, name: str) -> str:
    try:
        return str(json.loads(text[start:end]))
    except ValueError:
        _refuse(text, start, name, "this text has an escape that JSON does not know")
