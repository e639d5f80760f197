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
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from slowwave.home.usage import cite
from slowwave.language.query_words import QUERY_WORDS, telling_words
from slowwave.language.signals import holds_words
from slowwave.recall.conditions import scope_condition
from slowwave.recall.page import ID_CHARACTERS
from slowwave.recall.reader import Reader
from slowwave.recall.shown import shown_to, shown_unasked
from slowwave.schemas.identity import normalize_text
from slowwave.store import Row, Store, col, lit

_ID = re.compile(rf"(?<![0-9A-Za-z])[0-9a-f]{{{ID_CHARACTERS},24}}(?![0-9A-Za-z])")
_CODE_SIGN = re.compile(r"\w[-_./:@]\w")

LEAST_VALUE = 4
"""Characters of a value that may count as a citation."""

LEAST_WORDS = 4
"""Words of a memory that an answer may cite by saying it whole."""

CLOCKS = timedelta(seconds=2)
"""Seconds by which an answer's time may lie before the moment at which a memory was shown."""


@dataclass(frozen=True)
class Turn:
    """A turn of the conversation; a person's unless it is the assistant's."""

    is_answer: bool
    text: str
    at: datetime


@dataclass(frozen=True)
class Shown:
    """A memory that was shown, and the text by which an answer would name what it says."""

    cell_id: str
    at: datetime
    subject: str
    value: str
    content: str = ""


@dataclass(frozen=True)
class Uses:
    """The memories that answers cite, with the time of the first that does, and those that any answer followed."""

    cited: dict[str, datetime]
    answered: frozenset[str]


def find_uses(turns: Sequence[Turn], shown: Iterable[Shown]) -> Uses:
    """Uses of what was shown, by the rules in this module's docstring; `turns` in their order."""
    cited, answered = dict[str, datetime](), set[str]()
    ids = [(turn, _ID.findall(turn.text)) for turn in turns if turn.is_answer]
    for memory in shown:
        later = [turn for turn in turns if turn.at >= memory.at - CLOCKS]
        answers = [(turn, found) for turn, found in ids if turn.at >= memory.at - CLOCKS]
        if answers:
            answered.add(memory.cell_id)
        named = next((turn for turn, found in answers if any(map(memory.cell_id.startswith, found))), None)
        used = named or _stating(turns, later, memory)
        if used is not None:
            cited[memory.cell_id] = used.at
    return Uses(cited, frozenset(answered))


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
    rows = _cells(store, {**unasked, **asked})
    uses = find_uses(_turns(reader, store, conversation_id), rows)
    where = (col("context") == lit(conversation_id)) & (col("usage_type") == lit("cited"))
    used = set(store.rows("usage", ["cell_id"], where)["cell_id"])
    for at in sorted({moment for cell_id, moment in uses.cited.items() if cell_id not in used}):
        ids = [cell_id for cell_id, moment in uses.cited.items() if moment == at and cell_id not in used]
        cite(reader.home, ids, context=conversation_id, now=at, store=store)
    known = {*uses.cited, *used}
    return [
        row.cell_id
        for row in rows
        if row.cell_id in asked and row.cell_id in uses.answered and row.cell_id not in known
    ]


def _cells(store: Store, shown: Mapping[str, str]) -> list[Shown]:
    """The memories among what was shown; topics and turns are none."""
    found = store.by_key("cells", shown, ["cell_id", "subject", "value", "content"])
    return [
        Shown(
            cell_id=row["cell_id"],
            at=datetime.fromisoformat(shown[row["cell_id"]]),
            subject=row["subject"] or "",
            value=row["value"] or "",
            content=row["content"],
        )
        for row in found.sort("cell_id").iter_rows(named=True)
    ]


def _turns(reader: Reader, store: Store, conversation_id: str) -> list[Turn]:
    where = scope_condition(reader.settings.owner) & (col("session_id") == lit(conversation_id))
    columns = ["role", "content", "event_time", "turn_index"]
    rows: Iterable[Row] = (
        store.rows("turns", columns, where).sort("turn_index", "event_time").iter_rows(named=True)
    )
    return [Turn(row["role"] == "assistant", row["content"], row["event_time"]) for row in rows]


def _stating(turns: Sequence[Turn], later: Sequence[Turn], memory: Shown) -> Turn | None:
    """The first answer to the prompt at which the memory was shown that says it whole, or its value of its subject."""
    words = frozenset(telling_words(memory.subject, most=QUERY_WORDS).split())
    has_value = bool(words) and _is_telling(memory.value)
    whole = memory.content.strip().rstrip(".!")
    for turn in _first_answers(later):
        if has_value and _holds(turn.text, memory.value) and holds_words(turn.text, words) > 0:
            said = memory.value
        elif len(whole.split()) >= LEAST_WORDS and _holds(turn.text, whole):
            said = whole
        else:
            continue
        before = turns[: turns.index(turn)]
        return None if any(_holds(one.text, said) for one in before if not one.is_answer) else turn
    return None


def _first_answers(later: Sequence[Turn]) -> list[Turn]:
    """The assistant's turns up to the next person's turn, behind the prompt itself."""
    answers = list[Turn]()
    for turn in later:
        if turn.is_answer:
            answers.append(turn)
        elif answers:
            break
    return answers


def _is_telling(value: str) -> bool:
    """Return whether a value can hardly stand in an answer by chance."""
    has_sign = any(sign.isdigit() for sign in value) or _CODE_SIGN.search(value) is not None
    return len(value.strip()) >= LEAST_VALUE and (has_sign or len(value.split()) > 1)


def _holds(text: str, value: str) -> bool:
    """Return whether a text holds a value as whole words."""
    return re.search(rf"(?<!\w){re.escape(normalize_text(value))}(?!\w)", normalize_text(text)) is not None
