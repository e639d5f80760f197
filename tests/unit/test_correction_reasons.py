"""Whether a correction says that something changed, or that it was wrong: by its words where nobody says so."""

from datetime import UTC, datetime
from typing import Any

import pytest

from slowwave.edits.reasons import taken_as
from slowwave.errors import InputError
from slowwave.schemas.requests import CorrectRequest

NOW = datetime(2026, 11, 26, 15, tzinfo=UTC)
OLD = {"cell_id": "aaaaaa1", "valid_from": datetime(2026, 5, 1, 9, tzinfo=UTC)}


def day_of_change(text: str, **given: Any) -> str | None:
    taken = taken_as(CorrectRequest(cell_id="aaaaaa1", text=text, **given), OLD, now=NOW)
    return None if taken.since is None else f"{taken.since:%Y-%m-%d}"


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("The port is 6432 since November.", "2026-11-01"),
        ("From 3 November on we use Kafka.", "2026-11-03"),
        ("As of 2026-10-02 the port is 6432.", "2026-10-02"),
        ("The port is now 6432.", "2026-11-26"),
        ("We switched to Kafka.", "2026-11-26"),
        ("Der Port ist jetzt 6432.", "2026-11-26"),
        ("Ab 2026-11-03 ist der Port 6432.", "2026-11-03"),
        ("Порт теперь 6432.", "2026-11-26"),
        ("С 2026-11-03 порт 6432.", "2026-11-03"),
        ("The port is 6432.", None),
        ("The port was never 5432, it is 6432.", None),
        ("The port is 6432, the other was a typo.", None),
        ("Der Port ist 6432, das war falsch.", None),
        ("Порт 6432, это была опечатка.", None),
        ("We use Kafka since it is faster.", None),
        ("The know-how is in the wiki.", None),
        ("The port is 6432 since March.", None),  # before the old one was said at all
    ],
)
def test_the_words_of_a_correction_say_whether_the_old_value_was_true_until_a_day(text: str, day: str | None):
    assert day_of_change(text) == day


def test_the_note_is_asked_before_the_text():
    assert day_of_change("The port is 6432.", note="since 1 June, said Mara") == "2026-06-01"
    assert day_of_change("The port is now 6432.", note="it was a typo") is None


def test_what_is_said_is_never_guessed():
    assert day_of_change("The port was never 5432.", reason="changed") == "2026-11-26"
    assert day_of_change("The port is 6432 since November.", reason="wrong") is None
    assert day_of_change("The port is 6432.", since="2026-10-01") == "2026-10-01"


def test_an_answer_says_what_was_assumed_and_how_to_say_the_other():
    changed = taken_as(CorrectRequest(cell_id="aaaaaa1", text="It is 6432 since November."), OLD, now=NOW)
    assert changed.told.startswith("taken as changed on 2026-11-01 (by 'since')")
    assert "with the reason wrong" in changed.told
    wrong = taken_as(CorrectRequest(cell_id="aaaaaa1", text="It is 6432."), OLD, now=NOW)
    assert wrong.told.startswith("taken as wrong (as no word says otherwise)")
    assert "with the reason changed" in wrong.told


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"since": "2026-01-01"}, "choose a later day, or the reason wrong"),
        ({"since": "2027-01-01"}, "still to come"),
        ({"since": "soonish"}, "since: 'soonish' is no time"),
    ],
)
def test_a_day_on_which_it_cannot_have_changed_is_refused(given: dict[str, str], why: str):
    with pytest.raises(InputError, match=why):
        day_of_change("The port is 6432.", **given)


def test_what_never_held_has_no_day():
    with pytest.raises(ValueError, match="leave out since"):
        CorrectRequest(cell_id="aaaaaa1", text="It is 6432.", reason="wrong", since="2026-10-01")
