"""A home's list of its connections: what was made for each, so that all of it can be taken away again.

The harnesses' own files say what is connected; this list adds the folders that were made, and in which projects.
"""

import json
from collections.abc import Iterable
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from slowwave.entrypoints.connecting.files import read_text, remove_file, write_text
from slowwave.entrypoints.connecting.names import Harness, Scope
from slowwave.errors import InputError
from slowwave.schemas.refusals import Frozen

FILE = "connections.json"


class Connection(Frozen):
    """One harness that is connected with a home, for the user or in one project, and what was made for it."""

    harness: Harness
    scope: Scope
    project: str = ""
    folders: tuple[str, ...] = ()
    copies: tuple[str, ...] = ()

    def is_of(self, harness: Harness, scope: Scope, project: str) -> bool:
        """It is the one of a harness in a scope."""
        return (self.harness, self.scope, self.project) == (harness, scope, project)


_LIST = TypeAdapter(tuple[Connection, ...])


def connections(home: Path) -> tuple[Connection, ...]:
    """The connections of a home; none where its list is missing or no list of ours."""
    try:
        return _LIST.validate_json(read_text(home / FILE).text or "[]")
    except (InputError, ValidationError):
        return ()


def made_copy(home: Path, place: Path) -> bool:
    """Return whether a connection of a home made the copy of settings at a place."""
    return any(str(place) in one.copies for one in connections(home))


def keep(home: Path, connection: Connection) -> None:
    """Note a connection, in the place of an earlier one of the same harness, whose folders and copies it takes over.

    Raises:
        InputError: the home cannot be written.
    """
    known = connections(home)
    mine = (connection.harness, connection.scope, connection.project)
    folders = [folder for one in known if one.is_of(*mine) for folder in one.folders]
    folders += [str(folder) for folder in (*reversed(home.parents), home) if not folder.exists()]
    copies = _joined(*(one.copies for one in known if one.is_of(*mine)), connection.copies)
    made = connection.model_copy(update={"folders": _joined(folders, connection.folders), "copies": copies})
    others = tuple(one for one in known if not one.is_of(*mine))
    if known != (*others, made):
        _write(home, (*others, made))


def drop(home: Path, harness: Harness, scope: Scope, project: str) -> tuple[Path, ...]:
    """Take a connection out of the list; returns the folders that were made for it, outermost first.

    Another connection takes them over, since it may be using them.

    Raises:
        InputError: the home cannot be written.
    """
    known = connections(home)
    others = tuple(one for one in known if not one.is_of(harness, scope, project))
    folders = [Path(folder) for one in known if one.is_of(harness, scope, project) for folder in one.folders]
    if others and folders:
        first = others[0].model_copy(update={"folders": _joined(others[0].folders, map(str, folders))})
        others = (first, *others[1:])
    if others != known:
        _write(home, others)
    return tuple(sorted(folders, key=lambda folder: len(folder.parts)))


def _joined(*folders: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(folder for some in folders for folder in some))


def _write(home: Path, known: tuple[Connection, ...]) -> None:
    if not known:
        remove_file(home / FILE)
        return
    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{home} cannot be made: {error.strerror or error}") from error
    write_text(read_text(home / FILE), json.dumps([one.model_dump() for one in known], indent=2) + "\n")
