"""Connect a harness with a home, and disconnect it: all of its files, or none if one of them is refused."""

from collections.abc import Iterator
from pathlib import Path
from typing import Literal, NamedTuple

from slowwave.entrypoints.connecting.agents import Install, Places, SettingsFile, advice_of, files_of
from slowwave.entrypoints.connecting.files import check_writable, copies_of, next_copy, read_text, replace
from slowwave.entrypoints.connecting.names import Harness, Scope
from slowwave.entrypoints.connecting.settings_files import (
    has_own,
    homes_in,
    is_needless,
    own_entries,
    preview,
    text_with,
    text_without,
)
from slowwave.entrypoints.connecting.survey import is_found, state_of
from slowwave.errors import InputError
from slowwave.schemas.refusals import Frozen


class FileDone(Frozen):
    """One file: what happened to it or would happen, the copy kept of it, and under `dry_run` the entries added."""

    path: str
    did: Literal["made", "changed", "kept", "removed"]
    backup: str = ""
    entries: str = ""


class Done(Frozen):
    """Outcome of connecting or disconnecting; under `dry_run` nothing was changed."""

    harness: Harness
    scope: Scope
    project: str = ""
    homes: tuple[str, ...] = ()
    dry_run: bool = False
    files: tuple[FileDone, ...]
    notes: tuple[str, ...] = ()


class _Change(NamedTuple):
    """A file before and after, None where there is none; and the copy to make, or the newest one that is there."""

    settings: SettingsFile
    before: str | None
    after: str | None
    copy: Path | None

    @property
    def did(self) -> Literal["made", "changed", "kept", "removed"]:
        """The outcome for the file."""
        if self.before == self.after:
            return "kept"
        return "made" if self.before is None else "removed" if self.after is None else "changed"


def connect(harness: Harness, scope: Scope, places: Places, install: Install, *, dry_run: bool) -> Done:
    """Add our entries to the settings of a harness, in place of those of an earlier connection.

    Raises:
        InputError: the harness has no settings of this scope, or a file is refused; nothing is changed then.
    """
    plan = []
    for settings, before in _read(harness, scope, places, install):
        after = text_with(settings, before)
        is_first = before is not None and after != before and not has_own(settings, before)
        plan.append(_Change(settings, before, after, next_copy(settings.path) if is_first else None))
    notes = (*_surprises(harness, scope, places, install), *advice_of(harness, scope))
    _carry_out(plan, dry_run=dry_run, keeps_copies=True)
    files = tuple(
        FileDone(
            path=str(one.settings.path),
            did=one.did,
            backup=str(one.copy or ""),
            entries=preview(one.settings) if dry_run and one.did != "kept" else "",
        )
        for one in plan
    )
    return Done(
        harness=harness, scope=scope, project=_project(scope, places), homes=(install.home,), dry_run=dry_run,
        files=files, notes=notes,
    )  # fmt: skip


def disconnect(harness: Harness, scope: Scope, places: Places, install: Install, *, dry_run: bool) -> Done:
    """Remove our entries from the settings of a harness, with the files that connecting made.

    Raises:
        InputError: the harness has no settings of this scope, or a file is refused; nothing is changed then.
    """
    plan, homes, notes = [], dict[str, None](), []
    for settings, before in _read(harness, scope, places, install):
        copy = (None, *copies_of(settings.path))[-1]
        after = None if before is None else text_without(settings, before, read_text(copy) if copy else None)
        plan.append(_Change(settings, before, after, copy))
        homes |= dict.fromkeys(homes_in(own_entries(settings, before)))
    past = [one.copy for one in plan if one.copy and _is_past(one, one.copy)]
    for one in plan:
        if one.copy and one.copy not in past and not has_own(one.settings, one.after):
            notes.append(
                f"{one.copy} stays: it may be the only copy of what was in {one.settings.path.name} before."
            )
    _carry_out(plan, dry_run=dry_run, keeps_copies=False)
    for copy in () if dry_run else past:
        copy.unlink()
    return Done(
        harness=harness, scope=scope, project=_project(scope, places), homes=tuple(homes), dry_run=dry_run,
        files=tuple(FileDone(path=str(one.settings.path), did=one.did) for one in plan), notes=tuple(notes),
    )  # fmt: skip


def _carry_out(plan: list[_Change], *, dry_run: bool, keeps_copies: bool) -> None:
    """Write all files, after a look at whether each of them can be written."""
    changed = [one for one in plan if one.did != "kept"]
    for one in changed:
        check_writable(one.settings.path)
    for one in () if dry_run else changed:
        replace(one.settings.path, one.before, one.after, copy=one.copy if keeps_copies else None)


def _is_past(change: _Change, copy: Path) -> bool:
    """Return whether a copy can go: our entries are gone, and writing the file cost no value and no layout."""
    if change.did == "kept" or has_own(change.settings, change.after):
        return False
    return is_needless(change.settings, read_text(copy), change.after)


def _project(scope: Scope, places: Places) -> str:
    return str(places.project) if scope == "project" else ""


def _read(
    harness: Harness, scope: Scope, places: Places, install: Install
) -> list[tuple[SettingsFile, str | None]]:
    """The files of a harness with their texts."""
    wanted = files_of(harness, scope, places, install)
    if not wanted:
        raise InputError(f"{harness} has no settings of a project: leave out --project")
    project = places.project.resolve()
    for settings in wanted if scope == "project" else ():
        path = settings.path  # a repository may come with links that its author chose
        if path.is_relative_to(places.project) and not path.resolve().is_relative_to(project):
            raise InputError(f"{path} leads out of the project by a link: nothing is written there")
    return [(settings, read_text(settings.path)) for settings in wanted]


def _surprises(harness: Harness, scope: Scope, places: Places, install: Install) -> Iterator[str]:
    """Facts that the user may not expect: no such home or harness, or a second connection."""
    if not Path(install.home).is_dir():
        yield f"There is no home at {install.home} yet: `slowwave serve` makes it. Another one is named by --home."
    if not is_found(harness, places):
        yield f"{harness} was not found on this machine: its settings are written for when it is."
    other: Scope = "user" if scope == "project" else "project"
    homes = () if places.user == places.project else state_of(harness, other, places, install).homes
    if homes:
        where = "for you" if other == "user" else "in this project"
        yield f"It is connected {where} as well, with the home {', '.join(homes)}: in this project both are asked."
