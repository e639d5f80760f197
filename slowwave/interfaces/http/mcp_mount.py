"""MCP at `/mcp`, whose SDK takes two seconds to import: it is mounted with the first request that wants it."""

import asyncio
from contextlib import AsyncExitStack, suppress
from typing import Any

from anyio.to_thread import run_sync
from starlette.types import ASGIApp, Receive, Scope, Send

PATH = "/mcp"


class McpMount:
    """The ASGI app of MCP. Its sessions live in one task, as their library demands, from the first request on."""

    path = PATH  # what the access log shows as its route

    def __init__(self, app: Any) -> None:
        self._app = app
        self._served: asyncio.Future[ASGIApp] | None = None
        self._task: asyncio.Task[None] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        scope["route"] = self
        if self._served is None:
            self._served = asyncio.get_running_loop().create_future()
            self._task = asyncio.create_task(self._serve(self._served))
        answer = await asyncio.shield(self._served)
        await answer(scope, receive, send)

    async def close(self) -> None:
        """End the sessions."""
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task

    async def _serve(self, served: "asyncio.Future[ASGIApp]") -> None:
        try:
            mount = await run_sync(_imported)
            async with AsyncExitStack() as stack:
                served.set_result(await stack.enter_async_context(mount(self._app)))
                await asyncio.Event().wait()
        except Exception as error:
            if served.done():
                raise
            self._served = None  # the next request tries again
            served.set_exception(error)


def _imported() -> Any:
    from slowwave.interfaces.mcp.server import mounted

    return mounted
