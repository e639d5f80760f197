"""The places where coding agents keep their sessions on a machine, on Linux and macOS, and the files in them."""

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from slowwave.readers.folders import COMPRESSED, Found, listings


class Place(NamedTuple):
    """A folder of an agent, and which of the files below it are read, by their path from there.

    `depth` is how many folders down they stand at most; null for any number.
    """

    source: str
    folder: Path
    pattern: re.Pattern[str]
    depth: int | None = None


_CLAUDE_SESSIONS: Final = re.compile(r"[^/]+/[^/]+\.jsonl")
_CLAUDE_NOTES: Final = re.compile(r"[^/]+/memory/.+\.md")
_CODEX: Final = re.compile(r"(?:.+/)?rollout-[^/]+\.jsonl(?:\.zst)?")
_GEMINI: Final = re.compile(r"[^/]+/chats/session-[^/]+\.jsonl?")
_CURSOR: Final = re.compile(r"[^/]+/agent-transcripts/(?:[^/]+/)?[^/]+\.jsonl")
_OPENCODE: Final = re.compile(r"opencode(?:-[\w-]+)?\.db")


def known_places(environment: Mapping[str, str], user: Path) -> list[Place]:
    """The places that there may be, each once; `user` is the user's own folder."""

    def named(variable: str) -> list[Path]:
        return [Path(environment[variable]).expanduser()] if environment.get(variable) else []

    claude = [
        *named("CLAUDE_CONFIG_DIR"),
        user / ".claude",
        *(at / "claude" for at in named("XDG_CONFIG_HOME")),
    ]
    data = [*named("XDG_DATA_HOME"), user / ".local/share", user / "Library/Application Support"]
    found = [
        place
        for at in [*claude, user / ".config/claude"]
        for place in (
            Place("Claude Code", at / "projects", _CLAUDE_SESSIONS, depth=1),
            Place("Claude Code's notes", at / "projects", _CLAUDE_NOTES),
        )
    ]
    found += [
        Place("Codex", at / below, _CODEX)
        for at in [*named("CODEX_HOME"), user / ".codex"]
        for below in ("sessions", "archived_sessions")
    ]
    found += [
        Place("Gemini CLI", at / ".gemini/tmp", _GEMINI, depth=2) for at in [*named("GEMINI_CLI_HOME"), user]
    ]
    found.append(Place("Cursor", user / ".cursor/projects", _CURSOR, depth=3))
    found += [Place("OpenCode", at / "opencode", _OPENCODE, depth=0) for at in data]
    once = {(place.source, os.path.realpath(place.folder)): place for place in reversed(found)}
    return [place for place in found if once[place.source, os.path.realpath(place.folder)] is place]


def files_of(place: Place) -> list[Path]:
    """The files of a place in the order of their paths; none where there is no such folder.

    Symbolic links below the folder are passed by. Of a session that stands there both plain and compressed, the plain
    one counts.
    """
    found = sorted(_walk(place))
    plain = set(found)
    return [path for path in found if not (path.name.endswith(COMPRESSED) and path.with_suffix("") in plain)]


def _walk(place: Place) -> Iterator[Path]:
    for parent, folders, names in listings(place.folder, Found()):
        below = Path(parent).relative_to(place.folder)
        if place.depth is not None and len(below.parts) >= place.depth:
            folders.clear()  # such as the snapshots of whole projects that OpenCode keeps beside its database
        for name in names:
            path = Path(parent, name)
            if (
                place.pattern.fullmatch((below / name).as_posix())
                and path.is_file()
                and not path.is_symlink()
            ):
                yield path
