"""Text as columns: token estimates, words, and the values in which two sentences may not differ."""

import polars as pl

CHARACTERS_A_TOKEN = 4.0
"""English text averages about four characters a token in the tokenizers of current models; an estimate only."""

NEGATIONS = (
    r"\b(?:not|no|never|none|neither|nor|without|cannot|can't|won't|don't|doesn't|didn't|isn't|aren't|wasn't|"
    r"weren't|shouldn't|mustn't|no longer|instead of|stop|stopped|removed|disabled|off)\b"
)
_NUMBER = r"\d+(?:[.,:/-]\d+)*"
_MONTH_OR_DAY = (
    r"\b(?:january|february|march|april|may|june|july|august|september|october|november|december|"
    r"monday|tuesday|wednesday|thursday|friday|saturday|sunday|today|yesterday|tomorrow)s?\b"
)
_NAME = r"\b\p{Lu}[\w-]*\w|\b[A-Za-z]\w*(?:[_./]\w+)+"


def token_count(text: pl.Expr) -> pl.Expr:
    """Estimated tokens of a text, at least 1."""
    return (text.str.len_chars() / CHARACTERS_A_TOKEN).ceil().cast(pl.Int64).clip(lower_bound=1)


def words(text: pl.Expr) -> pl.Expr:
    """Lower-case words of a text, in order, as a list."""
    return text.str.to_lowercase().str.extract_all(r"[\p{L}\p{N}_]+")


def _set(found: pl.Expr) -> pl.Expr:
    return found.list.eval(pl.element().str.to_lowercase()).list.unique().list.sort().list.join("|")


def hard_values(text: pl.Expr) -> pl.Expr:
    """The numbers, dates and negations of a text as one comparable string.

    Two sentences that say the same have the same hard values; where they differ, one may not stand for the
    other. Order and repetition do not count.
    """
    return pl.concat_str(
        _set(text.str.extract_all(_NUMBER)),
        _set(text.str.to_lowercase().str.extract_all(_MONTH_OR_DAY)),
        (text.str.to_lowercase().str.replace_all("’", "'").str.count_matches(NEGATIONS) > 0).cast(pl.String),
        separator=" ; ",
    )


def names(text: pl.Expr) -> pl.Expr:
    """Words that look like names of people, products, files or settings, lower case, as a sorted list.

    A capital first letter counts only past the first word of the text, since every sentence begins with one.
    """
    rest = text.str.replace(r"^\s*\S+\s*", "").str.replace_all(r"[.!?]\s+\S+", " ")
    return rest.str.extract_all(_NAME).list.eval(pl.element().str.to_lowercase()).list.unique().list.sort()


def normalized(text: pl.Expr) -> pl.Expr:
    """Lower case, one blank between words: the form in which subjects and attributes are compared."""
    return text.str.to_lowercase().str.replace_all(r"[^\p{L}\p{N}]+", " ").str.strip_chars()


def first_words(text: pl.Expr, most: int) -> pl.Expr:
    """The first `most` different words of a text: a query that full-text search answers quickly."""
    return words(text).list.unique(maintain_order=True).list.head(most).list.join(" ")


def without_speakers(text: pl.Expr) -> pl.Expr:
    """A conversation's text without the "name: " before each turn: who spoke says nothing about the theme."""
    return text.str.replace_all(r"(?m)^[\p{L}][\p{L}\p{N} ._-]{0,30}: ", "")
