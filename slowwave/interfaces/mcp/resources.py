"""Resources and the prompt: core memory, topics and memories as pages to read, and `/recall`.

An id in an address is looked up, never a path.
"""

from datetime import UTC, datetime
from typing import Annotated, Final

from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp.shared.exceptions import MCPError
from mcp.types import INVALID_PARAMS
from pydantic import Field

from slowwave.interfaces.http.lanes import Lanes
from slowwave.interfaces.mcp.calls import conversation_of, for_the_model, read, shown
from slowwave.interfaces.rendering.agents import page
from slowwave.interfaces.rendering.blocks import Page, quote
from slowwave.interfaces.rendering.view import View
from slowwave.memory import Memory
from slowwave.schemas.requests import MOST_OF_A_PAGE

MARKDOWN: Final = "text/markdown"


def add_resources(server: MCPServer[Lanes], lanes: Lanes) -> None:
    """Offer core memory, each memory and each topic."""

    @server.resource(
        "slowwave://core",
        title="Core memory",
        mime_type=MARKDOWN,
        description="The few memories that are always worth knowing: decisions, preferences, how things are done.",
    )
    async def core() -> str:  # the SDK hands no context to a resource without parameters
        with for_the_model():
            text = await lanes.read(lanes.memory.core)
        return page([Page(text)], View(datetime.now(UTC))) if text else "No core memory yet."

    @server.resource(
        "slowwave://cells/{cell_id}",
        title="One memory",
        mime_type=MARKDOWN,
        description="A memory with its messages, what was before and after it, and every step of its life.",
    )
    async def cell(cell_id: str, ctx: Context) -> str:
        return shown(await read(ctx, Memory.explain, cell_id))

    @server.resource(
        "slowwave://topics/{name}",
        title="One topic",
        mime_type=MARKDOWN,
        description="A topic, by its name or id: its summary and its memories, oldest first.",
    )
    async def topic(name: str, ctx: Context) -> str:
        found = await read(ctx, Memory.timeline, topic=name, project="")
        summary = await _summary(ctx, {name, found.title})
        return shown(found, newest_last=True, before=[quote(summary)] if summary else [])


async def _summary(ctx: Context, names: set[str]) -> str:
    """The summary of the topic of one of these names or ids, on whichever page of topics it is; "" without one."""
    cursor: str | None = ""
    while cursor is not None:
        found = await read(ctx, Memory.topics, limit=MOST_OF_A_PAGE, cursor=cursor, project="")
        for one in found.entries:
            if {one.name, one.topic_id} & names:
                return one.summary or ""
        cursor = found.next_cursor
    return ""


def add_recall(server: MCPServer[Lanes]) -> None:
    """Offer `/recall`."""

    @server.prompt(
        title="Recall", description="Report what memory holds about a subject, with dates and sources."
    )
    async def recall(
        topic: Annotated[str, Field(description="A question, or names and words of the subject.")],
        ctx: Context,
    ) -> str:
        try:
            found = await read(ctx, Memory.search, topic, conversation_id=conversation_of(ctx), project="")
            answer = shown(found)
        except ToolError as error:
            raise MCPError(code=INVALID_PARAMS, message=str(error)) from error
        return (
            "Report from memory what matters about this, with dates and sources: what is true now, what was before, "
            f"and what is open. Say so where memory does not answer.\n\n{answer}"
        )
