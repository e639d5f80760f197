"""Rows without the secrets that older rules of redaction let into a home."""

from collections import Counter

import polars as pl

from slowwave.export.rows import Rows
from slowwave.ingest.formats.own import schema_of, texts_of
from slowwave.ingest.redact import redact


def without_secrets(rows: Rows) -> tuple[Rows, int]:
    """The same rows with each secret as a mark, and how many secrets there were."""
    found: Counter[str] = Counter()

    def safe(text: str) -> str:
        clean, counts = redact(text)
        found.update(counts)
        return clean

    def safe_all(texts: pl.Series) -> list[str]:
        return [safe(text) for text in texts]

    clean: Rows = {}
    for kind, frame in rows.items():
        texts = {name: dtype for name, dtype in schema_of(kind).items() if name in texts_of(kind)}
        clean[kind] = frame.with_columns(
            pl.col(name).map_elements(safe_all if dtype == pl.List(pl.String) else safe, return_dtype=dtype)
            for name, dtype in texts.items()
        )
    return clean, found.total()
