"""The value that holds, and those that held before it."""

from datetime import timedelta

import pytest

from slowwave.lifecycle.values import compared_values, former_values
from slowwave.schemas.moments import unknown_until
from tests.rows import NOW, row

NOBODY: set[str] = set()


def outdated_values(cells, **given):
    return compared_values(cells, **given).outdated


def undecided(*cells: dict[str, object]) -> set[str]:
    """The pairs that nobody decided, as `ab`; the same whatever order the cells come in."""
    found = compared_values(cells, doubted=NOBODY).undecided
    assert found == compared_values(cells[::-1], doubted=NOBODY).undecided
    return {"".join(sorted(pair)) for pair in found}


def limit(key: str, value: str, *, days: int, **given: object) -> dict[str, object]:
    plain = {"subject": "departures", "attribute": "rate limit", "value": value}
    return row("cells", key, **{**plain, "valid_from": NOW + timedelta(days=days), **given})


def gone(key: str, value: str, *, days: int, by: str, until: int | None) -> dict[str, object]:
    end = None if until is None else NOW + timedelta(days=until)
    return limit(key, value, days=days, status="superseded", superseded_by=by, valid_until=end)


def test_the_latest_value_holds_whatever_order_the_cells_come_in():
    cells = [limit("b", "250", days=2), limit("c", "180", days=3), limit("a", "100", days=1)]
    assert outdated_values(cells, doubted=NOBODY) == {"a": "c", "b": "c"}
    assert outdated_values(cells[::-1], doubted=NOBODY) == {"a": "c", "b": "c"}


def test_of_values_from_the_same_day_the_one_learned_last_holds():
    late = limit("a", "180", days=1, recorded_at=NOW + timedelta(hours=1))
    cells = [late, limit("b", "100", days=1, recorded_at=NOW)]
    assert outdated_values(cells, doubted=NOBODY) == {"b": "a"}


def test_a_value_of_an_unknown_day_is_undecided_beside_one_from_before_its_file():
    undated = limit("a", "100", days=0, valid_from=unknown_until(NOW), event_time=unknown_until(NOW))
    assert undecided(undated, limit("b", "250", days=-30)) == {"ab"}
    assert undecided(undated, {**undated, "cell_id": "b", "value": "250"}) == {"ab"}
    assert outdated_values([undated, limit("b", "250", days=1)], doubted=NOBODY) == {"a": "b"}


def test_case_and_blanks_make_no_other_subject_and_no_other_value():
    cells = [
        limit("a", "180 per minute", days=1, subject="Departures "),
        limit("b", "180  Per Minute.", days=2),
    ]
    assert not outdated_values(cells, doubted=NOBODY)


def test_what_is_in_doubt_is_not_decided_by_its_date():
    cells = [limit("a", "Tuesday", days=1), limit("b", "Thursday", days=2)]
    assert not outdated_values(cells, doubted={"a", "b"})


def test_other_attributes_missing_values_and_dead_cells_do_not_compete():
    cells = [
        limit("a", "180", days=1),
        limit("b", "2", days=2, attribute="replicas"),
        limit("c", "9", days=3, status="archived"),
        limit("d", "7", days=4, subject=None),
        row("cells", "e", subject="departures", attribute="rate limit", value=None),
    ]
    assert not outdated_values(cells, doubted=NOBODY)


def test_a_timeline_goes_back_through_the_whole_chain_newest_first():
    cells = [
        limit("now", "180", days=9),
        gone("mid", "250", days=5, by="now", until=9),
        gone("old", "100", days=1, by="mid", until=5),
        gone("twin", "180", days=9, by="now", until=None),
    ]
    former = former_values(cells, outdated_values(cells, doubted=NOBODY))
    assert {key: [cell["cell_id"] for cell in past] for key, past in former.items()} == {
        "now": ["mid", "old"]
    }


def test_a_chain_ends_where_an_outdated_live_cell_gives_way():
    cells = [
        limit("now", "180", days=9),
        limit("mid", "250", days=5),
        gone("old", "100", days=1, by="mid", until=5),
    ]
    former = former_values(cells, outdated_values(cells, doubted=NOBODY))
    assert {key: [cell["cell_id"] for cell in past] for key, past in former.items()} == {
        "now": ["mid", "old"]
    }


def test_a_single_value_has_no_history():
    cells = [limit("now", "180", days=9)]
    assert not former_values(cells, outdated_values(cells, doubted=NOBODY))


def test_two_values_that_were_said_to_hold_both_outdate_neither():
    cells = [limit("a", "100", days=1), limit("b", "250", days=5), limit("c", "180", days=3)]
    assert outdated_values(cells, doubted=NOBODY, both_valid={frozenset("ab")}) == {"c": "b"}


@pytest.mark.parametrize("whose", ["reported", "agent", "tool", "untrusted"])
def test_a_later_value_of_lesser_trust_stands_undecided_beside_a_persons_own(whose):
    own, former = limit("a", "100", days=2), limit("o", "50", days=1)
    later = limit("b", "250", days=5, origin=whose, event_time=NOW + timedelta(days=5))
    assert undecided(own, later, former) == {"ab"}
    assert outdated_values([own, later, former], doubted=NOBODY) == {"o": "a"}


def test_what_a_person_says_later_ends_it_whenever_it_began_to_hold():
    claim = limit("b", "250", days=5, origin="agent", event_time=NOW + timedelta(days=5))
    own = limit("a", "100", days=2)
    said = limit("c", "180", days=9), limit("c", "180", days=3, event_time=NOW + timedelta(days=9))
    for last in said:
        assert not undecided(own, claim, last)
        assert outdated_values([own, claim, last], doubted=NOBODY) == {"a": "c", "b": "c"}
    agreed = limit("c", "250", days=9)
    assert not undecided(own, claim, agreed)
    assert outdated_values([own, claim, agreed], doubted=NOBODY) == {"a": "c"}


def test_an_assistant_outdates_itself_and_what_a_person_confirmed_is_a_persons_word():
    first, second = (
        limit(key, key, days=day, origin="agent", event_time=NOW + timedelta(days=day))
        for key, day in (("a", 1), ("b", 3))
    )
    assert outdated_values([first, second], doubted=NOBODY) == {"a": "b"}
    sure = {**first, "protected": True}
    assert undecided(sure, second) == {"ab"}
    assert undecided(sure, {**second, "origin": "user"}) == {"ab"}
    told = {**second, "origin": "user", "prompt_version": "remembered"}
    assert outdated_values([sure, told], doubted=NOBODY) == {"a": "b"}
    own = limit("o", "own", days=0)
    assert outdated_values([own, {**second, "protected": True}], doubted=NOBODY) == {"o": "b"}
