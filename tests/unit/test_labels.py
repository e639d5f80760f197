"""The short forms that a memory gets from its row and its own words."""

import polars as pl
import pytest

from tasks.compress.short_forms import UnlabelledCells, short_forms


def forms(content: str, **given: str) -> tuple[str | None, str]:
    names = UnlabelledCells.names()
    cell = {**dict.fromkeys(names), "cell_id": "c", "content": content, **given}
    return short_forms(pl.DataFrame([cell], schema=dict.fromkeys(names, pl.String))).row(0)[1:]


def test_the_subject_labels_before_the_topic_and_the_topic_before_the_text():
    assert forms("The kiln is hot.", subject="Kiln of line 2", topic_hint="kilns")[1] == "kiln_of_line_2"
    assert forms("The kiln is hot.", topic_hint="Kiln temperatures")[1] == "kiln_temperatures"


def test_the_first_telling_words_label_a_text():
    text = "Mara: the rollback failed again\nassistant: and billing waits."
    assert forms(text)[1] == "rollback_failed_billing_waits"


def test_what_is_there_stays():
    assert forms("The kiln is hot.", compressed="hot kiln", index_label="kiln") == ("hot kiln", "kiln")


KILN = {"subject": "kiln of line 2", "attribute": "temperature", "value": "1040 °C"}
TEXT = "Signe set the kiln of line 2 to 1040 °C since the glaze ran, and wants it checked every Monday."


@pytest.mark.parametrize(
    ("given", "line"),
    [
        (KILN, "kiln of line 2, temperature: 1040 °C"),
        ({**KILN, "attribute": "status", "value": "open"}, "kiln of line 2: open"),
        ({**KILN, "value": " ".join(["hot"] * 12), "summary": "kiln at 1040 °C"}, "kiln at 1040 °C"),
        ({"summary": "kiln at 1040 °C"}, "kiln at 1040 °C"),
        ({"summary": "now 1040 °C; previously 1060 °C", "supersedes": "old"}, None),
        ({}, None),
    ],
)
def test_a_compressed_line_is_the_row_then_the_brief_and_never_a_timeline(given, line):
    assert forms(TEXT, **given)[0] == line


@pytest.mark.parametrize(
    ("content", "line"),
    [
        ("The kiln is hot. " + TEXT, "The kiln is hot."),
        ("Ana: the kiln accepts both glazes for a while: celadon, which runs, and the tenmoku of line 3.",
         "the kiln accepts both glazes for a while"),
        (TEXT, None),
        ("The kiln is hot.", None),
        ("Kilns: " + TEXT.replace(",", ""), None),
    ],
)  # fmt: skip
def test_no_sentence_is_cut_and_a_text_that_is_short_has_no_form_of_its_own(content, line):
    assert forms(content)[0] == line


@pytest.mark.parametrize("content", ["", "...", "ok", "the", "12 34", "é"])
def test_no_memory_lacks_a_label(content: str):
    assert forms(content)[1]
