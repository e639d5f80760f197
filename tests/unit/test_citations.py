"""Uses of what a conversation was shown, found in its answers: by id, or by a value that cannot be met by chance."""

from datetime import UTC, datetime, timedelta

import pytest

from slowwave.recall.answers import find_uses
from slowwave.store import Row

NOW = datetime(2026, 11, 20, 9, tzinfo=UTC)
PORT = "3fa81c2e7d9b4c6a8e1f2031"
FLAG = "9b00d1f2aa34c5e6f7081920"


def turn(minute: int, text: str, *, answer: bool = False) -> Row:
    role = "assistant" if answer else "user"
    return {"role": role, "content": text, "event_time": NOW + timedelta(minutes=minute)}


def shown(
    cell_id: str = PORT,
    *,
    subject: str = "staging database",
    value: str = "5433",
    content: str = "",
    minute: int = 1,
) -> Row:
    at = NOW + timedelta(minutes=minute)
    return {"cell_id": cell_id, "at": at, "subject": subject, "value": value, "content": content}


def cited(turns: list[Row], *memories: Row) -> list[str]:
    return list(find_uses(turns, memories)[0])


ASKED = turn(1, "How do I reach it?")


@pytest.mark.parametrize("name", ["mem:3fa81c2e", PORT, "(3fa81c2e)", "[mem:3fa81c2e7d]", "`mem:3fa81c2e`."])
def test_an_answer_that_names_the_id_cites_it(name):
    answer = turn(2, f"As noted {name}, it changed.", answer=True)
    assert find_uses([ASKED, answer], [shown(), shown(FLAG)]) == ({PORT: answer["event_time"]}, {PORT, FLAG})


@pytest.mark.parametrize("name", ["mem:3fa81c", "3fa81c2f", "x3fa81c2e", "3fa81c2ez", "3FA81C2E"])
def test_another_or_a_shorter_id_cites_nothing(name):
    assert cited([ASKED, turn(2, f"See {name}.", answer=True)], shown()) == []


def test_a_person_who_names_the_id_cites_nothing():
    turns = [ASKED, turn(2, "No idea.", answer=True), turn(3, "mem:3fa81c2e is wrong")]
    assert cited(turns, shown()) == []


def test_an_answer_before_it_was_shown_cites_nothing_and_counts_as_none():
    assert find_uses([ASKED, turn(2, "mem:3fa81c2e", answer=True)], [shown(minute=5)]) == ({}, set())


def test_the_value_with_its_subject_in_the_very_answer_is_a_citation():
    assert cited([ASKED, turn(2, "The staging database listens on 5433.", answer=True)], shown()) == [PORT]


@pytest.mark.parametrize(
    ("answer", "memory"),
    [
        ("Use port 5433.", shown()),
        ("The staging database listens on 54331.", shown()),
        ("The staging database is slow.", shown()),
        ("The staging database is blue.", shown(value="blue")),
        ("The staging database: 7.", shown(value="7")),
        ("The staging database listens on 5433.", shown(subject="")),
    ],
)
def test_a_value_without_its_subject_or_one_met_by_chance_is_none(answer, memory):
    assert cited([ASKED, turn(2, answer, answer=True)], memory) == []


def test_a_value_that_a_person_said_before_is_not_the_memorys():
    turns = [
        turn(0, "I think it is 5433."),
        ASKED,
        turn(2, "The staging database listens on 5433.", answer=True),
    ]
    assert cited(turns, shown()) == []


def test_only_the_answer_to_the_prompt_at_which_it_was_shown_counts_for_a_value():
    late = turn(4, "The staging database listens on 5433.", answer=True)
    turns = [ASKED, turn(2, "I will look.", answer=True), turn(3, "And?"), late]
    assert cited(turns, shown()) == []
    assert cited([*turns, turn(5, "by mem:3fa81c2e", answer=True)], shown()) == [PORT]


def test_an_answer_that_says_the_whole_memory_word_for_word_cites_it_unless_a_person_had():
    memory = shown(FLAG, subject="", value="", content="The dunlin burner runs at 37 mbar.")
    answer = turn(2, "The dunlin burner runs at 37 mbar, as you noted.", answer=True)
    assert cited([ASKED, answer], memory) == [FLAG]
    assert cited([turn(0, "The dunlin burner runs at 37 mbar."), ASKED, answer], memory) == []
    assert cited([ASKED, turn(2, "It runs at 37 mbar.", answer=True)], memory) == []


def test_a_short_memory_is_not_cited_by_its_words():
    memory = shown(FLAG, subject="", value="", content="Use tabs.")
    assert cited([ASKED, turn(2, "I use tabs.", answer=True)], memory) == []
