"""The value that holds, and those that held before it."""

from datetime import timedelta

from slowwave.search.current_values import former_values, outdated_values
from tests.rows import NOW, row

NOBODY: set[str] = set()


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
