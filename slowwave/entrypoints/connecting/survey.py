"""The harnesses of this machine, and how each is connected. Nothing is changed."""

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

from slowwave.entrypoints.connecting.agents import (
    AGENTS,
    PROGRAM,
    Install,
    Places,
    files_of,
    folder_of,
    words_of,
)
from slowwave.entrypoints.connecting.files import read_text
from slowwave.entrypoints.connecting.names import HARNESSES, Harness, Scope
from slowwave.entrypoints.connecting.settings_files import homes_in, own_entries, text_with
from slowwave.entrypoints.connecting.switches import switched_off
from slowwave.errors import InputError
from slowwave.schemas.refusals import Frozen


class State(Frozen):
    """Connection of one harness, for the user or in one project.

    `partly` means that entries are missing or outdated, and `unknown` that a file could not be read.
    """

    harness: Harness
    scope: Scope
    project: str = ""
    is_found: bool
    connected: Literal["yes", "partly", "no", "unknown"]
    homes: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()


def survey(places: Places, install: Install) -> tuple[State, ...]:
    """Every harness for the user, and each connection in this project."""
    states = [state_of(harness, "user", places, install) for harness in HARNESSES]
    # in the user's folder most agents have the same files for the user and the project
    others = [] if places.project == places.user else sorted(HARNESSES)
    found = [state_of(harness, "project", places, install) for harness in others]
    return (*states, *(one for one in found if one.connected in ("yes", "partly")))


def state_of(harness: Harness, scope: Scope, places: Places, install: Install) -> State:
    """The connection of a harness in a scope."""
    project = str(places.project) if scope == "project" else ""
    known = State(
        harness=harness, scope=scope, project=project, is_found=is_found(harness, places), connected="no"
    )
    try:
        files = [(one, read_text(one.path)) for one in files_of(harness, scope, places, install)]
        entries = [entry for settings, text in files for entry in own_entries(settings, text)]
        if not entries:
            return known
        homes = homes_in(entries)
        mine = install.model_copy(update={"home": homes[0]}) if homes else install
        wanted = zip(files_of(harness, scope, places, mine), files, strict=True)
        stale = [str(one.path) for one, (_, text) in wanted if text_with(one, text) != text]
        outdated = f"not all entries are those of this installation ({', '.join(stale)}): connect again"
        problems = ([outdated] if stale else []) + [*_gone(entries), *switched_off(harness, files, places)]
    except InputError as error:
        return known.model_copy(update={"connected": "unknown", "problems": (str(error),)})
    connected = "partly" if stale else "yes"
    return known.model_copy(update={"connected": connected, "homes": homes, "problems": tuple(problems)})


def is_found(harness: Harness, places: Places) -> bool:
    """Return whether the harness was used on this machine, or its program is on the PATH."""
    program, path = AGENTS[harness].program, places.environment.get("PATH")
    return folder_of(harness, places).exists() or bool(program and path and shutil.which(program, path=path))


def _gone(entries: Sequence[object]) -> Iterator[str]:
    """Programs that our entries name and that no longer exist."""
    for word in sorted({word for entry in entries for word in words_of(entry)}):
        is_program = word.replace("\\", "/").endswith(PROGRAM) or "python" in Path(word).name
        if is_program and Path(word).is_absolute() and not Path(word).exists():
            yield f"{word} is gone: connect again"
