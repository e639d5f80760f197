"""The change of one settings file: our entries as they should be, or none of them, and everything else as it is."""

import json
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

from slowwave.entrypoints.connecting.files import FileText
from slowwave.entrypoints.connecting.harnesses import SERVER, Entry, SettingsFile, is_own, words_of
from slowwave.entrypoints.connecting.json_edits import Path, insert, remove
from slowwave.entrypoints.connecting.jsonc import Node, child_at, place, plain, scan
from slowwave.entrypoints.connecting.toml_edits import append_table, read_toml, remove_table
from slowwave.errors import InputError
from slowwave.schemas.refusals import Frozen

SCRIPT_MARK = "// Slowwave for "
"""How a script that `connect` wrote begins."""

_SIMPLE = (str, int, list)


class Change(Frozen):
    """A file as it was read, and the text that it gets: none removes it. `backup` is it without any entry of ours."""

    file: FileText
    after: str | None
    backup: str | None = None

    @property
    def changes_file(self) -> bool:
        """The file does not stay as it is."""
        return self.after != (self.file.text if self.file.is_there else None)


def to_connect(settings: SettingsFile, file: FileText, original: str | None) -> Change:
    """The change that puts our entries in; none where they are all there as they should be.

    Raises:
        InputError: the file is broken, or somebody else's entry has our name.
    """
    found = own_values(settings, file)
    if _is_right(settings, found):
        return Change(file=file, after=file.text)
    base = _without_own(settings, file, original, own_paths)
    after = _with_own(settings, base or "", is_there=base is not None, name=str(file.path), found=found)
    return Change(file=file, after=after, backup=_without_own(settings, file, original, _all_own_paths))


def to_disconnect(settings: SettingsFile, file: FileText, original: str | None) -> Change:
    """The change that takes our entries out, and the file as well if there was none before.

    Raises:
        InputError: the file is broken.
    """
    if not own_values(settings, file):
        return Change(file=file, after=file.text if file.is_there else None)
    return Change(file=file, after=_without_own(settings, file, original, own_paths))


def own_values(settings: SettingsFile, file: FileText) -> list[Entry]:
    """Our entries in a file, as they stand there; a script is one entry.

    Raises:
        InputError: the file is broken.
    """
    name = str(file.path)
    if settings.kind == "script":
        return [Entry(path=(), value=file.text)] if file.text.startswith(SCRIPT_MARK) else []
    if settings.kind == "toml":
        return [
            entry.model_copy(update={"value": value})
            for entry in settings.entries
            if is_own(value := _table(file.text, entry, name))
        ]
    root = scan(file.text, name)
    found = []
    for path in own_paths(settings, root):
        value = plain(node) if (node := child_at(root, path)) else None
        keys = tuple(step for step in path if isinstance(step, str))
        is_item = isinstance(path[-1], int)
        found.append(
            Entry(path=keys if is_item else keys[:-1], key=None if is_item else keys[-1], value=value)
        )
    return found


def named_homes(settings: SettingsFile, file: FileText) -> list[str]:
    """The home in each of our entries of a file, which stands after `--home`; a script's is not looked for.

    Raises:
        InputError: the file is broken.
    """
    if settings.kind == "script":
        return []
    commands = [words_of(entry.value) for entry in own_values(settings, file)]
    return [after for words in commands for word, after in pairwise(words) if word == "--home"]


def all_homes(settings: SettingsFile, file: FileText) -> list[str]:
    """The home in each of our entries of a file, those of other scopes too: some files serve several.

    Raises:
        InputError: the file is broken.
    """
    if settings.kind != "json":
        return named_homes(settings, file)
    root = scan(file.text, str(file.path))
    found = [child_at(root, path) for path in _all_own_paths(settings, root)]
    commands = [words_of(plain(node)) for node in found if node]
    return [after for words in commands for word, after in pairwise(words) if word == "--home"]


def _is_right(settings: SettingsFile, found: list[Entry]) -> bool:
    """All entries are there as they should be; a server's entry may have more fields, which a person added."""
    if settings.kind == "script":
        return [entry.value for entry in found] == [settings.script]
    known, wanted = (sorted(map(_sort_key, entries)) for entries in (found, settings.entries))
    if [key[0] for key in known] != [key[0] for key in wanted]:
        return False
    by_place = {(entry.path, entry.key): entry.value for entry in found}
    return all(
        by_place[entry.path, entry.key].items() >= entry.value.items()
        if entry.key
        else by_place[entry.path, None] == entry.value
        for entry in settings.entries
    )


def _sort_key(entry: Entry) -> tuple[str, str]:
    return json.dumps([entry.path, entry.key]), json.dumps(entry.value, sort_keys=True)


def own_paths(settings: SettingsFile, root: Node | None) -> list[Path]:
    """Places of our entries in a JSON document, in its order of keys and positions."""
    found: list[Path] = []
    for entry in settings.entries:
        server = child_at(root, (*entry.path, entry.key)) if entry.key else None
        if entry.key and server is not None and is_own(plain(server)):
            found.append((*entry.path, entry.key))
    if any(entry.key is None for entry in settings.entries):
        events = child_at(root, ("hooks",))
        named = {child.key: child.node for child in events.children} if events else {}
        found += [("hooks", key, *path) for key, node in named.items() if key for path in _own_items(node)]
    return found


def _all_own_paths(settings: SettingsFile, root: Node | None) -> list[Path]:
    """Places of our entries, and of those that connections of other scopes have in the same document."""
    own = own_paths(settings, root)
    under = {entry.path[-1] for entry in settings.entries if entry.key}
    return [*own, *(path for path in _servers(root, (), under) if path not in own)]


def _servers(node: Node | None, path: Path, under: set[str]) -> Iterator[Path]:
    for child in node.children if node and node.kind == "object" else ():
        here = (*path, child.key or "")
        if child.key == SERVER and path and path[-1] in under:
            if is_own(plain(child.node)):
                yield here
        else:
            yield from _servers(child.node, here, under)


def _own_items(items: Node) -> list[Path]:
    """Places of our hooks in a list: whole groups, and single hooks of a group to which somebody added others."""
    found: list[Path] = []
    for index, child in enumerate(items.children if items.kind == "array" else ()):
        handlers = child_at(child.node, ("hooks",)) if child.node.kind == "object" else None
        if handlers is None or handlers.kind != "array":
            found += [(index,)] if is_own(plain(child.node)) else []
            continue
        own = [number for number, one in enumerate(handlers.children) if is_own(plain(one.node))]
        whole = len(own) == len(handlers.children)
        found += [(index,)] if own and whole else [(index, "hooks", number) for number in own]
    return found


def _without_own(
    settings: SettingsFile,
    file: FileText,
    original: str | None,
    paths_of: Callable[[SettingsFile, Node | None], list[Path]],
) -> str | None:
    """The text without those of our entries that are asked for; None where nothing but them was ever there."""
    if not file.is_there:
        return None
    name, text = str(file.path), file.text
    if settings.kind == "script":
        return None if text.startswith(SCRIPT_MARK) else text
    if settings.kind == "toml":
        tables = own_values(settings, file)
        for entry in tables:
            text = remove_table(text, (*entry.path, entry.key or ""), name=name)
        return None if tables and not text.strip() and original is None else text
    own = paths_of(settings, scan(text, name))
    for path in reversed(own):
        text = remove(text, path, original=original, name=name)
    before = None if original is None else scan(original, name)
    if own and settings.skeleton and _plain(scan(text, name)) == settings.skeleton and not _plain(before):
        for key in settings.skeleton:
            text = remove(text, (key,), original=original, name=name)
    left = "".join(text.split())
    is_ours_alone = not left or (left == "{}" and original is None)
    return original if own and is_ours_alone else text


def _plain(root: Node | None) -> object:
    return plain(root) if root else None


def _with_own(settings: SettingsFile, base: str, *, is_there: bool, name: str, found: list[Entry]) -> str:
    """The text with all entries, which it must not hold yet."""
    if settings.kind == "script":
        if is_there:
            raise InputError(f"{name} is there already and is not ours: move it, then connect again")
        return settings.script
    more = {entry.path: entry.value for entry in found if entry.key and isinstance(entry.value, dict)}
    if settings.kind == "toml":
        for entry in settings.entries:
            if _table(base, entry, name) is not None:
                raise InputError(_taken(name, "in the table mcp_servers"))
            kept = {
                key: value for key, value in more.get(entry.path, {}).items() if isinstance(value, _SIMPLE)
            }
            base = append_table(base, (*entry.path, entry.key or ""), {**kept, **entry.value}, name=name)
        return base
    root = scan(base, name)
    if root is None or plain(root) == {}:
        for key, value in settings.skeleton.items():
            base = insert(base, (), key, value, name=name)
    for entry in settings.entries:
        taken = child_at(scan(base, name), (*entry.path, entry.key)) if entry.key else None
        if taken is not None:
            raise InputError(_taken(name, place(base, taken.start)))
        value = {**more.get(entry.path, {}), **entry.value} if entry.key else entry.value
        base = insert(base, entry.path, entry.key, value, name=name)
    return base


def _table(text: str, entry: Entry, name: str) -> Any:
    """The value of an entry's table, or None."""
    value: Any = read_toml(text, name)
    for step in entry.path:
        value = value.get(step, {})
        if not isinstance(value, dict):
            raise InputError(f"{name}: {step} is no table. Mend the file, then try again.")
    return value.get(entry.key)


def _taken(name: str, where: str) -> str:
    return (
        f"{name} has a server named {SERVER} already ({where}) that `slowwave connect` did not write: "
        "rename or remove it, then connect again"
    )
