"""`slowwave mcp`: MCP over stdin and stdout, handed on to the home's server over its socket.

A harness starts one such process for each session, and they live for hours. So this one holds no store: it starts the
server where none listens, and opens its session again where the server left in between because nobody asked.
"""

import json
import os
import time
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote
from uuid import uuid4

import anyio
import httpx2
from anyio.to_thread import run_sync
from mcp.client.streamable_http import streamable_http_client
from mcp.server.stdio import stdio_server
from mcp.shared.inbound import (
    MCP_METHOD_HEADER,
    MCP_NAME_HEADER,
    MCP_PROTOCOL_VERSION_HEADER,
    NAME_BEARING_METHODS,
    encode_header_value,
)
from mcp.shared.message import ClientMessageMetadata, SessionMessage
from mcp.types import INTERNAL_ERROR, PROTOCOL_VERSION_META_KEY

from slowwave.interfaces.client import (
    LOOK_SECONDS,
    MAY_BE_DONE,
    PRINT,
    STALE,
    START_SECONDS,
    WRITE_SECONDS,
    fingerprint,
    has_sockets,
    socket_path,
    start_server,
)
from slowwave.settings.place import home_folder
from slowwave.settings.projects import repository_project
from slowwave.settings.tree import load_settings

OTHERS_START_SECONDS: Final = 10.0
"""How long to wait for a server that somebody else started, after ours ended because of that."""

WRITE_TOOLS: Final = frozenset(
    [
        "remember_fact",
        "correct_fact",
        "confirm_fact",
        "forget_fact",
        "resolve_contradiction",
        "cite",
        "erase_fact",
    ]
)
"""The tools whose calls are never repeated by this process."""

SESSION: Final = "mcp-session-id"
_OPENING: Final = b'"method":"initialize"'
_OPENED: Final = {"jsonrpc": "2.0", "method": "notifications/initialized"}


def run(home: str | None) -> None:
    """Answer one client until it closes the input. The process is one conversation.

    Raises:
        ConfigError: no folder for the home's socket can be used.
    """
    folder = home_folder(home).resolve()
    anyio.run(_pump, folder, _headers(home)) if has_sockets() else anyio.run(_alone, folder)


def _headers(home: str | None) -> dict[str, str]:
    """The conversation, and the project that the client works in: none outside of any repository."""
    headers = {"X-Slowwave-Conversation": f"mcp-{uuid4().hex[:12]}"}
    try:
        folder = os.environ.get("CLAUDE_PROJECT_DIR") or str(Path.cwd())
    except OSError:  # the folder is gone
        return headers
    is_followed = load_settings(home).owner.project_from == "repository"
    if is_followed and repository_project(folder) is not None:
        headers["X-Slowwave-Project"] = quote(folder)
    return headers


async def _alone(folder: Path) -> None:
    """Answer in this process, where the system has no sockets for a server."""
    from slowwave.interfaces.http.lanes import Lanes
    from slowwave.interfaces.mcp.server import build
    from slowwave.memory import Memory

    with Memory(folder) as memory:
        await build(Lanes(memory, folder)).run_stdio_async()


async def _pump(folder: Path, headers: dict[str, str]) -> None:
    """Hand on what comes in, and what comes back, until the client ends."""
    timeout = httpx2.Timeout(WRITE_SECONDS, connect=START_SECONDS)
    client = httpx2.AsyncClient(transport=_HomeServer(folder), headers=headers, timeout=timeout)
    async with (
        client,
        stdio_server() as (asked, answers),
        streamable_http_client("http://slowwave/mcp", http_client=client) as (answered, questions),
        anyio.create_task_group() as both,
    ):

        async def back() -> None:
            async for message in answered:
                if isinstance(message, SessionMessage):
                    await answers.send(message)

        both.start_soon(back)
        async for message in asked:
            if isinstance(message, SessionMessage):
                await questions.send(SessionMessage(message.message, metadata=_metadata(message.message)))
        both.cancel_scope.cancel()


def _metadata(message: Any) -> ClientMessageMetadata | None:
    """The headers that the protocol wants beside a message since 2026-07-28; a client of an older one needs none."""
    params = getattr(message, "params", None) or {}
    version = (params.get("_meta") or {}).get(PROTOCOL_VERSION_META_KEY)
    if version is None:
        return None
    headers = {MCP_PROTOCOL_VERSION_HEADER: version, MCP_METHOD_HEADER: message.method}
    name = params.get(NAME_BEARING_METHODS.get(message.method, ""))
    return ClientMessageMetadata(
        headers=headers | ({MCP_NAME_HEADER: encode_header_value(name)} if isinstance(name, str) else {})
    )


class _HomeServer(httpx2.AsyncHTTPTransport):
    """The way to the server of a home, which is started where none listens."""

    def __init__(self, folder: Path) -> None:
        super().__init__(uds=str(socket_path(folder)), limits=httpx2.Limits(max_keepalive_connections=0))
        self._folder = folder
        self._opening: httpx2.Request | None = None
        self._session = ""

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """The server's answer; of a session that it lost, after it was opened again."""
        if (
            request.method == "GET"
        ):  # a stream for messages that nobody asked for: it would keep the server awake
            return httpx2.Response(405, request=request)
        if _OPENING in request.content.replace(b" ", b""):
            self._opening = request
        answer = await self._sent(request)
        if answer.headers.get("content-type", "").startswith("application/problem+json"):
            return _error(json.loads(await answer.aread())["detail"], request)
        if answer.status_code == 404 and SESSION in request.headers and self._opening is not None:  # noqa: PLR2004
            await answer.aclose()
            await self._open_again(self._opening)
            answer = await self._sent(request)
        return answer

    async def _open_again(self, opening: httpx2.Request) -> None:
        opened = await self._sent(opening)
        await opened.aread()
        self._session = opened.headers.get(SESSION, "")
        opened_note = httpx2.Request(
            "POST", opening.url, headers={**_plain(opening), SESSION: self._session}, json=_OPENED
        )
        await (await self._sent(opened_note)).aread()

    async def _sent(self, request: httpx2.Request) -> httpx2.Response:
        """The answer of the server that has this program and these settings, which is started once if need be."""
        deadline, process, is_started = time.monotonic() + START_SECONDS, None, False
        headers = {**request.headers, PRINT: await run_sync(fingerprint, self._folder)}
        if SESSION in headers and self._session:
            headers[SESSION] = self._session
        while time.monotonic() < deadline:
            if (
                process is not None and process.poll() is not None
            ):  # another one may be starting, and has the lock
                deadline = min(deadline, time.monotonic() + OTHERS_START_SECONDS)
                process = None
            try:
                answer = await super().handle_async_request(_again(request, headers))
                if answer.headers.get(STALE) != "leaves":
                    return answer
                await answer.aclose()
            except httpx2.ConnectError:
                if not is_started:
                    process, is_started = start_server(self._folder), True
            except httpx2.TransportError:
                if _writes(request):
                    return _error(f"the server left in the middle; {MAY_BE_DONE}", request)
            await anyio.sleep(LOOK_SECONDS)
        return _error("the server of this memory does not start: `slowwave doctor` says why", request)


def _writes(request: httpx2.Request) -> bool:
    """Return whether a request may change the memory, so that it is sent at most once."""
    asked = json.loads(request.content)
    return asked.get("method") == "tools/call" and asked["params"]["name"] in WRITE_TOOLS


def _again(request: httpx2.Request, headers: dict[str, str]) -> httpx2.Request:
    """A request to send once more, with other headers."""
    return httpx2.Request(
        request.method, request.url, headers=headers, content=request.content, extensions=request.extensions
    )


def _plain(request: httpx2.Request) -> dict[str, str]:
    """The headers of a request but those of its body."""
    return {name: value for name, value in request.headers.items() if name not in ("content-length", SESSION)}


def _error(message: str, request: httpx2.Request) -> httpx2.Response:
    """An error of the protocol, whose text reaches the client."""
    error = {"code": INTERNAL_ERROR, "message": message}
    return httpx2.Response(400, json={"jsonrpc": "2.0", "id": None, "error": error}, request=request)
