"""Questions: search, and context for a prompt."""

from fastapi import APIRouter

from slowwave.entrypoints.server.lanes import Ask, fields
from slowwave.schemas.context import Context, ContextRequest
from slowwave.schemas.search import SearchRequest, SearchResult

router = APIRouter(prefix="/v1", tags=["read"])


@router.post("/search")
async def search(asked: SearchRequest, ask: Ask) -> SearchResult:
    """Answer a question from topic summaries, memories and, at `evidence`, raw turns."""
    return await ask.read(ask.memory.search, **fields(asked))


@router.post("/context/assemble")
async def assemble(asked: ContextRequest, ask: Ask) -> Context:
    """Assemble the memory that an agent should have in its prompt now, within a budget of tokens."""
    return await ask.read(ask.memory.context, **fields(asked))
