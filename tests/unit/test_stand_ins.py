"""The benchmarks' stand-ins for the language model: they answer whatever a night asks."""

from pathlib import Path

import pytest

from benchmarks.scripted_answers import ANSWERS, group
from benchmarks.year_oracle import Oracle
from benchmarks.year_world import World

NOT_OF_A_NIGHT = {"GivenAnswer", "JudgeAnswer", "ReaderAnswer"}
"""Answers that `benchmarks/answers.py` asks for."""

RARE = {"TombstoneAnswer"}
"""Answers about what was deleted, which the nights of `benchmarks/night.py` have none of."""


@pytest.mark.parametrize(
    ("answers", "missing"), [(ANSWERS, RARE), (Oracle(World(days=1, seed=1)).answers, set[str]())]
)
def test_a_stand_in_answers_every_prompt_of_a_night(answers: dict[str, object], missing: set[str]):
    known = {path.stem for path in (Path(__file__).parents[1] / "golden" / "answers").glob("*.json")}
    assert known - NOT_OF_A_NIGHT - set(answers) == missing


def test_memories_of_one_subject_are_filed_together_and_into_a_topic_that_there_is():
    page = """## Topics

[1] Falcon ledger (9)

## New memories

[1]
> The budget of Falcon ledger is 20 euros.
[2]
> The target of Amber kiln is now 5 percent.
[3]
> Noor counted 12 geese at the harbour on day 3.
"""
    told = [(one["topic"], one["name"], one["memories"]) for one in group(page)["groups"]]
    assert told == [(1, "", [1]), (0, "Amber kiln", [2]), (0, "other things", [3])]
