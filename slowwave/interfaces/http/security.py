"""Checks that every request passes before any route or mount sees it: its id, print, key, origin, host and home.

Plain ASGI, so that mounted apps are behind it as well. Each request gets an id and a line in the access log, which
names the route and never a path, a query string or a text.
"""

import hmac
import logging
import re
import time
import traceback
from pathlib import Path
from typing import Any
from uuid import uuid4

from starlette.datastructures import Headers
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from slowwave.errors import TransientError
from slowwave.interfaces.client import EXIT, PRINT, STALE
from slowwave.interfaces.http.accept import note_view
from slowwave.interfaces.http.problems import problem

LOOPBACK_NAMES = ("127.0.0.1", "localhost", "[::1]")
OPEN_PATHS = frozenset({"/health/live", "/health/ready"})
"""The paths that need no key."""

HOME_GONE = "the home folder was moved or removed: put it back, or stop this server"

_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
_access = logging.getLogger("slowwave.access")
_log = logging.getLogger("slowwave.server")


class FailedError(Exception):
    """A request met an unforeseen error, which is answered and logged: uvicorn logs this one, without stored text."""


class Place:
    """The folder of a home as its server knows it; another folder may appear under the same path.

    A server that starts before its home exists knows the folder once it is there.
    """

    def __init__(self, home: Path) -> None:
        self._home, self._known = home, _folders(home)

    def is_gone(self) -> bool:
        """Return whether the home is no longer there: what is written now would make another."""
        found = _folders(self._home)
        if any(found.get(path) != known for path, known in self._known.items()):
            return True
        self._known |= found
        return False


def _folders(home: Path) -> dict[Path, tuple[int, int]]:
    """Device and inode of the folders that are there. A new folder may get the inode of a removed one: hence two."""
    found = {}
    for path in (home, home / "server"):
        try:
            stat = path.stat()
        except OSError:
            continue
        found[path] = (stat.st_dev, stat.st_ino)
    return found


class Activity:
    """The requests at work, and the time since the last one ended: a server on demand leaves when nobody asks."""

    def __init__(self) -> None:
        self._at_work, self._ended_at = 0, time.monotonic()

    def __enter__(self) -> None:
        self._at_work += 1

    def __exit__(self, *_: object) -> None:
        self._at_work, self._ended_at = self._at_work - 1, time.monotonic()

    def idle_seconds(self) -> float:
        """Seconds since the last request ended; 0 while one is at work."""
        return 0.0 if self._at_work else time.monotonic() - self._ended_at


class Guard:
    """The app behind its checks.

    Without a key nothing but the home's Unix socket may lead here: only this user can open that one.
    """

    def __init__(self, app: ASGIApp, *, key: str | None, place: Place, activity: Activity) -> None:
        self._app, self._key, self._place, self._activity = app, key, place, activity
        self._trusted = TrustedHostMiddleware(app, [*LOOPBACK_NAMES], www_redirect=False)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request: refused here, or by the app; an unforeseen error is answered and logged by its place."""
        if scope["type"] != "http":  # the app's life
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        note_view(headers)
        given = headers.get("x-request-id", "")
        request_id = scope["slowwave.request_id"] = given if _REQUEST_ID.fullmatch(given) else uuid4().hex
        is_open = scope["path"] in OPEN_PATHS
        answer, started = _Answer(scope, send, None if is_open else self._place), time.monotonic()
        try:
            with self._activity:
                await self._checked(scope, headers, is_open=is_open)(scope, receive, answer)
        except Exception as error:  # its text may quote what is stored
            place = "".join(traceback.format_tb(error.__traceback__))
            _log.error("request %s failed: %s\n%s", request_id, type(error).__name__, place)
            if not answer.status:
                closing = {"Connection": "close"}  # uvicorn closes it after an error
                detail = "the server's log says where it happened"
                await problem(scope, 500, detail, headers=closing)(scope, receive, answer)
            raise FailedError(request_id) from None
        finally:
            took = (time.monotonic() - started) * 1_000
            route = getattr(scope.get("route"), "path", "") or "(no route)"
            _access.info(
                "%s %s %s %.1f ms %s", scope["method"], route, answer.status or "-", took, request_id
            )

    def _checked(self, scope: Scope, headers: Headers, *, is_open: bool) -> ASGIApp:
        """The refusal of a request, or the app that answers it."""
        is_local = self._key is None or scope["server"][1] is None  # the Unix socket has no port
        refused = self._stale(scope, headers)
        if refused is None and not is_local:
            refused = self._refused(scope, headers, is_open=is_open)
        if refused is None and not is_open and self._place.is_gone():
            refused = home_gone(scope)
        return refused or (self._app if is_local else self._trusted)

    def _stale(self, scope: Scope, headers: Headers) -> Response | None:
        """The answer to a client of another version or with other settings; a server on demand leaves then.

        So it does when its home is gone: the client may have another one under the same path.
        """
        state: Any = scope["app"].state
        leave = state.leave
        is_own = headers.get(PRINT, state.print) == state.print
        if PRINT not in headers or (is_own and not (leave and self._place.is_gone())):
            return None
        if leave:
            leave()
        detail = "the program or the settings were changed since this server started: start it again"
        return problem(scope, 409, detail, headers={STALE: "leaves" if leave else "stays"})

    def _refused(self, scope: Scope, headers: Headers, *, is_open: bool) -> Response | None:
        """The answer to a page of another origin, or to a request without the key."""
        origin = headers.get("origin")
        if origin is not None and origin != f"http://{headers.get('host', '')}":
            return problem(scope, 403, "ask from a program, or from a page of this server")
        scheme, _, given = headers.get("authorization", "").partition(" ")
        has_key = hmac.compare_digest(given.strip().encode(), (self._key or "").encode())
        if is_open or (scheme.lower() == "bearer" and has_key):
            return None
        wanted = {"WWW-Authenticate": 'Bearer realm="slowwave"'}
        return problem(
            scope, 401, "send the key of <home>/server/key as `Authorization: Bearer KEY`", headers=wanted
        )


def home_gone(scope: Scope) -> Response:
    """The problem of a home that was moved or removed."""
    headers = {EXIT: str(TransientError.exit_code)}
    return problem(scope, 503, HOME_GONE, kind="home", title="The home is gone", headers=headers)


class _Answer:
    """The way back: it puts the request's id on the answer and keeps its status for the log.

    Two answers are replaced by a problem: a success for a home that went meanwhile, since nothing may be reported as
    done then; and a refusal in plain text, as Starlette's middlewares have it.
    """

    def __init__(self, scope: Scope, send: Send, place: Place | None) -> None:
        self._scope, self._send, self._place = scope, send, place
        self.status, self._is_replaced = 0, False

    async def __call__(self, message: Message) -> None:
        if self._is_replaced:
            return
        if message["type"] == "http.response.start":
            if (instead := self._instead(message)) is not None:
                await instead(self._scope, _nothing, self)
                self._is_replaced = True
                return
            self.status = message["status"]
            request_id = (b"x-request-id", self._scope["slowwave.request_id"].encode("ascii"))
            message = {**message, "headers": [*message["headers"], request_id]}
        await self._send(message)

    def _instead(self, message: Message) -> Response | None:
        status, kind = message["status"], Headers(raw=message["headers"]).get("content-type", "")
        if status < 400 and self._place is not None and self._place.is_gone():  # noqa: PLR2004 # of RFC 9110
            return home_gone(self._scope)
        if status >= 400 and kind.startswith("text/plain"):  # noqa: PLR2004
            return problem(self._scope, status, REFUSALS.get(status, "the request cannot be answered"))
        return None


REFUSALS = {
    400: "ask by the address in <home>/server/address.json",
    413: "the body is too large: send less at once",
}
"""Details of the refusals of Starlette's middlewares: a Host that is not the loopback's, a body over the limit."""


async def _nothing() -> Message:
    return {"type": "http.disconnect"}
