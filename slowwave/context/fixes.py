"""Recent errors: whether they were seen before, and what fixed them then.

An error is looked up by its words, by its signature (class names and codes) and by vectors, among cells and among
raw turns, since it is often only the transcript that holds the error's own text. Similarity only finds
candidates: that two errors are the same is decided by their signature and words. From a turn that holds the
same error on, the rest of its session is read: the cells that rest on those turns, and the turn that sounds most
like cause and fix.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import polars as pl

from slowwave.context.memories import (
    CELL_COLUMNS,
    TURN_COLUMNS,
    Memory,
    cell_line,
    memories_of,
    quote_line,
    turns_of,
)
from slowwave.context.tiers import Candidate
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
from slowwave.schemas.context import MAX_ERRORS
from slowwave.schemas.search import Filters, TurnHit
from slowwave.search.conditions import cell_condition, scope_condition, turn_condition
from slowwave.search.reader import Reader
from slowwave.store import RowsQuery, Store, TextQuery, VectorQuery, col, lit

LIST_ROWS = 20
"""Rows that each list of an error brings."""

FOLLOWING_TURNS = 40
"""Turns after the error in which its fix is looked for."""

SESSIONS = 4
"""Sessions with the same error that are read, the newest ones."""

LATER_FIRST = 0.9
"""What an earlier session's lines weigh beside those of the next later one: the last fix is the one that held."""

FIX_CELLS = 5
"""Cells of one session, at most."""

MIN_CUE = 0.3
"""A turn that sounds less like a fix is not quoted."""

ALREADY_SAID = 0.8
"""A cell whose words stand in the quotes to this share adds nothing to them."""

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

    def sameness(self, text: str) -> float:
        """How surely a text speaks of it, 0..1."""
        return error_sameness(text, signature=self.signature, words=self.words)

    @property
    def query(self) -> str:
        """Words for full text, the signature first."""
        return telling_words(" ".join([*sorted(self.signature), self.message]), most=48)


def failures_of(errors: Sequence[str]) -> list[Failure]:
    """The last errors that have any words, each once, newest first."""
    messages = [error_message(error) for error in reversed(errors) if error.strip()]
    found = [
        Failure(text, error_signature(text), error_words(text))
        for text in dict.fromkeys(messages[:MAX_ERRORS])
    ]
    return [failure for failure in found if failure.query]


def fix_lines(
    reader: Reader, store: Store, failures: Sequence[Failure], *, conversation_id: str | None
) -> list[Candidate]:
    """Lines for the first tier, scores 0..2: memories of the same errors, and what followed them.

    The conversation that asks is left out: its own error is not news to it.
    """
    if not failures:
        return []
    cells, turns = _found(reader, store, failures, conversation_id)
    lines = [
        cell_line(
            "critical", memory, 1.0 + sameness, "the same error", kind=f"seen before, {memory.cell_type}"
        )
        for memory, sameness in cells
        if not memory.is_raw and not memory.is_episode
    ]
    newest = sorted({(turn.event_time, turn.session_id) for turn, _ in turns}, reverse=True)
    sessions = list(dict.fromkeys(session_id for _, session_id in newest))[:SESSIONS]
    for session_id in sessions:
        owner = [(turn, sameness) for turn, sameness in turns if turn.session_id == session_id]
        older = LATER_FIRST ** sessions.index(session_id)
        lines += [
            replace(line, score=line.score * older) for line in _session_lines(reader, store, failures, owner)
        ]
    return lines


def _found(
    reader: Reader, store: Store, failures: Sequence[Failure], conversation_id: str | None
) -> tuple[list[tuple[Memory, float]], list[tuple[TurnHit, float]]]:
    """Cells and turns that speak of one of the errors, with their sameness."""
    owner = reader.settings.owner
    of_cells, of_turns = cell_condition(owner, Filters()), turn_condition(owner, Filters())
    queries: list[TextQuery | VectorQuery] = []
    for failure in failures:
        queries.append(TextQuery("cells", failure.query, LIST_ROWS, of_cells))
        single = of_turns & (col("scale") == lit("turn"))
        queries.append(TextQuery("passages", failure.query, LIST_ROWS, single, columns=("turn_ids",)))
        vector, _ = reader.vector_of(failure.message)
        if vector is not None:
            queries.append(VectorQuery("cells", vector, LIST_ROWS, of_cells))
            queries.append(VectorQuery("turns", vector, LIST_ROWS, of_turns))
    frames = store.at_once(queries)
    cell_ids = _ids(frame["cell_id"] for frame in frames if "cell_id" in frame.columns)
    turn_ids = _ids(
        [
            *(frame["turn_ids"].explode() for frame in frames if "turn_ids" in frame.columns),
            *(frame["turn_id"] for frame in frames if "turn_id" in frame.columns),
        ]
    )
    cell_rows, turn_rows = store.at_once(
        [
            RowsQuery("cells", CELL_COLUMNS, of_cells & col("cell_id").isin(cell_ids)),
            RowsQuery("turns", TURN_COLUMNS, of_turns & col("turn_id").isin(turn_ids)),
        ]
    )
    memories = memories_of(cell_rows.sort("cell_id"))
    turns = [turn for turn in turns_of(turn_rows) if turn.session_id != conversation_id]
    return (
        [(one, same) for one in memories if (same := _sameness(failures, one.content)) >= SAME_ERROR],
        [(one, same) for one in turns if (same := _sameness(failures, one.content)) >= SAME_ERROR],
    )


def _session_lines(
    reader: Reader, store: Store, failures: Sequence[Failure], errors: Sequence[tuple[TurnHit, float]]
) -> list[Candidate]:
    """What one session learned from the error: its cells from there on, and its clearest turn."""
    owner, filters = reader.settings.owner, Filters()
    first = min(turn.turn_index for turn, _ in errors)
    session = col("session_id") == lit(errors[0][0].session_id)
    window = (col("turn_index") >= lit(first)) & (col("turn_index") <= lit(first + FOLLOWING_TURNS))
    turn_rows, cell_rows, old_rows = store.at_once(
        [
            RowsQuery("turns", TURN_COLUMNS, turn_condition(owner, filters) & session & window),
            RowsQuery("cells", CELL_COLUMNS, cell_condition(owner, filters) & session),
            RowsQuery(
                "cells",
                ("cell_id", "evidence"),
                scope_condition(owner, filters) & session & (col("status") == lit("superseded")),
            ),
        ]
    )
    turns = turns_of(turn_rows)
    following = {turn.turn_id for turn in turns}
    cells = [
        memory
        for memory in memories_of(cell_rows.sort("cell_id"))
        if not memory.is_raw and not memory.is_episode and following & set(memory.evidence)
    ]
    living = {turn_id for memory in cells for turn_id in memory.evidence}
    outdated = set(old_rows["evidence"].explode().drop_nulls()) - living
    quotes = _clearest(failures, [turn for turn in turns if turn.turn_id not in outdated], 1 if cells else 3)
    said = " ".join(quote.forms[0] for quote in quotes)
    ranked = sorted(((_fix_score(failures, memory), memory) for memory in cells), key=lambda pair: -pair[0])
    lines = [
        cell_line("critical", memory, score, "learned after the same error", kind=f"fix, {memory.cell_type}")
        for score, memory in ranked[:FIX_CELLS]
        if memory.cell_type not in ("preference", "episode")
        and not memory.is_closed_task
        and holds_words(said, error_words(memory.content)) < ALREADY_SAID
    ]
    return [*quotes, *lines]


def _clearest(failures: Sequence[Failure], turns: Sequence[TurnHit], count: int) -> list[Candidate]:
    """The turns that sound most like cause and fix, at most `count`; of equal ones the later."""
    scored = [
        (fix_cue(turn.content) + _sameness(failures, turn.content), turn.turn_index, turn)
        for turn in turns
        if fix_cue(turn.content) >= MIN_CUE and turn.origin != "untrusted"
    ]
    words = {word for failure in failures for word in failure.words | failure.signature}
    why, kind = "followed the same error", "fix of the same error"
    best = sorted(scored, key=lambda entry: entry[:2], reverse=True)[:count]
    lines = [
        quote_line("critical", turn, 1.0 + score / 2, why, words=words, kind=kind) for score, _, turn in best
    ]
    return [line for line in lines if line is not None]


def _fix_score(failures: Sequence[Failure], memory: Memory) -> float:
    cue = fix_cue(memory.content) + 0.35 * ("cause" in (memory.attribute or ""))
    bonus = _TYPE_BONUS.get(memory.cell_type, 0.0)
    return 0.6 + 0.4 * cue + 0.5 * _sameness(failures, memory.content) + bonus + 0.2 * memory.salience


def _sameness(failures: Sequence[Failure], text: str) -> float:
    return max(failure.sameness(text) for failure in failures)


def _ids(columns: Iterable[pl.Series]) -> list[str]:
    return sorted({value for column in columns for value in column.drop_nulls()}) or [""]
