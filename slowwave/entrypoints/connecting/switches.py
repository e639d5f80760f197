"""Switches of the harnesses that keep hooks from running, as far as their settings tell."""

import json
import re
from collections.abc import Iterator, Sequence
from hashlib import sha256
from pathlib import Path

from slowwave.entrypoints.connecting.changes import own_paths
from slowwave.entrypoints.connecting.files import FileText, read_text
from slowwave.entrypoints.connecting.harnesses import SERVER, Places, SettingsFile, codex_home
from slowwave.entrypoints.connecting.jsonc import child_at, plain, scan
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
        root = scan(file.text, str(file.path))
        own = [path for path in own_paths(settings, root) if len(path) > 1]
        states = [_object(trusted.get(f"{settings.path}:{_snake(str(path[1]))}:{path[2]}:0")) for path in own]
        groups = [plain(node) if (node := child_at(root, path)) else None for path in own]
        told = [state.get("trusted_hash") for state in states]
        wanted = [_trust(_snake(str(path[1])), group) for path, group in zip(own, groups, strict=True)]
        if waiting := told.count(None):
            yield f"Codex was not told to trust {waiting} of {len(own)} hooks yet: type /hooks there"
        elif changed := sum(known != hash_ for known, hash_ in zip(told, wanted, strict=True)):
            yield f"Codex was told to trust {changed} of {len(own)} hooks in another form: type /hooks there"
        if off := sum(state.get("enabled") is False for state in states):
            yield f"Codex has {off} of {len(own)} hooks switched off: type /hooks there"


def _trust(event: str, group: object) -> str:
    """The hash by which Codex knows a hook that it was told to trust, as versions around 0.169 make it."""
    known = _object(group)
    handlers = known.get("hooks")
    full = [
        {"async": False, **_object(handler)} for handler in (handlers if isinstance(handlers, list) else [])
    ]
    text = json.dumps(
        {"event_name": event, **known, "hooks": full},
        sort_keys=True,
        separators=(",", ":"),
        ensure_ascii=False,
    )
    return f"sha256:{sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()}"


def _snake(event: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", event).lower()


def _settings(file: FileText) -> object:
    root = scan(file.text, str(file.path))
    return plain(root) if root else None


def _object(value: object) -> dict[str, object]:
    return value if isinstance(value, dict) else {}
