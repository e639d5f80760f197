"""The questions of the tools that act as the user's word: each shows what changes, in texts cut to one line."""

from collections.abc import Mapping
from typing import Any

from mcp.server.mcpserver.exceptions import ToolError

from slowwave.entrypoints.mcp.answers.records import cut
from slowwave.entrypoints.mcp.asking import Ask, told_to_the_model
from slowwave.errors import NotFoundError
from slowwave.schemas.lists import CellDetail
from slowwave.schemas.moments import day_of
from slowwave.schemas.results import Dispute, Done

SHOWN_CHARACTERS = 300
SHOWN_ALONG = 5
"""Statements that go along, in a question."""


async def of_correction(ask: Ask, given: Mapping[str, Any]) -> str:
    """Both texts, and what goes along; a correction of what was superseded is refused before the user is asked."""
    shown = await _standing(ask, given)
    with told_to_the_model():
        found: Done = await ask("correct", {**given, "dry_run": True}, Done)
    put = f"Put this in the place of a memory, as your word?\n- {shown}\n+ {_text(given['text'])}"
    until = "never held" if found.since is None else f"was true until {day_of(found.since)}"
    why = [f"The old one {until}."] if found.reason is not None else []
    return "\n".join([put, *why, *_goes_along(found)])


async def of_confirmation(ask: Ask, given: Mapping[str, Any]) -> str:
    """The memory; of one that was superseded that is told before the user is asked."""
    return f"Is this right, and to be kept for good as your word?\n- {await _standing(ask, given)}"


async def of_deletion(ask: Ask, given: Mapping[str, Any]) -> str:
    """The memory, or what of it is to go."""
    with told_to_the_model():
        found: Done = await ask("forget", {**given, "dry_run": True}, Done)
    return f"Delete this memory, also if it is said again?\n- {_text(found.content)}"


async def of_resolution(ask: Ask, given: Mapping[str, Any]) -> str:
    """Both sides, and how it ends; one that is not there is refused before the user is asked.

    Raises:
        ToolError: no contradiction has that id, or a side of it is gone.
    """
    with told_to_the_model():
        disputes: list[Dispute] = await ask("contradictions", {"has_resolved": True}, list[Dispute])
    wanted = given["contradiction_id"].strip()
    named = [one for one in disputes if wanted and one.contradiction_id.startswith(wanted)]
    if len(named) > 1:
        raise ToolError(f"{wanted[:60]} stands for {len(named)} contradictions: write more of the id")
    if not named:
        raise ToolError(f"there is no contradiction {wanted[:60]}: the tool contradictions shows the ids")
    sides = [("a", named[0].a), ("b", named[0].b)]
    shown = [f"{name}: {_text(side.content)}" for name, side in sides if side is not None]
    if len(shown) != len(sides):
        raise ToolError(
            f"a side of contradiction {named[0].contradiction_id} is gone: there is nothing to decide"
        )
    merged = [f"merged: {_text(given['text'])}"] if given["text"] else []
    return "\n".join([f"End this contradiction by {given['resolution']}, as your word?", *shown, *merged])


async def _standing(ask: Ask, given: Mapping[str, Any]) -> str:
    """The text of a memory that holds.

    Raises:
        ToolError: another one took its place, and does not say already what this correction would.
    """
    found = await _memory(ask, given["cell_id"])
    if found.status == "superseded" and found.superseded_by is not None:
        try:
            after: CellDetail = await ask("cell", {"cell_id": found.superseded_by}, CellDetail)
        except NotFoundError:  # it was deleted: the one before stands again by the user's word
            return _text(found.content)
        if after.content.strip() != given.get("text", "").strip():
            raise ToolError(
                f"memory {found.cell_id} was superseded by {after.cell_id} already: speak of that one"
            )
    return _text(found.content)


async def _memory(ask: Ask, cell_id: str) -> CellDetail:
    with told_to_the_model():
        found: CellDetail = await ask("cell", {"cell_id": cell_id}, CellDetail)
    return found


def _goes_along(found: Done) -> list[str]:
    """Statements of the same passage that would be told no longer."""
    left = found.left_out[:SHOWN_ALONG]
    more = len(found.left_out) - len(left)
    told = ["With it these are no longer told:", *(f"- {_text(text)}" for text in left)] if left else []
    return [*told, *([f"and {more} more"] if more else [])]


def _text(text: str) -> str:
    return cut(text, SHOWN_CHARACTERS)
