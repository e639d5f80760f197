"""Connecting coding agents with a home, disconnecting them, and what is connected.

    connect(name, scope=, home=, dry_run=) -> Connected      adds our entries to the settings of an agent
    disconnect(name, scope=, home=, dry_run=) -> Connected   removes them
    survey(home) -> list[State]                              all agents; changes nothing

No file of an agent is changed if one of them cannot be parsed. Before the first change a file is copied next to itself.
`<home>/hooks/connected/<agent>` says since when an agent is connected for its user.
"""

import os
import shutil
from pathlib import Path
from typing import Literal

from slowwave.errors import InputError
from slowwave.interfaces.hooks.agents import (
    AGENTS,
    AgentName,
    Places,
    Scope,
    SettingsFile,
    files_of,
    folders_of,
)
from slowwave.interfaces.hooks.settings_files import (
    add_entries,
    entries_of,
    home_in,
    is_own,
    read_text,
    remove_entries,
    replace_text,
)
from slowwave.schemas.refusals import Frozen
from slowwave.settings.place import home_folder

BACKUP = ".slowwave-backup"
"""Ending of the copy of a file from before it was connected; disconnecting removes it."""

_IN_PROJECT = "these files lie in the project and name folders of this machine: leave them out of commits"


class FileChange(Frozen):
    """One file: what happened to it or would happen, the copy made of it, and under `dry_run` the entries added."""

    path: str
    did: Literal["made", "changed", "kept", "removed"]
    backup: str = ""
    entries: str = ""


class Connected(Frozen):
    """Outcome of connecting or disconnecting, with what is left to the user; under `dry_run` nothing was changed.

    Disconnecting names the files that had entries of ours alone: none where the agent was not connected.
    """

    agent: AgentName
    scope: Scope
    project: str = ""
    home: str = ""
    dry_run: bool = False
    files: tuple[FileChange, ...]
    notes: tuple[str, ...] = ()


class State(Frozen):
    """Connection of one agent, for the user or in one project.

    `partly` means that entries are missing or outdated, and `unknown` that a file is changed by hand alone.
    """

    agent: AgentName
    scope: Scope
    project: str = ""
    is_found: bool
    connected: Literal["yes", "partly", "no", "unknown"] = "no"
    home: str = ""
    problem: str = ""


def connect(
    name: str,
    *,
    scope: Scope = "user",
    home: str | None = None,
    dry_run: bool = False,
    places: Places | None = None,
) -> Connected:
    """Add our entries to the settings of an agent, in place of those of an earlier connection.

    Raises:
        InputError: no agent is called so, it has no settings of this scope, or a file is refused.
    """
    agent, where, folder = _named(name), places or this_machine(), _resolved(home)
    plan = [(file, text, add_entries(file, text)) for file, text in _read(agent, scope, where, folder)]
    changes = [_apply(*one, dry_run=dry_run) for one in plan]
    if not dry_run:
        note = Path(folder) / "hooks" / "connected" / agent
        note.parent.mkdir(mode=0o700, parents=True, exist_ok=True)  # hooks start no server where no home is
        if scope == "user" and not note.exists():
            note.touch()
    notes = [f"by hand: {AGENTS[agent].next_step}", *[_IN_PROJECT] * (scope == "project")]
    if not is_found(agent, where):
        notes.insert(0, f"{agent} was not found on this machine: its settings are written for when it is")
    return Connected(
        agent=agent, scope=scope, project=_project(scope, where), home=folder, dry_run=dry_run,
        files=tuple(changes), notes=tuple(notes),
    )  # fmt: skip


def disconnect(
    name: str,
    *,
    scope: Scope = "user",
    home: str | None = None,
    dry_run: bool = False,
    places: Places | None = None,
) -> Connected:
    """Remove our entries from the settings of an agent, with the files and copies that connecting made.

    Raises:
        InputError: as `connect`; or a home is named, and the agent is connected with another one.
    """
    agent, where, folder = _named(name), places or this_machine(), _resolved(home)
    files = _read(agent, scope, where, folder)
    plan = [(file, text, remove_entries(file, text)) for file, text in files]
    known = _home_of(files)
    if home is not None and known not in ("", folder):
        raise InputError(f"{agent} is connected with {known}, and not with {folder}: name that one")
    changes = [_apply(*one, dry_run=dry_run) for one in plan]
    if scope == "user" and not dry_run:
        (Path(known or folder) / "hooks" / "connected" / agent).unlink(missing_ok=True)
    return Connected(
        agent=agent, scope=scope, project=_project(scope, where), home=known, dry_run=dry_run,
        files=tuple(one for one in changes if one.did != "kept"),
    )  # fmt: skip


def survey(home: str | None = None, places: Places | None = None) -> list[State]:
    """Every agent for the user, and each connection in the project that one stands in."""
    where, folder = places or this_machine(), _resolved(home)
    # in the user's folder most agents have the same files for the user and the project
    others = [] if where.project == where.user else sorted(AGENTS)
    found = [state_of(agent, "project", where, folder) for agent in others]
    return [
        *(state_of(agent, "user", where, folder) for agent in AGENTS),
        *(one for one in found if one.home),
    ]


def state_of(agent: AgentName, scope: Scope, places: Places, home: str) -> State:
    """The connection of an agent in a scope; whether its entries are those of today for the home that they name."""
    known = State(agent=agent, scope=scope, project=_project(scope, places), is_found=is_found(agent, places))
    try:
        texts = [(file, read_text(file.path)) for file in files_of(agent, scope, places, home)]
        named = _home_of(texts)
        if not named:
            return known
        wanted = files_of(agent, scope, places, named)
        stale = [
            str(file.path)
            for file, (_, text) in zip(wanted, texts, strict=True)
            if add_entries(file, text) != text
        ]
    except InputError as error:
        return known.model_copy(update={"connected": "unknown", "problem": str(error)})
    if not stale:
        return known.model_copy(update={"connected": "yes", "home": named})
    problem = f"not all entries are those of this installation ({', '.join(stale)}): connect again"
    return known.model_copy(update={"connected": "partly", "home": named, "problem": problem})


def connected_since(home: Path, places: Places | None = None) -> dict[str, float]:
    """The agents whose transcripts are followed, by the name that `Memory.discover` gives to these, and since when.

    Those are the agents that are connected with this home for their user and by `connect`; epoch seconds.
    """
    where, found = places or this_machine(), {}
    for agent, row in AGENTS.items():
        note = home / "hooks" / "connected" / agent
        if row.transcripts and note.exists() and state_of(agent, "user", where, str(home)).home == str(home):
            found[row.transcripts] = note.stat().st_mtime
    return found


def this_machine() -> Places:
    """This user's folder, the repository that one stands in, and the variables that move settings."""
    here = Path.cwd()
    project = next((folder for folder in (here, *here.parents) if (folder / ".git").exists()), here)
    return Places(Path.home(), project, environment=dict(os.environ))


def is_found(agent: AgentName, places: Places) -> bool:
    """Return whether the agent was used on this machine, or its program is on the PATH."""
    row, path = AGENTS[agent], places.environment.get("PATH")
    folder = Path(row.folder.format(**folders_of(places)))
    return folder.exists() or bool(row.program and path and shutil.which(row.program, path=path))


def _named(name: str) -> AgentName:
    for agent in AGENTS:
        if agent == name:
            return agent
    raise InputError(f"no agent is called {name!r}: name one of {', '.join(AGENTS)}")


def _resolved(home: str | None) -> str:
    return str(home_folder(home).resolve())


def _project(scope: Scope, places: Places) -> str:
    return str(places.project) if scope == "project" else ""


def _read(agent: AgentName, scope: Scope, places: Places, home: str) -> list[tuple[SettingsFile, str]]:
    """The files of an agent with their texts."""
    files = files_of(agent, scope, places, home)
    if not files:
        raise InputError(f"{agent} has no settings of a project: leave out --project")
    if scope == "project" and not (places.project / ".git").exists():
        raise InputError("this folder is in no git repository: go into the project's, or leave out --project")
    project = places.project.resolve()
    for file in files if scope == "project" else ():
        path = file.path  # a repository may come with links that its author chose
        if path.is_relative_to(places.project) and not path.resolve().is_relative_to(project):
            raise InputError(f"{path} leads out of the project by a link: nothing is written there")
    return [(file, read_text(file.path)) for file in files]


def _home_of(files: list[tuple[SettingsFile, str]]) -> str:
    """The home that an agent is connected with; "" where it is not."""
    named = [home_in(file, text) for file, text in files]  # all, since one that cannot be parsed is reported
    return next(filter(None, named), "")


def _apply(file: SettingsFile, before: str, after: str, *, dry_run: bool) -> FileChange:
    """Write a file's new text, after a copy of a file that had no entries of ours."""
    did: Literal["made", "changed", "kept", "removed"] = "kept"
    copy, is_copied = file.path.with_name(f"{file.path.name}{BACKUP}"), before and not is_own(before)
    if before != after:
        did = "made" if not before else "changed" if after else "removed"
    if not dry_run and before != after:
        if is_copied:
            replace_text(copy, before, like=file.path)
        replace_text(file.path, after)
    if not dry_run and not is_own(after):
        copy.unlink(missing_ok=True)
    shown = entries_of(file) if dry_run and did != "kept" and is_own(after) else ""
    return FileChange(path=str(file.path), did=did, backup=str(copy) if is_copied else "", entries=shown)
