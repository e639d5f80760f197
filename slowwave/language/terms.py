"""Words as full text counts them: lower case, accents folded, cut to English stems, as LanceDB's own index has them."""

import re
import unicodedata
from collections.abc import Iterable, Mapping
from functools import lru_cache

import polars as pl
import Stemmer

from slowwave.language.lexicon import FOLDED_LETTERS, STOP_WORDS

WORD = r"[\p{L}\p{N}]+"
_WORD = re.compile(r"[^\W_]+")
_stem = lru_cache(maxsize=50_000)(Stemmer.Stemmer("english").stemWord)  # a home has fewer different words
LONGEST_WORD = 40
"""Longer ones are no words: keys, hashes and encoded data."""


def terms_of(texts: pl.Series) -> pl.DataFrame:
    """The terms of each text, repeated as they are: `row` (place of the text) and `term`, in the order of the texts."""
    plain = (
        texts.fill_null("")
        .str.to_lowercase()
        .str.normalize("NFKD")
        .str.replace_all(r"\p{M}+", "")
        .str.replace_many(FOLDED_LETTERS)
    )
    words = pl.DataFrame({"word": plain.str.extract_all(WORD)}).with_row_index("row").explode("word")
    words = words.filter(pl.col("word").str.len_chars() <= LONGEST_WORD)
    known = words["word"].unique()
    stems = pl.DataFrame(
        {"word": known, "term": Stemmer.Stemmer("english").stemWords(known.to_list())},
        schema_overrides={"term": pl.String},
    )
    return words.join(stems, on="word", how="inner", maintain_order="left").select("row", "term")


def telling_terms(text: pl.Expr) -> pl.Expr:
    """The different terms of each text without those of stop words, as a sorted list."""
    return text.map_batches(_telling, return_dtype=pl.List(pl.String), is_elementwise=True)


@lru_cache(maxsize=256)
def query_terms(text: str) -> tuple[str, ...]:
    """The terms of a question; one that is said twice counts twice."""
    return _terms(text)


MOST_TERMS = 62
"""Terms of a question that are told apart in what a row holds: as many as an integer has bits for."""


@lru_cache(maxsize=256)
def distinct_terms(text: str) -> tuple[str, ...]:
    """The terms of a question, each once, in order, at most `MOST_TERMS`."""
    return tuple(dict.fromkeys(query_terms(text)))[:MOST_TERMS]


@lru_cache(maxsize=256)
def term_bits(text: str) -> Mapping[str, int]:
    """The bit of each term of a question: 1, 2, 4 and so on, in the order of `distinct_terms`."""
    return {term: 1 << place for place, term in enumerate(distinct_terms(text))}


def held_terms(text: str, bits: Mapping[str, int]) -> int:
    """The terms of a question that a text has: the sum of their `term_bits`."""
    return sum(bits[term] for term in bits.keys() & text_terms(text))


def text_terms(text: str) -> frozenset[str]:
    """The different terms of a text."""
    return frozenset(_terms(text)) if len(text) > LONGEST_KEPT else _kept_terms(text)


LONGEST_KEPT = 500
"""Characters of a text whose terms are kept: names, properties and memories come again with every question."""


@lru_cache(maxsize=20_000)
def _kept_terms(text: str) -> frozenset[str]:
    return frozenset(_terms(text))


@lru_cache(maxsize=50_000)
def word_terms(word: str) -> tuple[str, ...]:
    """The terms of one word, as `terms_of` has them: for words whose places are wanted."""
    return _terms(word)


def terms_of_words(words: Iterable[str]) -> frozenset[str]:
    """The terms of several words, each once."""
    return frozenset(term for word in words for term in word_terms(word))


def _telling(texts: pl.Series) -> pl.Series:
    little = terms_of_words(STOP_WORDS)
    terms = terms_of(texts).filter(~pl.col("term").is_in(list(little)))
    lists = terms.group_by("row").agg(pl.col("term").unique().sort())
    rows = pl.DataFrame({"row": pl.int_range(len(texts), dtype=pl.UInt32, eager=True)})
    joined = rows.join(lists, on="row", how="left", maintain_order="left")
    return joined["term"].fill_null([])


def _terms(text: str) -> tuple[str, ...]:
    """The terms of one text without a frame, which costs more than all of its words."""
    plain = text.lower()
    if not plain.isascii():
        decomposed = unicodedata.normalize("NFKD", plain)
        plain = "".join(letter for letter in decomposed if unicodedata.category(letter)[0] != "M")
        for letter, folded in FOLDED_LETTERS.items():
            plain = plain.replace(letter, folded)
    return tuple(map(_stem, [word for word in _WORD.findall(plain) if len(word) <= LONGEST_WORD]))
