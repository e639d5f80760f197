"""Checks that every request passes before any route or mount sees it: host, origin, key, a body that fits in time.

Plain ASGI, so that mounted apps stand behind it as well. The body is read here, whole, within `body_bytes` and
`body_seconds`: no route waits for a slow client. Each request gets an id and a line in the access log, which names the
route and never a path, a query string or a text.
"""

import asyncio
import contextlib
import hmac
import logging
import re
import time
import traceback
from collections.abc import Collection
from typing import Any
from uuid import uuid4

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from slowwave.entrypoints.resident.place import HOME_GONE, Place
from slowwave.entrypoints.server.limits import Limits
from slowwave.entrypoints.server.problems import MEDIA_TYPE, RETRY_SECONDS, STATUSES, problem_body

LOOPBACK_NAMES = frozenset({"127.0.0.1", "localhost", "[::1]"})
OPEN_PATHS = frozenset({"/health/live", "/health/ready"})
"""The paths that need no key."""

DRAINED_BODIES = 4
DRAIN_SECONDS = 2.0
"""So many times the largest body, and for so long, is read of one that is too large: a client that still sends when the
connection ends never reads why."""

_GONE = ("home", "The home is gone")
_REQUEST_ID = re.compile(rb"[A-Za-z0-9._-]{1,64}")
_access = logging.getLogger("slowwave.access")
_log = logging.getLogger("slowwave.server")


class _RefusedError(Exception):
    """A request that does not pass: the status of its answer, and what to do."""

    def __init__(self, status: int, detail: str, kind: tuple[str, str] | None = None) -> None:
        self.status, self.detail, self.kind = status, detail, kind or STATUSES[status]
        super().__init__(detail)


class FailedError(Exception):
    """A request that met an error which nobody foresaw; it is answered and in the log already."""


class Guard:
    """The app behind its checks."""

    def __init__(self, app: ASGIApp, *, key: str, limits: Limits, place: Place) -> None:
        self._app, self._key, self._limits, self._place = app, key.encode(), limits, place

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request: refused here, or by the app."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":  # no route speaks another protocol
            await send({"type": "websocket.close", "code": 1008})
            return
        headers = dict(scope["headers"])
        scope["slowwave.request_id"] = request_id = _request_id(headers)
        started, told = time.monotonic(), _Told(send, request_id)
        answer = _Held(told, None if scope["path"] in OPEN_PATHS else self._place)
        try:
            check_host(headers)
            check_origin(headers)
            if scope["path"] not in OPEN_PATHS:
                self._check_key(headers)
                self._check_home()
            body = await self._body(headers, receive)
            scope["slowwave.body"] = body
            await self._app(scope, _replay(body, receive), answer)
            if answer.is_held:
                raise _RefusedError(503, HOME_GONE, _GONE)
        except _RefusedError as refused:
            await _refuse(told, refused, request_id)
        except Exception as error:  # told to the log by its place: its text may quote what is stored
            place = "".join(traceback.format_tb(error.__traceback__))
            _log.error("request %s failed: %s\n%s", request_id, type(error).__name__, place)
            if not told.status:
                await _refuse(told, _RefusedError(500, "the server's log says where it happened"), request_id)
            raise FailedError(request_id) from None
        finally:
            took = (time.monotonic() - started) * 1_000
            _access.info(
                "%s %s %s %.1f ms %s", scope["method"], _route(scope), told.status or "-", took, request_id
            )

    def _check_key(self, headers: dict[bytes, bytes]) -> None:
        scheme, _, given = headers.get(b"authorization", b"").partition(b" ")
        if scheme.lower() != b"bearer" or not hmac.compare_digest(given.strip(), self._key):
            raise _RefusedError(401, "send the key of <home>/server/key as `Authorization: Bearer KEY`")

    def _check_home(self) -> None:
        if self._place.is_gone():
            raise _RefusedError(503, HOME_GONE, _GONE)

    async def _body(self, headers: dict[bytes, bytes], receive: Receive) -> bytes:
        most = self._limits.body_bytes
        length = headers.get(b"content-length", b"0")
        if length.isdigit() and int(length) > most:
            if int(length) <= DRAINED_BODIES * most:
                await _drain(receive, DRAINED_BODIES * most)
            raise _RefusedError(413, f"a body has at most {most:,} bytes: send less at once")
        parts, size = [], 0
        try:
            async with asyncio.timeout(self._limits.body_seconds):
                while True:
                    message = await receive()
                    if message["type"] != "http.request":
                        break  # the client left
                    parts.append(message.get("body", b""))
                    size += len(parts[-1])
                    if size > most:
                        await _drain(receive, DRAINED_BODIES * most)
                        raise _RefusedError(413, f"a body has at most {most:,} bytes: send less at once")
                    if not message.get("more_body", False):
                        break
        except TimeoutError as error:
            seconds = self._limits.body_seconds
            raise _RefusedError(
                408, f"a body must arrive within {seconds:g} seconds: send it again"
            ) from error
        return b"".join(parts)


async def _drain(receive: Receive, most: int) -> None:
    """Read what still comes of a body, to a bound."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(DRAIN_SECONDS):
            size = 0
            while size <= most:
                message = await receive()
                size += len(message.get("body", b""))
                if message["type"] != "http.request" or not message.get("more_body", False):
                    return


def check_host(headers: dict[bytes, bytes]) -> None:
    """Refuse a name that is not the loopback's: a page that made its own name point here.

    Raises:
        _RefusedError: 421.
    """
    if _name(headers.get(b"host", b"")) not in LOOPBACK_NAMES:
        raise _RefusedError(421, "ask by the address in <home>/server/address.json")


def check_origin(headers: dict[bytes, bytes]) -> None:
    """Refuse pages of other origins: only one that this server gave may ask it.

    Raises:
        _RefusedError: 403.
    """
    origin = headers.get(b"origin")
    if origin is not None and origin != b"http://" + headers.get(b"host", b""):
        raise _RefusedError(403, "ask from a program, or from a page of this server")


def _name(host: bytes) -> str:
    """The name in a Host header, without its port."""
    found = host.decode("latin-1").lower()
    name, colon, port = found.rpartition(":")
    return name if colon and port.isdigit() and not found.endswith("]") else found


def _request_id(headers: dict[bytes, bytes]) -> str:
    given = headers.get(b"x-request-id", b"")
    return given.decode("ascii") if _REQUEST_ID.fullmatch(given) else uuid4().hex


class _Told:
    """The way back: puts the request's id on the answer, and keeps its status for the log."""

    def __init__(self, send: Send, request_id: str) -> None:
        self._send, self._request_id, self.status = send, request_id.encode("ascii"), 0

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            message = {**message, "headers": [*message["headers"], (b"x-request-id", self._request_id)]}
        await self._send(message)


class _Held:
    """The way back, which holds an answer for a home that went meanwhile: nobody is told that something was done."""

    def __init__(self, send: Send, place: Place | None) -> None:
        self._send, self._place, self.is_held = send, place, False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.is_held = self._place is not None and self._place.is_gone()
        if not self.is_held:
            await self._send(message)


def _replay(body: bytes, receive: Receive) -> Receive:
    """The body again, as one message; then whatever comes, which is the client's leaving."""
    waiting: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def again() -> Message:
        return waiting.pop() if waiting else await receive()

    return again


async def _refuse(send: Send, refused: _RefusedError, request_id: str) -> None:
    kind, title = refused.kind
    body = problem_body(refused.status, kind, title, detail=refused.detail, request_id=request_id)
    headers = [(b"content-type", MEDIA_TYPE.encode()), (b"content-length", str(len(body)).encode())]
    headers += _more_headers(refused.status)
    await send({"type": "http.response.start", "status": refused.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def _more_headers(status: int) -> Collection[tuple[bytes, bytes]]:
    match status:
        case 401:
            return [(b"www-authenticate", b'Bearer realm="slowwave"')]
        case 408 | 413 | 500:  # what is left of the body is not read; after an error uvicorn lets go
            return [(b"connection", b"close")]
        case 503:
            return [(b"retry-after", str(RETRY_SECONDS).encode())]
    return []


def _route(scope: dict[str, Any] | Scope) -> str:
    """The route's template; of a request that met none, that alone."""
    route = scope.get("route")
    return str(getattr(route, "path", "")) or "(no route)"
