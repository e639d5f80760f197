"""MCP at `/mcp`, whose SDK takes two seconds to import: it is mounted with the first request that wants it."""

import asyncio
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
            self._task.add_done_callback(self._pass_on)
        answer = await asyncio.shield(self._served)
        await answer(scope, receive, send)

    async def close(self) -> None:
        """End the sessions."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _serve(self, served: "asyncio.Future[ASGIApp]") -> None:
        mount = await run_sync(_imported)
        async with mount(self._app) as answer:
            served.set_result(answer)
            await asyncio.Event().wait()

    def _pass_on(self, task: "asyncio.Task[None]") -> None:
        """Hand an error to the requests that wait; the next request tries again."""
        served, self._served = self._served, None
        error = None if task.cancelled() else task.exception()
        if served is not None and not served.done():
            served.set_exception(error or asyncio.CancelledError())


def _imported() -> Any:
    from slowwave.interfaces.mcp.server import mounted

    return mounted
