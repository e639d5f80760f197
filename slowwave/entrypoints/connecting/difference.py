"""The difference that a change makes to a settings file, without the values of other people's entries."""

import difflib
import re
from collections.abc import Iterator
from itertools import takewhile

from slowwave.entrypoints.connecting.changes import Change, own_paths
from slowwave.entrypoints.connecting.harnesses import SERVER, SettingsFile
from slowwave.entrypoints.connecting.jsonc import Node, child_at, scan
from slowwave.entrypoints.connecting.toml_edits import TOKEN, headers

_AROUND = 2
"""Lines shown around a change. They are not ours: a token may stand in them."""

_LONGEST_LINE = 240
_LONGEST_ADDED = 4_000
"""Settings may stand on one line: of what is added more is shown, from where it begins to differ."""

_TEXT_OR_COMMENT = re.compile(r'"(?:[^"\\]|\\.)*"|//[^\r\n]*|/\*.*?\*/', re.DOTALL)
_LEFT_OUT = '"..."'
_OWN_TABLE = ("mcp_servers", SERVER)


def difference(settings: SettingsFile, change: Change) -> str:
    """A unified difference in which texts of other entries are `"..."`."""
    path = str(change.file.path)
    before = _masked(settings, change.file.text, path).splitlines()
    after = _masked(settings, change.after or "", path).splitlines()
    names = (path if change.file.is_there else "/dev/null", path if change.after is not None else "/dev/null")
    lines = difflib.unified_diff(before, after, *names, n=_AROUND, lineterm="")
    return "\n".join(_cut(line, before) for line in lines)


def _cut(line: str, before: list[str]) -> str:
    """A line of the difference; of a long one that is added, what it has beyond the line that it replaces."""
    if len(line) <= _LONGEST_LINE:
        return line
    if not line.startswith("+"):
        return f"{line[:_LONGEST_LINE]}..."
    same = max((_same_start(line[1:], old) for old in before), default=0)
    start = max(0, same - _LONGEST_LINE // 2)
    added = line[1:][start:]
    return f"+{'...' if start else ''}{added[:_LONGEST_ADDED]}{'...' if len(added) > _LONGEST_ADDED else ''}"


def _same_start(one: str, other: str) -> int:
    """Characters that both begin with."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def _masked(settings: SettingsFile, text: str, name: str) -> str:
    if settings.kind == "json":
        return _masked_json(settings, text, name)
    return _masked_toml(text) if settings.kind == "toml" else text


def _masked_json(settings: SettingsFile, text: str, name: str) -> str:
    root = scan(text, name)
    if root is None:
        return text
    own = [node for path in own_paths(settings, root) if (node := child_at(root, path))]
    values = set(_texts(root))

    def shown(found: re.Match[str]) -> str:
        if found[0].startswith("/"):
            return f"{found[0][:2]} ..." + ("" if found[0].startswith("//") else " */")
        is_ours = any(node.start <= found.start() < node.end for node in own)
        return _LEFT_OUT if found.start() in values and not is_ours else found[0]

    return _TEXT_OR_COMMENT.sub(shown, text)


def _texts(node: Node) -> Iterator[int]:
    """Places of all texts that are values."""
    if isinstance(node.scalar, str):
        yield node.start
    for child in node.children:
        yield from _texts(child.node)


def _masked_toml(text: str) -> str:
    """The text without comments and values of others, which may go over several lines; names of tables stay."""
    heads = headers(text)
    ends = [*(start for _, start in heads[1:]), len(text)]
    own = [(start, end) for (path, start), end in zip(heads, ends, strict=False) if path[:2] == _OWN_TABLE]
    names = [(start, start + len(text[start:].partition("\n")[0])) for _, start in heads]

    def shown(found: re.Match[str]) -> str:
        kind, spans = found[0][0], own if found[0][0] == "#" else [*own, *names]
        if kind not in "#\"'" or any(start <= found.start() < end for start, end in spans):
            return found[0]
        return "# ..." if kind == "#" else _LEFT_OUT

    return TOKEN.sub(shown, text)
