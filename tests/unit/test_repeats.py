"""Near-duplicates on one page: what counts as said twice, and what does not."""

from datetime import UTC, datetime

from slowwave.context.repeats import without_repeats
from slowwave.schemas.search import CellHit

AT = datetime(2026, 3, 1, tzinfo=UTC)


def hit(name: str, content: str) -> CellHit:
    empty = dict.fromkeys(
        ("template", "compressed", "summary", "subject", "attribute", "value", "valid_until", "topic_name")
    )
    return CellHit(
        cell_id=name, cell_type="fact", content=content, text=content, steps=[], status="active", salience=0.5,
        confidence=0.9, origin="user", whose="", event_time=AT, valid_from=AT, source_name="talk", session_id="s",
        project_id="p", confirmations=0, has_open_contradiction=False, turn_ids=[], prior=1.0, score=1.0, **empty,
    )  # fmt: skip


def kept(*contents: str) -> dict[str, list[str]]:
    hits = [hit(str(place), content) for place, content in enumerate(contents)]
    return {
        richest.hit.content: [other.content for other in richest.repeats] for richest in without_repeats(hits)
    }


RICH = "Ines repaired the green canoe in the boathouse with epoxy resin."


def test_the_richer_form_stands_for_both_wherever_it_ranks():
    poor = "Ines repaired the canoe with resin."
    assert kept(poor, RICH) == {RICH: [poor]}
    assert kept(RICH, poor) == {RICH: [poor]}


def test_a_chain_of_richer_forms_is_told_by_the_richest():
    middle, poor = "Ines repaired the green canoe with epoxy resin.", "Ines repaired a canoe."
    assert set(kept(poor, middle, RICH)) == {RICH}
    assert sorted(kept(poor, middle, RICH)[RICH]) == sorted([poor, middle])


def test_the_same_text_stands_once_in_the_first_place():
    assert kept("The ferry leaves at dawn today.", RICH, RICH) == {
        "The ferry leaves at dawn today.": [],
        RICH: [RICH],
    }


def test_another_number_a_denial_or_another_word_is_no_repetition():
    apart = [
        "Ines repaired 2 canoes with resin.",
        "Ines repaired 3 canoes with resin in the boathouse.",
        "Ines never repaired canoes with resin in the boathouse.",
        "Tomas repaired canoes with resin.",
    ]
    assert list(kept(*apart)) == apart


def test_two_words_repeat_nothing():
    assert list(kept("Ines rows.", "Ines rows the green canoe.")) == [
        "Ines rows.",
        "Ines rows the green canoe.",
    ]


def test_no_memories_are_no_memories():
    assert without_repeats([]) == []
