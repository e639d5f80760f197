"""The relevance of units to a question: the product of a few factors, whose columns explain it."""

import math
from collections.abc import Mapping
from datetime import datetime, timedelta

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


def score_units(question: Question, gathered: Gathered, units: list[Unit]) -> list[Unit]:
    """The units with `score` and the columns behind it, best first, ties by id.

    A unit has the best of what its members have. Plain Python: a frame of some hundred rows takes 4 ms longer, which is
    a sixth of a question.
    """
    ranks = _ranks(gathered)
    for unit in units:
        unit.columns = {
            **_of_members(question, gathered, unit, ranks),
            **_of_unit(question, gathered, unit),
        }
    best = max((unit.columns["coverage"] for unit in units), default=0.0)
    by_words = min(max(best / WORDED, LEAST_WEIGHT), 1.0)
    weights = {"text_rank": by_words, "evidence_rank": by_words}
    weights |= {"vector_rank": 1.0} if question.relevance is not None else {}
    for unit in units:
        factors = _factors(question, unit.columns, weights)
        unit.score = math.prod(factors.values())
        unit.columns |= factors
    return sorted(units, key=lambda unit: (-unit.score, unit.cell_id))


def _factors(
    question: Question, columns: Mapping[str, float], weights: Mapping[str, float]
) -> dict[str, float]:
    """Factors of a score; `weights` has the lists that count, by the column of their ranks."""
    reciprocal = (
        weight * (RANK_CONSTANT + 1) / (RANK_CONSTANT + columns[name])
        for name, weight in weights.items()
        if columns[name]
    )
    about = joint(question, columns["coverage"], columns["strength"])
    age = math.exp(-question.settings.search.age_rate * columns["age_days"])
    state = 1 + CHANGING * about * columns["is_changing"]
    return {
        "fused": sum(reciprocal) / sum(weights.values()),
        "match": match_of(about, columns["key"]),
        "prior": prior_of(columns["salience"] * age * columns["retention"]),
        "fit": columns["kind"] * (1.0 if columns["has_shape"] else 0.75),
        "state": state * (IN_PERIOD if columns["in_period"] else 1.0),
    }


CHANGING = 0.5
"""Weight of a value that changed or is contested, as far as a question is about it.

Over 285 questions of three worlds it puts the current value first for 5 more than a factor of 1.25 whatever is asked,
for 9 more with a neural model.
"""


def joint(question: Question, coverage: float, strength: float) -> float:
    """The evidence of words and of meaning together, 0..1: where either is whole, the other tells two texts apart."""
    return (coverage + strength) / 2 if question.relevance is not None else coverage


def match_of(covered: float, named: float) -> float:
    """The match of a text, 0.2..1: by what it covers of a question, and by what names it or stands around it."""
    return 0.2 + 0.4 * (covered + named)


PRIOR_FLOOR = 0.5
"""The prior at its least: salience, age and retention fill the rest to 1."""


def prior_of(weight: float) -> float:
    """The prior of a weight, 0..1, over a floor: so age reorders and never buries."""
    return PRIOR_FLOOR + (1 - PRIOR_FLOOR) * weight


def _ranks(gathered: Gathered) -> dict[str, dict[str, int]]:
    """The place of each found row, from 1, by text, by vector, and by the best of its messages."""
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
        "text_rank": ranked({key: row["text_score"] for key, row in found.items() if row["text_score"] > 0}),
        "vector_rank": ranked(
            {key: row["similarity"] for key, row in found.items() if row["similarity"] > 0}
        ),
        "evidence_rank": ranked(said),
    }


def _of_members(
    question: Question,
    gathered: Gathered,
    unit: Unit,
    ranks: Mapping[str, Mapping[str, int]],
) -> dict[str, float]:
    """The best match among the found rows of a unit; a rank is 0 where the list has none of them."""
    bits = question.bits
    coverage = key = 0.0
    for row in unit.members:
        of_key = held_terms(f"{row['subject'] or ''} {row['attribute'] or ''}", bits)
        topic = gathered.topics.get(row["topic_id"] or "")
        of_topic = held_terms(topic["name"], bits) if topic is not None else 0
        coverage = max(coverage, question.share(row["held"] | of_key | of_topic))
        key = max(key, question.share(of_key))
    ids = [row["cell_id"] for row in unit.members]
    similarity = max(row["similarity"] for row in unit.members)
    return {
        **{name: min((of[one] for one in ids if one in of), default=0) for name, of in ranks.items()},
        "coverage": coverage,
        "similarity": similarity,
        "strength": question.strength(similarity, question.known_cells),
        "key": key,
    }


def _of_unit(question: Question, gathered: Gathered, unit: Unit) -> dict[str, float]:
    """The columns that the current memory of a unit has."""
    row = unit.row
    now = question.filters.as_of or question.now
    usage = gathered.usage.get(unit.cell_id)
    unused = unused_days_of(usage, now=now) if usage else 0.0
    rate = 0.0 if row["protected"] else row["decay_rate"]
    shown = row["value"] if row["value"] is not None else row["content"]
    ids = {member["cell_id"] for member in (*unit.members, row)}
    return {
        "salience": row["salience"],
        "age_days": 0.0 if _holds(row) else days_ago(row["event_time"], now=now),
        "retention": retention_of(rate, unused),
        "kind": KIND.get(row["cell_type"], 1.0),
        "has_shape": question.has_shape(shown),
        "is_changing": bool(unit.history) or unit.rival is not None,
        "in_period": not gathered.timely.isdisjoint(ids),
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
