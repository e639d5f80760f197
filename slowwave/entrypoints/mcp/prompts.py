"""Prompts: what a person asks for by name, such as `/recall`. Memory stands in them fenced, as data."""

from typing import Annotated, Any

from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.shared.exceptions import MCPError
from mcp.types import INVALID_PARAMS
from pydantic import Field

from slowwave.entrypoints.mcp.answers.pages import (
    fitted,
    fitted_disputes,
    page_of,
    page_of_context,
    page_of_disputes,
)
from slowwave.entrypoints.mcp.answers.telling import told_context, told_disputes, told_search
from slowwave.entrypoints.mcp.arguments import arguments_of
from slowwave.entrypoints.mcp.asking import Ask, told_of
from slowwave.entrypoints.mcp.tools import CallerOf
from slowwave.errors import SlowwaveError
from slowwave.schemas.context import Context as Assembled
from slowwave.schemas.context import ContextRequest
from slowwave.schemas.results import Dispute
from slowwave.schemas.search import SearchRequest, SearchResult

CONTEXT_TOKENS = 4_000


def add_prompts(server: MCPServer[Any], ask: Ask, caller_of: CallerOf) -> None:
    """Offer `recall`, `catch_up` and `settle_contradictions`."""

    @server.prompt(
        title="Recall", description="Tell what memory holds about a matter, with dates and sources."
    )
    async def recall(
        topic: Annotated[str, Field(description="A question, or names and words of the matter.")],
        ctx: Context,
    ) -> str:
        keywords = arguments_of(SearchRequest, {"query": topic}, caller_of(ctx))
        found = await _asked(ask, "search", keywords, SearchResult)
        return (
            "Tell me from memory what matters about this, with dates and sources: what holds now, what held before, "
            f"and what is open. Say so where memory does not answer.\n\n{page_of(fitted(told_search(found)))}"
        )

    @server.prompt(
        title="Catch up", description="Tell where things stand: open tasks, decisions, contradictions."
    )
    async def catch_up(ctx: Context) -> str:
        keywords = arguments_of(ContextRequest, {"budget_tokens": CONTEXT_TOKENS}, caller_of(ctx))
        found = await _asked(ask, "context", keywords, Assembled)
        return (
            "Tell me briefly where things stand: what was decided lately, which tasks are open, and what contradicts "
            f"each other. Then ask what I want to go on with.\n\n{page_of_context(told_context(found))}"
        )

    @server.prompt(
        title="Settle contradictions", description="Go through memories that cannot both hold, one by one."
    )
    async def settle_contradictions() -> str:
        found = await _asked(ask, "contradictions", {}, list[Dispute])
        return (
            "Show me these contradictions one by one, both sides with date, source and whose word it is. Ask me which "
            "holds, and call resolve_contradiction with what I say.\n\n"
            f"{page_of_disputes(fitted_disputes(told_disputes(found)))}"
        )


async def _asked(ask: Ask, operation: str, arguments: dict[str, Any], answer: Any) -> Any:
    """The answer of the memory.

    Raises:
        MCPError: an error of ours, in its one line.
    """
    try:
        return await ask(operation, arguments, answer)
    except SlowwaveError as error:
        raise MCPError(code=INVALID_PARAMS, message=told_of(error)) from error
