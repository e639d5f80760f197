"""The difference that a change makes to a settings file, without the values of other people's entries."""

import difflib
import re

from slowwave.entrypoints.connecting.changes import Change, own_paths
from slowwave.entrypoints.connecting.harnesses import SERVER, SettingsFile
from slowwave.entrypoints.connecting.jsonc import Node, child_at, scan

_AROUND = 2
"""Lines shown around a change. They are not ours: a token may stand in them."""

_LONGEST_LINE = 240
_TEXT = re.compile(r'"(?:[^"\\]|\\.)*"|\'[^\']*\'')
_LEFT_OUT = '"..."'


def difference(settings: SettingsFile, change: Change) -> str:
    """A unified difference in which texts of other entries are `"..."`."""
    path = str(change.file.path)
    before = _masked(settings, change.file.text, path)
    after = _masked(settings, change.after or "", path)
    names = (path if change.file.is_there else "/dev/null", path if change.after is not None else "/dev/null")
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), *names, n=_AROUND, lineterm="")
    return "\n".join(line if len(line) <= _LONGEST_LINE else f"{line[:_LONGEST_LINE]}..." for line in lines)


def _masked(settings: SettingsFile, text: str, name: str) -> str:
    if settings.kind == "json":
        return _masked_json(settings, text, name)
    return _masked_toml(text) if settings.kind == "toml" else text


def _masked_json(settings: SettingsFile, text: str, name: str) -> str:
    root = scan(text, name)
    if root is None:
        return text
    own = [node for path in own_paths(settings, root) if (node := child_at(root, path))]
    made, at = "", 0
    for start, end in _texts(root):
        if not any(node.start <= start < node.end for node in own):
            made, at = made + text[at:start] + _LEFT_OUT, end
    return made + text[at:]


def _texts(node: Node) -> list[tuple[int, int]]:
    """Begin and end of every text that is a value, in their order."""
    if isinstance(node.scalar, str):
        return [(node.start, node.end)]
    return [span for child in node.children for span in _texts(child.node)]


def _masked_toml(text: str) -> str:
    is_own, made = False, []
    for line in text.splitlines(keepends=True):
        if line.lstrip().startswith("["):
            is_own = line.lstrip().startswith(f"[mcp_servers.{SERVER}")
            made.append(line)
        else:
            made.append(line if is_own else _TEXT.sub(_LEFT_OUT, line))
    return "".join(made)
