"""MCP over streamable HTTP, mounted into the server that holds the warm memory; the server checks the key before it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final, get_args

from mcp.server.mcpserver import Context
from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette
from starlette.types import ASGIApp

from slowwave.entrypoints.mcp.asking import Ask, Caller
from slowwave.entrypoints.mcp.server import mcp_server
from slowwave.entrypoints.resident.client import Writing

PATH: Final = "/mcp"

CONVERSATION_HEADERS: Final = ("x-slowwave-conversation", "mcp-session-id")
"""Where a request says which conversation it belongs to: by its own header, else by the session of the protocol."""

_NAMES: Final = ("127.0.0.1", "localhost", "[::1]")
_WITH_PORTS: Final = [*_NAMES, *(f"{name}:*" for name in _NAMES)]
SECURITY: Final = TransportSecuritySettings(
    enable_dns_rebinding_protection=True,
    allowed_hosts=_WITH_PORTS,
    allowed_origins=[f"http://{name}" for name in _WITH_PORTS],
)
"""The names of the loopback, also without a port, as the other routes take them."""

PROJECT_HEADER: Final = "x-slowwave-project"


@asynccontextmanager
async def mounted(app: Starlette) -> AsyncIterator[ASGIApp]:
    """MCP for an app with lanes: calls wait in them with those of the routes, so a question never waits for a write."""
    server = mcp_server(_ask_in(app.state.lanes), caller_of)
    own = server.streamable_http_app(streamable_http_path=PATH, transport_security=SECURITY)
    async with server.session_manager.run():
        yield own


def _ask_in(lanes: Any) -> Ask:
    async def ask(operation: str, arguments: dict[str, Any], answer: Any) -> Any:  # it has its type already
        lane = lanes.write if operation in get_args(Writing) else lanes.read
        return await lane(getattr(lanes.memory, operation), **arguments)

    return ask


def caller_of(ctx: Context) -> Caller:
    """The caller, as the headers of its request say."""
    headers = ctx.headers or {}
    conversation = next((headers[name] for name in CONVERSATION_HEADERS if headers.get(name)), "")
    return Caller(conversation, headers.get(PROJECT_HEADER) or None)
