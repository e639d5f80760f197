"""The short forms that a memory gets from its own words."""

import polars as pl
import pytest

from tasks.compress.short_forms import short_forms


def forms(content: str, **given: str) -> tuple[str, str]:
    names = ("cell_id", "subject", "topic_hint", "content", "compressed", "index_label")
    cell = {**dict.fromkeys(names), "cell_id": "c", "content": content, **given}
    return short_forms(pl.DataFrame([cell], schema=dict.fromkeys(names, pl.String))).row(0)[1:]


def test_the_subject_labels_before_the_topic_and_the_topic_before_the_text():
    assert forms("The kiln is hot.", subject="Kiln of line 2", topic_hint="kilns")[1] == "kiln_of_line"
    assert forms("The kiln is hot.", topic_hint="Kiln temperatures")[1] == "kiln_temperatures"


def test_the_first_telling_words_label_a_text():
    assert (
        forms("Mara: the rollback failed again\nassistant: and billing waits.")[1]
        == "rollback_failed_billing"
    )


def test_what_is_there_stays():
    assert forms("The kiln is hot.", compressed="hot kiln", index_label="kiln") == ("hot kiln", "kiln")


def test_a_long_sentence_is_cut_and_the_speaker_left_out():
    line = forms("Ana: " + " ".join(f"word{number}" for number in range(30)))[0]
    assert line == " ".join(f"word{number}" for number in range(12)) + " ..."


@pytest.mark.parametrize("content", ["", "...", "ok", "the", "12 34", "é"])
def test_no_memory_lacks_a_form(content: str):
    line, label = forms(content)
    assert line
    assert label
