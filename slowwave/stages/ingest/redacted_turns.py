"""Turns that are stored with marks where their source still has what a redaction took out: they are not new.

Pure. A redaction of the home also masks a secret where only another text shows that it is one; a reader, who sees one
text, would bring it back.
"""

import polars as pl

from slowwave.ingest.redact.marks import LEAST_LITERAL, is_redacted_form

_STORED = ["turn_id", "content", "content_hash"]


def as_stored(turns: pl.DataFrame, new: pl.DataFrame, stored: pl.DataFrame) -> pl.DataFrame:
    """Turns as read, but those of `new` that are stored with marks as they are stored.

    `stored` has the turns of the same sessions: `turn_id`, `session_id`, `content`, `content_hash`. A section of a
    document is found by its text, since its id is made from that; a message also by its id.
    """
    marked = stored.filter(pl.col("content").str.contains("[redacted:", literal=True))
    if marked.is_empty() or new.is_empty():
        return turns
    read = new.select("session_id", "role", read_id="turn_id", read="content")
    messages = read.join(marked, left_on="read_id", right_on="turn_id").with_columns(turn_id="read_id")
    sections = read.filter(pl.col("role") == "document").join(marked, on="session_id")
    columns = ["read_id", "read", *_STORED]
    found = pl.concat(
        [
            pairs.select(columns).filter(_is_same(pairs, least=least))
            for pairs, least in ((messages, 1), (sections, LEAST_LITERAL))
        ]
    ).unique("read_id", keep="first", maintain_order=True)
    renamed = found.select(turn_id="read_id", **{f"stored_{name}": pl.col(name) for name in _STORED})
    joined = turns.join(renamed, on="turn_id", how="left", maintain_order="left")
    whole = joined.with_columns(pl.coalesce(f"stored_{name}", name).alias(name) for name in _STORED)
    return whole.select(turns.columns)


def _is_same(pairs: pl.DataFrame, *, least: int) -> pl.Series:
    texts = zip(pairs["content"], pairs["read"], strict=True)
    same = [is_redacted_form(stored, read, least=least) for stored, read in texts]
    return pl.Series(same, dtype=pl.Boolean)
