"""Sentences as columns (cut apart, in one line, shortened), and how many of a text's are questions."""

import re

import polars as pl

READ_CHARACTERS = 2_000
"""Of a longer text only so much is looked through for questions."""

_SENTENCES = re.compile(r"(?<=[.!?])\s+")
_SENTENCES_AND_LINES = re.compile(r"(?<=[.!?])\s+|\n+")


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
