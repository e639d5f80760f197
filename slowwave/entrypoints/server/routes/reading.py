"""Questions: search, context for a prompt, people, timelines, what fades, counts."""

from typing import Annotated

from fastapi import APIRouter, Query

from slowwave.entrypoints.server.bodies import (
    AssembleBody,
    Assembled,
    CoreMemory,
    Cursor,
    Limit,
    PageOf,
    assembled,
    page_of,
)
from slowwave.entrypoints.server.lanes import Ask, fields
from slowwave.schemas.requests import ArchivedRequest, Project, TimelineRequest
from slowwave.schemas.results import Fading, ForgottenCell, Stats, Status
from slowwave.schemas.search import FROM_WITHIN, EntityResult, SearchRequest, SearchResult, Timeline

router = APIRouter(prefix="/v1", tags=["read"])

Within = Annotated[Project | None, Query(description=FROM_WITHIN)]


@router.post("/search")
async def search(asked: SearchRequest, ask: Ask) -> SearchResult:
    """Answer a question from topic summaries, memories and, at `evidence`, raw turns."""
    return await ask.read(ask.memory.search, **fields(asked))


@router.post("/context/assemble")
async def assemble(asked: AssembleBody, ask: Ask) -> Assembled:
    """Assemble the memory that an agent should have in its prompt now, within a budget of tokens."""
    return assembled(await ask.read(ask.memory.context, **asked.asked()))  # type: ignore[arg-type] # checked there


@router.get("/entity")
async def entity(
    name: Annotated[
        str, Query(min_length=1, max_length=1_000, description="A person, a thing or a subject.")
    ],
    ask: Ask,
    project: Within = None,
) -> EntityResult:
    """Describe the entities that a name stands for, with their values now and before."""
    return await ask.read(ask.memory.entity, name, project=project)


@router.get("/timeline")
async def timeline(asked: Annotated[TimelineRequest, Query()], ask: Ask) -> Timeline:
    """Dated memories of one name, topic or session, in order."""
    return await ask.read(ask.memory.timeline, **fields(asked))


@router.get("/core")
async def core(ask: Ask, project: Within = None) -> CoreMemory:
    """Core memory as the home's user may see it, and behind it that of a project."""
    return CoreMemory(text=await ask.read(ask.memory.core, project=project))


@router.get("/weak")
async def weak(
    ask: Ask,
    days: Annotated[
        float | None,
        Query(ge=0, le=36_500, description="Days to look ahead (default: 30)."),
    ] = None,
    limit: Limit = 50,
    cursor: Cursor = "",
) -> PageOf[Fading]:
    """Memories that the nights of the next days will archive unless they are used, soonest first."""
    found = await ask.read(ask.memory.weak, days)
    return page_of(found, lambda one: one.cell_id, limit=limit, cursor=cursor)


@router.get("/archived")
async def archived(asked: Annotated[ArchivedRequest, Query()], ask: Ask) -> list[ForgottenCell]:
    """Faded memories by their words, best first; a cited one comes back with the next night."""
    return await ask.read(ask.memory.archived, **fields(asked))


@router.get("/stats")
async def stats(ask: Ask) -> Stats:
    """Counts of all memories by type, status, topic, age and origin, and of their use."""
    return await ask.read(ask.memory.stats)


@router.get("/status")
async def status(ask: Ask) -> Status:
    """The state of the home: waiting work, the last night, rows and bytes."""
    return await ask.read(ask.memory.status)
