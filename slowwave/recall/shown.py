"""Memories that a conversation was shown already: a small file for each under `cache/shown`, replaced as a whole.

What stood at its start is kept apart: it stands at every start, so that a conversation that does not use it says
nothing about it.

Losing such a file costs a repetition and nothing else, so a damaged one counts as empty. It holds ids and
times, never text.
"""

import hashlib
import json
import os
from collections.abc import Iterable
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path

from slowwave.home.paths import Home
from slowwave.whole_file import write_whole

FOLDER = Path("cache") / "shown"

SHOWN_ENTRIES = 2_000
"""Ids remembered as shown, for each conversation; the file is read with each message."""

TIDY_FILES = 5
"""Files of other conversations that are looked at for having expired when one begins, others each time."""


def shown_to(home: Home, conversation_id: str, *, now: datetime) -> dict[str, str]:
    """Ids that were shown within `context.shown_days`, with the time as ISO text; not what stood at the start."""
    return _kept(home, conversation_id, now=now)["shown"]


def shown_unasked(home: Home, conversation_id: str, *, now: datetime) -> dict[str, str]:
    """Ids that stood at the start of the conversation, as `shown_to`."""
    return _kept(home, conversation_id, now=now)["unasked"]


def shown_at_all(home: Home, conversation_id: str, *, now: datetime) -> frozenset[str]:
    """Ids that were shown, at the start or later."""
    return frozenset().union(*_kept(home, conversation_id, now=now).values())


def _kept(home: Home, conversation_id: str, *, now: datetime) -> dict[str, dict[str, str]]:
    """Return the lists of what was shown and of what stood at the start, by these names; a damaged one is empty."""
    oldest = (now - timedelta(days=home.settings.context.shown_days)).isoformat()
    lists: dict[str, dict[str, str]] = {"shown": {}, "unasked": {}}
    with suppress(OSError, ValueError):
        whole = json.loads(_path(home, conversation_id).read_text(encoding="utf-8"))
        for name in lists:
            with suppress(KeyError, TypeError, AttributeError):
                kept = whole[name].items()
                lists[name] = {str(found): str(at) for found, at in kept if str(at) >= oldest}
    return lists


def keep_shown(
    home: Home, conversation_id: str, ids: Iterable[str], *, now: datetime, unasked: bool = False
) -> str:
    """Add ids to what the conversation was shown; the oldest beyond `SHOWN_ENTRIES` are dropped.

    `unasked` says that they stood at its start.

    Returns a note where the file cannot be written, else "".
    """
    lists = _kept(home, conversation_id, now=now)
    known = lists["unasked" if unasked else "shown"]
    fresh = dict.fromkeys(sorted(ids), now.isoformat())
    if not fresh:
        return ""
    whole = {**{name: at for name, at in known.items() if name not in fresh}, **fresh}
    newest = dict(sorted(whole.items(), key=lambda entry: entry[1])[-SHOWN_ENTRIES:])
    path = _path(home, conversation_id)
    is_begin = not any(lists.values())
    try:
        write_whole(path, json.dumps({**lists, "unasked" if unasked else "shown": newest}), is_durable=False)
        if is_begin:
            _tidy(home, path, now)
    except OSError as error:
        return f"what was shown could not be kept ({error.strerror}): it may be shown again"
    return ""


def _tidy(home: Home, path: Path, now: datetime) -> None:
    oldest = (now - timedelta(days=home.settings.context.shown_days)).timestamp()
    names = os.listdir(home.root / FOLDER)  # noqa: PTH208 - there may be thousands, and a Path for each takes long
    for name in names[int(path.stem, 16) % len(names) :][:TIDY_FILES]:
        with suppress(FileNotFoundError):  # another thread was faster
            other = home.root / FOLDER / name
            if other.stat().st_mtime < oldest:
                other.unlink()


def _path(home: Home, conversation_id: str) -> Path:
    name = hashlib.sha256(conversation_id.encode("utf-8", "replace")).hexdigest()[:32]
    return home.root / FOLDER / f"{name}.json"
