"""Which of several statements alike goes first, where nothing settled which holds."""

from datetime import UTC, datetime

import pytest

from slowwave.language.alike import asks_for_past, asks_what_holds, newest_of_alike

ASKED = ["lamps", "tower", "get"]
TEXTS = [
    "We decided that the tower gets red lamps.",
    "We decided that the harbour gets blue lamps.",
    "We decided that the tower gets green lamps.",
    "Noted.",
    "We decided that the tower gets amber lamps.",
    "Noted.",
]
MONTHS = [4, 12, 3, 3, 10, 11]


def order(*, kinds: str = "uuuuuu", months: list[int] = MONTHS) -> list[int]:
    times = [datetime(2026, month, 5, tzinfo=UTC) for month in months]
    return newest_of_alike(TEXTS, times, kinds, asked=ASKED)


def test_of_statements_alike_but_for_a_word_the_newest_goes_first_and_the_oldest_last():
    assert order() == [4, 1, 0, 3, 2, 5]


def test_an_assistants_later_word_does_not_take_the_place_of_a_persons():
    assert order(kinds="uuuuau") == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    "question",
    [
        "which lamps did the tower get before?",
        "Welche Lampen hatte der Turm früher?",
        "Quelles lampes à l’origine ?",
        "¿Qué lámparas tenía antes la torre?",
        "Che lampade c'erano prima?",
        "Quais lâmpadas a torre tinha no início?",
        "Welke lampen had de toren vroeger?",
    ],
)
def test_a_question_for_the_past_is_known_in_seven_languages(question):
    assert asks_for_past(question)


@pytest.mark.parametrize("question", ["which lamps does the tower get", "how old is the tower?"])
def test_a_question_for_what_holds_is_none_for_the_past(question):
    assert not asks_for_past(question)


def test_a_question_for_what_happened_or_for_a_list_does_not_ask_what_holds():
    assert asks_what_holds("which lamp does the tower get")
    assert asks_what_holds("what did we decide about the lamps?")
    for question in ("when did Ola paint the tower?", "which towers are there?", "what was it before?"):
        assert not asks_what_holds(question)
