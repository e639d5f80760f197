"""Contradictions: the list, the end of one, and taking that back."""

from typing import Annotated

from fastapi import APIRouter, Query

from slowwave.entrypoints.server.bodies import Cursor, Id, Limit, PageOf, ResolveBody, page_of
from slowwave.entrypoints.server.lanes import Ask, fields
from slowwave.schemas.results import Dispute, Resolved

router = APIRouter(prefix="/v1/contradictions", tags=["contradictions"])


@router.get("")
async def contradictions(
    ask: Ask,
    has_resolved: Annotated[bool, Query(description="Resolved ones too, after the open ones.")] = False,
    limit: Limit = 50,
    cursor: Cursor = "",
) -> PageOf[Dispute]:
    """Open contradictions with both memories, newest first."""
    found = await ask.read(ask.memory.contradictions, has_resolved=has_resolved)
    return page_of(found, lambda one: one.contradiction_id, limit=limit, cursor=cursor)


@router.post("/{contradiction_id}/resolve")
async def resolve(contradiction_id: Id, asked: ResolveBody, ask: Ask) -> Resolved:
    """End a contradiction for good, as a person decides."""
    return await ask.write(ask.memory.resolve, contradiction_id, **fields(asked))


@router.post("/{contradiction_id}/undo")
async def undo(contradiction_id: Id, ask: Ask) -> Resolved:
    """Take a resolution back: both memories stand as before, open again."""
    return await ask.write(ask.memory.unresolve, contradiction_id)
