"""Use of memories: cited, ignored, and the end of a conversation."""

from fastapi import APIRouter

from slowwave.entrypoints.server.bodies import Cited, IgnoreBody, SettleBody
from slowwave.entrypoints.server.lanes import Ask, fields
from slowwave.schemas.requests import CiteRequest

router = APIRouter(prefix="/v1/usage", tags=["usage"])


@router.post("/cite")
async def cite(asked: CiteRequest, ask: Ask) -> Cited:
    """Say that memories were used in an answer. Cited memories are kept longest."""
    return Cited(cell_ids=await ask.write(ask.memory.cite, asked.cell_ids, asked.context))


@router.post("/ignore")
async def ignore(asked: IgnoreBody, ask: Ask) -> Cited:
    """Say that memories were shown and did not help; counted with the next night."""
    await ask.write(ask.memory.ignore, asked.cell_ids, asked.context)
    return Cited(cell_ids=list(asked.cell_ids))


@router.post("/settle")
async def settle(asked: SettleBody, ask: Ask) -> Cited:
    """End a conversation: what it was shown and nobody cited counts as ignored; these are returned."""
    return Cited(cell_ids=await ask.write(ask.memory.settle, **fields(asked)))
