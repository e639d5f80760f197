"""The memory as tools call it: in the lanes of the server, for the caller that a request names."""

import logging
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Final, TypeVar
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
    """Calls of one memory by the sender of a request; each raises a `ToolError` in one line without stored text.

    What a request leaves out (None, "" and ()) is left to the defaults of `Memory`; `project` is read as from within
    the caller's own, and the source `all` is none.
    """

    lanes: Lanes
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def memory(self) -> Memory:
        """The memory, whose methods `read` and `write` call."""
        return self.lanes.memory

    @property
    def conversation(self) -> str:
        """The conversation by which uses are counted; "" where the request names none."""
        return next((self.headers[name] for name in CONVERSATION if self.headers.get(name)), "")

    async def read(self, method: Callable[..., Found], *args: Any, **asked: Any) -> Found:
        """The answer of a method that changes nothing."""
        with _for_the_model():
            return await self.lanes.read(method, *args, **self._given(asked))

    async def write(self, method: Callable[..., Found], *args: Any, **asked: Any) -> Found:
        """The answer of a method that writes."""
        with _for_the_model():
            return await self.lanes.write(method, *args, **self._given(asked))

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

    def _given(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments that a request gives."""
        own = unquote(self.headers.get(PROJECT, "")) or None
        named = {**asked}
        if "project" in asked:
            named["project"] = {"": own, THIS_PROJECT: own, ALL_PROJECTS: None}.get(
                asked["project"], asked["project"]
            )
        if asked.get("source_type") == "all":
            named["source_type"] = None
        return {name: value for name, value in named.items() if value not in (None, "", ())}


def calls_of(ctx: Context[Any, Any]) -> Calls:
    """The calls of the server that a request reached, by its sender."""
    found: Calls = ctx.request_context.lifespan_context
    return replace(found, headers=ctx.headers or {})


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
