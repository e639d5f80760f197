"""The tools that read. What they show is noted as retrieved in the caller's conversation; nothing else changes."""

from typing import Annotated, Final, Literal

from mcp.server.mcpserver import Context
from mcp.types import ToolAnnotations
from pydantic import Field

from slowwave.interfaces.mcp.calls import conversation_of, read, shown, tool
from slowwave.memory import Memory
from slowwave.schemas.choices import CellStatus, CellType
from slowwave.schemas.context import Activity
from slowwave.schemas.search import DetailLevel

READ: Final = ToolAnnotations(read_only_hint=True, open_world_hint=False)

MOST_TOKENS: Final = 8_000
"""Tokens of a context: clients cut off an answer of some 10,000."""

Question = Annotated[str, Field(description="A question, or names and words of the subject.")]
Types = Annotated[tuple[CellType, ...], Field(description="Only these types of memory.")]
Source = Annotated[
    Literal["conversation", "file", "all"], Field(description="Only from this kind of source.")
]
Entity = Annotated[str, Field(description="Only memories that name this person or thing.")]
After = Annotated[
    str, Field(description="Only from this time on: 2026-05-01, 2026-05, last_week, 3_days_ago.")
]
Before = Annotated[str, Field(description="Only from before this time.")]
AsOf = Annotated[
    str, Field(description="What was true at the end of this time; nothing said later is shown.")
]
Project = Annotated[
    str, Field(description="`*` for all projects (default: this one, and what is known in all).")
]
CellId = Annotated[str, Field(description="Id of a memory; its first 6 or more characters are enough.")]


@tool("Search memory", READ)
async def search_memory(
    ctx: Context,
    query: Question,
    limit: Annotated[int | None, Field(ge=1, le=25, description="The most results.")] = None,
    detail_level: Annotated[
        DetailLevel,
        Field(
            description="summary: topic summaries; full: memories too; evidence: also the messages behind."
        ),
    ] = "full",
    cell_types: Types = (),
    source_type: Source = "all",
    entity: Entity = "",
    after: After = "",
    before: Before = "",
    as_of: AsOf = "",
    project: Project = "",
) -> str:
    """Search what was said, decided and learned in earlier conversations.

    The best come first, with date, source, whose word it is and what was true before. Ask with a question, or
    names and words of the subject.
    """
    found = await read(
        ctx,
        Memory.search,
        query,
        limit=limit,
        detail_level=detail_level,
        conversation_id=conversation_of(ctx),
        cell_types=cell_types,
        source_type=source_type,
        entity=entity,
        after=after,
        before=before,
        as_of=as_of,
        project=project,
    )
    return shown(found)


@tool("Get context for a task", READ)
async def get_context(
    ctx: Context,
    question: Question = "",
    activity: Annotated[Activity, Field(description="The kind of work.")] = "general",
    current_file: Annotated[str, Field(description="Path of the file that is being edited.")] = "",
    recent_errors: Annotated[tuple[str, ...], Field(description="Texts of recent errors.")] = (),
    branch: Annotated[str, Field(description="Branch of version control.")] = "",
    budget_tokens: Annotated[int, Field(ge=100, le=MOST_TOKENS, description="The most tokens.")] = 4_000,
    project: Project = "",
) -> str:
    """Memory for the task at hand: what is true about it, open contradictions and tasks, conventions.

    Call it once at the start of a task, with the question, file, branch or error you work on.
    """
    found = await read(
        ctx,
        Memory.context,
        question,
        activity=activity,
        budget_tokens=budget_tokens,
        conversation_id=conversation_of(ctx),
        ids=True,
        current_file=current_file,
        recent_errors=recent_errors,
        branch=branch,
        project=project,
    )
    return shown(found)


@tool("List memories", READ)
async def list_memories(
    ctx: Context,
    limit: Annotated[int, Field(ge=1, le=50, description="The most memories of the page.")] = 20,
    cursor: Annotated[str, Field(description="The cursor that the page before names.")] = "",
    status: Annotated[CellStatus | None, Field(description="Only memories in this state.")] = None,
    cell_types: Types = (),
    source_type: Source = "all",
    entity: Entity = "",
    after: After = "",
    before: Before = "",
    project: Project = "",
) -> str:
    """List memories that pass all filters, newest first, a page at a time, superseded and archived ones too.

    It is for reviewing what is kept; to find an answer use search_memory.
    """
    found = await read(
        ctx,
        Memory.cells,
        limit=limit,
        cursor=cursor,
        status=status,
        cell_types=cell_types,
        source_type=source_type,
        entity=entity,
        after=after,
        before=before,
        project=project,
    )
    return shown(found)


@tool("Look up a person or thing", READ)
async def get_entity(
    ctx: Context,
    name: Annotated[str, Field(description="A person, a project, a tool or a place.")],
    project: Project = "",
) -> str:
    """Show everything known of one person, project, tool or place.

    Other names, summary, values now and before, what it is named together with, what was said lately.
    """
    return shown(await read(ctx, Memory.entity, name, project=project))


@tool("Timeline", READ)
async def timeline(
    ctx: Context,
    name: Annotated[str, Field(description="A person, a thing or a subject.")] = "",
    topic: Annotated[str, Field(description="A topic instead, by its name or id.")] = "",
    session: Annotated[str, Field(description="A conversation instead, by its id or file name.")] = "",
    limit: Annotated[int, Field(ge=1, le=200, description="The most events; the newest are kept.")] = 50,
    project: Project = "",
) -> str:
    """Dated memories of exactly one name, topic or conversation, oldest first: how something came to be."""
    found = await read(
        ctx, Memory.timeline, limit=limit, name=name, topic=topic, session=session, project=project
    )
    return shown(found, newest_last=True)


@tool("Explain a memory", READ)
async def explain_fact(ctx: Context, cell_id: CellId) -> str:
    """Why a memory is there: the messages it rests on, what it replaced or what replaced it, every step.

    Use it before you correct or rely on a doubtful memory.
    """
    return shown(await read(ctx, Memory.explain, cell_id))


@tool("Memories about to fade", READ)
async def weak_facts(
    ctx: Context,
    days: Annotated[
        float | None, Field(ge=0, le=36_500, description="Days to look ahead (default: 30).")
    ] = None,
) -> str:
    """Memories that will be archived soon since nobody used them: confirm with the user those that still matter."""
    found = await read(ctx, Memory.weak, days)
    return shown(found) if found else "Nothing fades in that time."


@tool("Memory statistics", READ)
async def memory_stats(ctx: Context) -> str:
    """Counts of memories by type, status, topic, age and origin, of their use, of open contradictions."""
    return shown(await read(ctx, Memory.stats))


@tool("Open contradictions", READ)
async def contradictions(
    ctx: Context,
    has_resolved: Annotated[bool, Field(description="List resolved ones too.")] = False,
) -> str:
    """Pairs of memories that cannot both be true.

    Show both sides to the user, who decides, then call resolve_contradiction.
    """
    found = await read(ctx, Memory.contradictions, has_resolved=has_resolved)
    return shown(found) if found else "No contradiction is open."


READ_TOOLS: Final = (
    search_memory,
    get_context,
    list_memories,
    get_entity,
    timeline,
    explain_fact,
    weak_facts,
    memory_stats,
    contradictions,
)
