"""MCP over streamable HTTP, mounted into the server that holds the warm memory; the server checks the key before it."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Final, get_args

from mcp.server.mcpserver import Context
from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette
from starlette.routing import BaseRoute, Route
from starlette.types import Receive, Scope, Send

from slowwave.entrypoints.mcp.asking import Ask, Caller, ask_memory
from slowwave.entrypoints.mcp.server import mcp_server
from slowwave.entrypoints.resident.client import Writing
from slowwave.memory import Memory

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


def mount(app: Starlette, memory: Memory) -> None:
    """Serve MCP at `/mcp`, for as long as `app` lives.

    Where the app has lanes, calls wait in them with those of the routes: a question never waits behind a write.
    """
    lanes = getattr(app.state, "lanes", None)
    server = mcp_server(ask_memory(memory) if lanes is None else _ask_in(lanes), caller_of)
    # its route among the others, not a mount: that would answer `/mcp` by a redirect, which not every client follows
    own = server.streamable_http_app(streamable_http_path=PATH, transport_security=SECURITY)
    for route in own.routes:
        app.router.routes.append(_named(route))
    around: Callable[[Any], AbstractAsyncContextManager[Any]] = app.router.lifespan_context

    @asynccontextmanager
    async def lifespan(host: Starlette) -> AsyncIterator[Any]:
        async with around(host) as state, server.session_manager.run():
            yield state

    app.router.lifespan_context = lifespan


def _ask_in(lanes: Any) -> Ask:
    async def ask(operation: str, arguments: dict[str, Any], answer: Any) -> Any:  # it has its type already
        lane = lanes.write if operation in get_args(Writing) else lanes.read
        return await lane(getattr(lanes.memory, operation), **arguments)

    return ask


def _named(route: BaseRoute) -> BaseRoute:
    """The route, which tells the access log its name as the other routes do."""
    assert isinstance(route, Route)
    answer = route.app

    async def told(scope: Scope, receive: Receive, send: Send) -> None:
        scope["route"] = route
        await answer(scope, receive, send)

    route.app = told
    return route


def caller_of(ctx: Context) -> Caller:
    """The caller, as the headers of its request say."""
    headers = ctx.headers or {}
    conversation = next((headers[name] for name in CONVERSATION_HEADERS if headers.get(name)), "")
    return Caller(conversation, headers.get(PROJECT_HEADER) or None)
