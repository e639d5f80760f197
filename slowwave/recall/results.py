"""Rows of the store as the results that `Memory` returns, and the turns that a memory rests on."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from slowwave.language.units import units_within
from slowwave.recall.standing_turns import standing_turns
from slowwave.recall.turns import TURN_COLUMNS
from slowwave.schemas.results import Cell, FormerValue, Told, Turn, Use, columns_of
from slowwave.settings.groups import ScopeSettings
from slowwave.store import Row, Store
from slowwave.trust.origins import is_passage, whose_of
from slowwave.trust.speakers import standing

COPIED: Final = columns_of(Cell)
CELL: Final = (*COPIED, "evidence")
"""Columns of a row of `cells` that becomes a result."""

COUNTS: Final = ("confirmations", "retrieval_count", "citation_count", "ignore_count", "last_accessed")
"""Columns of `cell_usage` that a result takes."""

DOES: Final = {
    "said": "said it",
    "reported": "said it, perhaps passing it on",
    "quoted": "only quotes it",
    "absent": "said something else",
}


def cell_of(row: Mapping[str, Any], **known: Any) -> Cell:
    """A row of `cells` as a result, with what else is known of it."""
    copied = {name: row[name] for name in COPIED}
    return Cell(**copied, whose=whose_of(row), turn_ids=row["evidence"] or [], **known)


def former_of(row: Mapping[str, Any]) -> FormerValue:
    """A row of `cells` as a value that held before."""
    copied = {name: row[name] for name in columns_of(FormerValue) if name != "value"}
    return FormerValue(**copied, value=row["value"] or row["content"])


def use_of(row: Mapping[str, Any], **known: Any) -> Use:
    """A row of `cell_usage` as a result, with what else is known of the use."""
    return Use(**{name: row[name] for name in COUNTS}, **known)


def turn_of(row: Mapping[str, Any], **known: Any) -> Turn:
    """A row of `turns` as a result, with what else is known of it."""
    return Turn(**{name: row[name] for name in TURN_COLUMNS}, **known)


def named_cells(store: Store, rows: Sequence[Row], **known: Any) -> list[Cell]:
    """Rows of `cells` as results with the names of their topics."""
    topics = store.by_key("topics", {row["topic_id"] for row in rows} - {None}, ["topic_id", "name"])
    names = dict(topics.iter_rows())
    return [cell_of(row, topic_name=names.get(row["topic_id"]), **known) for row in rows]


def evidence_of(store: Store, owner: ScopeSettings, memory: Mapping[str, Any]) -> dict[str, list[Any]]:
    """The turns behind a memory (a row of `cells`), oldest first, and the ids of those that are gone.

    Each says whose word the memory is there, and how much of it is still told.
    """
    wanted = set(memory["evidence"])
    rows = store.by_key("turns", wanted, TURN_COLUMNS).sort("event_time", "turn_id").to_dicts()
    left = {row["turn_id"]: row["content"] for row in standing_turns(store, owner, rows)}
    turns = [
        turn_of(row, whose=_whose(memory, row), told=_told(row, left.get(row["turn_id"]))) for row in rows
    ]
    return {"evidence": turns, "missing_turns": sorted(wanted - {turn.turn_id for turn in turns})}


# Inside


def _told(turn: Row, left: str | None) -> Told:
    return "no" if left is None else "whole" if left == turn["content"] else "in part"


def _whose(memory: Mapping[str, Any], turn: Row) -> str:
    """Say whose word a memory is in one of its turns."""
    if turn["role"] == "document":
        return "a document says it"
    said = memory["content"]
    if is_passage(memory):
        said = units_within([said], turn["content"]) or said
    who = "a person" if turn["role"] == "user" else "an assistant"
    return f"{who} {DOES[standing(said, turn['content'], turn['role'])]}"
