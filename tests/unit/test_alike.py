"""Which of several statements alike goes first, where nothing settled which holds."""

from datetime import UTC, datetime

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


def test_a_question_for_the_past_is_told_from_one_for_what_holds():
    assert asks_for_past("which lamps did the tower get before?")
    assert not asks_for_past("which lamps does the tower get")


def test_a_question_for_what_happened_or_for_a_list_does_not_ask_what_holds():
    assert asks_what_holds("which lamp does the tower get")
    assert asks_what_holds("what did we decide about the lamps?")
    for question in ("when did Ola paint the tower?", "which towers are there?", "what was it before?"):
        assert not asks_what_holds(question)
