"""`slowwave mcp`: MCP over stdin and stdout. The process holds no store: it asks the server, or the resident reader.

A harness starts one such process for each session, so it stays small: nothing here imports a table or an embedder.
"""

from typing import Any, cast
from uuid import uuid4

from mcp.server.mcpserver import Context

from slowwave.entrypoints.mcp.asking import Ask, Caller
from slowwave.entrypoints.mcp.server import mcp_server
from slowwave.entrypoints.resident.client import Operation, read


def serve_stdio(home: str | None) -> None:
    """Answer one client until it closes the input. The process is one conversation."""
    caller = Caller(f"mcp-{uuid4().hex[:12]}")

    def caller_of(_: Context) -> Caller:
        return caller

    mcp_server(ask_home(home), caller_of).run("stdio")


def ask_home(home: str | None) -> Ask:
    """Ask the memory of a home, wherever it is warm."""

    def ask(operation: str, arguments: dict[str, Any], answer: Any) -> Any:
        return read(home, cast("Operation", operation), arguments, answer)

    return ask
