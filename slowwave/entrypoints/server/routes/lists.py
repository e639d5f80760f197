"""Lists by the page: entities, topics, episodes, and work in quarantine."""

from typing import Annotated

from fastapi import APIRouter, Query

from slowwave.entrypoints.server.bodies import Cursor, Limit, PageOf, ReleaseBody, Released, page_of
from slowwave.entrypoints.server.lanes import Ask, fields
from slowwave.schemas.lists import EntitiesPage, EpisodePage, TopicPage
from slowwave.schemas.requests import ProjectPageRequest
from slowwave.schemas.results import QuarantinedChunk

router = APIRouter(prefix="/v1", tags=["lists"])

Asked = Annotated[ProjectPageRequest, Query()]


@router.get("/entities")
async def entities(asked: Asked, ask: Ask) -> EntitiesPage:
    """People and things that memories name, most mentioned first."""
    return await ask.read(ask.memory.entities, **fields(asked))


@router.get("/topics")
async def topics(asked: Asked, ask: Ask) -> TopicPage:
    """Topics, largest first; `summary` is null where no night has summarized one yet."""
    return await ask.read(ask.memory.topics, **fields(asked))


@router.get("/episodes")
async def episodes(asked: Asked, ask: Ask) -> EpisodePage:
    """Conversations that were told, newest first."""
    return await ask.read(ask.memory.episodes, **fields(asked))


@router.get("/quarantine")
async def quarantine(ask: Ask, limit: Limit = 50, cursor: Cursor = "") -> PageOf[QuarantinedChunk]:
    """Work for which the model gave no usable answer, with the reason, oldest first."""
    found = await ask.read(ask.memory.quarantine)
    return page_of(found, lambda one: one.chunk_id, limit=limit, cursor=cursor)


@router.post("/quarantine/release")
async def release(asked: ReleaseBody, ask: Ask) -> Released:
    """Send work back to the next night."""
    return Released(ids=await ask.write(ask.memory.release, asked.ids))
