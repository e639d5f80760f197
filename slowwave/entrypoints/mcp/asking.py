"""One way to ask the memory, and who asks: the tools know no transport, no store and no process."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Protocol

from anyio.to_thread import run_sync
from mcp.server.mcpserver.exceptions import ToolError

from slowwave.errors import SlowwaveError

if TYPE_CHECKING:
    from slowwave.memory import Memory


@dataclass(frozen=True)
class Caller:
    """The client that asks: its conversation, by which uses are counted, and its project; null for none."""

    conversation_id: str = ""
    project: str | None = None


ASKS: ContextVar[Caller] = ContextVar("caller", default=Caller())  # noqa: B039 # it is frozen
"""The caller of the resource that is read now: the SDK hands nothing else to the function of a fixed address."""


class Ask(Protocol):
    """Call a method of `Memory` by its name, in a thread or process of its own: the event loop goes on meanwhile."""

    async def __call__(self, operation: str, arguments: dict[str, Any], answer: Any) -> Any:
        """Return what the method returns, of the type `answer`; raise what it raises."""


def ask_memory(memory: "Memory") -> Ask:
    """Ask a memory in this process, which threads may share."""

    async def ask(operation: str, arguments: dict[str, Any], answer: Any) -> Any:  # it has its type already
        return await run_sync(partial(getattr(memory, operation), **arguments))

    return ask


TOOLS_FOR: Final = {
    "`slowwave search`": "search_memory",
    "`slowwave contradictions`": "the tool contradictions",
    "`slowwave archived`": "search_memory",
    "`slowwave run nightly`": "the next night",
    "`--detail evidence`": "detail_level evidence",
    "; new_project begins a new one": "",
}
"""What a model has in the place of the commands that messages name."""


def told_of(error: SlowwaveError) -> str:
    """The message of an error, with the names of tools instead of commands."""
    return for_the_model(str(error))


def for_the_model(message: str) -> str:
    """A message with the names of tools instead of commands."""
    for command, tool in TOOLS_FOR.items():
        message = message.replace(command, tool)
    return message


@contextmanager
def told_to_the_model() -> Iterator[None]:
    """Turn an error of ours into the one kind of error whose text reaches the model.

    Raises:
        ToolError: with the one line of the error, which never carries stored text.
    """
    try:
        yield
    except SlowwaveError as error:
        raise ToolError(told_of(error)) from error
