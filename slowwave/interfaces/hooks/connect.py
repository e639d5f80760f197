"""Connecting coding agents with a home, disconnecting them, and what is connected.

    connect(name, scope=, home=, dry_run=) -> Connected      adds our entries to the settings of an agent
    disconnect(name, scope=, home=, dry_run=) -> Connected   removes them
    survey(home) -> list[State]                              all agents; changes nothing

All files of an agent are changed, or none if one of them is refused. Before the first change a file is copied next to
itself. `<home>/hooks/connected/<agent>` says since when an agent is connected for its user.
"""

import os
import shutil
from pathlib import Path
from typing import Literal

from slowwave.errors import InputError
from slowwave.interfaces.hooks.agents import AGENTS, AgentName, Places, Scope, folders_of
from slowwave.interfaces.hooks.entries import Wanted, homes_in, wanted_of
from slowwave.interfaces.hooks.files import Change, Did, carry_out, copies_of, read_text
from slowwave.interfaces.hooks.settings_files import entries_of, is_own, own_entries, text_with, text_without
from slowwave.schemas.refusals import Frozen
from slowwave.settings.place import home_folder

_IN_PROJECT = "these files lie in the project and name folders of this machine: leave them out of commits"


class FileChange(Frozen):
    """One file: what happened to it or would happen, the copy made of it, and under `dry_run` the entries added."""

    path: str
    did: Did
    backup: str = ""
    entries: str = ""


class Connected(Frozen):
    """Outcome of connecting or disconnecting, with what is left to the user; under `dry_run` nothing was changed."""

    agent: AgentName
    scope: Scope
    project: str = ""
    homes: tuple[str, ...] = ()
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
    homes: tuple[str, ...] = ()
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
        InputError: no agent is called so, it has no settings of this scope, or a file is refused: nothing is changed.
    """
    agent, where, folder = _named(name), places or this_machine(), _resolved(home)
    plan, files = [], []
    for file, text in _read(agent, scope, where, folder):
        after = text_with(file, text or "")
        is_first = text is not None and after != text and not is_own(text)
        plan.append(Change(file.path, text, after, copies_of(file.path)[1] if is_first else None))
        shown = entries_of(file) if dry_run and plan[-1].did != "kept" else ""
        files.append(_shown(plan[-1], backup=str(plan[-1].copy or ""), entries=shown))
    if not dry_run:
        carry_out(plan)
        note = Path(folder) / "hooks" / "connected" / agent
        note.parent.mkdir(mode=0o700, parents=True, exist_ok=True)  # hooks start no server where no home is
        if scope == "user" and not note.exists():
            note.touch()
    notes = [f"by hand: {AGENTS[agent].next_step}", *[_IN_PROJECT] * (scope == "project")]
    if not is_found(agent, where):
        notes.insert(0, f"{agent} was not found on this machine: its settings are written for when it is")
    return Connected(
        agent=agent, scope=scope, project=_project(scope, where), homes=(folder,), dry_run=dry_run,
        files=tuple(files), notes=tuple(notes),
    )  # fmt: skip


def disconnect(
    name: str,
    *,
    scope: Scope = "user",
    home: str | None = None,
    dry_run: bool = False,
    places: Places | None = None,
) -> Connected:
    """Remove our entries from the settings of an agent, with the files that connecting made.

    Raises:
        InputError: as `connect`; or a home is named, and the agent is connected with another one.
    """
    agent, where, folder = _named(name), places or this_machine(), _resolved(home)
    plan, homes, notes = [], dict[str, None](), []
    for file, text in _read(agent, scope, where, folder):
        homes |= dict.fromkeys(homes_in(own_entries(file, text or "")))
        copy, _ = copies_of(file.path)
        kept = read_text(copy) if copy else None
        after = text_without(file, text or "", kept)
        restores = copy is not None and after == kept and after != text
        plan.append(Change(file.path, text, after, copy, restores=restores))
        if copy and not restores and not is_own(after):
            notes.append(f"{copy} stays: it may be the only copy of what was in {file.path.name} before")
    if home is not None and (others := [one for one in homes if one != folder]):
        raise InputError(
            f"{agent} is connected with {', '.join(others)}, and not with {folder}: name that one"
        )
    if not dry_run:
        carry_out([one if one.restores else one._replace(copy=None) for one in plan])
        for one in homes if scope == "user" else ():
            (Path(one) / "hooks" / "connected" / agent).unlink(missing_ok=True)
    return Connected(
        agent=agent, scope=scope, project=_project(scope, where), homes=tuple(homes), dry_run=dry_run,
        files=tuple(map(_shown, plan)), notes=tuple(notes),
    )  # fmt: skip


def survey(home: str | None = None, places: Places | None = None) -> list[State]:
    """Every agent for the user, and each connection in the project that one stands in."""
    where, folder = places or this_machine(), _resolved(home)
    # in the user's folder most agents have the same files for the user and the project
    others = [] if where.project == where.user else sorted(AGENTS)
    found = [state_of(agent, "project", where, folder) for agent in others]
    return [
        *(state_of(agent, "user", where, folder) for agent in AGENTS),
        *(one for one in found if one.homes),
    ]


def state_of(agent: AgentName, scope: Scope, places: Places, home: str) -> State:
    """The connection of an agent in a scope; whether its entries are those of today for the home that they name."""
    known = State(agent=agent, scope=scope, project=_project(scope, places), is_found=is_found(agent, places))
    try:
        files = [(file, read_text(file.path) or "") for file in wanted_of(agent, scope, places, home)]
        homes = homes_in([entry for file, text in files for entry in own_entries(file, text)])
        if not homes:
            return known
        wanted = wanted_of(agent, scope, places, homes[0])
        stale = [
            str(one.path)
            for one, (_, text) in zip(wanted, files, strict=True)
            if text_with(one, text) != text
        ]
    except InputError as error:
        return known.model_copy(update={"connected": "unknown", "problem": str(error)})
    if not stale:
        return known.model_copy(update={"connected": "yes", "homes": homes})
    problem = f"not all entries are those of this installation ({', '.join(stale)}): connect again"
    return known.model_copy(update={"connected": "partly", "homes": homes, "problem": problem})


def connected_since(home: Path, places: Places | None = None) -> dict[str, float]:
    """The agents whose transcripts are followed, by the name that `Memory.discover` gives to these, and since when.

    Those are the agents that are connected with this home for their user and by `connect`; epoch seconds.
    """
    where, found = places or this_machine(), {}
    for agent, row in AGENTS.items():
        note = home / "hooks" / "connected" / agent
        if row.transcripts and note.exists() and str(home) in state_of(agent, "user", where, str(home)).homes:
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


def _shown(change: Change, *, backup: str = "", entries: str = "") -> FileChange:
    return FileChange(path=str(change.path), did=change.did, backup=backup, entries=entries)


def _read(agent: AgentName, scope: Scope, places: Places, home: str) -> list[tuple[Wanted, str | None]]:
    """The files of an agent with their texts."""
    wanted = wanted_of(agent, scope, places, home)
    if not wanted:
        raise InputError(f"{agent} has no settings of a project: leave out --project")
    if scope == "project" and not (places.project / ".git").exists():
        raise InputError("this folder is in no git repository: go into the project's, or leave out --project")
    project = places.project.resolve()
    for file in wanted if scope == "project" else ():
        path = file.path  # a repository may come with links that its author chose
        if path.is_relative_to(places.project) and not path.resolve().is_relative_to(project):
            raise InputError(f"{path} leads out of the project by a link: nothing is written there")
    return [(file, read_text(file.path)) for file in wanted]
