"""Uses of memories in an assistant's answers, at the end of a conversation.

A memory that the conversation was shown is cited by an answer of the assistant that came after it

- and names its id, whole or from its first 8 characters on, as the shown lines do (`mem:1a2b3c4d`);
- or, to the very prompt at which it was shown, states its value and names its subject, and no person had said the
  value in the conversation before. Only a value that can hardly be met by chance counts: with a digit or a sign of
  code in it, or of two words;
- or, to that prompt, says the whole memory word for word, where no person had.

That is all. An answer in other words, or one that merely follows what a memory says, is not told apart from one that
would have come without it. Tool output is not stored, so a value that the assistant also read in a file counts as
cited. What was shown at a prompt, was answered and is not cited is ignored; what stood at the start of the
conversation, or was never answered, is neither.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta

from slowwave.home.usage import cite
from slowwave.language.query_words import QUERY_WORDS, telling_words
from slowwave.language.signals import holds_words
from slowwave.recall.conditions import scope_condition
from slowwave.recall.page import ID_CHARACTERS
from slowwave.recall.reader import Reader
from slowwave.recall.shown import shown_to, shown_unasked
from slowwave.schemas.identity import normalize_text
from slowwave.store import Row, col, lit

_ID = re.compile(rf"(?<![0-9A-Za-z])[0-9a-f]{{{ID_CHARACTERS},24}}(?![0-9A-Za-z])")
_CODE_SIGN = re.compile(r"\w[-_./:@]\w")

LEAST_VALUE = 4
"""Characters of a value that may count as a citation."""

LEAST_WORDS = 4
"""Words of a memory that an answer may cite by saying it whole."""

CLOCKS = timedelta(seconds=2)
"""Seconds by which an answer's time may lie before the moment at which a memory was shown."""


def find_uses(turns: Sequence[Row], shown: Iterable[Row]) -> tuple[dict[str, datetime], set[str]]:
    """The ids of memories that answers cite, with the time of the first that does, and of those that any followed.

    By the rules in this module's docstring. `turns` (`role`, `content`, `event_time`) are in their order; what was
    `shown` (`cell_id`, `subject`, `value`, `content`) says when (`at`).
    """
    cited, answered = dict[str, datetime](), set[str]()
    named = [frozenset(_ID.findall(turn["content"])) if _is_answer(turn) else frozenset() for turn in turns]
    for memory in shown:
        since = memory["at"] - CLOCKS
        later = [place for place, turn in enumerate(turns) if turn["event_time"] >= since]
        if any(_is_answer(turns[place]) for place in later):
            answered.add(memory["cell_id"])
        by_id = (place for place in later if any(map(memory["cell_id"].startswith, named[place])))
        used = next(by_id, None)
        used = _stating(turns, later, memory) if used is None else used
        if used is not None:
            cited[memory["cell_id"]] = turns[used]["event_time"]
    return cited, answered


def settle_by_answers(reader: Reader, conversation_id: str, *, now: datetime) -> list[str]:
    """Record what the conversation's stored answers cite; returns what else its prompts were shown and was answered.

    A citation has the time of its answer, so that a second call adds nothing.

    Raises:
        TransientError: the journal cannot be written.
    """
    store = reader.current()
    if store is None:
        return []
    asked = shown_to(reader.home, conversation_id, now=now)
    unasked = shown_unasked(reader.home, conversation_id, now=now)
    moments = {**unasked, **asked}  # of topics and turns, too, which have no row among the cells
    cells = store.by_key("cells", moments, ["cell_id", "subject", "value", "content"]).sort("cell_id")
    rows = [{**row, "at": datetime.fromisoformat(moments[row["cell_id"]])} for row in cells.to_dicts()]
    where = scope_condition(reader.settings.owner) & (col("session_id") == lit(conversation_id))
    turns = store.rows("turns", ["role", "content", "event_time", "turn_index"], where)
    cited, answered = find_uses(turns.sort("turn_index", "event_time").to_dicts(), rows)
    where = (col("context") == lit(conversation_id)) & (col("usage_type") == lit("cited"))
    used = set(store.rows("usage", ["cell_id"], where)["cell_id"])
    new = {cell_id: at for cell_id, at in cited.items() if cell_id not in used}
    for moment in sorted(set(new.values())):
        ids = [cell_id for cell_id, at in new.items() if at == moment]
        cite(reader.home, ids, context=conversation_id, now=moment, store=store)
    left = answered & asked.keys() - cited.keys() - used
    return [row["cell_id"] for row in rows if row["cell_id"] in left]


def _is_answer(turn: Row) -> bool:
    return bool(turn["role"] == "assistant")


def _stating(turns: Sequence[Row], later: Sequence[int], memory: Row) -> int | None:
    """The place of the first answer to the prompt that says a memory whole, or its value of its subject."""
    words = frozenset(telling_words(memory["subject"] or "", most=QUERY_WORDS).split())
    value, whole = memory["value"] or "", memory["content"].strip().rstrip(".!")
    has_value = bool(words) and _is_telling(value)
    for place in _first_answers(turns, later):
        text = turns[place]["content"]
        if has_value and _holds(text, value) and holds_words(text, words) > 0:
            said = value
        elif len(whole.split()) >= LEAST_WORDS and _holds(text, whole):
            said = whole
        else:
            continue
        by_persons = (turn["content"] for turn in turns[:place] if not _is_answer(turn))
        return None if any(_holds(text, said) for text in by_persons) else place
    return None


def _first_answers(turns: Sequence[Row], later: Sequence[int]) -> Iterator[int]:
    """The places of the assistant's turns up to the next person's turn, behind the prompt itself."""
    was_answered = False
    for place in later:
        if _is_answer(turns[place]):
            was_answered = True
            yield place
        elif was_answered:
            return


def _is_telling(value: str) -> bool:
    """Return whether a value can hardly stand in an answer by chance."""
    has_sign = any(sign.isdigit() for sign in value) or _CODE_SIGN.search(value) is not None
    return len(value.strip()) >= LEAST_VALUE and (has_sign or len(value.split()) > 1)


def _holds(text: str, value: str) -> bool:
    """Return whether a text holds a value as whole words."""
    return re.search(rf"(?<!\w){re.escape(normalize_text(value))}(?!\w)", normalize_text(text)) is not None
