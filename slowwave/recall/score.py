"""The relevance of units to a question: one expression over one frame, whose columns explain it."""

import math
from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import reduce
from operator import mul
from typing import TypeVar

import polars as pl

from slowwave.language.lexicon import CLOSED_STATES
from slowwave.language.terms import held_terms
from slowwave.lifecycle.retention import days_ago, retention_of, unused_days_of
from slowwave.recall.gather import Gathered
from slowwave.recall.modes import IN_PERIOD, KIND
from slowwave.recall.question import Question
from slowwave.recall.resolve import Unit
from slowwave.schemas.choices import EPISODE
from slowwave.schemas.moments import latest_of
from slowwave.store import Row

RANK_CONSTANT = 60
"""k of reciprocal rank fusion (Cormack, Clarke and Buettcher, 2009)."""

WORDED, LEAST_WEIGHT = 0.6, 0.01
"""Share of a question's terms in its best text from which lists by words weigh as much as the one by vector.

A question in other words shares only common ones with anything: of 64 such questions 42 have their memory among the
best five with a neural model, 29 with equal weights; values that changed lead as often in three worlds.
"""

SCHEMA = {
    "id": pl.String(),
    **dict.fromkeys(("text_rank", "vector_rank", "evidence_rank"), pl.Int64()),
    **dict.fromkeys(
        (
            "coverage",
            "similarity",
            "strength",
            "key",
            "salience",
            "age_days",
            "retention",
            "kind",
        ),
        pl.Float64(),
    ),
    **dict.fromkeys(("has_shape", "is_changing", "in_period"), pl.Boolean()),
}
"""The columns of the frame, a row a unit; ranks are 1-based, null where the list did not bring it."""


def score_units(question: Question, gathered: Gathered, units: list[Unit]) -> list[Unit]:
    """The units with `score` and the columns behind it, best first, ties by id."""
    if not units:
        return []
    frame = features(question, gathered, units)
    scored = frame.select(_columns(question))
    for unit, row in zip(units, scored.rows(named=True), strict=True):
        unit.score = row.pop("score")
        unit.columns = {name: float(value or 0.0) for name, value in row.items()}
    return sorted(units, key=lambda unit: (-unit.score, unit.cell_id))


def _columns(question: Question) -> list[pl.Expr]:
    """The score, its factors, and what they are computed from: one pass over the frame."""
    by_words = (pl.col("coverage").max() / WORDED).clip(LEAST_WEIGHT, 1.0)
    lists = {"text": by_words, "evidence": by_words}
    lists |= {"vector": pl.lit(1.0)} if question.relevance is not None else {}
    reciprocal = (
        weight * (RANK_CONSTANT + 1) / (RANK_CONSTANT + pl.col(f"{name}_rank")).fill_null(math.inf)
        for name, weight in lists.items()
    )
    age = (-question.settings.search.age_rate * pl.col("age_days")).exp()
    about = joint(question, pl.col("coverage"), pl.col("strength"))
    named = {
        "fused": pl.sum_horizontal(reciprocal) / pl.sum_horizontal(lists.values()),
        "match": match_of(about, pl.col("key")),
        "prior": prior_of(pl.col("salience") * age * pl.col("retention")),
        "fit": pl.col("kind") * pl.when("has_shape").then(1.0).otherwise(0.75),
        "state": _state(about),
    }
    score = reduce(mul, named.values())
    return [pl.exclude("id"), *(column.alias(name) for name, column in {**named, "score": score}.items())]


Amount = TypeVar("Amount", float, pl.Expr)
"""A number, or a column of numbers."""


def joint(question: Question, coverage: Amount, strength: Amount) -> Amount:
    """The evidence of words and of meaning together, 0..1: where either is whole, the other tells two texts apart."""
    return (coverage + strength) / 2 if question.relevance is not None else coverage


def match_of(covered: Amount, named: Amount) -> Amount:
    """The match of a text, 0.2..1: by what it covers of a question, and by what names it or stands around it."""
    return 0.2 + 0.4 * (covered + named)


PRIOR_FLOOR = 0.5
"""The prior at its least: salience, age and retention fill the rest to 1."""


def prior_of(weight: Amount) -> Amount:
    """The prior of a weight, 0..1, over a floor: so age reorders and never buries."""
    return PRIOR_FLOOR + (1 - PRIOR_FLOOR) * weight


def _state(about: pl.Expr) -> pl.Expr:
    """The weight of a value that changed or is contested, as far as the question is about it, and of a named time."""
    in_period = pl.when("in_period").then(IN_PERIOD).otherwise(1.0)
    return (1 + CHANGING * about * pl.col("is_changing")) * in_period


CHANGING = 0.5
"""Weight of a value that changed. Over 285 questions of three worlds it puts the current value first for 5 more than a
factor of 1.25 whatever is asked, for 9 more with a neural model."""


def features(question: Question, gathered: Gathered, units: Sequence[Unit]) -> pl.DataFrame:
    """The columns of the score, a row a unit: a unit has the best of what its members have."""
    ranks = _ranks(gathered)
    data: dict[str, list[object]] = {name: [] for name in SCHEMA}
    for unit in units:
        values = _of_members(question, gathered, unit, ranks) | _of_unit(question, gathered, unit)
        for name in SCHEMA:
            data[name].append(values[name])
    return pl.DataFrame(data, schema=SCHEMA)


def _ranks(gathered: Gathered) -> dict[str, dict[str, int]]:
    """The place of each found row by text, by vector, and by the best of its messages."""
    found = gathered.found

    def ranked(values: dict[str, float]) -> dict[str, int]:
        order = sorted(values, key=lambda key: (-values[key], key))
        return {key: place for place, key in enumerate(order, start=1)}

    # the worst of the messages that were found has 0 by min-max, and was found all the same
    said = {
        key: max(gathered.turns[turn] for turn in row["evidence"] if turn in gathered.turns)
        for key, row in found.items()
        if row["cell_type"] != EPISODE and not gathered.turns.keys().isdisjoint(row["evidence"] or ())
    }
    return {
        "text": ranked({key: row["text_score"] for key, row in found.items() if row["text_score"] > 0}),
        "vector": ranked({key: row["similarity"] for key, row in found.items() if row["similarity"] > 0}),
        "evidence": ranked(said),
    }


def _of_members(
    question: Question, gathered: Gathered, unit: Unit, ranks: dict[str, dict[str, int]]
) -> dict[str, object]:
    """The best match among the found rows of a unit."""
    rows = unit.members
    named = [gathered.topics.get(row["topic_id"] or "", {}).get("name", "") for row in rows]
    keys = [f"{row['subject'] or ''} {row['attribute'] or ''}" for row in rows]
    of_keys = [held_terms(key, question.terms) for key in keys]
    of_topics = [held_terms(name, question.terms) for name in named]
    wholes = [row["held"] | key | topic for row, key, topic in zip(rows, of_keys, of_topics, strict=True)]
    similarity = max(row["similarity"] for row in rows)
    best = {
        f"{name}_rank": min((of[row["cell_id"]] for row in rows if row["cell_id"] in of), default=None)
        for name, of in ranks.items()
    }
    return {
        **best,
        "coverage": max(map(question.share, wholes)),
        "similarity": similarity,
        "strength": question.strength(similarity, question.known_cells),
        "key": max(map(question.share, of_keys)),
    }


def _of_unit(question: Question, gathered: Gathered, unit: Unit) -> dict[str, object]:
    """The columns that the current memory of a unit has."""
    row = unit.row
    now = question.filters.as_of or question.now
    usage = gathered.usage.get(unit.cell_id)
    unused = unused_days_of(usage, now=now) if usage else 0.0
    rate = 0.0 if row["protected"] else row["decay_rate"]
    shown = row["value"] if row["value"] is not None else row["content"]
    return {
        "id": unit.cell_id,
        "salience": row["salience"],
        "age_days": 0.0 if _holds(row) else days_ago(row["event_time"], now=now),
        "retention": retention_of(rate, unused),
        "kind": KIND.get(row["cell_type"], 1.0),
        "has_shape": question.has_shape(shown),
        "is_changing": bool(unit.history) or unit.rival is not None,
        "in_period": bool(gathered.timely & {member["cell_id"] for member in (*unit.members, row)}),
    }


def _holds(row: Row) -> bool:
    """Return whether a memory holds until another takes its place, however old: values, decisions and preferences."""
    return row["value"] is not None or row["cell_type"] in ("decision", "preference")


PAST_TASK_DAYS = 14.0
"""Days after the day of a task from which it is no longer open, whatever became of it: nobody closes every task."""


def is_over(row: Row, *, now: datetime) -> bool:
    """Return whether a memory is a task that is done or dropped, or whose day has long passed.

    Its day is `valid_until`, else a `valid_from` later than it was said; one without a day stays open.
    """
    if row["cell_type"] != "task":
        return False
    day = row["valid_until"] or (
        row["valid_from"] if row["valid_from"] > latest_of(row["event_time"]) else None
    )
    is_past = day is not None and day + timedelta(days=PAST_TASK_DAYS) < now
    return is_past or (row["value"] or "").strip().lower() in CLOSED_STATES
