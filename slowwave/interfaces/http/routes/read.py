"""Questions: search, context for a prompt, lists by the page, one memory, counts."""

from typing import Annotated

from fastapi import APIRouter, Query

from slowwave.interfaces.http.accept import Rendered
from slowwave.interfaces.http.bodies import (
    AssembleBody,
    Assembled,
    CoreMemory,
    DisputesAsked,
    EntityAsked,
    FadingAsked,
    Id,
    Within,
    assembled,
    page_of,
)
from slowwave.interfaces.http.lanes import Ask, fields
from slowwave.schemas.requests import (
    ArchivedRequest,
    CellsRequest,
    PageRequest,
    ProjectPageRequest,
    TimelineRequest,
)
from slowwave.schemas.results import (
    Cell,
    Dispute,
    Entity,
    EntityResult,
    Page,
    QuarantinedChunk,
    SearchResult,
    Stats,
    Status,
    Timeline,
    Topic,
)
from slowwave.schemas.search import SearchRequest

router = APIRouter(prefix="/v1", tags=["read"], route_class=Rendered)


@router.post("/search")
async def search(asked: SearchRequest, ask: Ask) -> SearchResult:
    """Answer a question from topic summaries, memories and, at `evidence`, raw turns."""
    return await ask.read(ask.memory.search, **fields(asked))


@router.post("/context/assemble")
async def assemble(asked: AssembleBody, ask: Ask) -> Assembled:
    """Assemble the memory that an agent should have in its prompt now, within a budget of tokens."""
    return assembled(await ask.read(ask.memory.context, **asked.asked()))  # type: ignore[arg-type] # checked there


@router.get("/entity")
async def entity(asked: Annotated[EntityAsked, Query()], ask: Ask) -> EntityResult:
    """Describe the entities that a name stands for, with their values now and before."""
    return await ask.read(ask.memory.entity, asked.name, project=asked.project)


@router.get("/timeline")
async def timeline(asked: Annotated[TimelineRequest, Query()], ask: Ask) -> Timeline:
    """List the dated memories of one name, topic or session, in order."""
    return await ask.read(ask.memory.timeline, **fields(asked))


@router.get("/core")
async def core(asked: Annotated[Within, Query()], ask: Ask) -> CoreMemory:
    """Show core memory as the home's user may see it, and after it that of a project."""
    return CoreMemory(text=await ask.read(ask.memory.core, project=asked.project))


@router.get("/cells")
async def cells(asked: Annotated[CellsRequest, Query()], ask: Ask) -> Page[Cell]:
    """List the memories that pass all filters, newest first, in every state."""
    return await ask.read(ask.memory.cells, **fields(asked))


@router.get("/cells/{cell_id}")
async def cell(cell_id: Id, ask: Ask) -> Cell:
    """Show one memory with its fields, its use, and the turns that it rests on."""
    return await ask.read(ask.memory.cell, cell_id)


@router.get("/cells/{cell_id}/explanation")
async def explanation(cell_id: Id, ask: Ask) -> Cell:
    """Explain why a memory is there: its turns, chains, judgements and every event, also once it is deleted."""
    return await ask.read(ask.memory.explain, cell_id)


@router.get("/contradictions")
async def contradictions(asked: Annotated[DisputesAsked, Query()], ask: Ask) -> Page[Dispute]:
    """List open contradictions with both memories, newest first."""
    found = await ask.read(ask.memory.contradictions, has_resolved=asked.has_resolved)
    return page_of(Page[Dispute], found, lambda one: one.contradiction_id, asked)


@router.get("/weak")
async def weak(asked: Annotated[FadingAsked, Query()], ask: Ask) -> Page[Cell]:
    """List the memories that the next nights will archive unless they are used, soonest first."""
    found = await ask.read(ask.memory.weak, asked.days)
    return page_of(Page[Cell], found, lambda one: one.cell_id, asked)


@router.get("/archived")
async def archived(asked: Annotated[ArchivedRequest, Query()], ask: Ask) -> list[Cell]:
    """Find faded memories by their words, best first; a cited one comes back with the next night."""
    return await ask.read(ask.memory.archived, **fields(asked))


@router.get("/entities")
async def entities(asked: Annotated[ProjectPageRequest, Query()], ask: Ask) -> Page[Entity]:
    """List people and things that memories name, most mentioned first."""
    return await ask.read(ask.memory.entities, **fields(asked))


@router.get("/topics")
async def topics(asked: Annotated[ProjectPageRequest, Query()], ask: Ask) -> Page[Topic]:
    """List topics, largest first; `summary` is null until a night has summarized one."""
    return await ask.read(ask.memory.topics, **fields(asked))


@router.get("/episodes")
async def episodes(asked: Annotated[ProjectPageRequest, Query()], ask: Ask) -> Page[Cell]:
    """List conversations that were summarized, newest first."""
    return await ask.read(ask.memory.episodes, **fields(asked))


@router.get("/quarantine")
async def quarantine(asked: Annotated[PageRequest, Query()], ask: Ask) -> Page[QuarantinedChunk]:
    """List work for which the model gave no usable answer, with the reason, oldest first."""
    found = await ask.read(ask.memory.quarantine)
    return page_of(Page[QuarantinedChunk], found, lambda one: one.chunk_id, asked)


@router.get("/stats")
async def stats(ask: Ask) -> Stats:
    """Count all memories by type, status, topic, age and origin, and their use."""
    return await ask.read(ask.memory.stats)


@router.get("/status")
async def status(ask: Ask) -> Status:
    """Show the state of the home: waiting work, the last night, rows and bytes."""
    return await ask.read(ask.memory.status)
