"""The turns that a memory rests on, word by word, and whose word it is in each."""

from collections.abc import Mapping
from typing import Any

from slowwave.language.units import units_within
from slowwave.recall.standing_turns import standing_turns
from slowwave.recall.turns import TURN_COLUMNS
from slowwave.schemas.results import Quote
from slowwave.schemas.results.explanation import Told
from slowwave.schemas.search import TurnHit
from slowwave.settings.groups import ScopeSettings
from slowwave.store import Store
from slowwave.trust.origins import is_passage
from slowwave.trust.speakers import standing

DOES = {
    "said": "said it",
    "reported": "said it, perhaps passing it on",
    "quoted": "only quotes it",
    "absent": "said something else",
}


def quotes_of(store: Store, owner: ScopeSettings, memory: Mapping[str, Any]) -> tuple[list[Quote], list[str]]:
    """The turns behind a memory (a row of `cells`), oldest first, and missing ones.

    Each says whose word the memory is there, and how much of it is still told.
    """
    wanted = set(memory["evidence"])
    rows = store.by_key("turns", wanted, TURN_COLUMNS).sort("event_time", "turn_id")
    turns = [TurnHit(**row, score=0.0) for row in rows.iter_rows(named=True)]
    told = {turn.turn_id: turn.content for turn in standing_turns(store, owner, turns)}
    missing = sorted(wanted - {turn.turn_id for turn in turns})
    return [_quote(memory, turn, told.get(turn.turn_id)) for turn in turns], missing


# Inside


def _quote(memory: Mapping[str, Any], turn: TurnHit, left: str | None) -> Quote:
    said = str(memory["content"])
    if is_passage(memory):
        said = units_within([said], turn.content) or said
    told: Told = "no" if left is None else "whole" if left == turn.content else "in part"
    given = turn.model_dump(include=set(Quote.model_fields) - {"whose", "told"})
    return Quote(**given, whose=_whose(said, turn), told=told)


def _whose(told: str, turn: TurnHit) -> str:
    """Say whose word a memory is in one of its turns."""
    if turn.role == "document":
        return "a document says it"
    who = "a person" if turn.role == "user" else "an assistant"
    return f"{who} {DOES[standing(told, turn.content, turn.role)]}"
