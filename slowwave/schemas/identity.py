"""Deterministic ids: what is repeated gets the same id, so that it converges instead of doubling.

Scalar forms for readers and answers, column forms for frames (Polars has no stable hash of its own).
"""

import hashlib
import re
import unicodedata

import polars as pl

ID_LENGTH = 24
"""Hex characters of an id: 96 bits, so that a collision among a billion rows stays under one in ten million."""

SEPARATOR = "\x1f"

_JOINER = "\u034f"
_MANY_MARKS = re.compile(
    "[\u0300-\u036f\u0591-\u05bd\u064b-\u065f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]{64}"
)
"""Runs of marks on one letter are put in order in time that grows with their square: a joiner ends each run."""

_SPACE = re.compile(r"\s+")


def normalize_text(text: str) -> str:
    """Text as it is compared for exact repetition: lower case, white space as one blank, letters with their accents."""
    bounded = _MANY_MARKS.sub(lambda marks: marks[0] + _JOINER, text)
    return _SPACE.sub(" ", unicodedata.normalize("NFC", bounded).lower()).strip()


def content_hash(text: str) -> str:
    """Hash of the normalized text."""
    return hashlib.sha256(normalize_text(text).encode()).hexdigest()[:ID_LENGTH]


def stable_id(*parts: str) -> str:
    """Hash of several texts; the order counts."""
    return hashlib.sha256(SEPARATOR.join(parts).encode()).hexdigest()[:ID_LENGTH]


def content_hashes(texts: pl.Series) -> pl.Series:
    """`content_hash` of each text."""
    return pl.Series("content_hash", [content_hash(text) for text in texts], dtype=pl.String)


def stable_ids(name: str, rows: pl.DataFrame) -> pl.Series:
    """`stable_id` of `name` and the columns of each row, in column order; nulls count as empty."""
    parts = rows.select(
        pl.concat_str(pl.all().cast(pl.String).fill_null(""), separator=SEPARATOR)
    ).to_series()
    return pl.Series(f"{name}_id", [stable_id(name, part) for part in parts], dtype=pl.String)
