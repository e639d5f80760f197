"""The project of a folder: the git repository that it lies in, with all its worktrees.

The file system alone is asked, and no program is started: the folder comes from a transcript, and its repository may be
anybody's.
"""

import hashlib
import re
import stat
from collections.abc import Callable
from pathlib import Path

from slowwave.settings.groups import ScopeSettings

LONGEST_POINTER = 4_096
"""Bytes of a file that names another folder."""

NAME_CHARACTERS = 40

DIGEST = 8
"""Characters of the hash in a project's id."""

PROJECTS_SHOWN = 5

_OF_REPOSITORY = re.compile(rf".+-[0-9a-f]{{{DIGEST}}}")
_UNUSUAL = re.compile(r"[^a-z0-9._]+")


class Asker(ScopeSettings):
    """The owner in the settings, asking from within a project."""

    asks_in: str


def asking_in(owner: ScopeSettings, project: str | None) -> ScopeSettings:
    """The owner, asking from within a project; null asks from within none (`slowwave/store/scopes.py`)."""
    if project is None:
        return owner
    given = {name: getattr(owner, name) for name in ScopeSettings.model_fields}
    return Asker(**given, asks_in=project)


def project_of(owner: ScopeSettings, folder: str) -> str:
    """The project of a folder: of its repository, where projects follow them and it has one, else the home's own."""
    found = repository_project(folder) if owner.project_from == "repository" else None
    return found or owner.project_id


def project_named(
    owner: ScopeSettings, name: str, known: Callable[[], set[str]], *, may_be_new: bool = False
) -> tuple[str, str]:
    """Return the project that a caller names by its id, its folder or the beginning of its id; and a note.

    The note says that nothing is known of it. `known` gives the ids of those in memory. One that `may_be_new` is named
    whole, or as a repository is, without the hash.
    """
    if name == owner.project_id or _OF_REPOSITORY.fullmatch(name):
        return name, ""
    if Path(name).is_absolute():
        note = (
            ""
            if repository_project(name)
            else "the folder lies in no repository: this is what every project knows"
        )
        return project_of(owner, name), note
    if name in (there := known()):
        return name, ""
    begun = sorted(one for one in there if name and one.startswith(name))
    if may_be_new:
        begun = [one for one in begun if _OF_REPOSITORY.fullmatch(one) and len(one) == len(name) + 1 + DIGEST]
    if len(begun) == 1:
        return begun[0], ""
    several = f" ({len(begun)} begin so: {', '.join(begun[:PROJECTS_SHOWN])})" if begun else ""
    unknown = f"nothing is known of a project {name[:NAME_CHARACTERS]!r}{several}"
    return name, f"{unknown}: this is what every project knows"


def repository_project(folder: str) -> str | None:
    """The id of the project of a folder: its repository's name and a hash of where that lies; None outside of any.

    A folder that is gone counts as long as one above it lies in a repository.
    """
    common = _common_folder(folder)
    if common is None:
        return None
    bare = common.name.removesuffix(".git")
    name = _UNUSUAL.sub("-", (bare or common.parent.name).lower())[:NAME_CHARACTERS].strip("-._")
    digest = hashlib.sha256(str(common).encode(errors="surrogatepass")).hexdigest()[:DIGEST]
    return f"{name or 'repository'}-{digest}"


def _common_folder(folder: str) -> Path | None:
    """The folder that a repository shares with all its worktrees, without symbolic links."""
    if "\x00" in folder or not (start := Path(folder)).is_absolute():
        return None
    try:
        for place in (start, *start.parents):
            mode = _mode(place / ".git")
            if stat.S_ISDIR(mode):
                return (place / ".git").resolve()
            if stat.S_ISREG(mode) and (found := _pointed_at(place / ".git", "gitdir:")) is not None:
                return (_pointed_at(found / "commondir", "") or found).resolve()
            if all(stat.S_ISDIR(_mode(place / name)) for name in ("objects", "refs")) and _mode(
                place / "HEAD"
            ):
                return place.resolve()
    except (OSError, RuntimeError):  # a loop of links, or a folder that may not be read
        return None
    return None


def _mode(path: Path) -> int:
    """The kind of a file; 0 where there is none that may be seen."""
    try:
        return path.stat().st_mode
    except (OSError, ValueError):
        return 0


def _pointed_at(path: Path, label: str) -> Path | None:
    """The folder that a small file names behind a label, whole or from its own folder on; None where it does not."""
    if not stat.S_ISREG(_mode(path)):
        return None
    with path.open("rb") as file:
        text = file.read(LONGEST_POINTER).decode(errors="replace").strip()
    if not text.startswith(label) or not (named := text.removeprefix(label).strip()):
        return None
    place = path.parent / named
    return place if stat.S_ISDIR(_mode(place)) else None
