"""`slowwave mcp`: MCP over stdin and stdout, each message handed on to the home's server over its socket.

A harness starts one such process for each session, and they live for hours. So this one holds no store and imports no
MCP SDK: a message is a line here and the body of a request there. It starts the server where none listens, and opens
its session again where the server left in between because nobody asked.
"""

import base64
import json
import os
import sys
from contextlib import suppress
from http.client import HTTPResponse
from pathlib import Path
from threading import Lock, Thread
from typing import Any, Final
from urllib.parse import quote
from uuid import uuid4

from slowwave.errors import SlowwaveError
from slowwave.interfaces import client
from slowwave.settings.place import home_folder
from slowwave.settings.projects import repository_project
from slowwave.settings.tree import load_settings

WRITE_TOOLS: Final = frozenset(
    (
        "remember_fact",
        "correct_fact",
        "confirm_fact",
        "forget_fact",
        "resolve_contradiction",
        "cite",
        "erase_fact",
    )
)
"""The tools whose calls are never repeated by this process."""

NAMED: Final = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
"""The parameter that the protocol wants in a header, too, since 2026-07-28."""

SESSION: Final = "mcp-session-id"
ACCEPTED: Final = "application/json, text/event-stream"
INTERNAL_ERROR: Final = -32603
NO_SERVER: Final = (
    "the server of this memory does not start (`slowwave doctor` says why), or one with other settings keeps running: "
    "start that again"
)

_OPENED: Final = {"jsonrpc": "2.0", "method": "notifications/initialized"}


def run(home: str | None) -> None:
    """Answer one client until it closes the input. The process is one conversation.

    Raises:
        ConfigError: no folder for the home's socket can be used.
    """
    folder = home_folder(home).resolve()
    if not client.has_sockets():
        _answer_alone(folder)
        return
    client.socket_path(folder)  # refused before the first message
    bridge = Bridge(folder, _headers(home))
    for line in sys.stdin.buffer:
        with suppress(ValueError):
            bridge.take(json.loads(line))
    bridge.close()


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


def _answer_alone(folder: Path) -> None:
    """Answer in this process, where the system has no sockets for a server."""
    import anyio

    from slowwave.interfaces.http.lanes import Lanes
    from slowwave.interfaces.mcp.server import build
    from slowwave.memory import Memory

    with Memory(folder) as memory:
        anyio.run(build(Lanes(memory, folder)).run_stdio_async)


class Bridge:
    """The way of one client to the server of a home, with the session that clients of older protocols have."""

    def __init__(self, folder: Path, headers: dict[str, str]) -> None:
        self._folder, self._headers = folder, headers
        self._opening, self._session = dict[str, Any](), ""
        self._reopening, self._printing = Lock(), Lock()

    def take(self, message: dict[str, Any]) -> None:
        """Hand a message on. A request is answered in a thread: the next may be its end, or a person's yes to it."""
        if message.get("method") == "initialize":
            self._opening = message
        elif "method" in message and "id" in message:
            Thread(target=self._hand_on, args=(message,), daemon=True).start()
            return
        self._hand_on(message)

    def close(self) -> None:
        """End the session in the server."""
        with suppress(SlowwaveError):
            if self._session:
                headers = {**self._headers, SESSION: self._session}
                client.ask(self._folder, "DELETE", "/mcp", headers=headers, may_start=False)

    def _hand_on(self, message: dict[str, Any]) -> None:
        """Print the server's answer to a message, or an error of the protocol, whose text reaches the client."""
        used, refusal, reply = self._session, NO_SERVER, None
        try:
            reply = self._sent(message)
            if reply is not None and reply.status == 404 and used:  # noqa: PLR2004 # another server does not know it
                self._open_again(used)
                reply = self._sent(message)
        except SlowwaveError as error:
            refusal = str(error)
        kind = reply.headers.get("content-type", "") if reply is not None else ""
        if reply is not None and kind.startswith("application/problem+json"):
            refusal, reply = json.loads(reply.body)["detail"], None
        if reply is not None and message is self._opening:
            self._session = reply.headers.get(SESSION, "")
        if "id" not in message:
            return
        if reply is None:
            refused = {"code": INTERNAL_ERROR, "message": refusal}
            self._print({"jsonrpc": "2.0", "id": message["id"], "error": refused})
        elif kind.startswith("application/json"):
            self._print({**json.loads(reply.body), "id": message["id"]})

    def _open_again(self, lost: str) -> None:
        """Open the session in a server that does not know it; of several requests the first does."""
        with self._reopening:
            if self._session == lost:
                opened = self._sent(self._opening, is_shown=False)
                self._session = opened.headers.get(SESSION, "") if opened is not None else ""
                self._sent(_OPENED)

    def _sent(self, message: dict[str, Any], *, is_shown: bool = True) -> client.Reply | None:
        """The answer to a message; what comes as a stream of events is printed as it comes."""

        def read(answer: HTTPResponse) -> bytes:
            if not answer.headers.get("content-type", "").startswith("text/event-stream"):
                return answer.read()
            has_ended = False
            for line in answer:
                # events without data keep the connection awake
                event = json.loads(line[5:]) if line.startswith(b"data:") and line[5:].strip() else None
                if event is not None:
                    has_ended = "method" not in event
                    if is_shown:
                        self._print(event)
            if not has_ended:
                raise ConnectionResetError("the server left before it had answered")
            return b""

        params = message.get("params") or {}
        is_write = message.get("method") == "tools/call" and params.get("name") in WRITE_TOOLS
        headers = {**self._headers, **self._of_protocol(message, params), "Accept": ACCEPTED}
        return client.ask(
            self._folder, "POST", "/mcp", body=message, headers=headers, writes=is_write, read=read
        )

    def _of_protocol(self, message: dict[str, Any], params: dict[str, Any]) -> dict[str, str]:
        """The headers that the protocol wants: of every message since 2026-07-28, of a session before."""
        version = (params.get("_meta") or {}).get("io.modelcontextprotocol/protocolVersion")
        if version is None:
            is_known = self._session and message is not self._opening
            return {SESSION: self._session} if is_known else {}
        method = message["method"]
        headers = {"mcp-protocol-version": version, "mcp-method": method}
        if NAMED.get(method) in params:
            name = base64.b64encode(str(params[NAMED[method]]).encode()).decode()
            headers["mcp-name"] = f"=?base64?{name}?="
        return headers

    def _print(self, message: dict[str, Any]) -> None:
        with self._printing:
            sys.stdout.buffer.write(json.dumps(message).encode() + b"\n")
            sys.stdout.buffer.flush()
