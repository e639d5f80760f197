"""The start of a conversation: the newest standing wishes of persons, what is open, and core memory."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import timedelta

from slowwave.language.excerpt import Asked
from slowwave.language.query_words import plain_words
from slowwave.language.terms import terms_of_words
from slowwave.language.units import joined_units, units_of
from slowwave.language.wishes import WISH_WORDS, WITHDRAWAL_WORDS, is_standing, withdrawn_matters
from slowwave.recall.conditions import turn_condition
from slowwave.recall.lines import memory_line, said_line
from slowwave.recall.question import Question
from slowwave.recall.recalled import Recalled, known_units, unread
from slowwave.recall.said import Said, is_statement
from slowwave.recall.score import is_over
from slowwave.recall.select import Candidate, Chosen
from slowwave.recall.turns import TURN_COLUMNS
from slowwave.recall.work import ANSWERED_FOR, core_lines, disputed_units
from slowwave.schemas.report import several
from slowwave.store import Row, RowsQuery, SearchQuery, col, lit
from slowwave.trust.origins import PERSON
from slowwave.trust.own_words import parts_of

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


READ_ROWS = 100
"""Messages that are looked at for each list of words of a wish, the shortest first."""

KIND = "preference"
WHY = "said to hold always, and not yet read by a night"


def wish_lines(question: Question, recalled: Recalled, *, conversation: str) -> Iterator[Candidate]:
    """Quotes of standing wishes that no model has read and nobody took back, newest first."""
    wishes = _of_persons(question, WISH_WORDS, conversation)
    standing = [one for one in wishes if is_standing(own_words(one.row))]
    newest = sorted(standing, key=lambda one: (one.row["event_time"], one.turn_id), reverse=True)
    current = _without_withdrawn(question, unread(recalled, newest), conversation)
    for place, one in enumerate(current):
        score = 0.5 * (1 - place / len(current))
        line = said_line(one, "background", score, WHY, asked=Asked({}), kind=KIND)
        if line is not None:
            yield replace(line, tier="index") if line.tier == "background" else line


def own_words(row: Row) -> str:
    """A message without what it quotes."""
    return parts_of(row["content"], is_typed=True).own


def _of_persons(question: Question, lists: Sequence[str], conversation: str) -> list[Said]:
    """Short statements of persons, in other conversations, that hold most of the words of one of the lists."""
    where = turn_condition(question.settings.owner)
    single = where & (col("scale") == lit("turn"))
    queries = [SearchQuery("passages", words, None, READ_ROWS, single, ("turn_ids",)) for words in lists]
    found = question.store.find(queries)
    ids = sorted({turn_id for rows in found for row in rows for turn_id in row["turn_ids"]})
    (rows,) = question.store.find([RowsQuery("turns", TURN_COLUMNS, where & col("turn_id").isin(ids))])
    said = [
        Said(row, 0.0, 0) for row in rows if row["session_id"] != conversation and row["origin"] == PERSON
    ]
    return [one for one in said if is_statement(one)]


def _without_withdrawn(question: Question, wishes: Sequence[Said], conversation: str) -> list[Said]:
    """The messages without sentences whose wish a person took back later; without those left no wish it goes."""
    if not wishes:
        return []
    taken_back = [
        (one.row["event_time"], terms_of_words(words))
        for one in _of_persons(question, WITHDRAWAL_WORDS, conversation)
        for words in withdrawn_matters(own_words(one.row))
    ]
    left = list[Said]()
    for wish in wishes:
        text = wish.row["content"]
        matters = [terms for moment, terms in taken_back if moment > wish.row["event_time"]]
        units = units_of(text)
        kept = [unit for unit in units if not _is_withdrawn(unit.of(text), matters)]
        remaining = text if len(kept) == len(units) else joined_units(text, kept)
        if remaining == text or is_standing(remaining):
            left.append(replace(wish, row={**wish.row, "content": remaining}))
    return left


def _is_withdrawn(sentence: str, matters: Sequence[frozenset[str]]) -> bool:
    """Return whether a sentence is a wish about one of the subjects."""
    terms = terms_of_words(plain_words(sentence))
    return any(matter <= terms for matter in matters) and is_standing(sentence)
