"""The second tier: cells by hybrid search, each with the value that holds now and what held before."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import reduce
from operator import and_

from slowwave.chains.walker import ends, walk
from slowwave.decay.retention import days_ago, unused_days_of
from slowwave.embeddings import Vectors
from slowwave.language.time_phrases import TimeRange
from slowwave.schemas.search import CellHit, Filters, FormerValue, Intent
from slowwave.search.conditions import PAST, as_they_stood, cell_condition, held, scope_condition
from slowwave.search.current_values import (
    ATTRIBUTE,
    DISPUTE,
    doubted_and_both_valid,
    former_values,
    outdated_values,
    side_by_side,
)
from slowwave.search.episodes import EPISODE_LIST, episode_queries, episodes_of, without_episodes
from slowwave.search.fusing import Fused, RankedList, fuse_scores
from slowwave.search.prior import prior
from slowwave.settings.tree import Settings
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
_SHOWN = (
    "cell_id", "cell_type", "content", "summary", "compressed", "steps", "template", "subject", "attribute", "value",
    "status", "salience",
    "confidence", "origin", "event_time", "valid_from", "valid_until", "recorded_at", "source_name", "session_id",
    "topic_id", "superseded_by", "superseded_at", "evidence", "protected",
)  # fmt: skip

REASONS = ("decision", "insight", "risk")
"""Types of memory that answer why."""


@dataclass(frozen=True)
class CellQuestion:
    """A question as the tiers take it.

    `text` is as it was asked, `words` what full text looks for. `where` holds for the cells that may be found. `period`
    is a time that it names: it draws cells near, and excludes none, unless the question is about nothing but that time
    (`is_about_time`). `vector_weight` is 0 without a vector.
    """

    text: str
    words: str
    vector: Vectors | None
    vector_weight: float
    filters: Filters
    where: Expr
    period: TimeRange | None
    is_about_time: bool
    intent: Intent
    now: datetime


@dataclass(frozen=True)
class RankedCell:
    """A cell that the lists found: `score` is what they gave, times the prior."""

    fused: Fused
    score: float
    prior: float
    confirmations: int


def cell_queries(question: CellQuestion, settings: Settings, *, count: int) -> dict[str, Query]:
    """The lists of this tier by name.

    Full text, the people and things that cells name, vectors, cells of the time that the question names, and what
    superseded cells would have answered. A question about nothing but a time has all memories and episodes of it.
    """
    filters, where = question.filters, without_episodes(question.where, question.filters)
    most = count * (PAST_OVERFETCH if filters.is_historical else OVERFETCH)
    columns = _weighed_columns(filters)
    if question.is_about_time and question.period is not None:
        then = _within(question.period)
        queries_then: dict[str, Query] = {"time": RowsQuery("cells", ("cell_id", *columns), where & then)}
        return queries_then | episodes_of(question.where & then, filters, settings, columns=columns)

    def matching(condition: Expr, k: int, *fields: str) -> TextQuery:
        return TextQuery("cells", question.words, k, condition, fields=fields, columns=columns)

    queries: dict[str, Query] = {
        "text": matching(where, most),
        "entity": matching(where, most, "entities"),
    }
    if question.vector is not None:
        queries["vector"] = VectorQuery("cells", question.vector, most, where, columns=columns)
    if question.period is not None:
        queries["time"] = matching(where & _within(question.period), most)
    if not filters.is_historical:
        former = scope_condition(settings.owner, filters) & (col("status") == lit("superseded"))
        queries["former"] = TextQuery("cells", question.words, count, former, columns=("superseded_by",))
    if question.intent == "why":
        queries["reason"] = matching(where & col("cell_type").isin(list(REASONS)), count)
    episodes = episode_queries(
        question.words, question.where, filters, question.intent, settings, columns=columns
    )
    return {**queries, **episodes}


def rank_cells(
    store: Store,
    found: Mapping[str, list[Row]],
    question: CellQuestion,
    settings: Settings,
    *,
    count: int,
) -> list[RankedCell]:
    """The best `count` cells that the lists found, best first, ties by id."""
    weights = {
        "text": settings.search.text_weight,
        "entity": settings.search.entity_weight * (2.0 if question.intent == "who" else 1.0),
        "vector": question.vector_weight,
        "time": settings.search.time_weight,
        "former": settings.search.former_weight,
        "reason": settings.search.reason_weight,
        EPISODE_LIST: settings.search.text_weight,
    }
    rows = {row["cell_id"]: row for name, part in found.items() if name != "former" for row in part}
    values: dict[str, dict[str, float]] = {
        name: {row["cell_id"]: row[SCORE] if SCORE in row else row["salience"] for row in part}
        for name, part in found.items()
        if name != "former"
    }
    if found.get("former"):
        successors, values["former"] = _successors(store, found["former"], question)
        rows.update(successors)
    lists = [RankedList(name, given, weights[name]) for name, given in values.items() if weights[name] > 0]
    return _weighed(store, fuse_scores(lists), rows, question, settings)[:count]


def cell_hits(
    store: Store, ranked: Sequence[RankedCell], settings: Settings, filters: Filters
) -> list[CellHit]:
    """Hits of ranked cells: of several values of one attribute the holder stands, the others are its history."""
    if not ranked:
        return []
    ids = [entry.fused.key for entry in ranked]
    (found,) = store.find([RowsQuery("cells", _SHOWN, col("cell_id").isin(ids))])
    around, contradictions, topics = store.find(
        [
            RowsQuery("cells", _SHOWN, _related(found, cell_condition(settings.owner, filters))),
            RowsQuery("contradictions", DISPUTE, side_by_side(ids)),
            RowsQuery("topics", ("topic_id", "name"), col("topic_id").isin(_named(found, "topic_id"))),
        ]
    )
    if filters.is_historical and contradictions:
        contradictions = _between_known(store, contradictions, settings, filters)
    doubted, both_valid = doubted_and_both_valid(contradictions)
    known = _with_chain(store, found, around, filters)
    outdated = outdated_values(list(known.values()), doubted=doubted, both_valid=both_valid)
    former = former_values(list(known.values()), outdated)
    names = {row["topic_id"]: row["name"] for row in topics}
    # an outdated cell gives its place to the holder, which is shown once, where the best of them stood
    places: dict[str, RankedCell] = {}
    for entry in ranked:
        places.setdefault(outdated.get(entry.fused.key, entry.fused.key), entry)
    said = _confirmations(store, ranked, places, filters)
    return [
        _hit(entry, known[shown], said[shown], former.get(shown, []), doubted, names)
        for shown, entry in places.items()
        if shown in known
    ]


def _confirmations(
    store: Store, ranked: Sequence[RankedCell], places: Mapping[str, RankedCell], filters: Filters
) -> dict[str, int]:
    """How often each cell that is shown was said again; a holder's count is its own, whatever found it."""
    said = {entry.fused.key: entry.confirmations for entry in ranked}
    unread = [key for key in places if key not in said]
    if unread:
        (cell_usage,) = store.find(
            [RowsQuery("cell_usage", ("cell_id", "confirmations"), col("cell_id").isin(unread))]
        )
        counted = {row["cell_id"]: row["confirmations"] for row in cell_usage}
        said |= {key: 0 if filters.is_historical else counted.get(key, 0) for key in unread}
    return said


def _between_known(
    store: Store, contradictions: list[Row], settings: Settings, filters: Filters
) -> list[Row]:
    """The contradictions of which both sides had been said then."""
    then = cell_condition(settings.owner, Filters(as_of=filters.as_of, known_at=filters.known_at))
    sides = sorted({row[side] for row in contradictions for side in ("cell_a", "cell_b")})
    (found,) = store.find([RowsQuery("cells", ("cell_id",), then & col("cell_id").isin(sides))])
    known = {row["cell_id"] for row in found}
    return [row for row in contradictions if {row["cell_a"], row["cell_b"]} <= known]


def _hit(
    entry: RankedCell,
    row: Row,
    confirmations: int,
    former: list[Row],
    doubted: set[str],
    names: Mapping[str, str],
) -> CellHit:
    return CellHit(
        **{name: row[name] for name in _HIT_COLUMNS},
        text=row["content"],
        score=entry.score,
        prior=entry.prior,
        confirmations=confirmations,
        turn_ids=row["evidence"],
        topic_name=names.get(row["topic_id"]),
        has_open_contradiction=row["cell_id"] in doubted,
        history=[
            FormerValue(
                cell_id=past["cell_id"],
                value=past["value"] or past["content"],
                content=past["content"],
                valid_from=past["valid_from"],
                valid_until=past["valid_until"],
            )
            for past in former
        ],
        found_by=entry.fused.shares(),
    )


_HIT_COLUMNS = [name for name in CellHit.model_fields if name in _SHOWN and name != "evidence"]


def _weighed_columns(filters: Filters) -> tuple[str, ...]:
    return (*_WEIGHED, *PAST) if filters.is_historical else _WEIGHED


def _weighed(
    store: Store, fused: list[Fused], rows: Mapping[str, Row], question: CellQuestion, settings: Settings
) -> list[RankedCell]:
    """Cells with their prior, best first; of the past those that held then."""
    ids = [entry.key for entry in fused if entry.key in rows]
    if question.filters.is_historical:
        said = _followers(store, rows.values())
        ids = [key for key in ids if held(rows[key], said, question.filters)]
    (cell_usage,) = store.find([RowsQuery("cell_usage", _CELL_USAGE, col("cell_id").isin(ids))])
    used = {row["cell_id"]: row for row in cell_usage}
    ids = [key for key in ids if key in used]
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


def _with_chain(store: Store, cells: list[Row], around: list[Row], filters: Filters) -> dict[str, Row]:
    """The cells, by id, and all that they superseded, step by step, as far back as the journal tells.

    `around` holds what they superseded directly and the cells of the same attribute: the steps go on from there.
    """
    known = {row["cell_id"]: row for row in (*cells, *around)}

    def reach(ids: list[str]) -> list[str]:
        (before,) = store.find([RowsQuery("cells", _SHOWN, col("superseded_by").isin(ids))])
        fresh = {row["cell_id"]: row for row in before if row["cell_id"] not in known}
        known.update(fresh)
        return list(fresh)

    newest = {row["cell_id"] for row in around} - {row["cell_id"] for row in cells}
    walk(newest, reach, most=CHAIN_STEPS - 1)  # `around` is the first step
    if filters.as_of is not None:
        known = {key: row for key, row in known.items() if row["event_time"] <= filters.as_of}
    said = _followers(store, known.values()) if filters.is_historical else {}
    return {key: as_they_stood(row, said, filters) for key, row in known.items()}


def _followers(store: Store, cells: Iterable[Row]) -> dict[str, datetime]:
    """When the cells that superseded some of these were said."""
    named = [row["superseded_by"] for row in cells if row["superseded_by"]]
    (found,) = store.find([RowsQuery("cells", ("cell_id", "event_time"), col("cell_id").isin(named))])
    return {row["cell_id"]: row["event_time"] for row in found}


def _superseded_by(cells: list[Row]) -> Expr:
    return col("superseded_by").isin([row["cell_id"] for row in cells])


def _successors(
    store: Store, former: list[Row], question: CellQuestion
) -> tuple[dict[str, Row], dict[str, float]]:
    """The cells, of those that may be found, at the end of superseded ones' chains: their rows, and their score."""
    reached: dict[str, float] = {}
    for row in former:
        if row["superseded_by"]:
            reached[row["superseded_by"]] = max(row[SCORE], reached.get(row["superseded_by"], 0.0))
    next_of: dict[str, str] = {}

    def reach(ids: list[str]) -> list[str]:
        gone = col("cell_id").isin(ids) & (col("status") == lit("superseded"))
        (later,) = store.find([RowsQuery("cells", ("cell_id", "superseded_by"), gone)])
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
    (rows,) = store.find([RowsQuery("cells", columns, question.where & col("cell_id").isin(list(scores)))])
    return {row["cell_id"]: row for row in rows}, {row["cell_id"]: scores[row["cell_id"]] for row in rows}


def _related(cells: list[Row], where: Expr) -> Expr:
    """What cells superseded, and what else may be found of the same subject and attribute."""
    named = [row for row in cells if all(row[name] is not None for name in ATTRIBUTE)]
    if not named:
        return _superseded_by(cells)
    subjects, attributes = (_named(named, name) for name in ATTRIBUTE)
    return _superseded_by(cells) | (where & col("subject").isin(subjects) & col("attribute").isin(attributes))


def _named(rows: list[Row], column: str) -> list[str]:
    return sorted({row[column] for row in rows if row[column] is not None})


def _within(period: TimeRange) -> Expr:
    sides = [
        *([col("event_time") >= lit(period.start)] if period.start is not None else []),
        *([col("event_time") < lit(period.end)] if period.end is not None else []),
    ]
    return reduce(and_, sides)
