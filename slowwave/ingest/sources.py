"""The search for files to read: in folders that a person names, and where coding agents keep theirs.

What is passed by is counted, what agents keep is shown with its sizes and times. Nothing here opens a file.
"""

import os
import re
import stat
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from slowwave.errors import InputError, NotFoundError
from slowwave.ingest.files import shown_path
from slowwave.ingest.formats import FORMATS
from slowwave.ingest.formats.row import Place
from slowwave.ingest.lines import COMPRESSED
from slowwave.schemas.report import UNREADABLE
from slowwave.schemas.results import FoundSource

_READ: Final = re.compile("|".join(sorted({form.in_folders for form in FORMATS if form.in_folders})))
"""Paths, in lower case, of the files that are read from a folder."""

TOOL_OUTPUTS: Final = "tool-results"
"""The folder of what tools put out, next to the transcript of a Claude Code session: much text that nobody said."""

OWN_HOME: Final = "home of this memory in a folder"
OUTPUTS, HIDDEN, LINK, SPECIAL, FOREIGN, ABOUT = (
    "folder of tool output",
    "hidden file or folder",
    "symbolic link in a folder",
    "pipe, socket or device",
    "file with another ending",
    "README beside transcripts",
)

HOME_PARTS: Final = frozenset(
    {"MEMORY.md", "cache", "hooks", "journal", "prefect", "rederived", "server", "store"}
)
"""What Slowwave keeps in a home that could be taken for a source."""


@dataclass
class Found:
    """Files to read, and what was passed by: counted by reason, and named where a person may not expect it."""

    paths: list[Path] = field(default_factory=list)
    passed_by: Counter[str] = field(default_factory=Counter)
    named: list[tuple[str, str]] = field(default_factory=list)
    """Reason and sentence."""


def find_sources(paths: Iterable[Path], *, home: Path | None = None) -> Found:
    """Files to read: each named file, and what each named folder holds, without repetition.

    `home` and its own parts (`HOME_PARTS`) are the memory itself, and are never read. Folders are walked in sorted
    order; hidden files and folders, symbolic links, pipes and other endings in them are passed by and counted, and so
    is a README next to or above transcripts, which is about them. A folder that cannot be listed is named.

    Raises:
        NotFoundError: A named path is not there.
        InputError: It is `home` or a part of it, or cannot be looked at.
    """
    files: dict[Path, None] = {}
    found, own = Found(), None if home is None else home.resolve()
    for path in paths:
        try:
            if not path.exists():
                raise NotFoundError(f"There is no file or folder {shown_path(path)}: check the path.")
            if own is not None and _is_of_home(path.resolve(), own):
                raise InputError(
                    f"{shown_path(path)} is this memory's own home, or a part of it: name your own files."
                )
            files.update(dict.fromkeys(_walk(path, found, own) if path.is_dir() else [path]))
        except OSError as error:
            reason = error.strerror or type(error).__name__
            raise InputError(f"{shown_path(path)} cannot be looked at ({reason}): check the path.") from error
    found.paths = list(files)
    return found


def _is_of_home(path: Path, home: Path) -> bool:
    """Return whether a path is a home, or what Slowwave itself keeps there; others may keep files there, too."""
    return path == home or (path.is_relative_to(home) and path.relative_to(home).parts[0] in HOME_PARTS)


def _walk(folder: Path, found: Found, home: Path | None) -> list[Path]:
    files: list[Path] = []
    for parent, folders, names in os.walk(folder, onerror=lambda error: _tell_unlisted(error, found)):
        passed_by = {name: _reason_for_folder(Path(parent, name), home) for name in folders}
        folders[:] = [name for name in folders if not passed_by[name]]
        for path in (Path(parent, name) for name in names):
            if not (reason := _reason_for_file(path)):
                files.append(path)
                continue
            passed_by[path.name] = reason
            if reason == SPECIAL:
                found.named.append((SPECIAL, f"{shown_path(path)} is a {SPECIAL}: it is not read"))
        found.passed_by.update(filter(None, passed_by.values()))
    with_transcripts = {
        parent for path in files if path.suffix.lower() == ".jsonl" for parent in path.parents
    }
    wanted = [path for path in files if path.stem.lower() != "readme" or path.parent not in with_transcripts]
    found.passed_by[ABOUT] += len(files) - len(wanted)
    return sorted(wanted)


def _tell_unlisted(error: OSError, found: Found) -> None:
    found.passed_by[UNREADABLE] += 1
    place = shown_path(Path(error.filename))
    found.named.append((UNREADABLE, f"{place} cannot be listed ({error.strerror}): check its permissions"))


def _reason_for_folder(path: Path, home: Path | None) -> str:
    """The reason to pass a folder by; empty for one that is walked."""
    if path.is_symlink():
        return LINK
    if home is not None and path.resolve() == home:
        return OWN_HOME
    if path.name == TOOL_OUTPUTS and path.parent.with_name(f"{path.parent.name}.jsonl").is_file():
        return OUTPUTS
    return HIDDEN if path.name.startswith(".") else ""


def _reason_for_file(path: Path) -> str:
    """The reason to pass a file by; empty for one that is read, also where reading it says what is wrong."""
    if path.name.startswith("."):
        return HIDDEN
    with suppress(OSError):
        if not stat.S_ISREG(mode := path.lstat().st_mode):
            return LINK if stat.S_ISLNK(mode) else SPECIAL
        return "" if _READ.fullmatch(path.absolute().as_posix().lower()) else FOREIGN
    return ""


def known_places(environment: Mapping[str, str], user: Path) -> list[tuple[Place, Path]]:
    """The places of agents that there may be, each folder once; `user` is the user's own folder."""
    found: dict[tuple[str, str], tuple[Place, Path]] = {}
    for place in (place for form in FORMATS for place in form.places):
        for root in place.roots:
            variable, _, below = root.removeprefix("$").partition("/")
            is_named = root.startswith("$")
            if is_named and not environment.get(variable):
                continue
            folder = Path(environment[variable]).expanduser() / below if is_named else user / root
            found.setdefault((place.source, os.path.realpath(folder)), (place, folder))
    return list(found.values())


def files_of(place: Place, folder: Path) -> list[Path]:
    """The files of a place in the order of their paths; none where there is no such folder.

    Symbolic links to files are passed by. A session that is there both plain and compressed is read plain.
    """
    paths = {path for pattern in place.globs for path in folder.glob(pattern)}
    found = sorted(path for path in paths if path.is_file() and not path.is_symlink())
    return [path for path in found if not (path.suffix == COMPRESSED and path.with_suffix("") in paths)]


def discover(sources: Sequence[str | Path] | None = None) -> list[FoundSource]:
    """The places that hold something to read, in a fixed order: those of agents, or the ones that are named.

    Raises:
        NotFoundError: a named path does not exist.
    """
    if sources is None:
        known = known_places(os.environ, Path.home())
        places = [(place.source, folder, files_of(place, folder)) for place, folder in known]
    else:
        places = [("", path, find_sources([path]).paths) for path in map(Path, sources)]
    return [found for place in places if (found := _found(*place)) is not None]


def _found(source: str, folder: Path, files: Sequence[Path]) -> FoundSource | None:
    states = {}
    for path in files:
        with suppress(OSError):
            states[path] = path.stat()
    if not states:
        return None
    return FoundSource(
        source=source,
        place=str(folder),
        file_count=len(states),
        byte_count=sum(state.st_size for state in states.values()),
        newest_at=datetime.fromtimestamp(max(state.st_mtime for state in states.values()), UTC),
        paths=tuple(states),
    )
