"""Our entries in the text of a settings file: added, found and removed; the values of all other entries stay.

JSON is parsed and written with an indent of 2, so a layout made by hand survives in the copy beside alone. JSON with
comments is refused, since no maintained library writes comments back.

TOML is edited as text, then parsed and compared. tomlkit 0.15.2 was tried on 5,860 files: where the tables of
`mcp_servers` are apart it damaged 96 of them (`command = 'npx'[[profiles]]`), and it drops comments below our table.
"""

import json
import re
import tomllib
from collections.abc import Sequence
from typing import Any

from slowwave.errors import InputError
from slowwave.interfaces.hooks.agents import SERVER, Entry
from slowwave.interfaces.hooks.entries import Wanted

_OURS = re.compile(
    r"""["']-m["'],\s*["']slowwave["'],\s*["']mcp["']|slowwave[/\\]+interfaces[/\\].*hook\.py"""
)
"""What makes an entry ours: the module that serves MCP, or the hook program."""

_SCRIPT_MARK = "// Slowwave for "
"""How a script that `connect` wrote begins."""

_OWN_TABLE = re.compile(
    rf"(?:(?<=\n)\r?\n)?^\[mcp_servers\.{SERVER}[\].][^\n]*\n?(?:\s*^[ \t]*[^\s\[#][^\n]*\n?)*", re.MULTILINE
)
"""Our table, or one below it, from the empty line before it to its last line that is not a comment."""


def entries_of(file: Wanted) -> str:
    """The entries alone, in one line of JSON."""
    return "" if file.script else json.dumps(_add({}, file), ensure_ascii=False)


def text_with(file: Wanted, text: str) -> str:
    """A file's text with our entries; unchanged if they are all there as they should be, or were added by hand.

    Raises:
        InputError: the file cannot be parsed, or another program's entry has our name.
    """
    if file.script:
        if text and not text.startswith(_SCRIPT_MARK):
            raise InputError(f"{file.path} exists already and is not ours: move it, then connect again")
        return file.script
    try:
        before = values_of(file, text)
    except InputError as error:
        if is_own(text):
            return text
        hint = f"mend it; or, if it has comments, add this and connect again: {entries_of(file)}"
        raise InputError(f"{error}: {hint}") from error
    document = _add(values_of(file, text), file)
    if document == before:
        return text
    return _toml_with(file, text, document) if _is_toml(file) else _rendered(document)


def text_without(file: Wanted, text: str, copy: str | None) -> str:
    """A file's text without our entries, "" if nothing else is left; the copy, where its values are the same.

    Raises:
        InputError: our entries are in a file that cannot be parsed.
    """
    if not own_entries(file, text):
        return text
    document = _remove(values_of(file, text), file)
    if copy is not None and _bare(values_of(file, copy)) == _bare(document):
        return copy
    if document in ({}, file.fixed):
        return ""
    return _checked(file, _OWN_TABLE.sub("", text), document) if _is_toml(file) else _rendered(document)


def own_entries(file: Wanted, text: str) -> list[object]:
    """Our entries in a file: the MCP server's, then the handlers of hooks; a script is one.

    Raises:
        InputError: the file names our programs and cannot be parsed.
    """
    if file.script or not is_own(text):
        return [text] * text.startswith(_SCRIPT_MARK)
    document = values_of(file, text)
    server, hooks = _at(document, (*file.table, SERVER)), _at(document, ("hooks",)) if file.hooks else None
    lists = hooks.values() if isinstance(hooks, dict) else ()
    return [
        *[server] * (bool(file.server) and is_own(server)),
        *(one for items in lists for one in _split(items)[0]),
    ]


def is_own(value: object) -> bool:
    """Return whether an MCP server's entry, a hook or a text is, or holds, what `connect` wrote."""
    return bool(_OURS.search(value if isinstance(value, str) else json.dumps(value, default=str)))


def values_of(file: Wanted, text: str) -> Entry:
    """The values of a file; none of a script.

    Raises:
        InputError: it is no TOML, or no object of plain JSON.
    """
    text = "" if file.script else text.removeprefix("\ufeff")
    try:
        if _is_toml(file):
            return tomllib.loads(text)
        value = json.loads(text) if text.strip() else {}
    except (ValueError, RecursionError) as error:
        form = "TOML" if _is_toml(file) else "plain JSON"
        raise InputError(f"{file.path} is not {form} ({error}), so it is changed by hand alone") from error
    if not isinstance(value, dict):
        raise InputError(f"{file.path} is not a JSON object, so it is changed by hand alone")
    return value


def _is_toml(file: Wanted) -> bool:
    return file.path.suffix == ".toml"


def _rendered(document: Entry) -> str:
    """JSON as text; halves of characters, which JavaScript may cut, become the escapes that JSON has for them."""
    return (
        json.dumps(document, indent=2, ensure_ascii=False).encode("utf-8", "backslashreplace").decode() + "\n"
    )


def _add(document: Entry, file: Wanted) -> Entry:
    """The document with our entries in place of earlier ones; a server keeps fields that a user added.

    Raises:
        InputError: another program's server has our name, or a value of another kind is in the way.
    """
    known = _at(document, (*file.table, SERVER)) if file.server else None
    if known is not None and not is_own(known):
        raise InputError(
            f"{file.path} has a server named {SERVER} that `slowwave connect` did not write: "
            "rename or remove it, then connect again"
        )
    document = _remove(document, file) or {**file.fixed}
    if file.server:
        table = document
        for key in file.table:
            table = _child(table, key, {}, file)
        table[SERVER] = {**(known or {}), **file.server}
    for event, items in file.hooks.items():
        _child(_child(document, "hooks", {}, file), event, [], file).extend(items)
    return document


def _remove(document: Entry, file: Wanted) -> Entry:
    """The document without our entries, and without the objects and lists above them that are empty then."""
    paths, hooks = [file.table], _at(document, ("hooks",)) if file.hooks else None
    if isinstance(servers := _at(document, file.table), dict) and is_own(servers.get(SERVER)):
        del servers[SERVER]
    if isinstance(hooks, dict):
        for event, items in hooks.items():
            hooks[event] = _split(items)[1]
            paths.append(("hooks", event))
    for path in paths:
        for length in range(len(path), 0, -1):
            parent = _at(document, path[: length - 1])
            if isinstance(parent, dict) and parent.get(path[length - 1]) in ({}, []):
                del parent[path[length - 1]]
    return document


def _bare(value: Any) -> Any:
    """A value without what is empty in it: adding and removing entries may cost empty objects and lists."""
    if isinstance(value, list):
        return [_bare(one) for one in value]
    if not isinstance(value, dict):
        return value
    return {key: bare for key, one in value.items() if (bare := _bare(one)) not in ({}, [])}


def _child(parent: Entry, key: str, empty: Any, file: Wanted) -> Any:
    """A value of a document, made if it is not there."""
    value = parent.setdefault(key, empty)
    if not isinstance(value, type(empty)):
        kind = "an object" if empty == {} else "a list"
        raise InputError(f"{file.path}: {key} is not {kind}. Repair the file, then try again")
    return value


def _at(value: object, path: Sequence[str]) -> Any:
    """The value at a path of keys, or None."""
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _split(items: Any) -> tuple[list[object], Any]:
    """Our handlers in an event's list, and the list without them; a group keeps handlers that others added."""
    own, left = [], []
    for item in items if isinstance(items, list) else ():
        group = _at(item, ("hooks",))
        handlers = group if isinstance(group, list) else [item]
        theirs = [one for one in handlers if not is_own(one)]
        own += [one for one in handlers if is_own(one)]
        if theirs or not handlers:
            left.append({**item, "hooks": theirs} if isinstance(group, list) else item)
    return own, left if isinstance(items, list) else items


def _toml_with(file: Wanted, text: str, document: Entry) -> str:
    """The text with our table at its end; JSON's texts, numbers and lists of texts are TOML's too."""
    newline = "\r\n" if "\r\n" in text else "\n"
    base = _OWN_TABLE.sub("", text)
    lead = "" if not base else newline if base.endswith("\n") else newline * 2
    server = {key: one for key, one in document["mcp_servers"][SERVER].items() if not isinstance(one, dict)}
    document["mcp_servers"][SERVER] = server
    lines = [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in server.items()]
    return _checked(file, base + lead + newline.join([f"[mcp_servers.{SERVER}]", *lines, ""]), document)


def _checked(file: Wanted, text: str, document: Entry) -> str:
    """A text of TOML, if it has the values that it should have.

    Raises:
        InputError: `mcp_servers` is written in a form that does not allow this edit.
    """
    if {"mcp_servers": {}, **values_of(file, text)} != {"mcp_servers": {}, **document}:
        raise InputError(
            f"{file.path}: mcp_servers is written in a form that cannot be edited. "
            "Write its entries as [mcp_servers.name] tables, then try again"
        )
    return text
