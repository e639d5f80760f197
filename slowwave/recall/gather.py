"""The reads for a question: at most eight reads, each of some hundred rows at most.

One read a table brings the union of the best rows by text and by vector; every row carries both values and the terms
of the question that it has. The second round reads what belongs to the found memories: their chains and properties,
their use, their topics, and the messages that were found.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from slowwave.language.query_words import names_a_thing
from slowwave.recall.conditions import (
    cell_condition,
    recorded_condition,
    scope_condition,
    turn_condition,
    within,
)
from slowwave.recall.question import Question, standing_disputes
from slowwave.recall.results import CELL, COUNTS
from slowwave.recall.turns import (
    DIALOGUE_TURNS,
    TURN_COLUMNS,
    TurnLists,
    in_dialogue,
    passages_query,
    turn_scores,
    vectors_query,
)
from slowwave.schemas.tables import RAW_PROMPT
from slowwave.store import TEXT_INDEX, Expr, FirstQuery, Query, Row, RowsQuery, SearchQuery, col, lit

CELL_COLUMNS = (*CELL, "index_label", "decay_rate", "head_id", "property")
"""Columns of a memory that scoring, resolving and rendering take."""

TOPIC_COLUMNS = (
    "name", "summary", "compressed", "updated_at", "summarized_at", "cell_count", "needs_review", "merged_into",
    "project_id",
)  # fmt: skip
USAGE_COLUMNS = (
    *COUNTS,
    "cell_id",
    "retrieved_at",
)

MATCHED = TEXT_INDEX["cells"]
"""Fields of a memory that are matched by words."""

UNMATCHED = {"text_score": 0.0, "similarity": 0.0, "held": 0}
"""The values of a row that a condition brought, and no words and no vector."""

TOPIC_ROWS = 8
PERIOD_ROWS = 100
"""Memories, and messages, of the time that a question names, the nearest to its words."""


@dataclass
class Gathered:
    """Rows that were read for one question.

    `found` are memories that a list brought, with `text_score`, `similarity` and `held`; `cells` has these and all rows
    of their chains and properties, by id. `turns` has the messages by score, best first; `rows` those whose text was
    read. `disputes` are contradictions of which both sides are active.
    """

    found: dict[str, Row]
    cells: dict[str, Row]
    topics: dict[str, Row] = field(default_factory=dict)
    usage: dict[str, Row] = field(default_factory=dict)
    disputes: list[Row] = field(default_factory=list)
    passing: frozenset[str] = frozenset()
    """Ids of memories that pass the filters, where the question has any."""
    timely: frozenset[str] = frozenset()
    """Ids of memories and messages of the time that the question names."""
    lists: TurnLists = field(default_factory=lambda: TurnLists((), (), ()))
    turns: dict[str, float] = field(default_factory=dict)
    turn_rows: dict[str, Row] = field(default_factory=dict)
    turn_similarity: dict[str, float] = field(default_factory=dict)
    windows: dict[str, int] = field(default_factory=dict)
    """The asked terms that the messages around each one have together."""
    held_by_turn: dict[str, int] = field(default_factory=dict)
    """The asked terms that a message itself has, of those that full text found."""


def gather(question: Question) -> Gathered:
    """Read everything about a question in two rounds."""
    first: dict[str, Query] = {
        "cells": _cells(question),
        "disputes": standing_disputes(question.settings.owner),
    }
    first["passages"] = passages_query(question.words, question.filters, question.settings)
    first["turns"] = vectors_query(question.vector, question.filters, question.settings)
    if question.draws_by_time:
        first |= _of_period(question)
    rows = dict(zip(first, question.store.find(list(first.values())), strict=True))
    for name in rows.keys() & {"cells", "cells_then", "turns_then"}:
        rows[name] = [row if "held" in row else {**UNMATCHED, **row} for row in rows[name]]
    then = [*rows.get("cells_then", ()), *rows.get("turns_then", ())]
    then += rows["cells"] if question.is_about_time else []
    found = {row["cell_id"]: row for row in (*rows.get("cells_then", ()), *rows["cells"])}
    lists = TurnLists(rows["passages"], rows["turns"], rows["cells"])
    scores = turn_scores(lists)
    for row in rows.get("turns_then", ()):
        scores.setdefault(row["turn_id"], 0.0)
    best = sorted(scores, key=lambda key: (-scores[key], key))[:DIALOGUE_TURNS]
    best += [row["turn_id"] for row in rows.get("turns_then", ())]
    gathered = Gathered(found, dict(found), disputes=rows["disputes"], lists=lists)
    gathered.timely = frozenset(row.get("cell_id") or row["turn_id"] for row in then)
    for passage in rows["passages"]:
        of_scale = gathered.held_by_turn if passage["scale"] == "turn" else gathered.windows
        for key in passage["turn_ids"] if passage["scale"] != "wide" else ():
            of_scale[key] = of_scale.get(key, 0) | passage["held"]
    gathered.turn_similarity = {
        row["turn_id"]: row["similarity"] for row in (*rows["turns"], *rows.get("turns_then", ()))
    }
    _second_round(question, gathered, best, has_topics=True)
    said = {key: row for key, row in gathered.turn_rows.items() if key in scores}
    gathered.turns = in_dialogue(scores, said, question.words.split())
    return gathered


def gather_rows(question: Question, rows: list[Row]) -> Gathered:
    """Everything that belongs to memories which were read by a condition: they match nothing by words or meaning."""
    found = {row["cell_id"]: {**row, **UNMATCHED} for row in rows}
    gathered = Gathered(found, dict(found), disputes=question.disputes)
    _second_round(question, gathered, [], has_topics=False)
    return gathered


def _second_round(question: Question, gathered: Gathered, turn_ids: list[str], *, has_topics: bool) -> None:
    """Read what belongs to the found memories, into what was gathered."""
    found, filters, owner = gathered.found, question.filters, question.settings.owner
    second: dict[str, Query] = {"chain": _chain(question, gathered)}
    named = {row["head_id"] or key for key, row in found.items()} | found.keys()
    second["usage"] = RowsQuery("cell_usage", USAGE_COLUMNS, col("cell_id").isin(sorted(named)))
    if has_topics:
        second["topics"] = _topics(question, found.values())
    if turn_ids:
        where = recorded_condition(owner, filters) & col("turn_id").isin(turn_ids)
        second["turns"] = RowsQuery("turns", TURN_COLUMNS, where)
    if filters.is_narrow:
        heads = sorted(named)
        second["passing"] = RowsQuery("cells", ("cell_id",), question.where & col("cell_id").isin(heads))
    rows = dict(zip(second, question.store.find(list(second.values())), strict=True))
    gathered.cells = {row["cell_id"]: row for row in rows["chain"]} | found
    gathered.usage = {row["cell_id"]: row for row in rows["usage"]}
    gathered.topics = {row["topic_id"]: row for row in rows.get("topics", ())}
    gathered.turn_rows = {row["turn_id"]: row for row in rows.get("turns", ())}
    gathered.passing = frozenset(row["cell_id"] for row in rows.get("passing", ()))


# The reads


def _cells(question: Question) -> Query:
    """Memories that may be found, and outdated ones, which lead to what took their place."""
    former = scope_condition(question.settings.owner, question.filters) & (col("status") == lit("superseded"))
    where = question.where if question.filters.is_historical else question.where | former
    if question.is_about_time and question.period is not None:  # what was said then, and is current
        where = question.where & within(question.period.start, question.period.end)
    if not question.has_raw:
        where &= col("prompt_version") != lit(RAW_PROMPT)
    if question.is_about_time:
        return _nearest(question, "cells", where, CELL_COLUMNS, words="", most=question.most_cells)
    return SearchQuery(
        "cells",
        question.words,
        question.vector,
        question.most_cells,
        where,
        CELL_COLUMNS,
        MATCHED,
    )


def _of_period(question: Question) -> dict[str, Query]:
    """Memories and messages of the time that the question names, or that hold from then on."""
    assert question.period is not None
    start, end = question.period.start, question.period.end
    then: dict[str, Query] = {}
    if not question.is_about_time:
        where = question.where & (within(start, end) | within(start, end, "valid_from"))
        then["cells_then"] = _nearest(question, "cells", where, CELL_COLUMNS, words=question.words)
    where = turn_condition(question.settings.owner, question.filters) & within(start, end)
    then["turns_then"] = _nearest(question, "turns", where, ("turn_id",))
    return then


def _nearest(
    question: Question,
    table: str,
    where: Expr,
    columns: tuple[str, ...],
    *,
    words: str = "",
    most: int = PERIOD_ROWS,
) -> Query:
    """Rows of a condition, the nearest to the question; without a vector the newest."""
    if question.vector is None:
        return FirstQuery(table, "event_time", most, where, columns)
    return SearchQuery(table, words, question.vector, most, where, columns, MATCHED if words else ())


def _chain(question: Question, gathered: Gathered) -> Query:
    """Everything that may say which of the found memories is current: chains, rival values, disputed sides."""
    rows = gathered.found.values()
    heads = {row["head_id"] for row in rows if row["head_id"]}
    properties = {row["property"] for row in rows if row["property"] and row["value"]}
    pairs = [{row["cell_a"], row["cell_b"]} for row in gathered.disputes]
    rivals = set[str]().union(*(pair for pair in pairs if pair & (heads | gathered.found.keys())))
    # what was said later is read, too: a value ends when its follower was said
    said = scope_condition(question.settings.owner, question.filters)
    is_of_it = col("head_id").isin(sorted(heads)) | col("cell_id").isin(sorted(rivals))
    if properties:
        living = cell_condition(question.settings.owner, question.filters.past_state)
        is_of_it |= col("property").isin(sorted(properties)) & living
    return RowsQuery("cells", CELL_COLUMNS, said & is_of_it)


def _topics(question: Question, cells: Iterable[Mapping[str, object]]) -> Query:
    """Topics about the question, and those of the found memories."""
    named = sorted({str(row["topic_id"]) for row in cells if row["topic_id"] is not None})
    is_general = question.filters.is_historical or not names_a_thing(question.text)
    return SearchQuery(
        "topics",
        "" if is_general else question.words,
        None if is_general else question.vector,
        TOPIC_ROWS,
        scope_condition(question.settings.owner, question.filters),
        TOPIC_COLUMNS,
        also=tuple(named),
    )
