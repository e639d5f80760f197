"""Recent errors: whether they were seen before, and what fixed them then.

An error is looked up by its words, by its signature (class names and codes) and by vectors, among cells and among
raw turns, since it is often only the transcript that holds the error's own text. Similarity only finds
candidates: that two errors are the same is decided by their signature and words. From a turn that holds the
same error on, the rest of its session is read: the cells that rest on those turns, and the turn that sounds most
like cause and fix.
"""

from collections.abc import Sequence
from dataclasses import replace

import polars as pl

from slowwave.context.memories import (
    CELL_COLUMNS,
    KnownCell,
    cell_line,
    is_over,
    memories_of,
    quote_lines,
    turns_of,
)
from slowwave.context.near import Near, neighbours
from slowwave.context.situation import Situation
from slowwave.context.tiers import Candidate
from slowwave.excerpts import asked_words
from slowwave.language.signals import SAME_ERROR, error_words, fix_cue, holds_words
from slowwave.schemas.search import TurnHit
from slowwave.schemas.tables import STATED
from slowwave.search.conditions import cell_condition, turn_condition
from slowwave.search.standing_turns import standing_turns
from slowwave.search.turns import TURN_COLUMNS
from slowwave.store import RowsQuery, col, lit
from slowwave.trust.origins import PERSON

FOLLOWING_TURNS = 40
"""Turns after the error in which its fix is looked for."""

SESSIONS = 4
"""Sessions with the same error that are read, the newest ones."""

LATER_FIRST = 0.9
"""Weight of an earlier session's lines beside those of the next later one: the last fix is the one that held."""

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


def fix_lines(situation: Situation) -> list[Candidate]:
    """Lines for the first tier, scores 0..2: memories of the same errors, and what followed them.

    The conversation that asks is left out: its own error is not news to it.
    """
    failures = situation.failures
    if not failures:
        return []
    found = neighbours(situation, [Near(failure.message, words=failure.query) for failure in failures])
    lines = [
        cell_line(
            "critical",
            cell,
            1.0 + sameness,
            "the same error",
            kind=f"seen before, {cell.cell_type}",
            is_fix=True,
        )
        for cell in found.cells.values()
        if not cell.is_raw and (sameness := situation.sameness(cell.content)) >= SAME_ERROR
    ]
    sessions: dict[str, list[TurnHit]] = {}
    newest = sorted(found.turns.values(), key=lambda turn: (turn.event_time, turn.session_id), reverse=True)
    for turn in newest:
        is_elsewhere = turn.session_id != situation.request.conversation_id
        if is_elsewhere and situation.sameness(turn.content) >= SAME_ERROR:
            sessions.setdefault(turn.session_id, []).append(turn)
    for place, (session_id, errors) in enumerate(list(sessions.items())[:SESSIONS]):
        first = min(turn.turn_index for turn in errors)
        lines += [
            replace(line, score=line.score * LATER_FIRST**place)
            for line in _session_lines(situation, session_id, first)
        ]
    return lines


def _session_lines(situation: Situation, session_id: str, first: int) -> list[Candidate]:
    """Lines of one session after an error in its turn `first`: its cells from there on, and its clearest turn."""
    owner, session = situation.settings.owner, col("session_id") == lit(session_id)
    window = (col("turn_index") >= lit(first)) & (col("turn_index") <= lit(first + FOLLOWING_TURNS))
    turn_rows, cell_rows = situation.store.at_once(
        [
            RowsQuery("turns", (*TURN_COLUMNS, "source_id"), turn_condition(owner) & session & window),
            RowsQuery("cells", CELL_COLUMNS, cell_condition(owner) & session),
        ]
    )
    # notes that a program left beside one another followed nothing
    is_note = pl.col("source_id").is_in(STATED) & (pl.col("origin") != PERSON)
    turns = turns_of(turn_rows.filter(~is_note))
    following = {turn.turn_id for turn in turns}
    cells = [
        cell
        for cell in memories_of(cell_rows.sort("cell_id"))
        if not cell.is_raw and not cell.is_episode and following & set(cell.evidence)
    ]
    quotes = _clearest(
        situation, standing_turns(situation.store, situation.settings.owner, turns), 1 if cells else 3
    )
    said = " ".join(quote.forms[0] for quote in quotes)
    best = sorted(cells, key=lambda cell: -_fix_score(situation, cell))[:FIX_CELLS]
    why = "learned after the same error"
    return quotes + [
        cell_line(
            "critical", cell, _fix_score(situation, cell), why, kind=f"fix, {cell.cell_type}", is_fix=True
        )
        for cell in best
        if cell.cell_type != "preference"
        and not is_over(situation, cell)
        and holds_words(said, error_words(cell.content)) < ALREADY_SAID
    ]


def _clearest(situation: Situation, turns: Sequence[TurnHit], count: int) -> list[Candidate]:
    """The turns that sound most like cause and fix, at most `count`; of equal ones the later."""
    scored = [
        (cue + situation.sameness(turn.content), turn.turn_index, turn)
        for turn in turns
        if (cue := fix_cue(turn.content)) >= MIN_CUE and turn.origin != "untrusted"
    ]
    asked = asked_words(
        sorted({word for failure in situation.failures for word in failure.words | failure.signature})
    )
    most = situation.settings.context.quote_characters
    why, kind = "followed the same error", "fix of the same error"
    best = sorted(scored, key=lambda entry: entry[:2], reverse=True)[:count]
    return [
        quote
        for score, _, turn in best
        for quote in quote_lines(
            "critical", turn, 1.0 + score / 2, why, asked=asked, most=most, kind=kind, is_fix=True
        )
    ]


def _fix_score(situation: Situation, cell: KnownCell) -> float:
    cue = fix_cue(cell.content) + 0.35 * ("cause" in (cell.attribute or ""))
    bonus = _TYPE_BONUS.get(cell.cell_type, 0.0)
    return 0.6 + 0.4 * cue + 0.5 * situation.sameness(cell.content) + bonus + 0.2 * cell.salience
