"""The start of a conversation: the newest standing wishes of persons, what is open, and core memory."""

from collections.abc import Iterator, Sequence
from datetime import timedelta

from slowwave.recall.lines import memory_line
from slowwave.recall.recalled import Recalled
from slowwave.recall.resolve import known_units
from slowwave.recall.score import is_over
from slowwave.recall.select import Candidate, Chosen
from slowwave.recall.wishes import KIND, wish_lines
from slowwave.recall.work import ANSWERED_FOR, core_lines, disputed_units
from slowwave.schemas.report import several
from slowwave.store import col, lit

OPEN_TASKS, DISPUTES, NEWEST_WISHES = 25, 8, 3
MOST_CORE_ROWS = 200

OPEN_TASK_DAYS = 30.0
"""Days since it was last mentioned for which a task without a day of its own is open: nobody closes every task."""

LEADING = 10.0
"""Score of a wish that leads the page."""


def opening_lines(recalled: Recalled, *, conversation: str) -> list[Candidate]:
    """Lines for the start of a conversation; of tasks without a day only the recent ones."""
    lines = [*_open_disputes(recalled), *_open_tasks(recalled), *_newest_wishes(recalled)]
    lines += core_lines(recalled.question, most=MOST_CORE_ROWS)
    known = frozenset[str]().union(*(line.wordings for line in lines))
    wishes = wish_lines(recalled.question, recalled, conversation=conversation)
    return [*lines, *(wish for wish in wishes if not wish.wordings <= known)]


def more_wishes(lines: Sequence[Candidate], chosen: Sequence[Chosen], recalled: Recalled) -> Candidate | None:
    """The line that says how many wishes have no room."""
    shown = frozenset[str]().union(*(entry.candidate.ids for entry in chosen))
    left = [line for line in lines if line.kind == KIND and line.turn_ids and not shown & line.ids]
    if not left:
        return None
    count = several(len(left), "older wish", "older wishes")
    text = f"({count} without room here; a search for the subject finds them.)"
    return Candidate("index", 0.0, "pointer", (text,), recalled.question.now, "memory", "more of the wishes")


def _newest_wishes(recalled: Recalled) -> Iterator[Candidate]:
    """The newest standing wishes of persons, as memories: they lead the page of their project."""
    question = recalled.question
    where = (col("is_wish") == lit(True)) & (col("origin") == lit("user"))
    for place, unit in enumerate(known_units(question, where, most=NEWEST_WISHES)):
        score = LEADING - place
        yield memory_line(unit, question, tier="background", score=score, why="the newest wishes")


def _open_disputes(recalled: Recalled) -> Iterator[Candidate]:
    question = recalled.question
    for unit in disputed_units(question, most=DISPUTES):
        yield memory_line(unit, question, tier="critical", score=3.0, why="open contradiction")


def _open_tasks(recalled: Recalled) -> Iterator[Candidate]:
    question = recalled.question
    recent = question.now - timedelta(days=OPEN_TASK_DAYS)
    units = known_units(question, (col("cell_type") == lit("task")) & ANSWERED_FOR, by="salience")
    tasks = [
        unit
        for unit in units
        if not is_over(unit.row, now=question.now)
        and (unit.row["valid_until"] or unit.row["event_time"] >= recent)
    ]
    for unit in tasks[:OPEN_TASKS]:
        score = 1.0 + unit.row["salience"]
        yield memory_line(unit, question, tier="critical", score=score, why="open task")
