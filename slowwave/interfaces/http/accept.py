"""Answers as text: a client that prefers `text/plain` gets what a terminal shows, rendered here.

The body is what belongs on stdout; the header `Slowwave-Notes` has the lines for stderr, percent-encoded.
"""

import re
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from functools import wraps
from typing import Any
from urllib.parse import quote

from fastapi.responses import PlainTextResponse, Response
from fastapi.routing import APIRoute
from pydantic import BaseModel
from starlette.datastructures import Headers

from slowwave.interfaces.client import NOTES, VIEW
from slowwave.interfaces.rendering.view import View, view_of

MOST_NOTE_BYTES = 8_000
"""Bytes of that header: `http.client` refuses a line of 64 KiB, other clients less."""

_view: ContextVar[View | None] = ContextVar("view", default=None)
"""How the client of this request wants to see the answer; None for JSON."""


def note_view(headers: Headers) -> None:
    """Keep how the client of this request wants to see the answer; called before any route."""
    first = headers.get("accept", "").partition(",")[0].partition(";")[0].strip()
    _view.set(view_of(headers.get(VIEW, "")) if first == "text/plain" else None)


class Rendered(APIRoute):
    """A route whose answer is rendered where the client wants text."""

    def __init__(self, path: str, endpoint: Callable[..., Any], **given: Any) -> None:
        super().__init__(path, _rendered(endpoint, given.get("status_code") or 200), **given)


def _rendered(endpoint: Callable[..., Any], status: int) -> Callable[..., Any]:
    @wraps(endpoint)
    async def answer(*args: Any, **given: Any) -> Any:
        found, view = await endpoint(*args, **given), _view.get()
        return found if view is None or isinstance(found, Response) else as_text(found, view, status)

    return answer


def as_text(found: BaseModel | Sequence[BaseModel], view: View, status: int) -> Response:
    """An answer as a terminal of this view shows it."""
    from slowwave.interfaces.rendering.answers import blocks_of  # with Rich, which a server may never need
    from slowwave.interfaces.rendering.text import terminal

    text, notes = terminal(blocks_of(found, view), view)
    return PlainTextResponse(text, status, {NOTES: _encoded(notes)})


def _encoded(notes: list[str]) -> str:
    """Notes for a header, cut behind a whole byte."""
    return re.sub(r"%[0-9A-F]?$", "", quote("\n".join(notes))[:MOST_NOTE_BYTES])
