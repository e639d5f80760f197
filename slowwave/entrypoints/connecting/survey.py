"""The harnesses of this machine, and how each is connected. Nothing is changed."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

from slowwave.entrypoints.connecting.changes import named_homes, own_values, to_connect
from slowwave.entrypoints.connecting.files import FileText, read_text
from slowwave.entrypoints.connecting.harnesses import (
    PROGRAM,
    Install,
    Places,
    SettingsFile,
    files_of,
    is_found,
    is_shared,
    words_of,
)
from slowwave.entrypoints.connecting.names import HARNESSES, Harness, Scope
from slowwave.entrypoints.connecting.record import connections
from slowwave.entrypoints.connecting.switches import switched_off
from slowwave.errors import InputError
from slowwave.schemas.refusals import Frozen


class State(Frozen):
    """Connection of one harness, for the user or in one project.

    `partly` means that entries are missing or are not those of today, and `unknown` that a file could not be read.
    """

    harness: Harness
    scope: Scope
    project: str = ""
    is_found: bool
    connected: Literal["yes", "partly", "no", "unknown"]
    homes: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()


def survey(places: Places, install: Install) -> tuple[State, ...]:
    """Every harness for the user, and each connection in this project or one that the home has noted."""
    states = [_state(harness, "user", places, install) for harness in HARNESSES]
    noted = [one for one in connections(Path(install.home)) if one.scope == "project"]
    projects = {(harness, str(places.project)) for harness in HARNESSES} | {
        (one.harness, one.project) for one in noted
    }
    for harness, project in sorted(projects):
        there = places.model_copy(update={"project": Path(project)})
        if is_shared(harness, there, install):
            continue
        found = _state(harness, "project", there, install)
        states += [found] if found.connected in ("yes", "partly") else []
    return tuple(states)


def _state(harness: Harness, scope: Scope, places: Places, install: Install) -> State:
    known = State(
        harness=harness,
        scope=scope,
        project=str(places.project) if scope == "project" else "",
        is_found=is_found(harness, places),
        connected="no",
    )
    wanted = files_of(harness, scope, places, install)
    try:
        files = [(settings, read_text(settings.path)) for settings in wanted]
        homes = tuple(dict.fromkeys(home for settings, file in files for home in named_homes(settings, file)))
        if not any(own_values(settings, file) for settings, file in files):
            return known
        mine = install.model_copy(update={"home": homes[0]}) if homes else install
        problems = (
            *_outdated(list(zip(files_of(harness, scope, places, mine), files, strict=True))),
            *_gone(files),
            *switched_off(harness, files, places),
        )
    except InputError as error:
        return known.model_copy(update={"connected": "unknown", "problems": (str(error),)})
    connected = "partly" if problems and problems[0].startswith(_OLD) else "yes"
    return known.model_copy(update={"connected": connected, "homes": homes, "problems": problems})


_OLD = "not all entries are those of this installation"


def _outdated(files: Sequence[tuple[SettingsFile, tuple[SettingsFile, FileText]]]) -> Iterator[str]:
    stale = [
        str(settings.path) for settings, (_, file) in files if to_connect(settings, file, None).changes_file
    ]
    if stale:
        yield f"{_OLD} ({', '.join(stale)}): connect again"


def _gone(files: Sequence[tuple[SettingsFile, FileText]]) -> Iterator[str]:
    """Programs that our entries name and that are no longer there."""
    named = {
        word
        for settings, file in files
        if settings.kind != "script"
        for entry in own_values(settings, file)
        for word in words_of(entry.value)
        if Path(word).is_absolute()
        and (word.replace("\\", "/").endswith(PROGRAM) or "python" in Path(word).name)
    }
    for word in sorted(named):
        if not Path(word).exists():
            yield f"{word} is gone: connect again"
