"""What counts as the current value in an answer, and what as an older one given as current."""

from datetime import date

import pytest

from benchmarks.holds_judge import Line, judge
from benchmarks.holds_world import Property, Value

pytestmark = pytest.mark.benchmark

JUNE, JULY, AUGUST = (date(2026, month, 1) for month in (6, 7, 8))
LIMIT = Property(
    name="limit",
    about=("partner limit", "requests"),
    values=(Value(("40",), JUNE), Value(("70",), JULY), Value(("90",), AUGUST)),
    evidence=frozenset({"m1"}),
    is_undecided=False,
)
BED = Property(
    "bed", ("guest bed", "place"), (Value(("attic",), JUNE), Value(("study",), JULY)), frozenset(), True
)


def of(*lines: tuple[str, date], asked: Property = LIMIT) -> dict[str, bool]:
    verdict = judge([Line(text, day) for text, day in lines], asked)
    return {name for name in ("first", "named", "older_first", "older") if getattr(verdict, name)}


def test_the_current_value_counts_where_it_stands():
    assert of(("The limit is 90.", AUGUST)) == {"first", "named"}
    assert of(("The limit matters.", AUGUST), ("The limit is 90.", AUGUST)) == {"named"}


def test_a_line_from_before_the_current_value_does_not_name_it_though_it_holds_the_string():
    assert of(("The limit is 40, and 90 was turned down.", JUNE)) == set()
    assert of(("The limit stays at 40: 90 is too much.", JUNE)) == {"older_first", "older"}
    assert of(("The limit is 40 (90 since 2026-08-01).", JUNE)) == {"first", "named"}


def test_an_older_value_counts_unless_its_own_sentence_marks_it_as_past():
    assert of(("The limit is 70.", JULY)) == {"older_first", "older"}
    assert of(("The limit was 70 until August.", AUGUST)) == set()
    assert of(("The limit is 70. It was raised by Ann.", JULY)) == {"older_first", "older"}
    assert of(("The limit is 90, before 70 and 40.", AUGUST)) == {"first", "named"}


def test_a_number_within_another_number_or_about_something_else_is_no_value():
    assert of(("The limit is 1,190 or 90.5 or 290.", AUGUST)) == set()
    assert of(("Room 70 is free.", AUGUST)) == set()
    assert judge([Line("It is 70 now.", JULY, frozenset({"m1"}))], LIMIT).older_first


def test_an_undecided_property_needs_both_sides():
    assert of(("The guest bed: attic or study, undecided.", JULY), asked=BED) == {"first", "named"}
    assert of(("The guest bed is in the study.", JULY), asked=BED) == {"older_first", "older"}
    two = (("The guest bed is in the study.", JULY), ("Ole says the guest bed is in the attic.", JULY))
    assert of(*two, asked=BED) == {"named", "older_first"}
