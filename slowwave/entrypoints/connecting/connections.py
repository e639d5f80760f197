"""Connect a harness with a home, and disconnect it: all of its files, or none where one of them is refused."""

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Literal

from slowwave.entrypoints.connecting.advice import advice_of
from slowwave.entrypoints.connecting.changes import Change, all_homes, named_homes, to_connect, to_disconnect
from slowwave.entrypoints.connecting.difference import difference
from slowwave.entrypoints.connecting.files import (
    FileText,
    back_up,
    backup_of,
    check_writable,
    read_text,
    remove_file,
    remove_folders,
    write_text,
)
from slowwave.entrypoints.connecting.harnesses import (
    Install,
    Places,
    SettingsFile,
    files_of,
    is_found,
    is_shared,
)
from slowwave.entrypoints.connecting.jsonc import scan
from slowwave.entrypoints.connecting.names import Harness, Scope
from slowwave.entrypoints.connecting.record import FILE, Connection, drop, keep, made_copy
from slowwave.errors import InputError
from slowwave.schemas.refusals import Frozen


class FileDone(Frozen):
    """One file: what happened to it, or would, and the difference with the texts of other entries left out."""

    path: str
    did: Literal["made", "changed", "kept", "removed"]
    backup: str = ""
    difference: str = ""


class Done(Frozen):
    """Outcome of connecting or disconnecting; under `dry_run` nothing was changed."""

    harness: Harness
    scope: Scope
    project: str = ""
    homes: tuple[str, ...] = ()
    dry_run: bool = False
    files: tuple[FileDone, ...]
    notes: tuple[str, ...] = ()


def connect(harness: Harness, scope: Scope, places: Places, install: Install, *, dry_run: bool) -> Done:
    """Put our entries into the settings of a harness, in the place of those of an earlier connection.

    Raises:
        InputError: the harness has no settings of this scope, or a file is refused; nothing is changed then.
    """
    plan = _plan(harness, scope, places, install, to_connect)
    notes = (*_surprises(harness, scope, places, install), *advice_of(harness, scope))
    former = [home for home in homes_in(plan) if home != install.home]
    project = str(places.project) if scope == "project" else ""
    check_writable(Path(install.home) / FILE)
    for settings, change in plan:
        _check_room_for_copy(settings, change)
    if not dry_run:
        taken_over = [folder for home in former for folder in drop(Path(home), harness, scope, project)]
        folders = tuple(str(folder) for folder in (*taken_over, *_missing_folders(plan)))
        copies = tuple(str(backup_of(one.path)) for one, change in plan if _is_copied(change))
        connection = Connection(harness=harness, scope=scope, project=project, folders=folders, copies=copies)
        keep(
            Path(install.home), connection
        )  # first: whatever happens then, disconnecting finds what was made
        for settings, change in plan:
            _carry_out(settings, change)
    return Done(
        harness=harness, scope=scope, project=project, homes=(install.home,), dry_run=dry_run,
        files=_told(plan, has_difference=dry_run), notes=notes,
    )  # fmt: skip


def disconnect(harness: Harness, scope: Scope, places: Places, install: Install, *, dry_run: bool) -> Done:
    """Take our entries out of the settings of a harness, with the files, copies and folders that connecting made.

    Raises:
        InputError: the harness has no settings of this scope, or a file is refused; nothing is changed then.
    """
    plan = _plan(harness, scope, places, install, to_disconnect)
    homes, project = homes_in(plan), str(places.project) if scope == "project" else ""
    past = [_is_past(settings, change) for settings, change in plan]
    notes = tuple(
        note
        for (settings, change), is_past in zip(plan, past, strict=True)
        if not is_past
        for note in _kept_copy(settings, change)
    )
    if not dry_run:
        for (settings, change), is_past in zip(plan, past, strict=True):
            _carry_out(settings, change)
            if is_past:
                remove_file(backup_of(settings.path))
        for home in homes:
            remove_folders(drop(Path(home), harness, scope, project))
    return Done(
        harness=harness,
        scope=scope,
        project=project,
        homes=homes,
        dry_run=dry_run,
        files=_told(plan, has_difference=dry_run),
        notes=notes,
    )


Plan = list[tuple[SettingsFile, Change]]


def homes_in(plan: Plan) -> tuple[str, ...]:
    """The homes that our entries in these files name, each once."""
    found = [home for settings, change in plan for home in named_homes(settings, change.file)]
    return tuple(dict.fromkeys(found))


def _surprises(harness: Harness, scope: Scope, places: Places, install: Install) -> Iterator[str]:
    """Facts that somebody who connects may not expect: no such home or harness, or a second connection."""
    if not Path(install.home).is_dir():
        yield f"There is no home at {install.home} yet: it is made now. Another one is named by --home."
    if not is_found(harness, places):
        yield f"{harness} was not found on this machine: its settings are written for when it is."
    other: Scope = "user" if scope == "project" else "project"
    if is_shared(harness, places, install):
        return
    homes = dict[str, None]()
    with suppress(InputError):  # a broken file of the other scope is for whoever connects there
        for settings in files_of(harness, other, places, install):
            homes |= dict.fromkeys(named_homes(settings, read_text(settings.path)))
    if homes:
        where = "for you" if other == "user" else "in this project"
        yield f"It is connected {where} as well, with the home {', '.join(homes)}: in this project both are asked."


def _plan(
    harness: Harness,
    scope: Scope,
    places: Places,
    install: Install,
    change_of: Callable[[SettingsFile, FileText, str | None], Change],
) -> Plan:
    """The change of each file, all of them possible."""
    wanted = files_of(harness, scope, places, install)
    if not wanted:
        raise InputError(f"{harness} has no settings of a project: leave out --project")
    plan: Plan = []
    for settings in wanted:
        if scope == "project" and _leads_out(settings.path, places.project):
            raise InputError(f"{settings.path} leads out of the project by a link: nothing is written there")
        file = read_text(settings.path)
        change = change_of(settings, file, _original(settings, file))
        if change.changes_file:
            check_writable(settings.path)
        plan.append((settings, change))
    return plan


def _original(settings: SettingsFile, file: FileText) -> str | None:
    """The text that a file had before it was connected, by the copy that was made then; None where there is none.

    Raises:
        InputError: the copy is broken.
    """
    if not _has_own_copy(settings, file):
        return None
    copy = read_text(backup_of(settings.path))
    if settings.kind == "json":
        scan(copy.text, str(copy.path))
    return copy.text if copy.is_there else None


def _has_own_copy(settings: SettingsFile, file: FileText) -> bool:
    """The copy beside a file is by a connection whose entries the file has; any other may be a person's only one."""
    return any(
        made_copy(Path(home), backup_of(settings.path)) for home in dict.fromkeys(all_homes(settings, file))
    )


def _is_copied(change: Change) -> bool:
    return change.changes_file and change.backup is not None


def _check_room_for_copy(settings: SettingsFile, change: Change) -> None:
    place = backup_of(settings.path)
    if not _is_copied(change) or not os.path.lexists(place) or _has_own_copy(settings, change.file):
        return
    with suppress(InputError):
        if read_text(place).text == change.backup:
            return
    raise InputError(
        f"{place} is there already and differs from {settings.path.name}, whose copy would replace it: "
        "move it away, then connect again"
    )


def _is_past(settings: SettingsFile, change: Change) -> bool:
    """Nothing will need the copy beside a file any more: it is ours, and none of our entries is left."""
    left = change.file.model_copy(update={"text": change.after or ""})
    return _has_own_copy(settings, change.file) and not all_homes(settings, left)


def _kept_copy(settings: SettingsFile, change: Change) -> Iterator[str]:
    """A sentence on a copy that stays although none of our entries is left."""
    place, left = backup_of(settings.path), change.file.model_copy(update={"text": change.after or ""})
    if os.path.lexists(place) and not all_homes(settings, left):
        yield f"{place} stays: it may be the only copy of what was in {settings.path.name} before."


def _leads_out(path: Path, project: Path) -> bool:
    """Return whether a path in a project is none: a repository may come with links that its author chose."""
    return path.is_relative_to(project) and not path.resolve().is_relative_to(project.resolve())


def _carry_out(settings: SettingsFile, change: Change) -> None:
    if not change.changes_file:
        return
    if change.after is None:
        remove_file(settings.path)
        return
    if change.backup is not None:
        back_up(change.file, change.backup)
    write_text(change.file, change.after)


def _missing_folders(plan: Plan) -> tuple[Path, ...]:
    """The folders that are made for the files, outermost first."""
    parents = [folder for settings, _ in plan for folder in reversed(settings.path.resolve().parents)]
    return tuple(dict.fromkeys(folder for folder in parents if not folder.exists()))


def _told(plan: Plan, *, has_difference: bool) -> tuple[FileDone, ...]:
    return tuple(
        FileDone(
            path=str(settings.path),
            did=_did(change),
            backup=str(backup_of(settings.path)) if change.backup is not None and change.changes_file else "",
            difference=difference(settings, change) if has_difference and change.changes_file else "",
        )
        for settings, change in plan
    )


def _did(change: Change) -> Literal["made", "changed", "kept", "removed"]:
    if not change.changes_file:
        return "kept"
    if change.after is None:
        return "removed"
    return "changed" if change.file.is_there else "made"
