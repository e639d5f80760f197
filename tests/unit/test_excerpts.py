"""Excerpts by question on texts that show each rule."""

import polars as pl

from slowwave.language.excerpt import Asked, asked_terms, asked_words, excerpt, quoted
from slowwave.language.terms import terms_of, word_terms
from slowwave.language.units import units_of

NOISE = "\n".join(f"Entry {number} of the log of the day says nothing new." for number in range(40))


def shown(text: str, question: str, most: int = 160) -> str:
    return excerpt(text, asked_terms(question), most=most).text


def test_the_line_that_tells_is_shown_wherever_it_stands():
    for place in (0, 20, 40):
        lines = NOISE.splitlines()
        lines.insert(place, "The kiln fires at 1,240 degrees.")
        assert "The kiln fires at 1,240 degrees." in shown("\n".join(lines), "how hot does the kiln get")


def test_what_follows_a_heading_or_a_question_comes_with_it():
    text = f"{NOISE}\n## Firing the kilns\n\n```\noven --start 6:30\n```\n{NOISE}"
    assert "## Firing the kilns\n\n```\noven --start 6:30" in shown(text, "how do I fire the kiln")


def test_stems_accents_and_parts_of_names_count_as_words():
    text = f"{NOISE}\nThe caf\u00e9s use isOvenReady in src/kiln_map.py.\n{NOISE}"
    for question in ("cafe", "oven", "kiln", "map"):
        assert "isOvenReady" in shown(text, f"which {question} is it")


def test_the_rarer_word_comes_first_where_there_is_room_for_one():
    lines = (
        "The oven is red and everybody in the village knows it.",
        "The kiln is blue and nobody there knows why.",
    )
    text = "\n".join((NOISE, lines[0], NOISE, lines[1], NOISE))
    for rare, line in (("kiln", "blue"), ("oven", "red")):
        weights = {"oven": 1.0, "kiln": 1.0, rare: 3.0}
        assert line in excerpt(text, Asked(weights), most=80).text


def test_what_a_machine_printed_gives_way_to_prose():
    printed = "\n".join(f'{{"kiln":"{number}","state":{{"kiln":["ok"]}}}}' for number in range(30))
    assert "The kiln is out of order." in shown(
        f"{printed}\nThe kiln is out of order.\n{printed}", "kiln", 90
    )


def test_without_a_word_of_the_question_it_is_the_begin_of_the_text():
    found = excerpt(NOISE, asked_terms("kiln"), most=130)
    assert found.text.startswith("Entry 0 of the log of the day says nothing new.\nEntry 1 ")
    assert found.text.endswith(" ...")
    assert found.words == []


def test_a_long_line_is_cut_around_the_word():
    text = "a b c d " * 400 + "kiln " + "e f g h " * 400
    found = excerpt(text, asked_terms("kiln"), most=80)
    assert "kiln" in found.text
    assert len(found.text) <= 80
    assert found.text.startswith("... ")


def test_cuts_are_shown_and_words_have_their_places():
    text = f"{NOISE}\nThe kiln is blue. It stands in the yard. The Kilns of old were red.\n{NOISE}"
    found = excerpt(text, asked_terms("kiln"), most=110)
    assert found.text == "... The kiln is blue. It stands in the yard. The Kilns of old were red. ..."
    assert [found.text[start:end] for start, end in found.words] == ["kiln", "Kilns"]
    assert [text[start:end] for start, end in found.parts] == [found.text[4:-4]]


def test_the_number_of_an_item_stays_with_it():
    text = "1. Copy the file. Then go.\n  - 12. Fire it."
    assert [text[unit.start : unit.end] for unit in units_of(text)] == [
        "1. Copy the file.",
        "Then go.",
        "- 12. Fire it.",
    ]


def test_one_word_has_the_terms_that_full_text_has():
    words = [
        "Limits",
        "\u00c5ngstr\u00f6m",
        "stra\u00dfe",
        "isReady",
        "x" * 41,
        "42",
        "\u00bd",
        "\u0141\u00f3d\u017a",
        "na\u00efve",
    ]
    for word in words:
        assert list(word_terms(word)) == terms_of(pl.Series([word]))["term"].to_list()


def test_a_short_text_is_quoted_whole_in_one_line():
    assert quoted("one\n  two", asked_words(()), most=20) == "one two"


def test_a_long_text_is_quoted_by_whole_sentences_with_the_words():
    text = "First of all, good morning. The port is 6432. It rains. Ask Mara about the port, she knows."
    found = quoted(text, asked_words(["port"]), most=72)
    assert found == "... The port is 6432. ... Ask Mara about the port, she knows."


def test_a_cue_brings_a_unit_without_any_of_the_words():
    def fixes(unit: str) -> float:
        return float("Cause" in unit)

    text = f"{NOISE}\nThe kiln hangs.\n{NOISE}\nCause: the damper was shut.\n{NOISE}"
    assert "Cause: the damper was shut." in quoted(text, asked_words(["kiln"]), most=90, cue=fixes)
