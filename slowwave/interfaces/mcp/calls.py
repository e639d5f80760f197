"""Calls of the memory for the sender of a request, and their answers as text, for tools, resources and the prompt."""

import logging
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from inspect import cleandoc
from typing import Any, Final, TypeVar
from urllib.parse import unquote

from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ResourceError, ResourceNotFoundError, ToolError
from mcp.server.mcpserver.tools import Tool
from mcp.types import ToolAnnotations
from pydantic import BaseModel

from slowwave.errors import InputError, NotFoundError, SlowwaveError
from slowwave.interfaces.http.lanes import Lanes
from slowwave.interfaces.rendering.agents import for_agents, page
from slowwave.interfaces.rendering.answers import blocks_of
from slowwave.interfaces.rendering.blocks import Block
from slowwave.interfaces.rendering.view import View

Found = TypeVar("Found")

CONVERSATION: Final = ("x-slowwave-conversation", "mcp-session-id")
"""Where a request says which conversation it belongs to: by its own header, else by the session of the protocol."""

PROJECT: Final = "x-slowwave-project"
"""The client's project, percent-encoded: its id, or the path of a folder in it."""

_log = logging.getLogger("slowwave.mcp")


class RefusalError(ToolError, ResourceError):
    """An error whose text reaches the model, from a tool as from a resource."""


class NotThereError(ToolError, ResourceNotFoundError):
    """The same, where nothing has that id or name, or nothing can have it."""


def tool(
    title: str, hints: ToolAnnotations, *, meta: dict[str, Any] | None = None
) -> Callable[[Callable[..., Any]], Tool]:
    """Make a tool of a typed function: a model reads its docstring, and it answers text alone."""

    def made(call: Callable[..., Any]) -> Tool:
        description = " ".join(cleandoc(call.__doc__ or "").split())
        return Tool.from_function(
            call, title=title, description=description, annotations=hints, meta=meta, structured_output=False
        )

    return made


async def read(ctx: Context[Any, Any], method: Callable[..., Found], *args: Any, **asked: Any) -> Found:
    """The answer of a method of `Memory` that changes nothing, for the sender of a request.

    What a request leaves out (None, "" and ()) is left to the defaults of `Memory`; `project` is read as from within
    the sender's own, and the source `all` is none.

    Raises:
        ToolError: what was wrong, in one line without stored text.
    """
    lanes = lanes_of(ctx)
    with for_the_model():
        return await lanes.read(method, lanes.memory, *args, **_given(ctx, asked))


async def write(ctx: Context[Any, Any], method: Callable[..., Found], *args: Any, **asked: Any) -> Found:
    """The answer of a method of `Memory` that writes. As `read`."""
    lanes = lanes_of(ctx)
    with for_the_model():
        return await lanes.write(method, lanes.memory, *args, **_given(ctx, asked))


def shown(
    found: BaseModel | Sequence[BaseModel], *, newest_last: bool = False, before: Sequence[Block] = ()
) -> str:
    """A result as a page for an agent, behind some blocks of the caller. Raises as `read`."""
    view = View(datetime.now(UTC))
    with for_the_model():
        return page([*before, *blocks_of(found, view)], view, newest_last=newest_last)


def lanes_of(ctx: Context[Any, Any]) -> Lanes:
    """The lanes of the server that a request reached."""
    found: Lanes = ctx.request_context.lifespan_context
    return found


def conversation_of(ctx: Context[Any, Any]) -> str:
    """The conversation by which uses are counted; "" where the request names none."""
    headers = ctx.headers or {}
    return next((headers[name] for name in CONVERSATION if headers.get(name)), "")


def _given(ctx: Context[Any, Any], asked: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments that a request gives."""
    own = unquote((ctx.headers or {}).get(PROJECT, "")) or None
    read_as = {
        ("project", ""): own,
        ("project", "."): own,
        ("project", "*"): None,
        ("source_type", "all"): None,
    }
    named = {name: read_as.get((name, value), value) for name, value in asked.items()}
    return {name: value for name, value in named.items() if value not in (None, "", ())}


@contextmanager
def for_the_model() -> Iterator[None]:
    """Turn an error into one whose text reaches the model; of a bug the log learns the place and the client nothing.

    Raises:
        RefusalError: what was wrong, in one line.
        NotThereError: nothing has that id or name.
    """
    try:
        yield
    except (NotFoundError, InputError) as error:
        raise NotThereError(for_agents(str(error))) from error
    except SlowwaveError as error:
        raise RefusalError(for_agents(str(error))) from error
    except Exception as error:  # its text may quote what is stored
        place = "".join(traceback.format_tb(error.__traceback__))
        _log.error("a call failed: %s\n%s", type(error).__name__, place)
        raise RefusalError("an unforeseen error: the log of Slowwave says where") from None
