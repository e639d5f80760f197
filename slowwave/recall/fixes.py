"""Recent errors: whether they occurred before, and what fixed them then.

Similarity only finds candidates. That two errors are the same is decided by their signature (class names, codes) and
their words. From a message that holds the same error on, the rest of its conversation is read: the memories that rest
on it, and the messages that sound most like cause and fix.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from slowwave.language.excerpt import asked_words
from slowwave.language.query_words import telling_words
from slowwave.language.signals import (
    SAME_ERROR,
    error_message,
    error_sameness,
    error_signature,
    error_words,
    fix_cue,
    holds_words,
)
from slowwave.recall.conditions import turn_condition
from slowwave.recall.lines import memory_line, said_line
from slowwave.recall.recalled import Recalled, still_current, units_of_ids
from slowwave.recall.resolve import Unit
from slowwave.recall.said import Said
from slowwave.recall.score import is_over
from slowwave.recall.select import Candidate
from slowwave.recall.turns import TURN_COLUMNS
from slowwave.schemas.choices import EPISODE
from slowwave.schemas.context import MAX_ERRORS
from slowwave.schemas.tables import RAW_PROMPT, STATED
from slowwave.store import Row, RowsQuery, col, lit
from slowwave.trust.origins import PERSON

FOLLOWING_TURNS = 40
"""Messages after the error among which its fix is looked for."""

SESSIONS = 4
"""Conversations with the same error that are read, the newest ones."""

LATER_FIRST = 0.9
"""Weight of an earlier conversation's lines beside those of the next later one: the last fix is the one that held."""

FIX_CELLS, MIN_CUE = 5, 0.3
"""Memories of one conversation, at most; a message that sounds less like a fix is not quoted."""

ALREADY_SAID = 0.8
"""A memory whose words are in the quotes to this share adds nothing to them."""

_TYPE_BONUS = {
    "insight": 0.25,
    "decision": 0.35,
    "risk": 0.15,
    "workflow": 0.15,
    "pattern": 0.15,
    "fact": 0.1,
}


@dataclass(frozen=True)
class Failure:
    """An error as it is looked for."""

    message: str
    signature: frozenset[str]
    words: frozenset[str]

    @property
    def query(self) -> str:
        """Words for full text, the signature first."""
        return telling_words(" ".join([*sorted(self.signature), self.message]), most=48)

    def sameness(self, text: str) -> float:
        """Certainty that a text is about this error, 0..1."""
        return error_sameness(text, signature=self.signature, words=self.words)


def failures_of(errors: Sequence[str]) -> list[Failure]:
    """The last errors that have any words, each once, newest first."""
    messages = [error_message(error) for error in reversed(errors) if error.strip()]
    found = [
        Failure(text, error_signature(text), error_words(text))
        for text in dict.fromkeys(messages[:MAX_ERRORS])
    ]
    return [failure for failure in found if failure.query]


def fix_lines(recalled: Recalled, failure: Failure, *, conversation: str) -> Iterator[Candidate]:
    """Lines for the first tier, scores 0..2: memories of the same error, and what followed it.

    `recalled` answers the error's own text. The conversation that asks is left out: its error is not news to it.
    """
    for unit in recalled.units:
        if unit.row["prompt_version"] != RAW_PROMPT:
            sameness = failure.sameness(unit.row["content"])
            if sameness >= SAME_ERROR:
                yield _cell_line(recalled, unit, f"seen before, {unit.row['cell_type']}", 1.0 + sameness)
    sessions: dict[str, int] = {}
    rows = sorted(
        recalled.gathered.turn_rows.values(), key=lambda row: (row["event_time"], row["turn_index"])
    )
    for row in reversed(rows):
        if row["session_id"] != conversation and failure.sameness(row["content"]) >= SAME_ERROR:
            first = sessions.get(row["session_id"], row["turn_index"])
            sessions[row["session_id"]] = min(first, row["turn_index"])
    for place, (session_id, begin) in enumerate(list(sessions.items())[:SESSIONS]):
        yield from _after_error(recalled, failure, session_id, begin, LATER_FIRST**place)


def _after_error(
    recalled: Recalled, failure: Failure, session_id: str, begin: int, weight: float
) -> Iterator[Candidate]:
    """Lines of one conversation after an error in its message `begin`: its memories, and its clearest message."""
    question, session = recalled.question, col("session_id") == lit(session_id)
    window = (col("turn_index") >= lit(begin)) & (col("turn_index") <= lit(begin + FOLLOWING_TURNS))
    where = turn_condition(question.settings.owner) & session & window
    (rows,) = question.store.find([RowsQuery("turns", (*TURN_COLUMNS, "source_id"), where)])
    # notes that a program left one after the other followed nothing
    said = [
        Said({name: row[name] for name in TURN_COLUMNS}, 0.0, 0)
        for row in rows
        if row["source_id"] not in STATED or row["origin"] == PERSON
    ]
    following = {one.turn_id for one in said}
    is_model = col("prompt_version") != lit(RAW_PROMPT)
    units = [
        unit
        for unit in units_of_ids(question, session & is_model & (col("cell_type") != lit(EPISODE)))
        if following & set(unit.row["evidence"] or ()) and _may_fix(recalled, unit)
    ]
    quotes = _clearest(failure, still_current(recalled, said), 1 if units else 3, weight)
    yield from quotes
    shown = " ".join(quote.forms[0] for quote in quotes)
    for unit in sorted(units, key=lambda unit: -_fix_score(failure, unit.row))[:FIX_CELLS]:
        if holds_words(shown, error_words(unit.row["content"])) < ALREADY_SAID:
            score, kind = weight * _fix_score(failure, unit.row), f"fix, {unit.row['cell_type']}"
            yield _cell_line(recalled, unit, kind, score)


def _may_fix(recalled: Recalled, unit: Unit) -> bool:
    is_done = is_over(unit.row, now=recalled.question.now)
    return unit.row["cell_type"] != "preference" and not is_done


def _clearest(failure: Failure, said: Sequence[Said], count: int, weight: float) -> list[Candidate]:
    """Quotes of the messages that sound most like cause and fix, at most `count`; of equal ones the later."""
    scored = [
        (cue + failure.sameness(one.row["content"]), one.row["turn_index"], one)
        for one in said
        if (cue := fix_cue(one.row["content"])) >= MIN_CUE and one.row["origin"] != "untrusted"
    ]
    asked = asked_words(sorted(failure.words | failure.signature))
    best = sorted(scored, key=lambda entry: entry[:2], reverse=True)[:count]
    kind, why = "fix of the same error", "followed the same error"
    lines = (
        said_line(one, "critical", weight * (1.0 + score / 2), why, asked=asked, kind=kind, cue=fix_cue)
        for score, _, one in best
    )
    return [line for line in lines if line is not None]


def _cell_line(recalled: Recalled, unit: Unit, kind: str, score: float) -> Candidate:
    """A memory of a fix: the one kind of line that may be an assistant's word in the first tier."""
    question, why = recalled.question, "the same error"
    return memory_line(unit, question, tier="critical", score=score, why=why, kind=kind, is_fix=True)


def _fix_score(failure: Failure, row: Row) -> float:
    cue = fix_cue(row["content"]) + 0.35 * ("cause" in (row["attribute"] or ""))
    bonus = _TYPE_BONUS.get(row["cell_type"], 0.0)
    return 0.6 + 0.4 * cue + 0.5 * failure.sameness(row["content"]) + bonus + 0.2 * float(row["salience"])
