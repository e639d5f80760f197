"""Resources: core memory, topics and memories, as pages to read. An id in an address is looked up, never a path."""

from typing import Any, Final
from urllib.parse import quote

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ResourceError, ResourceNotFoundError
from mcp.shared.exceptions import MCPError
from mcp.types import INVALID_PARAMS, ListResourcesResult
from mcp.types import Resource as Listed

from slowwave.entrypoints.mcp.answers.pages import fenced, fitted, page_of
from slowwave.entrypoints.mcp.answers.shapes import ToldSummary
from slowwave.entrypoints.mcp.answers.telling import told_explanation, told_timeline
from slowwave.entrypoints.mcp.asking import ASKS, Ask, told_of
from slowwave.errors import InputError, NotFoundError, SlowwaveError
from slowwave.models.page_lines import page_line
from slowwave.schemas.lists import TopicPage
from slowwave.schemas.report import several_memories
from slowwave.schemas.results import Explanation, TopicSummary
from slowwave.schemas.search import Timeline

CORE: Final = "slowwave://core"
CORE_TOLD: Final = (
    "The few memories that are always worth knowing: what holds, preferences, how things are done."
)
PAGE: Final = 50
"""Topics on one page of the list."""

MOST_TOPICS: Final = 200
"""Topics of a page, of which the one is looked for whose summary is read."""

MARKDOWN: Final = "text/markdown"


def add_resources(server: MCPServer[Any], ask: Ask) -> None:
    """Offer core memory, each memory and each topic."""

    @server.resource(CORE, name="core", title="Core memory", mime_type=MARKDOWN, description=CORE_TOLD)
    async def core() -> str:
        text: str = await _asked(ask, "core", _within(), str)
        return (
            fenced([page_line(line.lstrip("#")) for line in text.splitlines() if line])
            if text
            else "No core memory yet."
        )

    @server.resource(
        "slowwave://cells/{cell_id}",
        name="memory",
        title="One memory",
        mime_type=MARKDOWN,
        description="A memory with its messages, what was before and after it, and every step of its life.",
    )
    async def cell(cell_id: str) -> str:
        found = await _asked(ask, "explain", {"cell_id": cell_id}, Explanation)
        return page_of(fitted(told_explanation(found)))

    @server.resource(
        "slowwave://topics/{name}",
        name="topic",
        title="One topic",
        mime_type=MARKDOWN,
        description="A topic, by its name or id: its summary and its memories in the order of their dates.",
    )
    async def topic(name: str) -> str:
        found = await _asked(ask, "timeline", {"topic": name, **_within()}, Timeline)
        one = await _topic(ask, {name, found.title})
        about = (
            [ToldSummary(title=page_line(one.name), text=page_line(one.summary))]
            if one and one.summary
            else []
        )
        told = told_timeline(found).model_copy(update={"summaries": about})
        return page_of(fitted(told, newest_last=True))


async def _topic(ask: Ask, names: set[str]) -> TopicSummary | None:
    """The topic of one of these names or ids, which stands on one of the pages of topics, largest first."""
    cursor = ""
    while True:
        page: TopicPage = await _asked(
            ask, "topics", {"limit": MOST_TOPICS, "cursor": cursor, **_within()}, TopicPage
        )
        for one in page.topics:
            if {one.name, one.topic_id} & names:
                return one
        cursor = page.next_cursor
        if not cursor:
            return None


def _within() -> dict[str, str]:
    project = ASKS.get().project
    return {} if project is None else {"project": project}


async def listed_resources(ask: Ask, cursor: str | None) -> ListResourcesResult:
    """Core memory, then topics, largest first, in pages.

    Raises:
        MCPError: the cursor is none of ours, or the memory cannot be read.
    """
    try:
        found: TopicPage = await ask(
            "topics", {"limit": PAGE, "cursor": cursor or "", **_within()}, TopicPage
        )
    except SlowwaveError as error:
        raise MCPError(code=INVALID_PARAMS, message=told_of(error)) from error
    core = Listed(uri=CORE, name="core", title="Core memory", description=CORE_TOLD, mime_type=MARKDOWN)
    shown = [_listed(one) for one in found.topics]
    return ListResourcesResult(
        resources=[*([] if cursor else [core]), *shown], next_cursor=found.next_cursor or None
    )


def _listed(topic: TopicSummary) -> Listed:
    name = page_line(topic.name)
    return Listed(
        uri=f"slowwave://topics/{quote(topic.name, safe='')}",
        name=name,
        title=name,
        description=several_memories(topic.cell_count)
        + (", no summary yet" if topic.summary is None else ""),
        mime_type=MARKDOWN,
    )


async def _asked(ask: Ask, operation: str, arguments: dict[str, Any], answer: Any) -> Any:
    """The answer of the memory.

    Raises:
        ResourceNotFoundError: nothing has that id or name.
        ResourceError: any other error of ours, in its one line.
    """
    try:
        return await ask(operation, arguments, answer)
    except (NotFoundError, InputError) as error:
        raise ResourceNotFoundError(told_of(error)) from error
    except SlowwaveError as error:
        raise ResourceError(told_of(error)) from error
