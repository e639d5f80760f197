"""`erase_fact`: the question shows what would go, by a dry run. Without a clear yes nothing is erased."""

from collections.abc import Mapping
from typing import Annotated, Any, Final

from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import CallToolResult

from slowwave.entrypoints.mcp.agreement import Agreement, asks_user, refuse_if_mute, refuse_unless_agreed
from slowwave.entrypoints.mcp.answers.pages import fenced
from slowwave.entrypoints.mcp.answers.records import cut
from slowwave.entrypoints.mcp.arguments import parameters_of
from slowwave.entrypoints.mcp.asking import Ask, told_to_the_model
from slowwave.entrypoints.mcp.tools import FOR_A_PERSON, REMOVE, offer, result_of
from slowwave.schemas.report import several, several_memories
from slowwave.schemas.requests import EraseRequest
from slowwave.schemas.results import Erased

NAME: Final = "erase_fact"

SHOWN = 5
"""First words that the question shows; more are counted."""

SHOWN_CHARACTERS = 200

MOST_IDS = 100
"""Ids of each kind in an answer."""


def add_erase(server: MCPServer[Any], ask: Ask) -> None:
    """Offer `erase_fact`."""
    parameters = parameters_of(EraseRequest, without=("resume",))

    async def question(given: Mapping[str, Any]) -> str | None:
        if given["dry_run"]:
            return None
        with told_to_the_model():
            found: Erased = await ask("erase", {**_given(given), "dry_run": True}, Erased)
        return _question(found)

    async def erase(
        *, ctx: Context, sure: Annotated[Agreement, asks_user(NAME, parameters, question)], **given: Any
    ) -> CallToolResult:
        named, is_dry = _given(given), bool(given["dry_run"])
        if not is_dry:
            refuse_if_mute(ctx, "erase")
            refuse_unless_agreed(sure, "erase")
        with told_to_the_model():
            found: Erased = await ask("erase", {**named, "dry_run": is_dry}, Erased)
        safe = _safe(found)
        return result_of(_short(safe), lambda _: _page(safe))

    offer(
        server,
        erase,
        NAME,
        title="Erase for good",
        told="Erase what was said down to the bytes, with all that rests on it, for good. Name one of the four. Only "
        "when the user wants it, who is shown what goes and asked.",
        hints=REMOVE,
        meta=FOR_A_PERSON,
        parameters=parameters,
        shaped=Erased,
    )


def _given(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is named; through a tool an interrupted erase is not ended by naming nothing.

    Raises:
        ToolError: nothing is named.
    """
    named = {name: value for name, value in given.items() if value and name != "dry_run"}
    if not named:
        raise ToolError("name what to erase: cell_id, turn_id, session_id or text")
    return named


def _question(found: Erased) -> str:
    shown = [f"- {cut(text, SHOWN_CHARACTERS)}" for text in found.shown[:SHOWN]]
    more = len(found.shown) - len(shown)
    lines = [f"Erase {_counts(found)} for good? This cannot be undone. It begins:", *shown]
    lines += [f"and {more} more"] if more else []
    back = [f"- {cut(text, SHOWN_CHARACTERS)}" for text in found.revived[:SHOWN]]
    return "\n".join([*lines, *(["Without it this is believed again:", *back] if back else [])])


def _page(found: Erased) -> str:
    if found.dry_run:
        back = (
            ["Believed again without it:", *(f"> {text}" for text in found.revived)] if found.revived else []
        )
        return "\n".join(
            [f"Would erase {_counts(found)}.", fenced([*(f"> {text}" for text in found.shown), *back])]
        )
    proof = (
        f"Proof: every byte of the home was searched for the {found.searched_texts} erased; none is there."
    )
    left = [f"Still in {place}: {count}. Tell the user." for place, count in found.remaining.items()]
    return "\n".join(
        [f"Erased {_counts(found)}.", *(left or [proof]), *(f"({note})" for note in found.notes)]
    )


def _counts(found: Erased) -> str:
    return f"{several(len(found.turn_ids), 'message')} and {several_memories(len(found.cell_ids))}"


def _short(found: Erased) -> Erased:
    """The result with as many ids as an answer has room for."""
    ids = {name: getattr(found, name)[:MOST_IDS] for name in ("turn_ids", "cell_ids", "topic_ids")}
    left = sum(len(getattr(found, name)) - len(kept) for name, kept in ids.items())
    notes = [*found.notes, f"{left} more ids are left out here"] if left else found.notes
    return found.model_copy(update={**ids, "notes": notes})


def _safe(found: Erased) -> Erased:
    texts = {
        name: [cut(text, SHOWN_CHARACTERS) for text in getattr(found, name)[: 4 * SHOWN]]
        for name in ("shown", "revived")
    }
    return found.model_copy(update=texts)
