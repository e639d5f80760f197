"""The commands that connect coding agents with a home, and disconnect them."""

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import slowwave
from slowwave.entrypoints.commands.options import DryRunOption, HomeOption, JsonOption, reply
from slowwave.entrypoints.connecting.names import HARNESSES, Harness, Scope
from slowwave.errors import InputError
from slowwave.settings.place import home_folder

if TYPE_CHECKING:
    from slowwave.entrypoints.connecting.agents import Install, Places

NAMES = "|".join(HARNESSES)

ProjectOption = Annotated[
    bool, typer.Option("--project", help="In the settings of the project that you are in.")
]
UserOption = Annotated[bool, typer.Option("--user", help="In your own settings, for all projects (default).")]


def connect(
    harness: Annotated[
        str | None, typer.Argument(metavar="[HARNESS]", help=f"One of {NAMES}; without one, list them.")
    ] = None,
    *,
    project: ProjectOption = False,
    user: UserOption = False,
    home: HomeOption = None,
    dry_run: DryRunOption = False,
    as_json: JsonOption = False,
) -> None:
    """Connect a coding agent with the memory. It gets the MCP server, and hooks where it has them.

    All other values in its settings stay. JSON is written with an indent of 2, so a copy of a changed file is kept next
    to it; JSON with comments is refused with the entry to add by hand. Run again, it brings its entries up to date.
    Without a name nothing is changed: it lists the agents on this machine and what is connected.
    """
    from slowwave.entrypoints.connecting.connection import connect as connect_harness
    from slowwave.entrypoints.connecting.survey import survey
    from slowwave.entrypoints.show.connecting import show_connected, show_states

    scope = _scope(project=project, user=user)
    if harness is None:
        if project or user or dry_run:
            raise InputError("name the harness to connect; without a name all of them are listed")
        reply(survey(places(), install(home)), show_states, as_json=as_json)
        return
    name, there = _named(harness), places()
    if project and not _is_repository(there.project):
        raise InputError(
            "you stand in no git repository: go into the project's, or connect without --project"
        )
    done = connect_harness(name, scope, there, install(home), dry_run=dry_run)
    reply(done, show_connected, as_json=as_json)


def disconnect(
    harness: Annotated[str, typer.Argument(metavar="HARNESS", help=f"One of {NAMES}.")],
    *,
    project: ProjectOption = False,
    user: UserOption = False,
    home: HomeOption = None,
    dry_run: DryRunOption = False,
    as_json: JsonOption = False,
) -> None:
    """Disconnect a coding agent. Exactly the entries of `connect` go.

    A file in which no other value has changed since is byte for byte as before; else its copy from before stays. With
    --home only if that is the home with which it is connected.
    """
    from slowwave.entrypoints.connecting.connection import disconnect as disconnect_harness
    from slowwave.entrypoints.show.connecting import show_disconnected

    scope = _scope(project=project, user=user)
    name, own = _named(harness), install(home)
    if home is not None:
        homes = disconnect_harness(name, scope, places(), own, dry_run=True).homes
        if others := [one for one in homes if one != own.home]:
            raise InputError(
                f"{name} is connected with {', '.join(others)}, and not with {own.home}: name that one"
            )
    done = disconnect_harness(name, scope, places(), own, dry_run=dry_run)
    reply(done, show_disconnected, as_json=as_json)


def install(home: str | None) -> "Install":
    """This environment and a home, as entries name them."""
    from slowwave.entrypoints.connecting.agents import PROGRAM, Install

    hook = Path(slowwave.__file__).absolute().parent / PROGRAM
    return Install(
        python=str(Path(sys.executable).absolute()), hook=str(hook), home=str(home_folder(home).resolve())
    )


def places() -> "Places":
    """This user's folder, the project that one stands in, and the variables that move settings."""
    from slowwave.entrypoints.connecting.agents import Places

    here = Path.cwd()
    project = next((folder for folder in (here, *here.parents) if _is_repository(folder)), here)
    return Places(user=Path.home(), project=project, system=sys.platform, environment=dict(os.environ))


def _is_repository(folder: Path) -> bool:
    return (folder / ".git").exists()


def _scope(*, project: bool, user: bool) -> Scope:
    if project and user:
        raise typer.BadParameter("give one of them", param_hint="--project --user")
    return "project" if project else "user"


def _named(harness: str | None) -> Harness:
    known = next((name for name in HARNESSES if name == harness), None)
    if known is None:
        raise InputError(f"no harness is called {harness!r}: name one of {', '.join(HARNESSES)}")
    return known


COMMANDS = (connect, disconnect)
"""In the order in which the help lists them."""
