"""Passages: the raw turns at three scales, so that full text finds a turn by its words and by what was said around it.

A question seldom shares its words with the one message that answers it: the subject was named two messages
earlier, the number comes alone. Full text over `turn` (one message), `near` (four messages, every second one
begins a passage) and `wide` (the extractor's windows of about 500 tokens) together finds far more than any one
of them (`benchmarks/retrieval_quality.py` prints what each adds).
"""

import polars as pl

from slowwave.readers.chunking import chunk_turns
from slowwave.schemas.identity import stable_ids
from slowwave.schemas.tables import OWNER, frame_schema

NEAR_TURNS = 4
"""Messages of a near passage."""

NEAR_STRIDE = 2
"""Messages from the begin of one near passage to the next: each message stands in two."""

NEAR_CHARACTERS = 2_000
"""Of a longer message only so much goes into a near passage: it would drown its neighbours."""

_SESSION = ["session_id", *OWNER]


def turn_passages(turns: pl.DataFrame) -> pl.DataFrame:
    """One passage a turn, in the shape of `passages`."""
    return _in_shape(
        turns.select(
            *_SESSION,
            "source_type",
            "event_time",
            scale=pl.lit("turn"),
            passage_id=pl.col("turn_id"),
            turn_ids=pl.concat_list("turn_id"),
            content=_spoken(pl.col("content")),
        )
    )


def near_passages(turns: pl.DataFrame, *, changed: pl.Series) -> pl.DataFrame:
    """Passages of `NEAR_TURNS` consecutive turns, from the first of the `changed` turn ids of each session on.

    `turns` holds whole sessions. The last passage of a session may be shorter; one that holds nothing beyond its
    predecessor is left out. A passage is named by its session and place, so that a session that grows fills it.
    """
    placed = turns.sort(*_SESSION, "turn_index").with_columns(
        place=pl.int_range(pl.len()).over(_SESSION),
        length=pl.len().over(_SESSION),
        first_changed=pl.int_range(pl.len())
        .filter(pl.col("turn_id").is_in(changed.implode()))
        .min()
        .over(_SESSION),
    )
    begin = pl.col("begin")
    passages = (
        pl.concat(
            placed.with_columns(begin=(pl.col("place") // NEAR_STRIDE - back) * NEAR_STRIDE)
            for back in range(NEAR_TURNS // NEAR_STRIDE)
        )
        .filter((begin == 0) | ((begin > 0) & (begin + NEAR_STRIDE < pl.col("length"))))
        .filter(begin + NEAR_TURNS > pl.col("first_changed"))
        .sort(*_SESSION, "begin", "place")
        .group_by(*_SESSION, "begin", maintain_order=True)
        .agg(
            pl.col("source_type").first(),
            pl.col("event_time").max(),
            turn_ids=pl.col("turn_id"),
            content=_spoken(pl.col("content").str.head(NEAR_CHARACTERS)).str.join("\n"),
        )
        .with_columns(scale=pl.lit("near"))
    )
    return _in_shape(
        passages.with_columns(stable_ids("passage", passages.select(*_SESSION, "scale", "begin")))
    )


def wide_passages(chunks: pl.DataFrame, turns: pl.DataFrame) -> pl.DataFrame:
    """One passage a chunk, from the turns that it names; chunks whose turns are not there are left out."""
    spoken = (
        chunk_turns(chunks, turns)
        .group_by("chunk_id", maintain_order=True)
        .agg(content=_spoken(pl.col("text")).str.join("\n"))
    )
    named = chunks.with_columns(scale=pl.lit("wide"), passage_id=pl.col("chunk_id"))
    return _in_shape(named.join(spoken, on="chunk_id", how="inner"))


def _spoken(text: pl.Expr) -> pl.Expr:
    """The speaker, where one is known, and the words."""
    return pl.concat_str(pl.col("speaker"), text, separator=": ", ignore_nulls=True)


def _in_shape(passages: pl.DataFrame) -> pl.DataFrame:
    return passages.select(frame_schema("passages").names()).sort("passage_id")
