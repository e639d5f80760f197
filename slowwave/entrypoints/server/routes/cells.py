"""Memories: the list, one of them, and what a person changes."""

from typing import Annotated

from fastapi import APIRouter, Query

from slowwave.entrypoints.server.bodies import ConfirmBody, CorrectBody, EraseBody, ForgetBody, Id
from slowwave.entrypoints.server.lanes import Ask, fields
from slowwave.schemas.lists import CellDetail, CellPage
from slowwave.schemas.requests import CellsRequest, EraseRequest, RememberRequest
from slowwave.schemas.results import Done, Erased, Explanation, Remembered

router = APIRouter(prefix="/v1", tags=["memories"])


@router.post("/remember")
async def remember(asked: RememberRequest, ask: Ask) -> Remembered:
    """Record a person's statement. The same text on the same day is the same memory."""
    return await ask.write(ask.memory.remember, **fields(asked))


@router.get("/cells")
async def cells(asked: Annotated[CellsRequest, Query()], ask: Ask) -> CellPage:
    """Memories that pass all filters, newest first, whatever their status."""
    return await ask.read(ask.memory.cells, **fields(asked))


@router.get("/cells/{cell_id}")
async def cell(cell_id: Id, ask: Ask) -> CellDetail:
    """One memory with its fields, its use, and the turns that it rests on."""
    return await ask.read(ask.memory.cell, cell_id)


@router.get("/cells/{cell_id}/explanation")
async def explanation(cell_id: Id, ask: Ask) -> Explanation:
    """Tell why a memory is there: its turns, chains, judgements and every event, also once it is deleted."""
    return await ask.read(ask.memory.explain, cell_id)


@router.post("/cells/{cell_id}/correct")
async def correct(cell_id: Id, asked: CorrectBody, ask: Ask) -> Done:
    """Put what is right in a memory's place; the old one is kept in its history."""
    return await ask.write(ask.memory.correct, cell_id, **fields(asked))


@router.post("/cells/{cell_id}/confirm")
async def confirm(cell_id: Id, asked: ConfirmBody, ask: Ask) -> Done:
    """Protect a memory that a person says holds: it never fades."""
    return await ask.write(ask.memory.confirm, cell_id, **fields(asked))


@router.post("/cells/{cell_id}/forget")
async def forget(cell_id: Id, asked: ForgetBody, ask: Ask) -> Done:
    """Delete a memory, also as said in other words; of raw talk `only` a part. `erase` takes its turns too."""
    return await ask.write(ask.memory.forget, cell_id, **fields(asked))


@router.post("/cells/{cell_id}/erase")
async def erase_cell(cell_id: Id, asked: EraseBody, ask: Ask) -> Erased:
    """Take a memory and the turns that it was made from out of the home, down to the bytes."""
    return await ask.write(ask.memory.erase, cell_id, **fields(asked))


@router.post("/erase")
async def erase(asked: EraseRequest, ask: Ask) -> Erased:
    """Take a memory, turn, conversation or text out of the home; or, with `resume`, end an interrupted erase."""
    return await ask.write(ask.memory.erase, **fields(asked))
