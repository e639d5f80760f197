"""Messages that answer: of those that match about as well the newest comes first, the others are marked as earlier."""

from datetime import datetime

import pytest

from slowwave.recall.modes import SEARCH
from slowwave.recall.said import Said, is_statement, newest_first, score_said
from slowwave.schemas.moments import unknown_until
from slowwave.schemas.search import Filters
from tests.gathered import NOW, gathered_of, question_of
from tests.rows import row

ASKED = question_of("staging port")
JUNE, JULY, AUGUST = (NOW.replace(month=month) for month in (6, 7, 8))


def said(key: str, at: datetime, score: float, held: int = 0b11) -> Said:
    return Said(row("turns", key, content=f"The staging port: {key}.", event_time=at), score, held)


def order(*messages: Said) -> list[tuple[str, str | None]]:
    return [(one.turn_id, one.later and one.later.turn_id) for one in newest_first(ASKED, messages)]


def test_of_messages_that_match_about_as_well_the_newest_leads_and_the_others_are_earlier():
    assert order(said("old", JUNE, 1.0), said("new", AUGUST, 0.7)) == [("new", None), ("old", "new")]


def test_the_leading_message_has_the_best_score():
    newest, _ = newest_first(ASKED, [said("old", JUNE, 1.0), said("new", AUGUST, 0.7)])
    assert newest.score == 1.0


def test_a_newer_message_that_matches_much_less_does_not_lead():
    assert order(said("old", JUNE, 1.0), said("new", AUGUST, 0.3)) == [("old", None), ("new", None)]


def test_a_newer_message_without_the_terms_of_the_others_does_not_lead():
    assert order(said("old", JUNE, 1.0), said("new", AUGUST, 0.9, held=0)) == [("old", None), ("new", None)]


def test_a_message_of_a_day_that_nobody_knows_counts_as_of_the_last_day_that_it_can_have_been():
    unknown = unknown_until(JULY)
    assert order(said("old", unknown, 1.0), said("new", AUGUST, 0.9)) == [("new", None), ("old", "new")]
    assert order(said("old", JUNE, 1.0), said("new", unknown, 0.9))[0] == ("new", None)


def test_no_messages_are_no_messages():
    assert newest_first(ASKED, []) == []


def gathered(*turns: dict[str, object], **scores: float):
    rows = {str(one["turn_id"]): one for one in turns}
    return gathered_of(ASKED, turns=scores, turn_rows=rows)


def test_a_message_that_has_what_is_asked_comes_before_one_that_only_lists_brought():
    asked = row("turns", "asked", content="The staging port is on the wall.", event_time=JUNE)
    other = row("turns", "other", content="Good morning.", event_time=JUNE)
    found = score_said(ASKED, gathered(other, asked, other=2.0, asked=2.0), SEARCH)
    assert [one.turn_id for one in found] == ["asked", "other"]
    assert (found[0].columns["coverage"], found[1].columns["coverage"]) == (1.0, 0.0)


def test_of_a_past_moment_the_best_match_leads_and_nothing_is_marked():
    old = row("turns", "old", content="The staging port is 1.", event_time=JUNE)
    new = row("turns", "new", content="The staging port is 2.", event_time=JULY)
    past = question_of("staging port", filters=Filters(as_of=AUGUST))
    scores = {"old": 2.0, "new": 1.5}
    for question, first, mark in ((ASKED, "new", "new"), (past, "old", None)):
        found = score_said(question, gathered(old, new, **scores), SEARCH)
        earlier = next(one for one in found if one.turn_id == "old")
        assert (found[0].turn_id, earlier.later and earlier.later.turn_id) == (first, mark)


@pytest.mark.parametrize(
    ("role", "content", "is_one"),
    [
        ("user", "The port is 5432.", True),
        ("assistant", "The port is 5432.", False),
        ("user", "?!", False),
        ("user", " ".join(f"word{number}" for number in range(80)), False),
    ],
)
def test_a_statement_is_a_few_sentences_of_a_person(role: str, content: str, is_one: bool):
    assert is_statement(Said(row("turns", "t", role=role, content=content), 1.0, 0)) is is_one
