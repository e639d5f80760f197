"""The second tier: the lists of cells that a question asks, fused and weighed by the prior."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from slowwave.chains.walker import ends, walk
from slowwave.decay.retention import days_ago, unused_days_of
from slowwave.language.query_words import asked_kinds
from slowwave.schemas.moments import latest_of
from slowwave.schemas.search import Filters
from slowwave.search.conditions import PAST, held, scope_condition, within
from slowwave.search.episodes import EPISODE_LIST, INTENTS, episode_list, without_episodes
from slowwave.search.fusing import Fused, RankedList, fuse_scores, prior
from slowwave.search.question import Question
from slowwave.store import SCORE, Expr, Query, Row, RowsQuery, Store, TextQuery, VectorQuery, col, lit

OVERFETCH = 4
"""Each list brings this many times what is wanted, so that fusing has something to choose from."""

PAST_OVERFETCH = 16
"""For the past it brings more: which cells held then is decided after they are found."""

CHAIN_STEPS = 16
"""Values that a timeline goes back, at most."""

_WEIGHED = ("salience", "event_time", "protected", "decay_rate")
_CELL_USAGE = (
    "cell_id", "last_accessed", "retrieved_at", "retrieval_count", "ignore_count", "confirmations",
)  # fmt: skip
REASONS = ("decision", "insight", "risk")
"""Types of memory that answer why."""


@dataclass(frozen=True)
class RankedCell:
    """A cell that the lists found: `score` is what they gave, times the prior."""

    fused: Fused
    score: float
    prior: float
    confirmations: int


def cell_queries(
    question: Question, *, count: int, columns: tuple[str, ...] | None = None
) -> dict[str, Query]:
    """The lists of this tier by name, with the columns that weighing them takes, unless others are named.

    Full text, the people and things that cells name (by name, or by the kind that is asked for), vectors, cells of the
    time that the question names, and what superseded cells would have answered. A question about nothing but a time
    has all memories and episodes of it.
    """
    filters, settings = question.filters, question.settings
    where = without_episodes(question.where, filters)
    most = count * (PAST_OVERFETCH if filters.is_historical else OVERFETCH)
    columns = _weighed_columns(filters) if columns is None else columns
    if question.is_about_time and question.period is not None:
        then = within(question.period.start, question.period.end)
        episodes = episode_list(question.where & then, filters, settings, words=None, columns=columns)
        return {"time": RowsQuery("cells", ("cell_id", *columns), where & then), **episodes}

    def matching(condition: Expr, k: int) -> TextQuery:
        return TextQuery("cells", question.words, k, condition, columns=columns)

    named = f"{question.words} {asked_kinds(question.text)}".strip()
    queries: dict[str, Query] = {
        "text": matching(where, most),
        "entity": TextQuery("cells", named, most, where, fields=("entities",), columns=columns),
    }
    if question.vector is not None:
        queries["vector"] = VectorQuery("cells", question.vector, most, where, columns=columns)
    if question.period is not None:
        queries["time"] = matching(where & within(question.period.start, question.period.end), most)
    if not filters.is_historical:
        former = scope_condition(settings.owner, filters) & (col("status") == lit("superseded"))
        queries["former"] = TextQuery("cells", question.words, count, former, columns=("superseded_by",))
    if question.intent == "why":
        queries["reason"] = matching(where & col("cell_type").isin(list(REASONS)), count)
    if question.intent in INTENTS:
        queries |= episode_list(question.where, filters, settings, words=question.words, columns=columns)
    return queries


def rank_cells(question: Question, found: Mapping[str, list[Row]], *, count: int) -> list[RankedCell]:
    """The best `count` cells that the lists found, weighed by their prior, best first, ties by id."""
    lists, rows = cell_lists(question, found)
    return _weighed(question, fuse_scores(lists), rows)[:count]


def cell_lists(question: Question, found: Mapping[str, list[Row]]) -> tuple[list[RankedList], dict[str, Row]]:
    """The lists with their weights, to be fused, and the rows of all their cells by id."""
    settings = question.settings.search
    weights = {
        "text": settings.text_weight,
        "entity": settings.entity_weight * (2.0 if question.intent == "who" else 1.0),
        "vector": question.vector_weight,
        "time": settings.time_weight,
        "former": settings.former_weight,
        "reason": settings.reason_weight,
        "evidence": settings.evidence_weight,
        EPISODE_LIST: settings.text_weight,
    }
    rows = {row["cell_id"]: row for name, part in found.items() if name != "former" for row in part}
    values: dict[str, dict[str, float]] = {
        name: {row["cell_id"]: row[SCORE] if SCORE in row else row["salience"] for row in part}
        for name, part in found.items()
        if name != "former"
    }
    if found.get("former"):
        successors, values["former"] = _successors(question, found["former"])
        rows.update(successors)
    lists = [RankedList(name, given, weights[name]) for name, given in values.items() if weights[name] > 0]
    return lists, rows


def _weighed_columns(filters: Filters) -> tuple[str, ...]:
    return (*_WEIGHED, *PAST) if filters.is_historical else _WEIGHED


def _weighed(question: Question, fused: list[Fused], rows: Mapping[str, Row]) -> list[RankedCell]:
    """Cells with their prior, best first; of the past those that held then."""
    store, settings = question.store, question.settings
    ids = [entry.key for entry in fused if entry.key in rows]
    if question.filters.is_historical:
        said = followers(store, rows.values())
        ids = [key for key in ids if held(rows[key], said, question.filters)]
    (cell_usage,) = store.find([RowsQuery("cell_usage", _CELL_USAGE, col("cell_id").isin(ids))])
    used = {row["cell_id"]: row for row in cell_usage}
    now = question.filters.as_of or question.now
    priors = {
        key: prior(
            salience=rows[key]["salience"],
            rate=0.0 if rows[key]["protected"] else rows[key]["decay_rate"],
            age_days=days_ago(rows[key]["event_time"], now=now),
            unused_days=unused_days_of(used[key], now=now, settings=settings.decay),
            search=settings.search,
            decay=settings.decay,
        )
        for key in ids
        if key in used
    }
    ranked = [
        RankedCell(
            entry,
            entry.score * priors[entry.key],
            priors[entry.key],
            # how often it had been said again by a past moment, the counts do not tell
            0 if question.filters.is_historical else used[entry.key]["confirmations"],
        )
        for entry in fused
        if entry.key in priors
    ]
    return sorted(ranked, key=lambda entry: (-entry.score, entry.fused.key))


def followers(store: Store, cells: Iterable[Row]) -> dict[str, datetime]:
    """`event_time` of the cells that superseded some of these, by id; its latest possible one where it is unknown."""
    named = [row["superseded_by"] for row in cells if row["superseded_by"]]
    (found,) = store.find([RowsQuery("cells", ("cell_id", "event_time"), col("cell_id").isin(named))])
    return {row["cell_id"]: latest_of(row["event_time"]) for row in found}


def _successors(question: Question, former: list[Row]) -> tuple[dict[str, Row], dict[str, float]]:
    """The cells, of those that may be found, at the end of superseded ones' chains: their rows, and their score."""
    reached: dict[str, float] = {}
    for row in former:
        if row["superseded_by"]:
            reached[row["superseded_by"]] = max(row[SCORE], reached.get(row["superseded_by"], 0.0))
    next_of: dict[str, str] = {}

    def reach(ids: list[str]) -> list[str]:
        gone = col("cell_id").isin(ids) & (col("status") == lit("superseded"))
        (later,) = question.store.find([RowsQuery("cells", ("cell_id", "superseded_by"), gone)])
        new = {row["cell_id"]: row["superseded_by"] for row in later if row["superseded_by"]}
        next_of.update(new)
        return list(new.values())

    walk(reached, reach, most=CHAIN_STEPS)
    last = ends(next_of)
    scores: dict[str, float] = {}
    for cell, score in reached.items():
        end = last.get(cell, cell)
        scores[end] = max(score, scores.get(end, 0.0))
    columns = ("cell_id", *_weighed_columns(question.filters))
    (rows,) = question.store.find(
        [RowsQuery("cells", columns, question.where & col("cell_id").isin(list(scores)))]
    )
    return {row["cell_id"]: row for row in rows}, {row["cell_id"]: scores[row["cell_id"]] for row in rows}
