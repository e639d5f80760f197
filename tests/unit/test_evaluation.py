"""Recall is what its definition says, and every other way is computed from the same answers."""

from datetime import UTC, datetime

import polars as pl
import pytest

from benchmarks.evaluation import given_cells, said_turns, session_recall
from benchmarks.question_sets import Conversation, GivenMemory, SaidSession, SaidTurn
from benchmarks.ways import as_frame, by_ranks, by_shares, compared
from slowwave.journal.catalogue import encode
from slowwave.measure import CUTS, PLACED, recall_by_category, wanted_turns
from slowwave.recall.turns import stretched
from slowwave.schemas.questions import Figures, Question
from tests.rows import table_of

KNOWN = pl.DataFrame({"id": ["a", "b", "c"], "turn_id": ["ta", "tb", "tc"]})


def placed(*ranks: tuple[int, str, int]) -> pl.DataFrame:
    return pl.DataFrame(list(ranks), schema=PLACED, orient="row")


def recall(figures: Figures) -> tuple[float, ...]:
    return tuple(figures[f"recall@{cut}"] for cut in CUTS)


def asked(*evidence: tuple[str, ...], category: str = "all") -> list[Question]:
    return [Question(question="What?", evidence=ids, category=category) for ids in evidence]


def answers(**lists: dict[str, float]) -> pl.DataFrame:
    """`found` of one question from scores by list."""
    shares = {name: stretched(values) for name, values in lists.items()}
    return as_frame(lists, shares).with_columns(question_index=pl.lit(0, dtype=pl.Int64))


def test_evidence_that_is_not_there_is_counted_and_left_out():
    wanted, left_out = wanted_turns(asked(("a", "x"), ("x",), (), ("b", "c")), KNOWN)
    assert wanted.rows() == [(0, "all", "ta"), (3, "all", "tb"), (3, "all", "tc")]
    assert left_out == {"evidence that is not there": 2, "question without evidence": 2}


def test_recall_is_the_mean_over_questions_of_the_share_that_was_found():
    questions = [*asked(("a", "b"), category="two"), *asked(("c",), category="one")]
    wanted, _ = wanted_turns(questions, KNOWN)
    found = placed((0, "ta", 5), (0, "tb", 6), (1, "tc", 26))
    table = recall_by_category(found, wanted)
    assert {name: figures["questions"] for name, figures in table.items()} == {"all": 2, "one": 1, "two": 1}
    assert recall(table["all"]) == (0.25, 0.5, 0.5, 1.0)
    assert recall(table["one"]) == (0.0, 0.0, 0.0, 1.0)


def test_a_question_that_finds_nothing_counts():
    wanted, _ = wanted_turns(asked(("a",), ("b",)), KNOWN)
    assert recall_by_category(placed((0, "ta", 1)), wanted)["all"]["recall@5"] == pytest.approx(0.5)
    assert recall(recall_by_category(placed(), wanted)["all"]) == (0.0, 0.0, 0.0, 0.0)


def test_a_session_stands_where_its_best_turn_does():
    wanted, _ = wanted_turns(asked(("a", "b"), ("c",)), KNOWN)
    others = [(0, f"other-{place}", place) for place in range(1, 8)]
    found = placed(*others, (0, "ta", 8), (0, "tb", 30), (1, "tc", 1))
    in_one = pl.DataFrame({"turn_id": [name for _, name, _ in others], "session_id": "june"})
    evidence = pl.DataFrame({"turn_id": ["ta", "tb", "tc"], "session_id": ["may", "may", "june"]})
    figures = session_recall(found, wanted, pl.concat([in_one, evidence]))
    assert recall(figures) == (1.0, 1.0, 1.0, 1.0)  # may is the second session, and both turns are of it
    apart = in_one.with_columns(session_id="turn_id")
    assert recall(session_recall(found, wanted, pl.concat([apart, evidence])))[:2] == (0.5, 1.0)


def test_no_question_gives_figures_of_nought():
    wanted, _ = wanted_turns([], KNOWN)
    assert recall(recall_by_category(placed(), wanted)["all"]) == (0.0, 0.0, 0.0, 0.0)


def test_the_answer_without_a_list_is_the_fusion_of_the_others():
    lists = {
        "turn": {"a": 3.0, "b": 2.0, "c": 1.0},
        "near": {"b": 9.0, "d": 5.0, "a": 1.0},
        "vector": {"c": 0.9, "d": 0.1},
    }
    every = by_shares(answers(**lists), ["turn", "near"])
    others = answers(turn=lists["turn"], near=lists["near"])
    assert every["turn_id"].to_list() == others["turn_id"].to_list()


def test_plain_hybrid_adds_reciprocal_ranks():
    found = answers(turn={"a": 3.0, "b": 2.0}, vector={"b": 0.9, "c": 0.8, "a": 0.1})
    # a: 1/61 + 1/63, b: 1/62 + 1/61, c: 1/62
    assert by_ranks(found, ["turn", "vector"])["turn_id"].to_list() == ["b", "a", "c"]


def test_every_list_is_shown_alone_and_left_out_and_the_baselines_where_they_can_be():
    wanted, _ = wanted_turns(asked(("a",)), pl.DataFrame({"id": ["a"], "turn_id": ["a"]}))
    table = compared(answers(turn={"a": 1.0}, near={"a": 1.0}), wanted)
    assert {group: list(ways) for group, ways in table.items()} == {
        "baseline": ["full text only"],
        "alone": ["turn", "near"],
        "without": ["turn", "near"],
    }
    assert {figures["recall@5"] for ways in table.values() for figures in ways.values()} == {1.0}


def test_memories_of_a_set_become_cells_that_lead_to_their_turns():
    moment = datetime(2026, 6, 5, tzinfo=UTC)
    conversation = Conversation(
        sessions=(
            SaidSession(session_id="june", turns=(SaidTurn(id="a", content="It is hot.", timestamp=moment),)),
        ),
        memories=(
            GivenMemory(content="Hot.", evidence=("a", "gone")),
            GivenMemory(content="Lost.", evidence=()),
        ),
        questions=(),
    )
    ids = said_turns(conversation)
    turns = table_of("turns", ids["turn_id"][0], session_id="june").join(ids, on="turn_id")
    cells = given_cells(conversation, turns)
    assert cells["content"].to_list() == ["Hot."]
    assert cells["evidence"].to_list() == [ids["turn_id"].to_list()]
    assert cells["event_time"].to_list() == turns["event_time"].to_list()
    assert encode("cell.extracted", cells).height == 1
