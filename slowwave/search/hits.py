"""Hits of ranked cells: each with the value that holds now and what held before."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache

from slowwave.chains.walker import walk
from slowwave.schemas.moments import latest_of
from slowwave.schemas.search import CellHit, FormerValue
from slowwave.search.cells import CHAIN_STEPS, RankedCell, followers
from slowwave.search.conditions import as_they_stood, cell_condition
from slowwave.search.current_values import (
    ATTRIBUTE,
    VALUE_COLUMNS,
    Pair,
    compared_values,
    doubted_and_both_valid,
    former_values,
    side_by_side,
)
from slowwave.search.question import Question
from slowwave.store import Expr, Row, RowsQuery, col
from slowwave.trust.origins import ON_TRUST, whose_word

_SHOWN = (
    "cell_id", "cell_type", "content", "summary", "compressed", "steps", "template", "subject", "attribute", "value",
    "status", "salience",
    "confidence", "origin", "event_time", "valid_from", "valid_until", "recorded_at", "source_name", "session_id",
    "project_id", "topic_id", "superseded_by", "superseded_at", "evidence", "protected",
    "prompt_version",
)  # fmt: skip

_HIT_COLUMNS = [name for name in CellHit.model_fields if name in _SHOWN and name != "evidence"]
_FORMER_COLUMNS = [name for name in FormerValue.model_fields if name != "value"]

_COMPARED = (*VALUE_COLUMNS, "content", "valid_until", "topic_id", "superseded_by", "superseded_at")
"""Columns that say which value holds now, and what held before: they are read of many cells for each that is shown."""


@dataclass(frozen=True)
class CurrentCells:
    """Ranked cells, best first, the one that holds now in the place of the best of those that it outdates.

    `entries` has for each shown cell the one that was ranked, `rows` has all that were compared, by id. `doubted` are
    in an open contradiction, or in one of the pairs that nobody decided yet (`undecided`).
    """

    question: Question
    entries: dict[str, RankedCell]
    rows: dict[str, Row]
    outdated: dict[str, str]
    doubted: set[str]
    confirmations: dict[str, int]
    """The number of times that each ranked cell was said again."""
    undecided: frozenset[Pair] = frozenset()


def cell_hits(question: Question, ranked: Sequence[RankedCell]) -> list[CellHit]:
    """Hits of ranked cells: the current value of an attribute is shown, with the other values as its history."""
    current = current_cells(question, ranked)
    return hits_of(current, list(current.entries))


def current_cells(question: Question, ranked: Sequence[RankedCell]) -> CurrentCells:
    """The cells that are shown for ranked ones, each once."""
    said = {entry.fused.key: entry.confirmations for entry in ranked}
    if not ranked:
        return CurrentCells(question, {}, {}, {}, set(), said)
    store, filters, ids = question.store, question.filters, list(said)
    (found,) = store.find([RowsQuery("cells", _COMPARED, col("cell_id").isin(ids))])
    related = _related(found, cell_condition(question.settings.owner, filters))
    around, contradictions = store.find([RowsQuery("cells", _COMPARED, related), side_by_side(ids)])
    if filters.is_historical and contradictions:
        contradictions = _between_known(question, contradictions)
    doubted, both_valid = doubted_and_both_valid(contradictions)
    known = _with_chain(question, found, around)
    values = compared_values(list(known.values()), doubted=doubted, both_valid=both_valid)
    entries: dict[str, RankedCell] = {}
    for entry in ranked:
        entries.setdefault(values.outdated.get(entry.fused.key, entry.fused.key), entry)
    entries = {key: entry for key, entry in entries.items() if key in known}
    return CurrentCells(
        question, entries, known, values.outdated, doubted | values.doubted, said, values.undecided
    )


def hits_of(current: CurrentCells, ids: Sequence[str]) -> list[CellHit]:
    """Hits of some of the shown cells, in the order of `ids`, each with what held before."""
    if not ids:
        return []
    topic_ids = _named([current.rows[key] for key in ids], "topic_id")
    whole, topics = current.question.store.find(
        [
            RowsQuery("cells", _SHOWN, col("cell_id").isin(ids)),
            RowsQuery("topics", ("topic_id", "name"), col("topic_id").isin(topic_ids)),
        ]
    )
    rows = {row["cell_id"]: {**row, **current.rows[row["cell_id"]]} for row in whole}
    names = {row["topic_id"]: row["name"] for row in topics}
    former = former_values(list(current.rows.values()), current.outdated, of=set(ids))
    said = _confirmations(current, ids)
    return [
        _hit(current.entries[key], rows[key], said[key], former.get(key, []), current.doubted, names)
        for key in ids
        if key in rows
    ]


def _confirmations(current: CurrentCells, ids: Sequence[str]) -> dict[str, int]:
    """The number of times that each shown cell was said again, by id; a current value has its own count."""
    question, said = current.question, dict(current.confirmations)
    unread = [key for key in ids if key not in said]
    if unread:
        (cell_usage,) = question.store.find(
            [RowsQuery("cell_usage", ("cell_id", "confirmations"), col("cell_id").isin(unread))]
        )
        counted = {row["cell_id"]: row["confirmations"] for row in cell_usage}
        said |= {key: 0 if question.filters.is_historical else counted.get(key, 0) for key in unread}
    return said


def _between_known(question: Question, contradictions: list[Row]) -> list[Row]:
    """The contradictions of which both sides had been said then."""
    then = cell_condition(question.settings.owner, question.filters.past_state)
    sides = sorted({row[side] for row in contradictions for side in ("cell_a", "cell_b")})
    (found,) = question.store.find([RowsQuery("cells", ("cell_id",), then & col("cell_id").isin(sides))])
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
        whose=whose_word(**{name: row[name] for name in ON_TRUST}),
        score=entry.score,
        prior=entry.prior,
        confirmations=confirmations,
        turn_ids=row["evidence"],
        topic_name=names.get(row["topic_id"]),
        has_open_contradiction=row["cell_id"] in doubted,
        history=[
            _former(*(past[name] for name in _FORMER_COLUMNS), past["value"] or past["content"])
            for past in former
        ],
        found_by=entry.fused.shares(),
    )


@lru_cache(maxsize=10_000)  # the values of one property come again with every question about it
def _former(*columns: str | datetime | None) -> FormerValue:
    return FormerValue(**dict(zip((*_FORMER_COLUMNS, "value"), columns, strict=True)))


def _with_chain(question: Question, cells: list[Row], around: list[Row]) -> dict[str, Row]:
    """The cells, by id, and all that they superseded, step by step, as far back as the journal tells.

    `around` holds what they superseded directly and the cells of the same attribute: the steps go on from there.
    """
    store, filters = question.store, question.filters
    known = {row["cell_id"]: row for row in (*cells, *around)}

    def reach(ids: list[str]) -> list[str]:
        (before,) = store.find([RowsQuery("cells", _COMPARED, col("superseded_by").isin(ids))])
        fresh = {row["cell_id"]: row for row in before if row["cell_id"] not in known}
        known.update(fresh)
        return list(fresh)

    newest = {row["cell_id"] for row in around} - {row["cell_id"] for row in cells}
    walk(newest, reach, most=CHAIN_STEPS - 1)  # `around` is the first step
    if not filters.is_historical:
        return known
    if filters.as_of is not None:
        known = {key: row for key, row in known.items() if latest_of(row["event_time"]) <= filters.as_of}
    said = followers(store, known.values())
    return {key: as_they_stood(row, said, filters) for key, row in known.items()}


def _related(cells: list[Row], where: Expr) -> Expr:
    """Cells that these superseded, and findable ones of the same subject and attribute."""
    superseded = col("superseded_by").isin([row["cell_id"] for row in cells])
    named = [row for row in cells if all(row[name] is not None for name in ATTRIBUTE)]
    if not named:
        return superseded
    subjects, attributes = (_named(named, name) for name in ATTRIBUTE)
    return superseded | (where & col("subject").isin(subjects) & col("attribute").isin(attributes))


def _named(rows: list[Row], column: str) -> list[str]:
    return sorted({row[column] for row in rows if row[column] is not None})
