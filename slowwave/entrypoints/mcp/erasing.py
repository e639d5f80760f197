"""`erase_fact`: the one tool that asks the person back, in both eras of the protocol, before anything is gone.

A dry run says what would go, and the question shows it. Without a clear yes, or with a client that cannot ask,
nothing is erased.
"""

from typing import Annotated, Any, Final

from mcp.server import MCPServer
from mcp.server.mcpserver import AcceptedElicitation, Context, Elicit, ElicitationResult, Resolve
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import CallToolResult
from pydantic import BaseModel, Field

from slowwave.entrypoints.mcp.answers.pages import fenced
from slowwave.entrypoints.mcp.answers.records import cut
from slowwave.entrypoints.mcp.arguments import parameters_of
from slowwave.entrypoints.mcp.asking import Ask, told_to_the_model
from slowwave.entrypoints.mcp.tools import FOR_A_PERSON, REMOVE, offer, result_of
from slowwave.schemas.requests import EraseRequest
from slowwave.schemas.results import Erased

NAME: Final = "erase_fact"
NOT_AGREED: Final = "the user did not agree: nothing was erased, and it is not to be asked again"

SHOWN = 5
"""First words that the question shows; more are counted."""

SHOWN_CHARACTERS = 200

MOST_IDS = 100
"""Ids of each kind in an answer."""


class Sure(BaseModel):
    """The answer of the person who is asked."""

    erase: bool = Field(description="Erase it for good. This cannot be undone.")


def add_erase(server: MCPServer[Any], ask: Ask) -> None:
    """Offer `erase_fact`."""

    async def ask_back(  # the SDK gives it the tool's arguments by their names
        ctx: Context,
        cell_id: str | None,
        turn_id: str | None,
        session_id: str | None,
        text: str | None,
        dry_run: bool,
    ) -> Elicit[Sure] | Sure:
        if dry_run:
            return Sure(erase=False)
        given = _given(cell_id=cell_id, turn_id=turn_id, session_id=session_id, text=text)
        with told_to_the_model():
            found: Erased = await ask("erase", {**given, "dry_run": True}, Erased)
        _refuse_if_mute(ctx)
        return Elicit(_question(found), Sure)

    async def erase(
        *, ctx: Context, sure: Annotated[ElicitationResult[Sure], Resolve(ask_back)], **given: Any
    ) -> CallToolResult:
        is_dry = bool(given.pop("dry_run"))
        if not is_dry and not (isinstance(sure, AcceptedElicitation) and sure.data.erase):
            raise ToolError(NOT_AGREED)
        with told_to_the_model():
            found: Erased = await ask("erase", {**_given(**given), "dry_run": is_dry}, Erased)
        safe = _safe(found)
        return result_of(_short(safe), lambda _: _page(safe))

    offer(
        server,
        erase,
        NAME,
        title="Erase for good",
        told="Erase what was said down to the bytes, with all that rests on it, for good. Name one of the four. Only "
        "when the user asks for it: the user is shown what goes and asked to agree.",
        hints=REMOVE,
        meta=FOR_A_PERSON,
        parameters=parameters_of(EraseRequest),
        shaped=Erased,
    )


def is_no_answer(error: ToolError) -> bool:
    """Return whether the client sent something that answers no question: the SDK's refusal names its own parts."""
    return isinstance(error.__cause__, ToolError) and str(error.__cause__).startswith("Resolver ")


def _given(**given: str | None) -> dict[str, Any]:
    """Return what is named; through a tool an interrupted erase is not ended by naming nothing.

    Raises:
        ToolError: nothing is named.
    """
    named = {name: value for name, value in given.items() if value}
    if not named:
        raise ToolError("name what to erase: cell_id, turn_id, session_id or text")
    return named


def _refuse_if_mute(ctx: Context) -> None:
    """Refuse where the client has no way to ask the person.

    Raises:
        ToolError: it cannot ask.
    """
    capabilities = ctx.client_capabilities
    way = capabilities.elicitation if capabilities is not None else None
    if way is None or (way.form is None and way.url is not None):  # one that names no way shows forms
        raise ToolError(
            "this client cannot ask the user back, so nothing was erased: the user can run `slowwave erase` in a shell"
        )


def _question(found: Erased) -> str:
    shown = [f"- {cut(text, SHOWN_CHARACTERS)}" for text in found.shown[:SHOWN]]
    more = len(found.shown) - len(shown)
    lines = [f"Erase {_counts(found)} for good? This cannot be undone. It begins:", *shown]
    return "\n".join([*lines, *([f"and {more} more"] if more else [])])


def _page(found: Erased) -> str:
    if found.dry_run:
        return "\n".join([f"Would erase {_counts(found)}.", fenced([f"> {text}" for text in found.shown])])
    proof = f"Proof: {found.searched_texts} texts were looked for in every byte of the home; none is there."
    left = [f"Still in {place}: {count}. Tell the user." for place, count in found.remaining.items()]
    return "\n".join(
        [f"Erased {_counts(found)}.", *(left or [proof]), *(f"({note})" for note in found.notes)]
    )


def _counts(found: Erased) -> str:
    messages, memories = len(found.turn_ids), len(found.cell_ids)
    told = "1 message" if messages == 1 else f"{messages} messages"
    return f"{told} and {'1 memory' if memories == 1 else f'{memories} memories'}"


def _short(found: Erased) -> Erased:
    """The result with as many ids as an answer has room for."""
    ids = {name: getattr(found, name)[:MOST_IDS] for name in ("turn_ids", "cell_ids", "topic_ids")}
    left = sum(len(getattr(found, name)) - len(kept) for name, kept in ids.items())
    notes = [*found.notes, f"{left} more ids are left out here"] if left else found.notes
    return found.model_copy(update={**ids, "notes": notes})


def _safe(found: Erased) -> Erased:
    return found.model_copy(
        update={"shown": [cut(text, SHOWN_CHARACTERS) for text in found.shown[: 4 * SHOWN]]}
    )
