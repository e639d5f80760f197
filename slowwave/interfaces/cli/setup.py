"""Commands that set a home up: connect coding agents, disconnect them, and check that everything works."""

from typing import TYPE_CHECKING

import click

from slowwave.interfaces.cli import output
from slowwave.interfaces.cli.options import dry_run_option, home_option, json_option

if TYPE_CHECKING:
    from slowwave.interfaces.hooks.agents import Scope

NAMES = "claude-code|codex|gemini|opencode|cursor|claude-desktop|vscode"

project_flag = click.option(
    "--project", is_flag=True, help="In the settings of the project that you are in, not in your own."
)


@click.command()
@click.argument("agent", metavar=f"[{NAMES}]", required=False)
@project_flag
@dry_run_option
@home_option
@json_option
def connect(agent: str | None, *, project: bool, dry_run: bool, home: str | None, as_json: bool) -> None:
    """Connect a coding agent with the memory.

    It gets the MCP server, and hooks where it has them. All other values in its settings stay; a copy of a changed file
    is kept next to it. Run again, it brings its entries up to date. Without a name nothing is changed: it lists the
    agents on this machine and what is connected.
    """
    from slowwave.interfaces.cli.local import show_result
    from slowwave.interfaces.hooks import connect as hooks

    if agent is None:
        if project or dry_run:
            raise click.UsageError("name the agent to connect; without a name all of them are listed")
        show_result(hooks.survey(home), as_json=as_json)
        return
    scope: Scope = "project" if project else "user"
    show_result(hooks.connect(agent, scope=scope, home=home, dry_run=dry_run), as_json=as_json)


@click.command()
@click.argument("agent", metavar=NAMES)
@project_flag
@dry_run_option
@home_option
@json_option
def disconnect(agent: str, *, project: bool, dry_run: bool, home: str | None, as_json: bool) -> None:
    """Disconnect a coding agent.

    The entries of `connect` are removed, and nothing else.
    """
    from slowwave.interfaces.cli.local import show_result
    from slowwave.interfaces.hooks import connect as hooks

    scope: Scope = "project" if project else "user"
    show_result(hooks.disconnect(agent, scope=scope, home=home, dry_run=dry_run), as_json=as_json)


@click.command()
@home_option
@json_option
def doctor(*, home: str | None, as_json: bool) -> None:
    """Check the home, the models, the agents and Prefect.

    Exit code 1 means that something needed is broken.
    """
    from slowwave.interfaces.cli.doctor import blocks_of, examine, is_broken
    from slowwave.interfaces.cli.local import show_blocks

    checks = examine(home)
    if as_json:
        document = {"is_broken": is_broken(checks), "checks": [check.model_dump() for check in checks]}
        output.emit_json(document)
    else:
        show_blocks(blocks_of(checks))
    if is_broken(checks):
        raise SystemExit(1)
