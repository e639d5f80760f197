"""Switches of the harnesses that keep hooks from running, as far as their settings show."""

import json
import re
from collections.abc import Iterator, Sequence
from hashlib import sha256
from typing import Any

from slowwave.entrypoints.connecting.agents import SERVER, Places, SettingsFile, folder_of, is_own
from slowwave.entrypoints.connecting.files import read_text
from slowwave.entrypoints.connecting.names import Harness
from slowwave.entrypoints.connecting.settings_files import at, values_of

Files = Sequence[tuple[SettingsFile, str | None]]


def switched_off(harness: Harness, files: Files, places: Places) -> Iterator[str]:
    """Sentences on what keeps our hooks from running, and on what the user must still trust."""
    for settings, text in files:
        values = values_of(settings, text)
        if harness == "claude-code" and values.get("disableAllHooks"):
            yield f"{settings.path} has disableAllHooks: no hook runs"
        disabled = at(values, ("hooksConfig", "disabled"))
        is_off = at(values, ("hooksConfig", "enabled")) is False
        if harness == "gemini" and (is_off or (isinstance(disabled, list) and SERVER in disabled)):
            yield f"{settings.path} has the hooks switched off under hooksConfig"
        if harness == "codex" and settings.hooks:
            yield from _codex(settings, values, places)


def _codex(settings: SettingsFile, values: dict[str, Any], places: Places) -> Iterator[str]:
    """Codex notes in the user's file which hooks were trusted, by file, event and position."""
    config = SettingsFile(path=folder_of("codex", places) / "config.toml")
    known = values_of(config, read_text(config.path))
    if False in (at(known, ("features", "hooks")), at(known, ("features", "codex_hooks"))):
        yield f"{config.path} has hooks switched off under [features]"
    own = [
        (re.sub(r"(?<=[a-z])(?=[A-Z])", "_", event).lower(), index, group)
        for event, groups in values.get("hooks", {}).items()
        for index, group in enumerate(groups if isinstance(groups, list) else ())
        if is_own(group)
    ]
    states = [at(known, ("hooks", "state", f"{settings.path}:{event}:{index}:0")) for event, index, _ in own]
    hashes = [at(state, ("trusted_hash",)) for state in states]
    if waiting := hashes.count(None):
        yield f"Codex was not told to trust {waiting} of {len(own)} hooks yet: type /hooks there"
    elif changed := sum(
        hash_ != _trust(event, group) for hash_, (event, _, group) in zip(hashes, own, strict=True)
    ):
        yield f"Codex was told to trust {changed} of {len(own)} hooks in another form: type /hooks there"
    if off := sum(at(state, ("enabled",)) is False for state in states):
        yield f"Codex has {off} of {len(own)} hooks switched off: type /hooks there"


def _trust(event: str, group: dict[str, Any]) -> str:
    """The hash by which Codex knows a hook that it was told to trust, as versions around 0.169 make it."""
    form = {
        "event_name": event,
        **group,
        "hooks": [{"async": False, **handler} for handler in group.get("hooks") or ()],
    }
    text = json.dumps(form, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return f"sha256:{sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()}"
