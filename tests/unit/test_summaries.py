"""Extractive summaries."""

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.extractive import extractive_summaries, shorter_beyond
from tests.examples import at_most
from tests.rows import NOW

SCHEMA = {
    "topic_id": pl.String,
    "cell_id": pl.String,
    "content": pl.String,
    "salience": pl.Float64,
    "days": pl.Int64,
}


def topic(*cells: tuple[str, str, str, float, int]) -> pl.DataFrame:
    """Cells as topic, id, content, salience and days ago."""
    frame = pl.DataFrame(list(cells), schema=SCHEMA, orient="row")
    ago = pl.lit(NOW) - pl.duration(days="days")
    return frame.select(pl.all().exclude("days"), event_time=ago.cast(pl.Datetime("us", "UTC")))


def summed(cells: pl.DataFrame, *, words: int = 150) -> pl.DataFrame:
    return extractive_summaries(cells, max_words=words, now=NOW, age_rate=0.01)


def test_sentences_are_told_in_the_order_in_which_they_were_said():
    found = summed(
        topic(
            ("T", "b", "Kiln two runs at noon.", 0.9, 1),
            ("T", "a", "Kiln one runs at night. It is red.", 0.5, 9),
        )
    )
    assert found.row(0) == (
        "T",
        "Kiln one runs at night. Kiln two runs at noon.",
        "Kiln two runs at noon.",
    )


@pytest.mark.parametrize(("first", "second"), [((0.9, 5), (0.2, 5)), ((0.5, 1), (0.5, 200))])
def test_the_more_salient_and_the_newer_sentence_goes_first_into_a_short_summary(first, second):
    cells = topic(
        ("T", "a", "one two three four five alpha", *first),
        ("T", "b", "one two three four five beta", *second),
    )
    assert summed(cells, words=6)["summary"].item() == "one two three four five alpha"


def test_the_sentence_with_the_words_of_most_cells_is_the_most_central():
    said = [("T", f"c{number}", f"The kiln glaze blisters number{number}", 0.5, 1) for number in range(4)]
    cells = topic(*said, ("T", "odd", "Lunch was soup and bread", 0.5, 1))
    assert "soup" not in summed(cells, words=20)["summary"].item()


def test_the_compressed_form_is_a_whole_sentence_of_at_most_fifteen_words():
    long = " ".join(f"w{number}" for number in range(40))
    assert summed(topic(("T", "a", long, 0.5, 1)))["compressed"].item() is None
    both = topic(("T", "a", long, 0.9, 1), ("T", "b", "The kiln is hot.", 0.4, 2))
    assert summed(both)["compressed"].item() == "The kiln is hot."


def test_a_long_sentence_is_cut_rather_than_leaving_its_topic_without_a_summary():
    cells = topic(("T", "a", " ".join(f"w{number}" for number in range(200)), 0.5, 1))
    assert len(summed(cells)["summary"].item().split()) == 60
    assert len(summed(cells, words=20)["summary"].item().split()) == 20


WORD = st.sampled_from(["kiln", "glaze", "1040", "a.b", "Ofen,", "日本", "e.g.", "it", "😀"])
GAP = st.sampled_from([" ", " ", " ", "  ", "\n", "\t", ". ", "! ", "\u00a0"])
CONTENT = st.lists(st.tuples(WORD, GAP), min_size=1, max_size=90).map(
    lambda parts: "".join(a + b for a, b in parts)
)
CELL = st.tuples(st.sampled_from("TUV"), CONTENT, st.sampled_from([0.0, 0.5, 1.0]), st.integers(0, 3))


@settings(max_examples=at_most(60))
@given(st.lists(CELL, max_size=8), st.integers(20, 160), st.randoms())
def test_every_topic_has_a_summary_within_its_words_whatever_the_order_of_rows(drawn, most, random):
    cells = topic(*((name, f"c{number}", *rest) for number, (name, *rest) in enumerate(drawn)))
    found = summed(cells, words=most)
    assert found["topic_id"].to_list() == sorted({name for name, *_ in drawn})
    for _, summary, compressed in found.rows():
        assert 0 < len(summary.split()) <= most
        assert compressed is None or len(compressed.split()) <= 15
    shuffled = cells[random.sample(range(cells.height), cells.height)]
    assert summed(shuffled, words=most)["topic_id"].equals(found["topic_id"])


def test_a_page_shows_the_first_memories_of_a_topic_whole_and_the_others_in_short():
    long = "Kiln one runs at 1040 degrees and is checked by Mara at noon."
    cells = pl.DataFrame(
        {
            "topic_id": ["T", "T", "T", "T", "T", "U"],
            "content": [long] * 6,
            "compressed": ["kiln one: 1040"] * 4 + [None, "kiln one: 1040"],
            "summary": ["kiln one at 1040", None, "kiln one at 1040", "now 1040; previously 980", None, None],
            "supersedes": [None, None, None, "old", None, None],
        }
    )
    shown = shorter_beyond(cells, tokens=20)
    short = ["kiln one: 1040", "kiln one at 1040", "kiln one: 1040"]
    assert shown["content"].to_list() == [long, *short, long, long]
