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

from slowwave.interfaces.mcp.calls import Calls, calls_of
from slowwave.interfaces.rendering.agents import page
from slowwave.interfaces.rendering.blocks import Page, quote
from slowwave.interfaces.rendering.view import View
from slowwave.schemas.requests import MOST_OF_A_PAGE
from slowwave.schemas.results import Topic

MARKDOWN: Final = "text/markdown"


def add_resources(server: MCPServer[Calls], calls: Calls) -> None:
    """Offer core memory, each memory and each topic."""
    memory = calls.memory

    @server.resource(
        "slowwave://core",
        title="Core memory",
        mime_type=MARKDOWN,
        description="The few memories that are always worth knowing: decisions, preferences, how things are done.",
    )
    async def core() -> str:
        text = await calls.read(memory.core)
        return page([Page(text)], View(datetime.now(UTC))) if text else "No core memory yet."

    @server.resource(
        "slowwave://cells/{cell_id}",
        title="One memory",
        mime_type=MARKDOWN,
        description="A memory with its messages, what was before and after it, and every step of its life.",
    )
    async def cell(cell_id: str) -> str:
        return calls.shown(await calls.read(memory.explain, cell_id))

    @server.resource(
        "slowwave://topics/{name}",
        title="One topic",
        mime_type=MARKDOWN,
        description="A topic, by its name or id: its summary and its memories, oldest first.",
    )
    async def topic(name: str, ctx: Context) -> str:
        asker = calls_of(ctx)
        found = await asker.read(memory.timeline, topic=name, project="")
        one = await _topic(asker, {name, found.title})
        summary = [quote(one.summary)] if one and one.summary else []
        return asker.shown(found, newest_last=True, before=summary)


async def _topic(calls: Calls, names: set[str]) -> Topic | None:
    """The topic of one of these names or ids, on whichever page of topics it is, largest first."""
    cursor = ""
    while True:
        found = await calls.read(calls.memory.topics, limit=MOST_OF_A_PAGE, cursor=cursor, project="")
        one = next((one for one in found.entries if {one.name, one.topic_id} & names), None)
        if one is not None or not found.next_cursor:
            return one
        cursor = found.next_cursor


def add_recall(server: MCPServer[Calls]) -> None:
    """Offer `/recall`."""

    @server.prompt(
        title="Recall", description="Report what memory holds about a subject, with dates and sources."
    )
    async def recall(
        topic: Annotated[str, Field(description="A question, or names and words of the subject.")],
        ctx: Context,
    ) -> str:
        try:
            asker = calls_of(ctx)
            found = await asker.read(
                asker.memory.search, topic, conversation_id=asker.conversation, project=""
            )
            shown = asker.shown(found)
        except ToolError as error:
            raise MCPError(code=INVALID_PARAMS, message=str(error)) from error
        return (
            "Report from memory what matters about this, with dates and sources: what is true now, what was before, "
            f"and what is open. Say so where memory does not answer.\n\n{shown}"
        )
