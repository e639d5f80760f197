"""The commands that connect coding agents with a home, and disconnect them."""

from typing import Annotated

import typer

from slowwave.entrypoints.commands.options import DryRunOption, HomeOption, JsonOption, reply
from slowwave.errors import InputError

ProjectOption = Annotated[
    bool, typer.Option("--project", help="In the settings of the project that you are in.")
]


def connect(
    agent: Annotated[str | None, typer.Argument(metavar="[AGENT]", help="Without one, list them.")] = None,
    *,
    project: ProjectOption = False,
    home: HomeOption = None,
    dry_run: DryRunOption = False,
    as_json: JsonOption = False,
) -> None:
    """Connect a coding agent with the memory. It gets the MCP server, and hooks where it has them.

    All other values in its settings stay. JSON is written with an indent of 2, so a copy of a changed file is kept next
    to it; JSON with comments is refused with the entry to add by hand. Run again, it brings its entries up to date.
    Without a name nothing is changed: it lists the agents on this machine and what is connected.
    """
    from slowwave.entrypoints.show.connecting import show_connected, show_states
    from slowwave.interfaces.hooks import connect as hooks

    if agent is None:
        if project or dry_run:
            raise InputError("name the agent to connect; without a name all of them are listed")
        reply(hooks.survey(home), show_states, as_json=as_json)
        return
    done = hooks.connect(agent, scope="project" if project else "user", home=home, dry_run=dry_run)
    reply(done, show_connected, as_json=as_json)


def disconnect(
    agent: Annotated[str, typer.Argument(metavar="AGENT")],
    *,
    project: ProjectOption = False,
    home: HomeOption = None,
    dry_run: DryRunOption = False,
    as_json: JsonOption = False,
) -> None:
    """Disconnect a coding agent. Exactly the entries of `connect` go.

    A file in which no other value has changed since is byte for byte as before; else its copy from before stays. With
    --home only if that is the home with which it is connected.
    """
    from slowwave.entrypoints.show.connecting import show_disconnected
    from slowwave.interfaces.hooks import connect as hooks

    done = hooks.disconnect(agent, scope="project" if project else "user", home=home, dry_run=dry_run)
    reply(done, show_disconnected, as_json=as_json)


COMMANDS = (connect, disconnect)
"""In the order in which the help lists them."""
