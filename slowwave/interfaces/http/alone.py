"""The same app in the caller's own process: for systems without Unix sockets, and where no server may start."""

import asyncio
from collections.abc import Mapping
from pathlib import Path

import httpx

from slowwave.interfaces.client import Reply
from slowwave.interfaces.http.app import create_app
from slowwave.memory import Memory
from slowwave.settings.tree import load_settings


def answer(
    home: Path, method: str, path: str, body: bytes | None = None, headers: Mapping[str, str] | None = None
) -> Reply:
    """The answer of a memory that is opened for it and closed afterwards; nothing else is at work beside it.

    The app does not begin its life: no tables are loaded that this question does not need, no transcript is followed.
    """
    with Memory(home) as memory:
        app = create_app(memory, settings=load_settings(home))

        async def ask() -> httpx.Response:
            transport = httpx.ASGITransport(app=app)
            async with httpx.AsyncClient(transport=transport, base_url="http://slowwave") as client:
                return await client.request(method, path, content=body, headers=dict(headers or {}))

        found = asyncio.run(ask())
        app.state.lanes.runs.leave()
        return Reply(found.status_code, dict(found.headers), found.content)
