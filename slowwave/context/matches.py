"""Memories and raw turns that answer a question, best first, on one scale.

The lists are those of the search (`slowwave/search`): memories by full text, vectors, names and time, turns by full
text at three scales, vectors and their memories. A memory is also as likely as the turns that it rests on, and what is
of the time that the question names comes in by its date, whatever its words. Age and use do not count here: a page has
room for what is old.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import repeat
from typing import NamedTuple

from slowwave.context.situation import Situation
from slowwave.language.time_phrases import TimeRange, day_told
from slowwave.schemas.search import CellHit, Filters, TurnHit
from slowwave.schemas.tables import KEYS, RAW_PROMPT
from slowwave.search.cells import RankedCell, cell_lists, cell_queries
from slowwave.search.conditions import turn_condition, within
from slowwave.search.current_values import Pair
from slowwave.search.episodes import EPISODE_LIST
from slowwave.search.fusing import Fused, fused_scores, newest_first
from slowwave.search.hits import CurrentCells, current_cells, hits_of
from slowwave.search.question import Question, understand
from slowwave.search.standing_turns import standing_turns
from slowwave.search.turns import TurnQuestion, best_scores, turn_hits, turn_queries, turn_scores, with_turns
from slowwave.store import SCORE, Expr, Query, Row, RowsQuery, VectorQuery, col, lit

DEPTH = 50
"""Memories that each list is asked for, before the lists overfetch."""

PERIOD_ROWS = 100
"""Memories, and turns, of the time that a question names, the nearest to its words."""

UNRANKED_BY = ("salience",)
"""The column that orders a list without an order of its own; age and use weigh nothing here."""

EVIDENCE, FORMER, TIME = "evidence", "former", "time"
"""The lists of memories by the turns that they rest on, of superseded ones, and by the time that the question names."""


@dataclass(frozen=True)
class Matches:
    """Memories and turns that answer a question, each kind best first; `score` is a share of the best memory's.

    `similarity` has the cosine to the question by id, of those that are near. `worded` are the ids of those that full
    text found by themselves, `timely` of those of the time that the question names. `undecided` are pairs of memories
    with two values of one property of which no date decides which holds (`compared_values`).
    """

    cells: list[CellHit]
    turns: list[TurnHit]
    similarity: dict[str, float]
    notes: list[str]
    worded: frozenset[str] = frozenset()
    timely: frozenset[str] = frozenset()
    undecided: frozenset[Pair] = frozenset()


IsTold = Callable[[str, float], bool]
"""Return whether a text of this similarity to the question is told."""


class _Found(NamedTuple):
    """Rows by list: memories, turns, and turns of the time that the question names."""

    cells: dict[str, list[Row]]
    turns: dict[str, list[Row]]
    turns_then: list[Row]


def find_matches(
    situation: Situation, *, most_cells: int, most_turns: int, is_told: IsTold | None = None
) -> Matches:
    """Rank what may answer the request's question; raw memories are left out, their turns answer for them.

    With `is_told` memories of which it says no, by their text and their similarity, are left out of those ranked.
    """
    text = situation.request.question
    vector, note = situation.reader.vector_of(text)
    asked = understand(situation.reader, situation.store, text, vector, Filters(), now=situation.now)
    question = replace(asked, where=asked.where & (col("prompt_version") != lit(RAW_PROMPT)))
    of_turns = TurnQuestion(question.words, question.vector, question.filters)
    found = _found(question, of_turns)
    said = turn_scores(question.store, found.turns, of_turns, question.settings)
    near = (*found.cells.get("vector", []), *found.turns.get("vector", []))
    similarity = {row.get("cell_id") or row["turn_id"]: row[SCORE] for row in near}
    current, scores, timely = _cells(question, found.cells, said, most=most_cells)
    told = [
        key
        for key in scores
        if is_told is None or is_told(current.rows[key]["content"], similarity.get(key, 0.0))
    ]
    cells = [hit.model_copy(update={"score": scores[hit.cell_id]}) for hit in hits_of(current, told)]
    turns = standing_turns(
        situation.store, situation.settings.owner, _turns(question, found.turns_then, said, most=most_turns)
    )
    words = question.words.split()
    return Matches(
        newest_first(cells, text, words),
        newest_first(turns, text, words),
        similarity,
        notes=[note] if note else [],
        worded=_worded(found),
        timely=timely | {row["turn_id"] for row in found.turns_then},
        undecided=current.undecided,
    )


def key_of(hit: CellHit | TurnHit) -> str:
    """The id of a memory or a turn."""
    return hit.cell_id if isinstance(hit, CellHit) else hit.turn_id


# Inside


def _found(question: Question, asked: TurnQuestion) -> _Found:
    """All lists, read at once; rows of memories carry their evidence."""
    of_cells = {**cell_queries(question, count=DEPTH, columns=UNRANKED_BY), **_cells_then(question)}
    if not question.is_about_time:
        of_cells.pop(EPISODE_LIST, None)
    of_cells = with_turns(of_cells)
    of_turns: dict[str, Query] = {**turn_queries(asked, question.settings)}
    then = _turns_then(question)
    rows = iter(question.store.find([*of_cells.values(), *of_turns.values(), *then]))
    cells = {name: next(rows) for name in of_cells}
    turns = {name: next(rows) for name in of_turns}
    return _Found(cells, turns, next(rows, []))


def _worded(found: _Found) -> frozenset[str]:
    """Ids of what full text found by its own words: no memory by its turns, no turn by those around it."""
    of_cells = (row["cell_id"] for name in ("text", "entity") for row in found.cells.get(name, []))
    of_turns = (key for row in found.turns.get("turn", []) for key in row["turn_ids"])
    return frozenset((*of_cells, *of_turns))


def _cells_then(question: Question) -> dict[str, Query]:
    """The list of memories of the time that the question names: told then, or holding from then on."""
    if question.period is None or question.is_about_time:
        return {}
    start, end = question.period.start, question.period.end
    then = question.where & (within(start, end) | within(start, end, "valid_from"))
    return {TIME: _of_time(question, "cells", then, UNRANKED_BY)}


def _turns_then(question: Question) -> list[Query]:
    if question.period is None:
        return []
    owner = question.settings.owner
    then = turn_condition(owner, question.filters) & within(question.period.start, question.period.end)
    return [_of_time(question, "turns", then, ())]


def _of_time(question: Question, table: str, then: Expr, columns: tuple[str, ...]) -> Query:
    """The rows of the time nearest to the question; without an embedder all of them."""
    if question.vector is not None:
        return VectorQuery(table, question.vector, PERIOD_ROWS, then, columns)
    return RowsQuery(table, (KEYS[table], *columns), then)


def _cells(
    question: Question, found: dict[str, list[Row]], said: Mapping[str, float], *, most: int
) -> tuple[CurrentCells, dict[str, float], frozenset[str]]:
    """The best memories, the one that holds now in the place of those that it outdates; and their scores in order.

    Third the ids of what was told in the time that the question names, holds from then on, or tells of it.
    """
    lists, rows = cell_lists(question, {**found, EVIDENCE: _by_evidence(found, said)})
    shares = _shares({key: score for key, score in fused_scores(lists).items() if key in rows})
    then, more = {row["cell_id"] for row in found.get(TIME, [])}, question.settings.context.period_weight
    shares |= {key: shares[key] + more for key in shares.keys() & then}
    best = best_scores(shares, most + most // 4)
    ranked = [
        RankedCell(Fused(key, shares[key], ()), shares[key], prior=1.0, confirmations=0) for key in best
    ]
    current = current_cells(question, ranked)
    unnamed = current.entries.keys() - then if question.period is not None else ()
    telling = {key for key in unnamed if _tells_of(current.rows[key], question.period)}
    scores = {key: entry.score + (more if key in telling else 0.0) for key, entry in current.entries.items()}

    def place(key: str) -> tuple[float, float, str]:
        return -scores[key], -current.rows[key]["event_time"].timestamp(), key

    best = sorted(scores, key=place)[:most]
    return current, {key: scores[key] for key in best}, frozenset(then | telling)


def _turns(question: Question, then: list[Row], said: Mapping[str, float], *, most: int) -> list[TurnHit]:
    settings = question.settings.context
    scores = {turn_id: settings.turn_weight * share for turn_id, share in _shares(said).items()}
    of_time = {row["turn_id"] for row in then}
    scores |= {turn_id: scores.get(turn_id, 0.0) + settings.period_weight for turn_id in of_time}
    best = best_scores(scores, most)
    where = turn_condition(question.settings.owner, question.filters)
    hits = turn_hits(question.store, [Fused(turn_id, scores[turn_id], ()) for turn_id in best], where)
    return sorted(hits, key=lambda hit: (-hit.score, -hit.event_time.timestamp(), hit.turn_id))


def _by_evidence(found: Mapping[str, list[Row]], said: Mapping[str, float]) -> list[Row]:
    """The memories that were found, by the best of the turns that they rest on; those that rest on none of them not."""
    rows = {row["cell_id"]: row for name, part in found.items() if name != FORMER for row in part}
    score_of, nothing = said.get, repeat(0.0)
    best = {key: max(map(score_of, row["evidence"], nothing), default=0.0) for key, row in rows.items()}
    return [{"cell_id": key, SCORE: score} for key, score in best.items() if score > 0]


def _shares(scores: Mapping[str, float]) -> dict[str, float]:
    best = max(scores.values(), default=0.0) or 1.0
    return {key: score / best for key, score in scores.items()}


def _tells_of(row: Row, period: TimeRange | None) -> bool:
    """Return whether a memory names a day of the period, whenever it was told."""
    if period is None or period.start is None or period.end is None:
        return False
    day = day_told(row["content"], at=row["event_time"])
    return day is not None and period.start <= day < period.end
