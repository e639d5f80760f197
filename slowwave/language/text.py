"""Text as columns: sentences, words, token estimates, and the values in which two sentences may not differ."""

import re
from typing import Final

import polars as pl

from slowwave.language.lexicon import DENIALS, MONTHS, NUMBERS, TENS, WEEKDAYS, any_of

_NO_DATE = "\n\n\n"
"""Stands where a row has no date: a text has no two empty lines."""

CHARACTERS_A_TOKEN = 4.0
"""English text averages about four characters a token in the tokenizers of current models; an estimate only."""

READ_CHARACTERS = 2_000
"""Of a longer text only so much is looked through for questions."""

_SENTENCES = re.compile(r"(?<=[.!?])\s+")
_SENTENCES_AND_LINES = re.compile(r"(?<=[.!?])\s+|\n+")
_DENIES = rf"\b(?:{'|'.join(DENIALS)})\b"
_NEGATION = rf"{_DENIES}|\b(?:none|nothing|nobody|neither|nor|no longer|instead of|stop|stopped|removed|disabled|off)\b"
_NUMBER_WORDS: Final = (
    {word: number for number, word in enumerate(NUMBERS) if word != "one"}
    | {word: 10 * place for place, word in enumerate(TENS, 3)}
    | {"hundred": 100, "thousand": 1_000, "million": 1_000_000}
    | {"half": 0.5, "twice": 2, "thrice": 3, "dozen": 12}
)
"""The word one stays a word, since it mostly counts nothing."""
_NUMBER = r"\d+(?:[.,:/-]\d+)*"
_MONTH_OR_DAY = rf"\b(?:{'|'.join([*MONTHS, *WEEKDAYS])}|today|yesterday|tomorrow)"
_NAME = r"\b\p{Lu}[\w-]*\w|\b[A-Za-z]\w*(?:[_./]\w+)+"


def token_count(text: pl.Expr) -> pl.Expr:
    """Estimated tokens of a text, at least 1."""
    return (text.str.len_chars() / CHARACTERS_A_TOKEN).ceil().cast(pl.Int64).clip(lower_bound=1)


def straight_text(text: pl.Expr) -> pl.Expr:
    """Lower case, with the apostrophe of a keyboard."""
    return text.str.to_lowercase().str.replace_all("’", "'")


def plain_value(text: pl.Expr) -> pl.Expr:
    """Values as they are compared: their signs count (C is not C++), their case and blanks do not."""
    return text.str.to_lowercase().str.replace_all(r"\s+", " ").str.strip_chars(" .")


def words(text: pl.Expr) -> pl.Expr:
    """Lower-case words of a text, in order, as a list."""
    return text.str.to_lowercase().str.extract_all(r"[\p{L}\p{N}_]+")


def numbers(text: pl.Expr) -> pl.Expr:
    """The numbers of a text, number words included, as a sorted list without repetition."""
    digits = text.str.to_lowercase()
    for word, number in _NUMBER_WORDS.items():
        digits = digits.str.replace_all(rf"\b{word}\b", str(number))
    return digits.str.extract_all(_NUMBER).list.unique().list.sort()


def days_and_months(text: pl.Expr) -> pl.Expr:
    """Named days and months of a text, as a sorted list without repetition."""
    return text.str.to_lowercase().str.extract_all(_MONTH_OR_DAY).list.unique().list.sort()


def is_negated(text: pl.Expr) -> pl.Expr:
    """Return whether a text denies something."""
    return straight_text(text).str.contains(_NEGATION)


def without_telling_date(text: pl.Expr, told_at: pl.Expr) -> pl.Expr:
    """A text without the date on which it was told, where it tells a habit or says "as of".

    What happened on a day keeps its date: it is a part of what is said.
    """
    day, year, month = told_at.dt.day(), told_at.dt.year(), told_at.dt.strftime("%B")
    forms = [
        told_at.dt.strftime("%Y-%m-%d"),
        pl.format("{} {} {}", day, month, year),
        pl.format("{} {}, {}", month, day, year),
    ]
    bare = text
    for form in forms:
        bare = bare.str.split(form.fill_null(_NO_DATE)).list.join(
            ""
        )  # replace_all takes one pattern for all rows
    is_lasting = straight_text(text).str.contains(rf"\b(?:as of|{any_of('habits')})\b")
    return pl.when(is_lasting.fill_null(value=False)).then(bare).otherwise(text)


def hard_values(text: pl.Expr) -> pl.Expr:
    """The numbers, days and negations of a text as one comparable string.

    Two sentences that say the same have the same hard values; order and repetition do not count.
    """
    lists = [numbers(text).list.join("|"), days_and_months(text).list.join("|")]
    return pl.concat_str(*lists, is_negated(text).cast(pl.String), separator=" ; ")


def names(text: pl.Expr) -> pl.Expr:
    """Words that look like names of people, products, files or settings, lower case, as a sorted list.

    A capital first letter counts only past the first word of the text, since every sentence begins with one.
    """
    rest = text.str.replace(r"^\s*\S+\s*", "").str.replace_all(r"[.!?]\s+\S+", " ")
    lower = pl.element().str.to_lowercase()
    found = rest.str.extract_all(_NAME).list.eval(lower.filter(~lower.str.contains(_MONTH_OR_DAY)))
    return found.list.unique().list.sort()


def normalized(text: pl.Expr) -> pl.Expr:
    """Lower case, one blank between words: the form in which subjects and attributes are compared."""
    return text.str.to_lowercase().str.replace_all(r"[^\p{L}\p{N}]+", " ").str.strip_chars()


def full_text_queries(texts: pl.Series, *, whole: int, most: int) -> list[str]:
    """A full-text query for each text, in order: its different words, or its `most` telling ones if more than `whole`.

    The telling words are those that the fewest texts hold, the longer first among equals: a common word costs a
    search most and tells least.
    """
    different = words(pl.col("text")).list.unique(maintain_order=True)
    asked = texts.to_frame("text").with_row_index("row").select("row", word=different)
    telling = (
        asked.explode("word")
        .with_columns(times=pl.len().over("word"), length=pl.col("word").str.len_chars())
        .sort("row", "times", "length", "word", descending=[False, False, True, False])
        .group_by("row", maintain_order=True)
        .agg(telling=pl.col("word").head(most))
    )
    chosen = pl.when(pl.col("word").list.len() > whole).then("telling").otherwise("word").list.join(" ")
    joined = asked.join(telling, on="row", how="left", maintain_order="left")
    return joined.select(chosen).to_series().to_list()


def without_speakers(text: pl.Expr) -> pl.Expr:
    """A conversation's text without the "name: " before each turn: who spoke says nothing about the theme."""
    return text.str.replace_all(r"(?m)^[\p{L}][\p{L}\p{N} ._-]{0,30}: ", "")


def single_spaced(text: pl.Expr) -> pl.Expr:
    """Text in one line, every run of white space as one blank."""
    return text.str.replace_all(r"\s+", " ").str.strip_chars()


def sentences(text: pl.Expr) -> pl.Expr:
    """The sentences and lines of a text in order, single-spaced, as a list without empty ones."""
    marked = text.str.replace_all(r"([.!?])\s+|\n+", "$1\u241e").str.split("\u241e")
    return marked.list.eval(single_spaced(pl.element())).list.eval(pl.element().filter(pl.element() != ""))


def straight(text: str) -> str:
    """A text in lower case, with straight apostrophes."""
    return text.lower().replace("\u2019", "'")


def plain_sentences(text: str) -> list[str]:
    """The sentences and lines of one text in order, as `straight` has them."""
    return _SENTENCES_AND_LINES.split(straight(text).strip())


def word_count(text: pl.Expr) -> pl.Expr:
    """Words as people count them: what stands between white space."""
    return text.str.count_matches(r"\S+").cast(pl.Int64)


def shortened(text: pl.Expr, most: int) -> pl.Expr:
    """The first `most` words in one line, with dots where there were more."""
    words = single_spaced(text).str.split(" ")
    short = words.list.head(most).list.join(" ")
    return pl.when(words.list.len() > most).then(pl.format("{} ...", short)).otherwise(short)


def asking_share(text: str) -> float:
    """The share of a text's sentences that are questions, 0..1."""
    if "?" not in text:
        return 0.0
    parts = [part for part in _SENTENCES.split(text[:READ_CHARACTERS].strip()) if part]
    return len([part for part in parts if part.endswith("?")]) / max(len(parts), 1)
