"""The tools that read. What they show is noted as retrieved in the caller's conversation; nothing else changes."""

from typing import Final

from pydantic import Field

from slowwave.entrypoints.mcp.answers.pages import (
    fitted,
    fitted_disputes,
    page_of,
    page_of_context,
    page_of_disputes,
    page_of_stats,
)
from slowwave.entrypoints.mcp.answers.shapes import Told, ToldContext, ToldDisputes
from slowwave.entrypoints.mcp.answers.telling import (
    told_context,
    told_disputes,
    told_entity,
    told_explanation,
    told_list,
    told_search,
    told_stats,
    told_timeline,
    told_weak,
)
from slowwave.entrypoints.mcp.tools import READ, Tool
from slowwave.schemas.context import Context, ContextRequest
from slowwave.schemas.lists import CellPage
from slowwave.schemas.refusals import Request, Text
from slowwave.schemas.requests import LONGEST_NAME, CellRequest, CellsRequest, TimelineRequest, WeakRequest
from slowwave.schemas.results import Dispute, Explanation, Fading, Stats
from slowwave.schemas.search import EntityResult, SearchRequest, SearchResult, Timeline


class FromWithin(Request):
    """The project of a question here: the client's own, unless another is named."""

    project: str | None = Field(
        default=None,
        min_length=1,
        max_length=LONGEST_NAME,
        description="`*` for all projects (default: this one, and what is known in all).",
    )


class ToolBudget(FromWithin):
    """The budget of a context here: clients cut off an answer of some 10,000 tokens."""

    budget_tokens: int = Field(
        default=4_000, ge=100, le=8_000, description="The most tokens that the text may have."
    )


class ToolEvents(FromWithin):
    """The events of a timeline here."""

    limit: int = Field(default=50, ge=1, le=200, description="The most events to show; the newest are kept.")


class ToolPage(FromWithin):
    """A page of a list here."""

    limit: int = Field(default=20, ge=1, le=50, description="The most memories of the page.")


class EntityRequest(FromWithin):
    """A person or thing to look up."""

    name: Text = Field(description="A person, a project, a tool or a place; other names are known too.")


class DisputesRequest(Request):
    """Contradictions to list."""

    has_resolved: bool = Field(default=False, description="List resolved ones too.")


class NothingAsked(Request):
    """A request without arguments."""


SEARCH: Final = Tool(
    name="search_memory",
    title="Search memory",
    told="Search what was said, decided and learned in earlier conversations: best first, with date, source, whose "
    "word it is and what held before. Ask with a question, or names and words of the matter.",
    hints=READ,
    operation="search",
    request=SearchRequest,
    answer=SearchResult,
    shaped=Told,
    shape=lambda found: fitted(told_search(found)),
    show=page_of,
    without=("scope", "known_at"),
    narrowed=FromWithin,
)

CONTEXT: Final = Tool(
    name="get_context",
    title="Get context for a task",
    told="Memory for the task at hand: what holds about it, open contradictions and tasks, conventions. Call it once "
    "at the start of a task, with the question, file, branch or error you work on.",
    hints=READ,
    operation="context",
    request=ContextRequest,
    answer=Context,
    shaped=ToldContext,
    shape=told_context,
    show=page_of_context,
    without=("small",),
    narrowed=ToolBudget,
)

LIST: Final = Tool(
    name="list_memories",
    title="List memories",
    told="Memories that pass all filters, newest first, a page at a time, superseded and archived ones too: to review "
    "what is kept. To find an answer use search_memory.",
    hints=READ,
    operation="cells",
    request=CellsRequest,
    answer=CellPage,
    shaped=Told,
    shape=lambda found: fitted(told_list(found)),
    show=page_of,
    without=("scope", "known_at", "as_of", "source_type"),
    narrowed=ToolPage,
)

ENTITY: Final = Tool(
    name="get_entity",
    title="Look up a person or thing",
    told="Everything known of one person, project, tool or place: other names, summary, values now and before, what it "
    "is named together with, what was said lately.",
    hints=READ,
    operation="entity",
    request=EntityRequest,
    answer=EntityResult,
    shaped=Told,
    shape=lambda found: fitted(told_entity(found)),
    show=page_of,
)

TIMELINE: Final = Tool(
    name="timeline",
    title="Timeline",
    told="Dated memories of exactly one name, topic or conversation in their order: how something came to be as it is.",
    hints=READ,
    operation="timeline",
    request=TimelineRequest,
    answer=Timeline,
    shaped=Told,
    shape=lambda found: fitted(told_timeline(found), newest_last=True),
    show=page_of,
    narrowed=ToolEvents,
)

EXPLAIN: Final = Tool(
    name="explain_fact",
    title="Explain a memory",
    told="Why a memory is there: the messages it rests on, what it replaced or what replaced it, every step of its "
    "life. Use it before you correct or rely on a doubtful memory.",
    hints=READ,
    operation="explain",
    request=CellRequest,
    answer=Explanation,
    shaped=Told,
    shape=lambda found: fitted(told_explanation(found)),
    show=page_of,
    without=("note",),
)

WEAK: Final = Tool(
    name="weak_facts",
    title="Memories about to fade",
    told="Memories that will be archived soon because nobody used them: confirm with the user those that still matter.",
    hints=READ,
    operation="weak",
    request=WeakRequest,
    answer=list[Fading],
    shaped=Told,
    shape=lambda found: fitted(told_weak(found)),
    show=page_of,
)

STATS: Final = Tool(
    name="memory_stats",
    title="Memory statistics",
    told="Counts of memories by type, status, topic, age and origin, of their use, of open contradictions.",
    hints=READ,
    operation="stats",
    request=NothingAsked,
    answer=Stats,
    shaped=Stats,
    shape=told_stats,
    show=page_of_stats,
)

CONTRADICTIONS: Final = Tool(
    name="contradictions",
    title="Open contradictions",
    told="Pairs of memories that cannot both hold. Show both sides to the user, who decides, then call "
    "resolve_contradiction.",
    hints=READ,
    operation="contradictions",
    request=DisputesRequest,
    answer=list[Dispute],
    shaped=ToldDisputes,
    shape=lambda found: fitted_disputes(told_disputes(found)),
    show=page_of_disputes,
)

TOOLS: Final = (SEARCH, CONTEXT, LIST, ENTITY, TIMELINE, EXPLAIN, WEAK, STATS, CONTRADICTIONS)
