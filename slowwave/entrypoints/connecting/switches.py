"""Switches of the harnesses that keep hooks from running, as far as their settings tell."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from slowwave.entrypoints.connecting.changes import own_paths
from slowwave.entrypoints.connecting.files import FileText, read_text
from slowwave.entrypoints.connecting.harnesses import SERVER, Places, SettingsFile, codex_home
from slowwave.entrypoints.connecting.jsonc import plain, scan
from slowwave.entrypoints.connecting.names import Harness
from slowwave.entrypoints.connecting.toml_edits import read_toml

Files = Sequence[tuple[SettingsFile, FileText]]


def switched_off(harness: Harness, files: Files, places: Places) -> Iterator[str]:
    """Sentences on what keeps our hooks from running, and on what a person must still trust.

    Raises:
        InputError: a file is broken.
    """
    if harness == "claude-code":
        for settings, file in files:
            if _object(_settings(file)).get("disableAllHooks"):
                yield f"{settings.path} has disableAllHooks: no hook runs"
    elif harness == "gemini":
        for settings, file in files:
            switches = _object(_object(_settings(file)).get("hooksConfig"))
            off = switches.get("disabled")
            if switches.get("enabled") is False or (isinstance(off, list) and SERVER in off):
                yield f"{settings.path} has the hooks switched off under hooksConfig"
    elif harness == "codex":
        yield from _codex([(one, file) for one, file in files if one.kind == "json"], codex_home(places))


def _codex(files: Files, folder: Path) -> Iterator[str]:
    """Codex notes in the user's file which hooks were trusted, by file, event and position."""
    config = folder / "config.toml"
    known = read_toml(read_text(config).text, str(config))
    features = _object(known.get("features"))
    if False in (features.get("hooks"), features.get("codex_hooks")):
        yield f"{config} has hooks switched off under [features]"
    trusted = _object(_object(known.get("hooks")).get("state"))
    for settings, file in files:
        own = [path for path in own_paths(settings, scan(file.text, str(file.path))) if len(path) > 1]
        keys = [f"{settings.path}:{_snake(str(path[1]))}:{path[2]}:0" for path in own]
        waiting = sum("trusted_hash" not in _object(trusted.get(key)) for key in keys)
        if waiting:
            yield f"Codex was not told to trust {waiting} of {len(keys)} hooks yet: type /hooks there"


def _snake(event: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", event).lower()


def _settings(file: FileText) -> object:
    root = scan(file.text, str(file.path))
    return plain(root) if root else None


def _object(value: object) -> dict[str, object]:
    return value if isinstance(value, dict) else {}
