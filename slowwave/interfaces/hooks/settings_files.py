"""Our entries in a settings file: added, found and removed; the values of all other entries stay.

JSON is parsed and written with an indent of 2. JSON with comments is refused, since no maintained library writes
comments back.

TOML is edited as text, then parsed and compared. tomlkit 0.15.2 was tried on 5,860 files: where the tables of
`mcp_servers` are apart it damaged 96 of them (`command = 'npx'[[profiles]]`), and it drops comments below our table.
"""

import errno
import json
import re
import stat
import tomllib
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from slowwave.errors import InputError
from slowwave.interfaces.hooks.agents import SERVER, Entry, SettingsFile
from slowwave.whole_file import PRIVATE, read_plain, write_whole

_OURS = re.compile(
    r"""["']-m["'],\s*["']slowwave["'],\s*["']mcp["']|slowwave[/\\]+interfaces[/\\].*hook\.py"""
)
"""What makes an entry ours: the module that serves MCP, or the hook program."""

_OWN_TABLE = re.compile(
    rf"(?:(?<=\n)\r?\n)?^\[mcp_servers\.{SERVER}[\].][^\n]*\n?(?:\s*^[ \t]*[^\s\[#][^\n]*\n?)*", re.MULTILINE
)
"""Our table, or one below it, from the empty line before it to its last line that is not a comment."""


def read_text(path: Path) -> str:
    """The text of a file, "" if there is none.

    Raises:
        InputError: it is not text in UTF-8, or cannot be read.
    """
    try:
        return read_plain(path).decode("utf-8-sig") if path.exists() else ""
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not text in UTF-8 (byte {error.start + 1}): save it as UTF-8") from error
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from error


def replace_text(path: Path, text: str, *, like: Path | None = None) -> None:
    """Replace a file at once, or the one that a link leads to; without any text it is removed.

    It has the mode and owner of the file before, or of the file `like`.

    Raises:
        InputError: it is read-only, or cannot be written.
    """
    target = path.resolve()
    try:
        if target.exists() and not target.stat().st_mode & stat.S_IWUSR:  # to replace it would succeed
            raise PermissionError(errno.EACCES, "it is read-only")
        if text:
            write_whole(target, text.encode(), mode=PRIVATE, like=like or target)
        else:
            path.unlink()
            with suppress(OSError):  # others have files there
                path.parent.rmdir()
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror}") from error


def is_own(value: object) -> bool:
    """Return whether an MCP server's entry, a hook or a text is, or holds, what `connect` wrote."""
    return bool(_OURS.search(value if isinstance(value, str) else json.dumps(value, default=str)))


def entries_of(file: SettingsFile) -> str:
    """The entries alone, in one line of JSON."""
    return "" if file.script else json.dumps(_with_entries(file, {}), ensure_ascii=False)


def add_entries(file: SettingsFile, text: str) -> str:
    """A file's text with our entries in place of earlier ones; unchanged if they are all there, or were pasted.

    Raises:
        InputError: the file cannot be parsed, or another program's entry has our name.
    """
    if file.script:
        if text and not is_own(text):
            raise InputError(f"{file.path} exists already and is not ours: move it, then connect again")
        return file.script
    try:
        document = _parsed(file, text)
    except InputError as error:
        if is_own(text):
            return text
        hint = f"mend it; or, if it has comments, add this and connect again: {entries_of(file)}"
        raise InputError(f"{error}: {hint}") from error
    return _written(file, text, document, _with_entries(file, document))


def remove_entries(file: SettingsFile, text: str) -> str:
    """A file's text without our entries, "" if nothing else is left.

    Raises:
        InputError: our entries are in a file that cannot be parsed.
    """
    if file.script or not is_own(text):
        return "" if is_own(text) else text
    document = _parsed(file, text)
    left = _without_entries(file, document)
    is_empty = left in ({}, file.fixed) and not _is_toml(file)  # in TOML comments may be left
    return "" if is_empty else _written(file, text, document, left)


def home_in(file: SettingsFile, text: str) -> str:
    """The home that our MCP server in a file has; "" where it has none.

    Raises:
        InputError: our entries are in a file that cannot be parsed.
    """
    document = _parsed(file, text) if is_own(text) and not file.script else {}
    for keys in file.entries:
        words = _at(document, (*keys, "args")) or _at(document, (*keys, "command"))
        if isinstance(words, list) and is_own(words) and "--home" in words[:-1]:
            return str(words[words.index("--home") + 1])
    return ""


def _is_toml(file: SettingsFile) -> bool:
    return file.path.suffix == ".toml"


def _parsed(file: SettingsFile, text: str) -> Entry:
    """The values of a file of TOML or plain JSON."""
    try:
        value = tomllib.loads(text) if _is_toml(file) else json.loads(text or "{}")
    except (ValueError, RecursionError) as error:
        form = "TOML" if _is_toml(file) else "plain JSON"
        raise InputError(f"{file.path} is not {form} ({error}), so it is changed by hand alone") from error
    if not isinstance(value, dict):
        raise InputError(f"{file.path} is not a JSON object, so it is changed by hand alone")
    return value


def _written(file: SettingsFile, text: str, before: Entry, after: Entry) -> str:
    """A file's text with other values."""
    if before == after:
        return text
    if _is_toml(file):
        return _toml(file, text, after)
    # half a character, which JavaScript may cut off, becomes the escape that JSON has for it
    return json.dumps(after, indent=2, ensure_ascii=False).encode("utf-8", "backslashreplace").decode() + "\n"


def _with_entries(file: SettingsFile, before: Entry) -> Entry:
    """A document with our entries in place of earlier ones; a server keeps fields that a user added."""
    after = _without_entries(file, before) or file.fixed
    for keys, entry in file.entries.items():
        there = _at(after, keys)
        if isinstance(entry, list) and isinstance(there, list | None):
            after = _put(file, after, keys, [*(there or []), *entry])
        elif isinstance(entry, dict) and there is None:
            after = _put(file, after, keys, {**(_at(before, keys) or {}), **entry})
        else:
            raise InputError(
                f"{file.path} has something under {'.'.join(keys)} that `slowwave connect` did not write and cannot "
                "keep: rename or remove it, then connect again"
            )
    return after


def _without_entries(file: SettingsFile, before: Entry) -> Entry:
    """A document without our entries, and without the objects and lists that held nothing else."""
    after = before
    for keys, entry in file.entries.items():
        there = _at(before, keys)
        if isinstance(there, type(entry)) and is_own(there):
            left = [one for item in there for one in _others(item)] if isinstance(there, list) else []
            after = _put(file, after, keys, left) if left else _drop(after, keys)
    return after


def _others(item: Any) -> list[Any]:
    """An item of an event's list without our handlers, if anything is left; a group keeps those of others."""
    if not is_own(item):
        return [item]
    handlers = _at(item, ("hooks",))
    theirs = [one for one in handlers if not is_own(one)] if isinstance(handlers, list) else []
    return [{**item, "hooks": theirs}] if theirs else []


def _at(value: object, path: Sequence[str]) -> Any:
    """The value at a path of keys, or None."""
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _put(file: SettingsFile, parent: Entry, path: Sequence[str], value: object) -> Entry:
    """A document with a value at a path of keys."""
    key, *below = path
    if not below:
        return {**parent, key: value}
    child = parent.get(key, {})
    if not isinstance(child, dict):
        raise InputError(f"{file.path}: {key} is not an object. Repair the file, then try again")
    return {**parent, key: _put(file, child, below, value)}


def _drop(parent: Entry, path: Sequence[str]) -> Entry:
    """A document without a value at a path of keys, nor the objects that are empty then."""
    key, *below = path
    child = _drop(parent[key], below) if below else {}
    return {**parent, key: child} if child else {name: one for name, one in parent.items() if name != key}


def _toml(file: SettingsFile, text: str, document: Entry) -> str:
    """The text with our table at its end, or without it; JSON's texts, numbers and lists of texts are TOML's too."""
    base, servers = _OWN_TABLE.sub("", text), {**document.get("mcp_servers", {})}
    if SERVER in servers:
        # the tables below ours, in which Codex keeps what a user allowed, were of the entry before
        servers[SERVER] = {key: one for key, one in servers[SERVER].items() if not isinstance(one, dict)}
        lines = [f"{key} = {json.dumps(one, ensure_ascii=False)}" for key, one in servers[SERVER].items()]
        lead = "" if not base else "\n" if base.endswith("\n") else "\n\n"
        base += lead + "\n".join([f"[mcp_servers.{SERVER}]", *lines, ""])
    if {"mcp_servers": {}, **_parsed(file, base)} != {**document, "mcp_servers": servers}:
        raise InputError(
            f"{file.path}: mcp_servers is written in a form that cannot be edited. "
            "Write its entries as [mcp_servers.name] tables, then try again"
        )
    return base
