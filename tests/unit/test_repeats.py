"""Near-duplicates on one page: what counts as said twice, and what does not."""

from datetime import UTC, datetime

import pytest

from slowwave.recall.lines import without_repeats
from slowwave.recall.resolve import Unit
from tests.rows import row

AT = datetime(2026, 3, 1, tzinfo=UTC)


def units_of(*contents: str) -> list[Unit]:
    """Memories in this order, best first."""
    rows = [
        row("cells", str(place), content=content, event_time=AT) for place, content in enumerate(contents)
    ]
    return [Unit(one, members=[one], score=1 - place / 100) for place, one in enumerate(rows)]


def kept(*contents: str) -> list[str]:
    return [unit.row["content"] for unit in without_repeats(units_of(*contents))]


RICH = "Ines repaired the green canoe in the boathouse with epoxy resin."
POOR = "Ines repaired the canoe with resin."


@pytest.mark.parametrize("contents", [(POOR, RICH), (RICH, POOR)])
def test_the_richer_form_is_kept_and_takes_the_place_of_the_better_one(contents: tuple[str, str]):
    (unit,) = without_repeats(units_of(*contents))
    assert (unit.row["content"], unit.score) == (RICH, 1)


def test_the_richest_of_a_chain_of_forms_is_kept():
    assert kept("Ines repaired a canoe.", "Ines repaired the green canoe with epoxy resin.", RICH) == [RICH]


def test_the_same_text_is_kept_once_in_the_first_place():
    other = "The ferry leaves at dawn today."
    assert kept(RICH, other, RICH) == [RICH, other]


def test_a_side_of_an_open_contradiction_repeats_nothing():
    units = units_of(POOR, RICH)
    units[0].rival = row("cells", "rival", content="Ines sold the canoe.")
    assert without_repeats(units) == units


def test_another_number_a_denial_or_another_word_is_no_repetition():
    apart = [
        "Ines repaired 2 canoes with resin.",
        "Ines repaired 3 canoes with resin in the boathouse.",
        "Ines never repaired canoes with resin in the boathouse.",
        "Tomas repaired canoes with resin.",
    ]
    assert kept(*apart) == apart


def test_two_words_repeat_nothing():
    assert kept("Ines rows.", "Ines rows the green canoe.") == [
        "Ines rows.",
        "Ines rows the green canoe.",
    ]


def test_no_memories_are_no_memories():
    assert without_repeats([]) == []
