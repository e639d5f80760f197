"""Which of several memories is current: its history, its rival, and the echoes of its former values."""

from datetime import datetime, timedelta

import pytest

from slowwave.recall.resolve import Unit, mark_echoes, resolve
from slowwave.schemas.search import Filters
from slowwave.store import Row
from tests.gathered import NOW, cell, gathered_of, question_of
from tests.rows import row

JUNE, JULY, AUGUST = (NOW.replace(month=month) for month in (6, 7, 8))
ASKED = question_of("rate limit")


def rate(value: str, at: datetime, **given: object) -> Row:
    named = {"subject": "api", "attribute": "rate limit", "value": value}
    dated = {"event_time": at, "valid_from": at, "recorded_at": at}
    return cell(f"r{value}", f"The rate limit is {value}.", **{**named, **dated, **given})


def outdated(value: str, at: datetime, by: str, until: datetime | None) -> Row:
    ended = {"superseded_by": by, "superseded_at": NOW, "valid_until": until}
    return rate(value, at, status="superseded", **ended)


def dispute(one: str, other: str, **given: object) -> Row:
    plain = {"cell_a": one, "cell_b": other, "note": "which one?", "detected_at": NOW}
    return row("contradictions", f"{one}-{other}", **{**plain, **given})


def history(unit: Unit) -> list[str]:
    return [past["value"] for past in unit.history]


def test_an_outdated_memory_gives_its_match_to_the_current_one_and_is_its_history():
    first, then, now = (
        outdated("100", JUNE, "r250", JULY),
        outdated("250", JULY, "r180", AUGUST),
        rate("180", AUGUST),
    )
    (unit,) = resolve(ASKED, gathered_of(ASKED, first, others=[then, now]))
    assert (unit.cell_id, history(unit)) == ("r180", ["250", "100"])
    assert [member["cell_id"] for member in unit.members] == ["r100"]


def test_a_repetition_that_was_merged_and_a_value_that_was_corrected_are_no_history():
    merged, wrong = outdated("250", JULY, "r180", None), outdated("999", JULY, "r180", JULY)
    (unit,) = resolve(ASKED, gathered_of(ASKED, rate("180", AUGUST), merged, wrong))
    assert history(unit) == []


def test_of_several_living_values_of_a_property_the_latest_is_current():
    (unit,) = resolve(
        ASKED, gathered_of(ASKED, rate("100", JUNE), others=[rate("180", AUGUST), rate("250", JULY)])
    )
    assert (unit.cell_id, history(unit)) == ("r180", ["250", "100"])


def test_what_ended_without_a_follower_answers_nothing():
    ended = rate("100", JUNE, status="superseded", superseded_at=NOW)
    assert resolve(ASKED, gathered_of(ASKED, ended)) == []


def test_a_circle_of_followers_answers_nothing_and_ends():
    circle = [outdated("100", JUNE, "r250", JULY), outdated("250", JULY, "r100", AUGUST)]
    assert resolve(ASKED, gathered_of(ASKED, *circle)) == []


@pytest.mark.parametrize("both_found", [True, False])
def test_an_open_contradiction_is_one_unit_with_both_sides(both_found: bool):
    older, newer = rate("100", JUNE), rate("180", AUGUST)
    found, others = ([newer, older], []) if both_found else ([newer], [older])
    (unit,) = resolve(ASKED, gathered_of(ASKED, *found, others=others, disputes=[dispute("r100", "r180")]))
    assert unit.rival is not None
    assert {unit.cell_id, unit.rival["cell_id"]} == {"r100", "r180"}
    assert (unit.newest["cell_id"], unit.note, unit.history) == ("r180", "which one?", [])
    assert len(unit.members) == len(found)


def test_values_that_a_person_kept_both_are_two_units():
    kept = dispute("r100", "r180", status="resolved", resolution="both_valid")
    units = resolve(ASKED, gathered_of(ASKED, rate("100", JUNE), rate("180", AUGUST), disputes=[kept]))
    assert {unit.cell_id: (unit.rival, unit.history) for unit in units} == {
        "r100": (None, []),
        "r180": (None, []),
    }


def test_an_assistants_later_value_is_the_rival_of_a_persons():
    (unit,) = resolve(ASKED, gathered_of(ASKED, rate("100", JUNE), rate("180", AUGUST, origin="agent")))
    assert unit.rival is not None
    assert (unit.newest["value"], unit.history) == ("180", [])


def test_a_dispute_with_a_value_that_was_outdated_since_is_one_with_what_took_its_place():
    old, new = outdated("100", JUNE, "r250", JULY), rate("250", JULY)
    other = cell("other", "Nobody limits the rate.", event_time=JUNE)
    (unit,) = resolve(
        ASKED, gathered_of(ASKED, old, other, others=[new], disputes=[dispute("r100", "other")])
    )
    assert unit.rival is not None
    assert {unit.cell_id, unit.rival["cell_id"]} == {"r250", "other"}


def test_what_mentions_a_former_value_alone_is_an_echo_in_its_topic_or_with_a_word_of_what_it_is_of():
    old, now = outdated("100", JUNE, "r180", JULY), rate("180", AUGUST, topic_id="T")
    others = [
        cell("echo", "Raise the alarm at 100 calls.", topic_id="T"),
        cell("named", "The api answered 100 calls.", topic_id="U"),
        cell("both", "From 100 to 180 calls.", topic_id="T"),
        cell("elsewhere", "Raise the alarm at 100 calls.", topic_id="U"),
        cell("own", "The api keeps 100 files.", topic_id="T", subject="api", attribute="files", value="100"),
    ]
    found = resolve(ASKED, gathered_of(ASKED, old, now, *others))
    mark_echoes(found, among=found)
    units = {unit.cell_id: unit for unit in found}
    assert {key for key, unit in units.items() if unit.echo_of is not None} == {"echo", "named"}
    assert units["echo"].echo_of == (units["r180"], "100")


def test_of_a_row_of_open_pairs_the_latest_two_are_undecided_and_the_older_one_is_history():
    rows = [rate("68", JUNE), rate("74", JULY), rate("81", AUGUST)]
    gathered = gathered_of(ASKED, *rows)
    gathered.disputes = [dispute("r68", "r74"), dispute("r74", "r81")]
    (unit,) = resolve(ASKED, gathered)
    assert [side["value"] for side in unit.sides] == ["74", "81"]
    assert history(unit) == ["68"]


def test_how_far_a_task_is_makes_no_echoes():
    named = {"subject": "cones", "attribute": "status", "topic_id": "T", "cell_type": "task"}
    was = cell("was", "Cones: open.", **named, value="open", status="superseded", superseded_by="now",
               superseded_at=NOW, valid_until=JULY, valid_from=JUNE)  # fmt: skip
    now = cell("now", "Cones: done.", **named, value="done", valid_from=JULY)
    units = resolve(ASKED, gathered_of(ASKED, was, now, cell("door", "The door is open.", topic_id="T")))
    mark_echoes(units, among=units)
    assert all(unit.echo_of is None for unit in units)


@pytest.mark.parametrize(
    ("moment", "value", "former"),
    [
        (JUNE, "100", []),
        (JULY - timedelta(hours=1), "100", []),
        (JULY, "250", ["100"]),
        (NOW, "180", ["250", "100"]),
    ],
)
def test_a_moment_is_answered_with_the_value_and_the_history_of_then(
    moment: datetime, value: str, former: list[str]
):
    rows = [outdated("100", JUNE, "r250", JULY), outdated("250", JULY, "r180", AUGUST), rate("180", AUGUST)]
    asked = question_of("rate limit", filters=Filters(as_of=moment))
    (unit,) = resolve(asked, gathered_of(asked, *rows))
    assert (unit.row["value"], history(unit), unit.row["status"]) == (value, former, "active")


def test_a_value_is_current_until_its_follower_was_said_even_where_that_one_holds_from_earlier_on():
    said_late = rate("180", JULY, event_time=AUGUST)
    asked = question_of("rate limit", filters=Filters(as_of=JULY + timedelta(days=1)))
    (unit,) = resolve(asked, gathered_of(asked, outdated("100", JUNE, "r180", JULY), others=[said_late]))
    assert (unit.row["value"], unit.row["valid_until"]) == ("100", None)


def test_what_was_learned_later_was_not_known_then():
    late = rate("180", JULY, recorded_at=NOW)
    asked = question_of("rate limit", filters=Filters(known_at=AUGUST))
    was = {**outdated("100", JUNE, "r180", JULY), "superseded_at": NOW}
    (unit,) = resolve(asked, gathered_of(asked, was, others=[late]))
    assert (unit.row["value"], unit.row["status"]) == ("100", "active")


def test_under_a_filter_only_a_current_memory_that_passes_answers():
    asked = question_of("rate limit", filters=Filters(cell_types=("decision",)))
    rows = [outdated("100", JUNE, "r180", JULY), rate("180", AUGUST)]
    assert resolve(asked, gathered_of(asked, *rows)) == []
    (unit,) = resolve(asked, gathered_of(asked, *rows, passing=frozenset({"r180"})))
    assert unit.cell_id == "r180"
