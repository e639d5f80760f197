"""The command that serves the memory to programs."""

from typing import Annotated

import typer

from slowwave.entrypoints.commands.options import HomeOption


def serve(
    *,
    port: Annotated[
        int | None,
        typer.Option(
            "--port", min=1, max=65535, help="Port (default: the setting server.port, or the next free one)."
        ),
    ] = None,
    home: HomeOption = None,
) -> None:
    """Serve the memory to programs. HTTP on this machine only, until Ctrl-C."""
    from slowwave.interfaces.http.serve import serve as serve_memory

    serve_memory(home, port=port)
