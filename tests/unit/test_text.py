"""Text as columns."""

import unicodedata
from datetime import UTC, datetime

import polars as pl
import pytest

from slowwave.language.text import (
    full_text_queries,
    hard_values,
    names,
    normalized,
    token_count,
    without_telling_date,
    words,
)
from slowwave.schemas.identity import normalize_text


def of(expression, text: str | None) -> object:
    return (
        pl.DataFrame({"text": [text]}, schema={"text": pl.String}).select(expression(pl.col("text"))).item()
    )


def listed(expression, text: str) -> list[str]:
    return pl.DataFrame({"text": [text]}).select(expression(pl.col("text")))["text"].to_list()[0]


@pytest.mark.parametrize(("length", "tokens"), [(0, 1), (1, 1), (4, 1), (5, 2), (8, 2), (9, 3), (2000, 500)])
def test_four_characters_are_about_a_token_and_no_text_has_none(length: int, tokens: int):
    assert of(token_count, "ä" * length) == tokens


def test_words_are_letters_and_digits_of_any_script_in_their_order():
    assert listed(words, "Die Öfen: 1040°C, snake_case & 日本語!") == [
        "die",
        "öfen",
        "1040",
        "c",
        "snake_case",
        "日本語",
    ]
    assert listed(words, " — ") == []


def test_a_short_text_is_asked_for_whole_and_a_long_one_by_the_words_that_few_others_hold():
    texts = pl.Series(["The kiln, the glaze", "the kiln the oven is in use", "the oven was a furnace in May"])
    assert full_text_queries(texts, whole=3, most=3) == ["the kiln glaze", "use is kiln", "furnace may was"]
    assert full_text_queries(texts, whole=9, most=3)[1:] == [
        "the kiln oven is in use",
        "the oven was a furnace in may",
    ]


def test_words_that_are_equally_rare_are_asked_for_from_the_longest_on():
    assert full_text_queries(pl.Series(["a bb ccc dddd ee"]), whole=2, most=3) == ["dddd ccc bb"]


def test_a_text_without_words_is_an_empty_query_at_its_place():
    assert full_text_queries(pl.Series(["", "kiln", " — "]), whole=3, most=2) == ["", "kiln", ""]
    assert full_text_queries(pl.Series([], dtype=pl.String), whole=3, most=2) == []


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Limit is 250, then 100.", "First 100 and then 250!"),
        ("On Monday in May", "in may on MONDAYS".replace("MONDAYS", "MONDAY")),
        ("Do not retry", "never retry"),
        ("Don't retry", "Don’t retry"),
        ("port 80 and 80", "port 80"),
    ],
)
def test_order_case_and_repetition_do_not_change_hard_values(one: str, other: str):
    assert of(hard_values, one) == of(hard_values, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("limit 250", "limit 25"),
        ("limit 1.5", "limit 15"),
        ("at 10:30", "at 10:31"),
        ("on 2026-09-01", "on 2026-01-09"),
        ("on Monday", "on Sunday"),
        ("retry", "do not retry"),
        ("retry", "don’t retry"),
        ("retry", "stopped the retry"),
        ("version 3", "version"),
    ],
)
def test_another_number_date_or_negation_changes_hard_values(one: str, other: str):
    assert of(hard_values, one) != of(hard_values, other)


def test_names_begin_with_a_capital_past_the_first_word_of_a_sentence():
    assert listed(names, "The team of Ana and Øyvind uses PostgreSQL. Then they rest.") == [
        "ana",
        "postgresql",
        "øyvind",
    ]
    assert listed(names, "Set kiln.target_c in plant/line2.yaml") == ["kiln.target_c", "plant/line2.yaml"]
    assert listed(names, "Everything in lower case") == []


def test_normalized_text_is_lower_case_words_with_one_blank():
    assert of(normalized, "  The Kiln-of (line 2)! ") == "the kiln of line 2"
    assert of(normalized, "—") == ""
    assert of(normalized, None) is None


def test_the_date_of_telling_goes_from_each_row_by_its_own_date():
    rows = pl.DataFrame(
        {
            "text": [
                "As of 2026-03-04 tea is out.",
                "Ada likes tea (5 March 2026).",
                "Ada ran on 2026-03-04",
                "Often.",
            ],
            "told": [
                datetime(2026, 3, 4, tzinfo=UTC),
                datetime(2026, 3, 5, tzinfo=UTC),
                datetime(2026, 3, 4, tzinfo=UTC),
                None,
            ],
        }
    )
    told = rows.select(without_telling_date(pl.col("text"), pl.col("told"))).to_series().to_list()
    assert told == ["As of  tea is out.", "Ada likes tea ().", "Ada ran on 2026-03-04", "Often."]


def test_a_letter_with_thousands_of_marks_is_compared_in_runs_of_marks():
    marks = "\u0315\u0300"
    assert normalize_text(f"A{marks * 20}") == unicodedata.normalize("NFC", f"a{marks * 20}")
    assert normalize_text(f"A{marks * 100_000}").count("\u034f") == 3_125
    assert normalize_text("Cafe\u0301  au\nlait") == "caf\u00e9 au lait"
