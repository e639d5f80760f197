"""The turns that a memory rests on, word by word, and whose word it is in each."""

from collections.abc import Iterable, Mapping

from slowwave.schemas.results import Quote
from slowwave.store import Store
from slowwave.trust.own_words import standing

DOES = {
    "said": "said it",
    "reported": "said it, perhaps passing it on",
    "quoted": "only quotes it",
    "absent": "said something else",
}


def quotes_of(store: Store, turn_ids: Iterable[str], told: str) -> tuple[list[Quote], list[str]]:
    """The turns behind a memory, oldest first, each with whose word the memory (`told`) is there; and missing ones."""
    wanted = set(turn_ids)
    columns = [name for name in Quote.model_fields if name != "whose"]
    turns = store.by_key("turns", wanted, columns).sort("event_time", "turn_id")
    missing = sorted(wanted - set(turns["turn_id"]))
    return [Quote(**row, whose=_whose(told, row)) for row in turns.iter_rows(named=True)], missing


def _whose(told: str, turn: Mapping[str, object]) -> str:
    """Say whose word a memory is in one of its turns."""
    role = str(turn["role"])
    if role == "document":
        return "a document says it"
    who = "a person" if role == "user" else "an assistant"
    return f"{who} {DOES[standing(told, str(turn['content']), role)]}"
