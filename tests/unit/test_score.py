"""The score of a memory: what raises it and what lowers it, all else equal."""

from datetime import timedelta
from typing import Any

import pytest

from slowwave.recall.resolve import Unit
from slowwave.recall.score import score_units
from tests.gathered import NOW, cell, gathered_of, question_of
from tests.rows import row

ASKED = question_of("what is the rate limit", intent="what")


def scored(
    one: dict[str, Any], other: dict[str, Any], question: Any = ASKED, **given: Any
) -> dict[str, float]:
    """Scores of two memories that full text found in turn."""
    rows = [cell(key, content="The rate limit of the API is 180.", **{"event_time": NOW, **given})
            for key, given in (("one", one), ("other", other))]  # fmt: skip
    gathered = gathered_of(question, *rows, **given)
    for found in gathered.found.values():
        found["text_score"] = 1.0
    units = score_units(
        question, gathered, [Unit(found, members=[found]) for found in gathered.found.values()]
    )
    return {unit.cell_id: unit.score for unit in units}


@pytest.mark.parametrize(
    ("better", "worse"),
    [
        ({"salience": 0.9}, {"salience": 0.3}),
        ({}, {"event_time": NOW - timedelta(days=300)}),
        ({"cell_type": "decision"}, {"cell_type": "code_ref"}),
        ({"value": "180", "subject": "API", "attribute": "rate limit"}, {"value": "180", "subject": "API"}),
    ],
    ids=["salience", "age", "type", "property"],
)
def test_what_is_better_has_the_higher_score(better: dict[str, Any], worse: dict[str, Any]):
    scores = scored(worse, better)
    assert scores["other"] > scores["one"]


def test_age_and_salience_take_half_of_a_score_at_most():
    scores = scored({"salience": 1.0}, {"salience": 0.0, "event_time": NOW - timedelta(days=9_000)})
    assert 0.49 < scores["other"] / scores["one"] < 0.6  # it is the second of its list


def test_a_memory_that_fades_scores_less_than_one_that_was_used_today():
    usage = {
        key: row("cell_usage", key, last_accessed=at, retrieved_at=None, retrieval_count=0, ignore_count=0)
        for key, at in (("one", NOW), ("other", NOW - timedelta(days=60)))
    }
    scores = scored({}, {}, usage=usage)
    assert scores["one"] > scores["other"]


def test_a_memory_of_the_time_that_is_asked_comes_first():
    assert [*scored({}, {"salience": 0.0}, timely=frozenset({"other"}))] == ["other", "one"]


def test_a_value_without_a_number_answers_no_question_for_one():
    asked = question_of("how many requests does the rate limit allow")
    named = {"subject": "API", "attribute": "rate limit"}
    scores = scored({**named, "value": "strict"}, {**named, "value": "180"}, asked)
    assert scores["other"] > scores["one"]


def test_a_task_that_is_done_is_no_worse_where_its_state_is_asked():
    task = {"cell_type": "task", "attribute": "status"}
    scores = scored(
        {**task, "value": "open"}, {**task, "value": "done"}, question_of("status of the rate limit")
    )
    assert scores["other"] == pytest.approx(scores["one"], rel=0.02)  # it is the second of its list


def test_equal_scores_are_ordered_by_id():
    assert [*scored({}, {})] == ["one", "other"]


def test_no_memories_have_no_scores():
    assert score_units(ASKED, gathered_of(ASKED), []) == []


def test_the_worst_of_the_messages_that_were_found_counts_for_its_memory():
    scores = scored({"evidence": ["best"]}, {"evidence": ["worst"]}, turns={"best": 2.0, "worst": 0.0})
    assert scores["other"] > 0.9 * scores["one"]
