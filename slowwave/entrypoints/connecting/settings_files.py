"""Our entries in the text of a settings file: added, found and removed; the values of all other entries stay.

JSON is parsed and written with an indent of 2, so hand-made layout survives only in the copy that `connection.py`
keeps. JSON with comments is refused, since no maintained library writes comments back.

TOML is edited as text, then parsed and compared. tomlkit 0.15.2 was tried on 5,860 files: where the tables of
`mcp_servers` are apart it damaged 96 of them (`command = 'npx'[[profiles]]`), and it drops comments below our table.
"""

import json
import re
import tomllib
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

from slowwave.entrypoints.connecting.agents import MODULE, PROGRAM, SERVER, SettingsFile, is_own, words_of
from slowwave.errors import InputError

SCRIPT_MARK = "// Slowwave for "
"""How a script that `connect` wrote begins."""

_OWN_TABLE = re.compile(
    rf"(?:(?<=\n)\r?\n)?^\[mcp_servers\.{SERVER}[\].][^\n]*\n?(?:\s*^[ \t]*[^\s\[#][^\n]*\n?)*", re.MULTILINE
)
"""Our table, or one below it, from the empty line before it to its last line that is not a comment."""


def text_with(settings: SettingsFile, text: str | None) -> str:
    """A file's text with our entries; unchanged if they are all there as they should be.

    Raises:
        InputError: the file cannot be parsed, or another program's entry has our name.
    """
    if settings.script:
        if text and not text.startswith(SCRIPT_MARK):
            raise InputError(f"{settings.path} exists already and is not ours: move it, then connect again")
        return settings.script
    text = text or ""
    try:
        document = _parsed(settings, text)
    except InputError as error:
        if _is_pasted(settings, text):
            return text
        raise InputError(
            f"{error}. Mend it; or, if it has comments, add this and connect again: "
            f"{json.dumps(_entries(settings), ensure_ascii=False)}"
        ) from error
    _add(document, settings)
    if document == _parsed(settings, text):
        return text
    return _toml_with(settings, text, document) if settings.is_toml else _rendered(document)


def text_without(settings: SettingsFile, text: str, copy: str | None) -> str | None:
    """A file's text without our entries; `None` if nothing else is left and no copy is there from before.

    The text of the copy comes back if nobody else has changed a value since.

    Raises:
        InputError: our entries are in a file that cannot be parsed.
    """
    if not own_entries(settings, text):
        return text
    if settings.script:
        return None
    document, original = _parsed(settings, text), values_of(settings, copy)
    _remove(document, settings, original)
    if settings.is_toml:
        left = _checked(settings, _OWN_TABLE.sub("", text), document)
        if copy is not None and left.rstrip() == copy.rstrip():  # a missing last line end
            return copy
        return None if copy is None and not left.strip() else left
    if document == settings.fixed and not original:
        document = {}
    if copy is not None and document == original:
        return copy
    return None if copy is None and not document else _rendered(document)


def own_entries(settings: SettingsFile, text: str | None) -> list[object]:
    """Our entries of this scope in a file: the MCP server's, then the handlers of hooks; a script is one.

    Raises:
        InputError: the file names our programs and cannot be parsed.
    """
    if settings.script:
        return [text] if text and text.startswith(SCRIPT_MARK) else []
    try:
        document = _parsed(settings, text or "")
    except InputError:
        if _is_pasted(settings, text or ""):
            return [settings.server, *(item for items in settings.hooks.values() for item in items)]
        if MODULE in (text or "") or PROGRAM in (text or ""):
            raise
        return []
    server = at(document, (*settings.table, SERVER)) if settings.server else None
    hooks = _own_hooks(document) if settings.hooks else {}
    return [*([server] if is_own(server) else []), *(one for handlers in hooks.values() for one in handlers)]


def has_own(settings: SettingsFile, text: str | None) -> bool:
    """Return whether an entry of ours is in a text, whatever its scope: some files serve several."""
    return settings.script != "" or _has_own(values_of(settings, text))


def _has_own(value: object) -> bool:
    if isinstance(value, dict):
        return is_own(value) or any(map(_has_own, value.values()))
    return isinstance(value, list) and any(map(_has_own, value))


def homes_in(entries: Iterable[object]) -> tuple[str, ...]:
    """The homes that entries name after `--home`, each once; a script's is not looked for."""
    named = [after for entry in entries for word, after in pairwise(words_of(entry)) if word == "--home"]
    return tuple(dict.fromkeys(named))


def preview(settings: SettingsFile) -> str:
    """Our entries as text, for `--dry-run`: it shows no value of others."""
    if settings.is_toml:
        return _toml_table(settings.server, "\n")
    return "" if settings.script else _rendered(_entries(settings))


def is_needless(settings: SettingsFile, copy: str | None, text: str | None) -> bool:
    """Return whether a copy holds nothing that our writing took from a text: neither values nor layout."""
    return (
        copy == text
        or settings.is_toml
        or _rendered(values_of(settings, copy)).strip() == (copy or "").strip()
    )


def values_of(settings: SettingsFile, text: str | None) -> dict[str, Any]:
    """The values of a text; empty if it cannot be parsed."""
    try:
        return {} if settings.script else _parsed(settings, text or "")
    except InputError:
        return {}


def _parsed(settings: SettingsFile, text: str) -> dict[str, Any]:
    text = text.removeprefix("\ufeff")
    try:
        if settings.is_toml:
            return tomllib.loads(text)
        value = json.loads(text, object_pairs_hook=_unique) if text.strip() else {}
    except (ValueError, RecursionError) as error:  # a JSONDecodeError and a TOMLDecodeError are a ValueError
        form = "TOML" if settings.is_toml else "plain JSON"
        raise InputError(
            f"{settings.path} is not {form} ({error}), so it can only be changed by hand"
        ) from error
    if not isinstance(value, dict):
        raise InputError(f"{settings.path} is not a JSON object, so it can only be changed by hand")
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object; a key that is there twice would lose one of its values."""
    values = dict(pairs)
    if len(values) < len(pairs):
        raise ValueError("an object has a key twice")
    return values


def _rendered(document: dict[str, Any]) -> str:
    """JSON as text; halves of characters, which JavaScript may cut, are written as escapes."""
    text = json.dumps(document, indent=2, ensure_ascii=False) + "\n"
    return re.sub("[\ud800-\udfff]", lambda half: f"\\u{ord(half[0]):04x}", text)


def _entries(settings: SettingsFile) -> dict[str, Any]:
    document: dict[str, Any] = {}
    _add(document, settings)
    return document


def _is_pasted(settings: SettingsFile, text: str) -> bool:
    """Return whether a user has added our entries to a file that cannot be parsed: all of their texts are in it."""
    quoted = re.findall(r'"(?:[^"\\]|\\.)*"', json.dumps(_entries(settings), ensure_ascii=False))
    return all(one in text for one in quoted)


def _add(document: dict[str, Any], settings: SettingsFile) -> None:
    """Add our entries to a document, in place of earlier ones; a server keeps fields that a user added.

    Raises:
        InputError: another program's server has our name, or a value of another kind is in the way.
    """
    if not document:
        document |= settings.fixed
    if settings.server:
        table = document
        for key in settings.table:
            table = _child(table, key, {}, settings)
        known = table.get(SERVER, settings.server)
        if not is_own(known):
            raise InputError(
                f"{settings.path} has a server named {SERVER} that `slowwave connect` did not write: "
                "rename or remove it, then connect again"
            )
        table[SERVER] = {**known, **settings.server}
    if settings.hooks and _own_hooks(document) != _own_hooks({"hooks": settings.hooks}):
        hooks = _child(document, "hooks", {}, settings)
        _drop_hooks(document)
        for event, items in settings.hooks.items():
            _child(hooks, event, [], settings).extend(items)


def _child(parent: dict[str, Any], key: str, empty: Any, settings: SettingsFile) -> Any:
    """A value of a document, made if it is not there."""
    value = parent.setdefault(key, empty)
    if not isinstance(value, type(empty)):
        kind = "an object" if empty == {} else "a list"
        raise InputError(f"{settings.path}: {key} is not {kind}. Mend the file, then try again")
    return value


def at(value: object, path: Sequence[str]) -> object:
    """The value at a path of keys, or None."""
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _split(items: object) -> tuple[list[Any], list[Any]]:
    """Our handlers in an event's list, and the list without them; a group keeps handlers that others added."""
    own, left = [], []
    for item in items if isinstance(items, list) else ():
        group = at(item, ("hooks",))
        handlers = group if isinstance(group, list) else [item]
        ours = [one for one in handlers if is_own(one)]
        theirs = [one for one in handlers if not is_own(one)]
        own += ours
        if theirs or not ours:
            left.append({**item, "hooks": theirs} if ours else item)
    return own, left


def _own_hooks(document: dict[str, Any]) -> dict[str, list[Any]]:
    """Our handlers by event, also of events that earlier versions used."""
    hooks = document.get("hooks")
    named = hooks.items() if isinstance(hooks, dict) else ()
    return {event: own for event, items in named if (own := _split(items)[0])}


def _drop_hooks(document: dict[str, Any]) -> None:
    for event in _own_hooks(document):
        document["hooks"][event] = _split(document["hooks"][event])[1]


def _remove(document: dict[str, Any], settings: SettingsFile, original: dict[str, Any]) -> None:
    """Remove our entries, and the objects and lists that are empty then and were not there before."""
    servers = at(document, settings.table)
    if settings.server and isinstance(servers, dict) and is_own(servers.get(SERVER)):
        del servers[SERVER]
    emptied = [settings.table]
    if settings.hooks:
        emptied += [("hooks", event) for event in _own_hooks(document)]
        _drop_hooks(document)
    for path in emptied:
        for length in range(len(path), 0, -1):
            inner, parent = path[:length], at(document, path[: length - 1])
            if isinstance(parent, dict) and at(document, inner) in ({}, []) and at(original, inner) is None:
                del parent[inner[-1]]


def _toml_table(server: dict[str, Any], newline: str) -> str:
    """Our table; JSON's texts, numbers and lists of texts are TOML's too."""
    simple = {key: value for key, value in server.items() if not isinstance(value, dict)}
    lines = [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in simple.items()]
    return newline.join([f"[mcp_servers.{SERVER}]", *lines, ""])


def _toml_with(settings: SettingsFile, text: str, document: dict[str, Any]) -> str:
    newline = "\r\n" if "\r\n" in text else "\n"
    base = _OWN_TABLE.sub("", text)
    lead = "" if not base else newline if base.endswith("\n") else newline * 2
    server = document["mcp_servers"][SERVER]
    document["mcp_servers"][SERVER] = {key: one for key, one in server.items() if not isinstance(one, dict)}
    return _checked(settings, base + lead + _toml_table(server, newline), document)


def _checked(settings: SettingsFile, text: str, document: dict[str, Any]) -> str:
    """A text of TOML, if it has the values that it should have.

    Raises:
        InputError: `mcp_servers` is written in a form that does not allow this edit.
    """
    values = values_of(settings, text)
    if {"mcp_servers": {}, **values} != {"mcp_servers": {}, **document}:
        raise InputError(
            f"{settings.path}: mcp_servers is written in a form that cannot be edited. "
            "Write its entries as [mcp_servers.name] tables, then try again"
        )
    return text
