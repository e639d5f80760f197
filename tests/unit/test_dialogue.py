"""Turns weighed by who says them and what they answer."""

import pytest

from slowwave.recall.turns import ANSWER_SHARE, ASKING_PENALTY, SPEAKER_BONUS, in_dialogue


def turn(place: int, speaker: str | None, content: str, session: str = "s") -> dict[str, object]:
    return {"session_id": session, "turn_index": place, "speaker": speaker, "content": content}


def test_an_answer_gets_a_share_of_the_question_before_it_and_the_question_gives_some_up():
    said = {"ask": turn(3, "Mara", "Where was the kiln made?"), "answer": turn(4, "Jonas", "In Faenza.")}
    found = in_dialogue({"ask": 2.0, "answer": 0.5}, said, ["kiln", "made"])
    assert found == pytest.approx({"answer": 0.5 + ANSWER_SHARE * 2.0, "ask": 2.0 - ASKING_PENALTY * 2.0})
    assert next(iter(found)) == "answer"


def test_a_turn_after_a_statement_and_one_of_another_conversation_get_nothing():
    said = {
        "told": turn(3, "Mara", "The kiln is from Faenza."),
        "next": turn(4, "Jonas", "I see."),
        "asked": turn(5, "Mara", "Who made it?"),
        "elsewhere": turn(6, "Jonas", "Ada.", session="other"),
        "later": turn(7, "Jonas", "Ada."),
    }
    found = in_dialogue({"told": 2.0, "next": 0.5, "elsewhere": 0.4, "later": 0.3}, said, [])
    assert found == pytest.approx({"told": 2.0, "next": 0.5, "elsewhere": 0.4, "later": 0.3})


def test_a_turn_that_tells_and_asks_gives_up_in_proportion():
    said = {"both": turn(1, "Mara", "The kiln is new. Do you like it?")}
    assert in_dialogue({"both": 1.0}, said, []) == pytest.approx({"both": 1.0 - ASKING_PENALTY / 2})


def test_the_speaker_whom_a_question_names_gets_a_bonus():
    said = {"one": turn(1, "Mara Lind", "The kiln is new."), "two": turn(2, "Jonas", "It is hot.")}
    found = in_dialogue({"two": 1.0, "one": 0.9}, said, ["mara", "kiln"])
    assert found == pytest.approx({"one": 0.9 + SPEAKER_BONUS, "two": 1.0})
    assert next(iter(found)) == "one"


@pytest.mark.parametrize("words", [["mara", "jonas"], ["kiln"], []])
def test_a_question_that_names_both_or_none_gives_no_bonus(words: list[str]):
    said = {
        "one": turn(1, "Mara", "The kiln is new."),
        "two": turn(2, "Jonas", "It is hot."),
        "x": turn(3, " ", "So."),
    }
    assert in_dialogue({"two": 1.0, "one": 0.9}, said, words) == pytest.approx({"two": 1.0, "one": 0.9})


def test_a_turn_that_was_not_looked_up_keeps_its_score_and_ties_are_ordered_by_id():
    said = {"ask": turn(1, "Mara", "Where?"), "answer": turn(2, "Mara", "Here.")}
    found = in_dialogue({"far": 0.1, "ask": 2.0, "answer": 0.5, "b": 0.1}, said, ["mara"])
    assert [*found][-2:] == ["b", "far"]
    assert found["far"] == 0.1
