"""Changes to JSON text that touch nothing but the entry in question, and that undo each other byte by byte.

`insert` only adds characters, in the indentation and line ends of the text. `remove` takes out what `insert` put in,
wherever the entry stands by now and whatever else was changed since.
"""

import json
import re
from typing import Any

from slowwave.entrypoints.connecting.jsonc import Child, Node, child_at, place, scan
from slowwave.errors import InputError

Path = tuple[str | int, ...]

_REST_OF_LINE = re.compile(r"[ \t]*(?:/\*[^\r\n]*?\*/[ \t]*)*(?://[^\r\n]*)?(?=\r|\n)")
_NAMES = {"object": "an object", "array": "a list", "scalar": "a single value"}


def insert(text: str, path: tuple[str, ...], key: str | None, value: object, *, name: str) -> str:
    """The text with a value under `path`: as the entry `key` of an object, or at the end of a list for no key.

    Objects and the list on the way are made where they are missing.

    Raises:
        InputError: the text is no JSON, or something else stands in the way.
    """
    root = scan(text, name)
    if root is None:
        return text + _rendered(_wrapped(path, key, value), "", "  ", _newline(text)) + _newline(text)
    container, depth = _deepest(text, root, path, key, name)
    if depth < len(path):
        key, value = path[depth], _wrapped(path[depth + 1 :], key, value)
    return _with_entry(text, root, container, key, value)


def remove(text: str, path: Path, *, original: str | None, name: str) -> str:
    """The text without the entry at `path`, and without what became empty and is not in the `original` text.

    `original` is the text before anything was inserted, as far as it is known. What is emptied now and was empty there
    gets the white space that it had.
    """
    before = None if original is None else scan(original, name)
    while True:
        root = scan(text, name)
        container = child_at(root, path[:-1])
        if root is None or container is None:
            return text
        text = _without_child(text, container, _position(container, path[-1]))
        if len(container.children) > 1:
            return text
        path = path[:-1]
        was = child_at(before, path)
        if was is not None and original is not None:
            return _emptied(text, child_at(scan(text, name), path), original, was)
        if not path:
            return _without_root(text, name) if original is not None else text


def _deepest(text: str, root: Node, path: tuple[str, ...], key: str | None, name: str) -> tuple[Node, int]:
    """The last container on the path that is there, and how many steps lead to it."""
    node, depth = root, 0
    while True:
        wanted = "array" if depth == len(path) and key is None else "object"
        if node.kind != wanted:
            raise InputError(
                f"{name}, {place(text, node.start)}: {'.'.join(path[:depth]) or 'the document'} is "
                f"{_NAMES[node.kind]}, and {_NAMES[wanted]} is expected. Mend the file, then try again."
            )
        if depth == len(path):
            return node, depth
        named = [child for child in node.children if child.key == path[depth]]
        if len(named) > 1:
            raise InputError(
                f"{name}, {place(text, named[1].start)}: {path[depth]!r} is there twice. "
                "Mend the file, then try again."
            )
        if not named:
            return node, depth
        node, depth = named[0].node, depth + 1


def _with_entry(text: str, root: Node, container: Node, key: str | None, value: Any) -> str:
    """The text with an entry at the end of a container."""
    newline, unit = _newline(text), _unit(text, root)
    label = "" if key is None else f"{json.dumps(key, ensure_ascii=False)}: "
    inside = text[container.start : container.end]
    is_inline = bool(root.children) and not re.search(
        r"[\r\n]", inside if container.children else text.strip()
    )
    indent = _indent(text, container, unit)
    entry = label + (
        json.dumps(value, ensure_ascii=False) if is_inline else _rendered(value, indent, unit, newline)
    )
    if not container.children:
        after = container.start + 1
        if is_inline:
            return text[:after] + entry + text[after:]
        closing = "" if re.search(r"[\r\n]", inside) else newline + _line_indent(text, container.start)
        return text[:after] + newline + indent + entry + closing + text[after:]
    last = container.children[-1]
    lead = " " if is_inline else newline + indent
    if last.comma is not None:
        at = _line_end(text, last.comma + 1)
        return text[:at] + lead + entry + "," + text[at:]
    end, at = last.node.end, _line_end(text, last.node.end)
    return text[:end] + "," + text[end:at] + lead + entry + text[at:]


def _without_child(text: str, container: Node, index: int) -> str:
    """The text without one entry and with the commas that the others need."""
    child = container.children[index]
    before: Child | None = container.children[index - 1] if index else None
    end = child.node.end if child.comma is None else child.comma + 1
    if before is None or before.comma is None:
        return text[: container.start + 1] + text[end:]
    start = _line_end(text, before.comma + 1)
    kept = text[: before.comma] + text[before.comma + 1 : start] if child.comma is None else text[:start]
    return kept + text[end:]


def _emptied(text: str, node: Node | None, original: str, was: Node) -> str:
    """The text with an emptied container as it was when it was empty before, else without space in it."""
    if node is None or node.children:
        return text
    inside, before = text[node.start + 1 : node.end - 1], original[was.start + 1 : was.end - 1]
    if not was.children and inside.split() == before.split():
        inside = before
    elif not inside.strip():
        inside = ""
    return text[: node.start + 1] + inside + text[node.end - 1 :]


def _without_root(text: str, name: str) -> str:
    """The text without its empty value and the line end behind it, for a file that had none."""
    root = scan(text, name)
    if root is None:
        return text
    return text[: root.start] + re.sub(r"\A(?:\r\n|\n)", "", text[root.end :])


def _position(container: Node, step: str | int) -> int:
    if isinstance(step, int):
        return step
    return max(index for index, child in enumerate(container.children) if child.key == step)


def _wrapped(path: tuple[str, ...], key: str | None, value: Any) -> Any:
    made: Any = [value] if key is None else {key: value}
    for step in reversed(path):
        made = {step: made}
    return made


def _line_end(text: str, offset: int) -> int:
    """The end of the line, where only a comment or space is left of it; else the place itself."""
    found = _REST_OF_LINE.match(text, offset)
    return found.end() if found else offset


def _newline(text: str) -> str:
    found = re.search(r"\r?\n", text)
    return found[0] if found else "\n"


def _line_indent(text: str, offset: int) -> str:
    """White space at the begin of the line of an offset."""
    begin = max(text.rfind("\n", 0, offset), text.rfind("\r", 0, offset)) + 1
    found = re.compile(r"[ \t]*").match(text, begin)
    return found[0] if found else ""


def _own_line(text: str, offset: int) -> str | None:
    """White space before an entry that begins its line; None where something stands before it."""
    begin = max(text.rfind("\n", 0, offset), text.rfind("\r", 0, offset)) + 1
    return text[begin:offset] if begin and not text[begin:offset].strip(" \t") else None


def _unit(text: str, root: Node) -> str:
    """One step of indentation: that of the first entry of the document."""
    first = _own_line(text, root.children[0].start) if root.children else None
    return first or "  "


def _indent(text: str, container: Node, unit: str) -> str:
    """Indentation of an entry of a container: that of the entries there, else one step more than its own line."""
    own = [_own_line(text, child.start) for child in container.children]
    known = [indent for indent in own if indent is not None]
    return known[-1] if known else _line_indent(text, container.start) + unit


def _rendered(value: Any, indent: str, unit: str, newline: str) -> str:
    lines = json.dumps(value, indent=unit, ensure_ascii=False).split("\n")
    return (newline + indent).join(lines)
