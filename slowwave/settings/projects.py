"""The project of a folder: the git repository that it lies in, with all its worktrees.

The file system alone is asked, and no program is started: the folder comes from a transcript, and its repository may be
anybody's.
"""

import hashlib
import re
import stat
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from pathlib import Path

from slowwave.errors import InputError, NotFoundError
from slowwave.settings.groups import ScopeSettings

LONGEST_POINTER = 4_096
"""Bytes of a file that names another folder."""

NAME_CHARACTERS = 40

DIGEST = 8
"""Characters of the hash in a project's id."""

PROJECTS_SHOWN = 5

LONGEST_NEW_NAME = 200

_OF_REPOSITORY = re.compile(rf".+-[0-9a-f]{{{DIGEST}}}")
_PLAIN = re.compile(r"[\w.-]{1,60}")
_UNUSUAL = re.compile(r"[^a-z0-9._]+")


def project_of(owner: ScopeSettings, folder: str) -> str:
    """The project of a folder: of its repository, where projects follow them and it has one, else the home's own.

    That of a repository that was moved is the one that the settings name for it.
    """
    found = repository_project(folder) if owner.project_from == "repository" else None
    return owner.moved.get(found, found) if found else owner.project_id


def project_named(
    owner: ScopeSettings, name: str, known: Callable[[], set[str]], *, may_be_new: bool = False
) -> str:
    """Return the id of the project that a caller names: by that id or its beginning, or by a folder in the project.

    `known` gives the ids of those in memory; capitals do not matter. One that `may_be_new` is named whole.

    Raises:
        InputError: the folder lies in no repository, or the home keeps to its own project.
        NotFoundError: no project is called so, or several begin so.
    """
    is_folder = Path(name).is_absolute()
    if name == owner.project_id or (is_folder and owner.project_from == "setting"):
        return owner.project_id
    if owner.project_from == "setting":
        raise InputError(
            f"this home keeps to the project {owner.project_id!r}, as owner.project_from says: name no other"
        )
    if is_folder:
        if repository_project(name) is None:
            raise InputError(f"{name[:200]} lies in no repository: name a project, or a folder of one")
        return project_of(owner, name)
    there, folded = known(), name.casefold()
    called = [name] if name in there else [one for one in there if folded in (one.casefold(), _bare(one))]
    if not called and may_be_new:
        return _new(name)
    begun = sorted(called or (one for one in there if name and one.casefold().startswith(folded)))
    if len(begun) != 1:
        raise NotFoundError(_unknown(name, there, begun))
    return begun[0]


def namesakes(project: str, there: Iterable[str]) -> list[str]:
    """Projects of repositories elsewhere with the same name: one of them may be where it was moved or cloned from."""
    return sorted(one for one in there if one != project and _bare(one) == _bare(project))


def _bare(project: str) -> str:
    """The name of a repository's project in small letters, without the hash; of any other the whole id."""
    return (project[: -DIGEST - 1] if _OF_REPOSITORY.fullmatch(project) else project).casefold()


def _new(name: str) -> str:
    if not name or len(name) > LONGEST_NEW_NAME or "/" in name or "\\" in name:
        raise InputError(
            f"a new project has a name of at most {LONGEST_NEW_NAME} characters, without a slash: choose one, "
            "or give the whole path of a folder in its repository"
        )
    return name


def _unknown(name: str, there: set[str], begun: list[str]) -> str:
    """The refusal of a name, with the nearest ones; an id that is no plain word is not shown."""
    bare = {_bare(one): one for one in sorted(there)}
    near = [bare[form] for form in get_close_matches(name.casefold(), bare, n=PROJECTS_SHOWN)]
    shown = [one for one in begun or near or sorted(there) if _PLAIN.fullmatch(one)]
    listed = ", ".join(shown[:PROJECTS_SHOWN]) + (", ..." if len(shown) > PROJECTS_SHOWN else "")
    if begun:
        told = f"{len(begun)} projects begin with {name[:NAME_CHARACTERS]!r}: {listed}. Give more of the id"
    else:
        told = f"no project is called {name[:NAME_CHARACTERS]!r}: "
        told += (f"did you mean {listed}? " if near else f"there is {listed}. ") if listed else ""
        told += "Give its id, the beginning of that"
    return f"{told}, or the whole path of a folder in its repository"


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
