"""The memory as tools call it: in the lanes of the server, for the caller that a request names."""

import logging
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, ParamSpec, TypeVar
from urllib.parse import unquote

from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ResourceError, ResourceNotFoundError, ToolError
from pydantic import BaseModel

from slowwave.errors import InputError, NotFoundError, SlowwaveError
from slowwave.interfaces.http.lanes import Lanes
from slowwave.interfaces.rendering.agents import for_agents, page
from slowwave.interfaces.rendering.answers import blocks_of
from slowwave.interfaces.rendering.blocks import Block
from slowwave.interfaces.rendering.view import View
from slowwave.memory import Memory

Given = ParamSpec("Given")
Found = TypeVar("Found")

CONVERSATION: Final = ("x-slowwave-conversation", "mcp-session-id")
"""Where a request says which conversation it belongs to: by its own header, else by the session of the protocol."""

PROJECT: Final = "x-slowwave-project"
"""The client's project, percent-encoded: its id, or the path of a folder in it."""

THIS_PROJECT, ALL_PROJECTS = ".", "*"

_log = logging.getLogger("slowwave.mcp")


class RefusalError(ToolError, ResourceError):
    """An error whose text reaches the model, from a tool as from a resource."""


class NotThereError(ToolError, ResourceNotFoundError):
    """The same, where nothing has that id or name, or nothing can have it."""


@dataclass(frozen=True)
class Calls:
    """Calls of one memory; each raises a `ToolError` with one line that carries no stored text."""

    lanes: Lanes

    @property
    def memory(self) -> Memory:
        """The memory, whose methods `read` and `write` call."""
        return self.lanes.memory

    async def read(self, method: Callable[Given, Found], *args: Given.args, **given: Given.kwargs) -> Found:
        """The answer of a method that changes nothing."""
        with _for_the_model():
            return await self.lanes.read(method, *args, **given)

    async def write(self, method: Callable[Given, Found], *args: Given.args, **given: Given.kwargs) -> Found:
        """The answer of a method that writes."""
        with _for_the_model():
            return await self.lanes.write(method, *args, **given)

    def shown(
        self,
        found: BaseModel | Sequence[BaseModel],
        *,
        newest_last: bool = False,
        before: Sequence[Block] = (),
    ) -> str:
        """A result as the page of a tool, behind some blocks of its caller."""
        view = View(datetime.now(UTC))
        with _for_the_model():
            return page([*before, *blocks_of(found, view)], view, newest_last=newest_last)


def calls_of(ctx: Context[Any, Any]) -> Calls:
    """The calls of the server that a request reached."""
    found: Calls = ctx.request_context.lifespan_context
    return found


def conversation_of(ctx: Context) -> str:
    """The conversation by which uses are counted; "" where the request names none."""
    headers = ctx.headers or {}
    return next((headers[name] for name in CONVERSATION if headers.get(name)), "")


def project_of(ctx: Context, named: str | None = None) -> str | None:
    """The project to ask from within: the named one, else the caller's own; None for all of them."""
    own = unquote((ctx.headers or {}).get(PROJECT, "")) or None
    return {None: own, "": own, THIS_PROJECT: own, ALL_PROJECTS: None}.get(named, named)


def given(**fields: Any) -> dict[str, Any]:
    """The arguments that a call gives; the others are left to the defaults of `Memory`."""
    return {name: value for name, value in fields.items() if value not in (None, "", ())}


@contextmanager
def _for_the_model() -> Iterator[None]:
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
