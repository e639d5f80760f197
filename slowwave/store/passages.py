"""Passages: the raw turns at three scales, so that full text finds a turn by its words and by what was said around it.

A question seldom shares its words with the one message that answers it: the subject was named two messages
earlier, the number comes alone. Full text over `turn` (one message), `near` (four messages, every second one
begins a passage) and `wide` (the extractor's windows of about 500 tokens) together finds far more than any one
of them (`benchmarks/retrieval_quality.py` prints what each adds).
"""

from collections.abc import Mapping
from functools import reduce
from operator import and_
from typing import Any

import polars as pl

from slowwave.ingest.chunk import chunk_turns
from slowwave.journal.changes import TableChange
from slowwave.schemas.identity import stable_ids
from slowwave.schemas.tables import OWNER, frame_schema
from slowwave.store.conditions import Expr, col, lit
from slowwave.store.stored import Rows

NEAR_TURNS = 4
"""Messages of a near passage."""

NEAR_STRIDE = 2
"""Messages from the begin of one near passage to the next: each message stands in two."""

NEAR_CHARACTERS = 2_000
"""Of a longer message only so much goes into a near passage: it would drown its neighbours."""

LONGEST = 1_000_000
"""Of a longer message only so many characters are searched by full text: as many as the settings let a message have.

A journal of before there was such a bound may hold messages of any length.
"""

LONG_SESSION_TURNS, LONG_SESSIONS = 10_000, 8
"""A session of more turns is not read whole when it grows; at most so many of them, each in a read of its own."""

_SESSION = ["session_id", *OWNER]

IN_ORDER = ["turn_id", "turn_index", "event_time", *_SESSION]
"""Columns of turns that tell their places."""


def changed_passages(store: Rows, changes: Mapping[str, TableChange]) -> pl.DataFrame:
    """Passages of the turns and chunks that came: work in proportion to them and to short sessions."""
    new = {name: changes[name].births for name in ("turns", "chunks") if name in changes}
    if not new:
        return pl.DataFrame(schema=frame_schema("passages"))
    none = pl.Series(dtype=pl.String)
    changed = new["turns"]["turn_id"] if "turns" in new else none
    named = new["chunks"]["turn_ids"].explode() if "chunks" in new else none
    order = _order(store, new["turns"]) if "turns" in new else _order_of_sessions(store, none)
    places = near_places(order, changed=changed)
    turns = store.by_key("turns", pl.concat([changed, named, places["turn_id"]]).drop_nulls().unique())
    parts = [
        turn_passages(turns.filter(pl.col("turn_id").is_in(changed.implode()))),
        near_passages(turns, places),
    ]
    if "chunks" in new:
        parts.append(wide_passages(new["chunks"], turns))
    return pl.concat(parts)


def _order(store: Rows, born: pl.DataFrame) -> pl.DataFrame:
    """The order of the turns around new ones, as `near_places` takes it: of a long session only its end."""
    firsts = born.group_by("session_id", *OWNER).agg(pl.col("turn_index").min()).sort("turn_index")
    long = firsts.filter(pl.col("turn_index") >= LONG_SESSION_TURNS).head(LONG_SESSIONS)
    ends = [_order_of_end(store, first) for first in long.to_dicts()]
    done = [first for first, end in zip(long["session_id"], ends, strict=True) if end is not None]
    sessions = firsts.filter(~pl.col("session_id").is_in(done))["session_id"].unique()
    return pl.concat([_order_of_sessions(store, sessions), *(end for end in ends if end is not None)])


def _order_of_sessions(store: Rows, session_ids: pl.Series) -> pl.DataFrame:
    return store.having("turns", "session_id", session_ids, IN_ORDER).with_columns(before=pl.lit(0, pl.Int64))


def _order_of_end(store: Rows, first: dict[str, Any]) -> pl.DataFrame | None:
    """The turns of one session from `NEAR_TURNS` before its first new one on; null where its numbers have gaps."""
    begin = int(first["turn_index"]) - NEAR_TURNS
    named: list[Expr] = [col(name) == lit(first[name]) for name in ("session_id", *OWNER)]
    of_session = reduce(and_, named)
    end = store.rows("turns", IN_ORDER, of_session & (col("turn_index") >= lit(begin)))
    if (end["turn_index"] < first["turn_index"]).sum() < NEAR_TURNS:
        return None
    before = store.rows("turns", ["turn_index"], of_session & (col("turn_index") < lit(begin)))
    return end.with_columns(before=pl.lit(before.height, pl.Int64))


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
            content=_spoken(pl.col("content").str.head(LONGEST)),
        )
    )


def near_places(turns: pl.DataFrame, *, changed: pl.Series) -> pl.DataFrame:
    """The places of the turns from which near passages are made where the `changed` turn ids are new.

    `turns` has the columns `IN_ORDER` and `before`: all turns of a session from some turn on, `before` being how many
    there are before it. Returns `turn_id`, `place` and `length` in its session, and `first_changed`, the place of the
    session's first changed turn; turns before the passages that hold it are left out.
    """
    place = pl.int_range(pl.len()) + pl.col("before")
    return (
        turns.sort(*_SESSION, "turn_index", "event_time", "turn_id")
        .select(
            "turn_id",
            place=place.over(_SESSION),
            length=(pl.len() + pl.col("before").first()).over(_SESSION),
            first_changed=place.filter(pl.col("turn_id").is_in(changed.implode())).min().over(_SESSION),
        )
        .filter(pl.col("place") > pl.col("first_changed") - NEAR_TURNS)
    )


def near_passages(turns: pl.DataFrame, places: pl.DataFrame) -> pl.DataFrame:
    """Passages of `NEAR_TURNS` consecutive turns, from the first changed one of each session on (`near_places`).

    `turns` holds the turns of `places`. The last passage of a session may be shorter; one that holds nothing beyond its
    predecessor is left out. A passage is named by its session and place, so that a session that grows fills it.
    """
    placed = turns.join(places, on="turn_id", how="inner").sort(*_SESSION, "place")
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
        chunk_turns(
            chunks.filter(pl.col("first_char") < LONGEST),
            turns.with_columns(pl.col("content").str.head(LONGEST)),
        )
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
