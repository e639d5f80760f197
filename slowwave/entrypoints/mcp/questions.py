"""The questions of the tools that act as the user's word: each shows what changes, in texts cut to one line."""

from collections.abc import Mapping
from typing import Any

from slowwave.entrypoints.mcp.answers.records import cut
from slowwave.entrypoints.mcp.asking import Ask, told_to_the_model
from slowwave.schemas.lists import CellDetail
from slowwave.schemas.results import Dispute

SHOWN_CHARACTERS = 300


async def of_correction(ask: Ask, given: Mapping[str, Any]) -> str:
    """Both texts."""
    return f"Put this in the place of a memory, as your word?\n- {await _memory(ask, given)}\n+ {_text(given['text'])}"


async def of_confirmation(ask: Ask, given: Mapping[str, Any]) -> str:
    """The memory."""
    return f"Is this right, and to be kept for good as your word?\n- {await _memory(ask, given)}"


async def of_deletion(ask: Ask, given: Mapping[str, Any]) -> str:
    """The memory."""
    return f"Delete this memory, also if it is said again?\n- {await _memory(ask, given)}"


async def of_resolution(ask: Ask, given: Mapping[str, Any]) -> str:
    """Both sides, and how it ends; of one that is not there the call itself tells."""
    with told_to_the_model():
        disputes: list[Dispute] = await ask("contradictions", {"has_resolved": True}, list[Dispute])
    named = [one for one in disputes if one.contradiction_id.startswith(given["contradiction_id"])]
    sides = [] if len(named) != 1 else [("a", named[0].a), ("b", named[0].b)]
    shown = [f"{name}: {_text(side.content)}" for name, side in sides if side is not None]
    merged = [f"merged: {_text(given['text'])}"] if given["text"] else []
    return "\n".join([f"End this contradiction by {given['resolution']}, as your word?", *shown, *merged])


async def _memory(ask: Ask, given: Mapping[str, Any]) -> str:
    with told_to_the_model():
        found: CellDetail = await ask("cell", {"cell_id": given["cell_id"]}, CellDetail)
    return _text(found.content)


def _text(text: str) -> str:
    return cut(text, SHOWN_CHARACTERS)
