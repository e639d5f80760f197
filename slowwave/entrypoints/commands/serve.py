"""The command that serves the memory to programs."""

import os
from typing import Annotated

import typer

from slowwave.entrypoints.commands.options import HomeOption


def serve(
    context: typer.Context,
    *,
    port: Annotated[
        int | None,
        typer.Option(
            "--port", min=1, max=65535, help="Port (default: the setting server.port, or the next free one)."
        ),
    ] = None,
    nightly: Annotated[
        bool, typer.Option("--nightly", help="Also run a night each day at the setting night.at.")
    ] = False,
    install: Annotated[
        bool, typer.Option("--install", help="Keep it running as a service of this user, from now on.")
    ] = False,
    uninstall: Annotated[bool, typer.Option("--uninstall", help="Stop and remove that service.")] = False,
    home: HomeOption = None,
) -> None:
    """Serve the memory to programs. HTTP on this machine only, until Ctrl-C."""
    if sum((install, uninstall, nightly or port is not None)) > 1:
        raise typer.BadParameter("give one of them", param_hint="--port --nightly --install --uninstall")
    if install or uninstall:
        from slowwave.entrypoints.server import service
        from slowwave.settings.tree import load_settings

        folder = load_settings(home).home.resolve()
        typer.echo(service.install(folder) if install else service.uninstall(folder))
        return
    from slowwave.entrypoints.server.address import SINGLE

    os.umask(0o077)  # what it writes into the home is for this user alone, whoever made the folder
    for name in SINGLE:
        os.environ.setdefault(name, "1")
    from slowwave.entrypoints.server.serve import serve as serve_memory

    serve_memory(home, port=port, program=context.find_root().command, nightly=nightly)
