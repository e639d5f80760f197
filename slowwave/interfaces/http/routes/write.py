"""Edits of a person or an agent: statements, corrections, erasures, contradictions, use."""

from fastapi import APIRouter

from slowwave.interfaces.http.accept import Rendered
from slowwave.interfaces.http.bodies import (
    Cited,
    ConfirmBody,
    CorrectBody,
    EraseBody,
    ForgetBody,
    Id,
    IgnoreBody,
    ReleaseBody,
    Released,
    ResolveBody,
    SettleBody,
)
from slowwave.interfaces.http.lanes import Ask, fields
from slowwave.schemas.requests import CiteRequest, EraseRequest, RememberRequest
from slowwave.schemas.results import Done, Erased

router = APIRouter(prefix="/v1", tags=["write"], route_class=Rendered)


@router.post("/remember")
async def remember(asked: RememberRequest, ask: Ask) -> Done:
    """Record a person's statement. The same text on the same day is the same memory."""
    return await ask.write(ask.memory.remember, **fields(asked))


@router.post("/cells/{cell_id}/correct")
async def correct(cell_id: Id, asked: CorrectBody, ask: Ask) -> Done:
    """Replace a memory by what is right; the old one is kept in its history."""
    return await ask.write(ask.memory.correct, cell_id, **fields(asked))


@router.post("/cells/{cell_id}/confirm")
async def confirm(cell_id: Id, asked: ConfirmBody, ask: Ask) -> Done:
    """Protect a memory that a person says is current: it never fades."""
    return await ask.write(ask.memory.confirm, cell_id, **fields(asked))


@router.post("/cells/{cell_id}/forget")
async def forget(cell_id: Id, asked: ForgetBody, ask: Ask) -> Done:
    """Delete a memory, also where it was said in other words; `erase` removes its turns too."""
    return await ask.write(ask.memory.forget, cell_id, **fields(asked))


@router.post("/cells/{cell_id}/erase")
async def erase_cell(cell_id: Id, asked: EraseBody, ask: Ask) -> Erased:
    """Remove a memory and the turns that it was made from, down to the bytes."""
    return await ask.write(ask.memory.erase, cell_id, **fields(asked))


@router.post("/erase")
async def erase(asked: EraseRequest, ask: Ask) -> Erased:
    """Remove a memory, turn, conversation or text from the home; or, with `resume`, finish an interrupted erase."""
    return await ask.write(ask.memory.erase, **fields(asked))


@router.post("/contradictions/{contradiction_id}/resolve")
async def resolve(contradiction_id: Id, asked: ResolveBody, ask: Ask) -> Done:
    """End a contradiction for good, as a person decides."""
    return await ask.write(ask.memory.resolve, contradiction_id, **fields(asked))


@router.post("/contradictions/{contradiction_id}/undo")
async def undo(contradiction_id: Id, ask: Ask) -> Done:
    """Take a resolution back: the contradiction is open again."""
    return await ask.write(ask.memory.unresolve, contradiction_id)


@router.post("/quarantine/release")
async def release(asked: ReleaseBody, ask: Ask) -> Released:
    """Send work back to the next night."""
    return Released(ids=await ask.write(ask.memory.release, asked.ids))


@router.post("/usage/cite")
async def cite(asked: CiteRequest, ask: Ask) -> Cited:
    """Note that memories were used in an answer. Cited memories are kept longest."""
    return Cited(cell_ids=await ask.write(ask.memory.cite, asked.cell_ids, asked.context))


@router.post("/usage/ignore")
async def ignore(asked: IgnoreBody, ask: Ask) -> Cited:
    """Note that memories were shown and did not help; counted with the next night."""
    await ask.write(ask.memory.ignore, asked.cell_ids, asked.context)
    return Cited(cell_ids=list(asked.cell_ids))


@router.post("/usage/settle")
async def settle(asked: SettleBody, ask: Ask) -> Cited:
    """End a conversation: memories that it was shown and nobody cited count as ignored; they are returned."""
    return Cited(cell_ids=await ask.write(ask.memory.settle, **fields(asked)))
