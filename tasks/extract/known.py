"""The past of a page: known memories, what its session said, and the names of topics near it.

A page knows only what happened before it, so that an old conversation that is taken in late is not told of what came
after it.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import cast

import polars as pl

from slowwave.home.vectors import nearest_of_owner
from slowwave.language.text import CHARACTERS_A_TOKEN
from slowwave.schemas.moments import first_of
from slowwave.schemas.tables import OWNER, frame_schema
from slowwave.store import Expr, col, lit, same_owner
from slowwave.store.chains import EXTRACTED
from slowwave.trust.origins import rank_of
from tasks.step import Readable

SHOWN = [
    "cell_type",
    "topic_hint",
    "subject",
    "attribute",
    "value",
    "valid_from",
    "valid_precision",
    "content",
]
"""Columns of a known memory that the extractor is shown."""

_READ = ["cell_id", *SHOWN, "origin", "topic_id", "session_id", "evidence", "event_time"]

NEAR_NAMES = 4
"""Memories looked through for names of topics, times the names wanted: many memories share one."""

KNOWN_CELLS = 10
"""Memories from before a page that the extractor is shown, nearest first."""

EARLIER_TOKENS = 90
"""Tokens of what earlier pages of the session gave."""

TOPIC_NAMES = 20
"""Names of topics near the page, so that one subject keeps one name."""


@dataclass(frozen=True)
class Before:
    """The past that one page is shown.

    `known` has `known` (the number on the page, from 1), `target_id` and `SHOWN`; `earlier` are contents of memories
    that the session's earlier pages gave, in order; `topics` are names. `told` has `content` and `origin` of all
    memories shown.
    """

    known: pl.DataFrame
    earlier: list[str]
    topics: list[str]
    told: pl.DataFrame

    def pieces(self, page: int) -> pl.DataFrame:
        """The memories shown as pieces of their page (`slowwave/trust/origins.py`)."""
        return self.told.select(
            page=pl.lit(page, dtype=pl.Int64), text="content", rank=rank_of(pl.col("origin"))
        )


def before_page(reader: Readable, page: pl.DataFrame, lines: pl.DataFrame) -> Before:
    """Collect the past of one page: its chunks (of one session) and its lines."""
    past = _past_of(page, lines)
    told = reader.store.rows("cells", _READ, past & (col("session_id") == lit(str(page["session_id"][0]))))
    read_turns = lines.filter("is_read")["turn_id"].to_list()
    rests = (
        pl.col("evidence").list.set_intersection(read_turns).list.len() > 0
        if read_turns
        else pl.lit(value=False)
    )
    repeated = told.filter(rests).sort("event_time", "cell_id", descending=True)
    near = _nearest(reader, page, lines, past)
    known = (
        pl.concat([repeated, near], how="diagonal")
        .unique("cell_id", keep="first", maintain_order=True)
        .head(KNOWN_CELLS)
    )
    named = _topic_names(reader, pl.concat([known, near]))
    rest = told.join(known, on="cell_id", how="anti").sort("event_time", "cell_id", descending=True)
    return Before(
        known=_numbered(reader, known),
        earlier=_newest(rest["content"], most=EARLIER_TOKENS),
        topics=_with_frequent(reader, named, past),
        told=pl.concat([known, rest], how="diagonal").select("content", "origin"),
    )


def _past_of(page: pl.DataFrame, lines: pl.DataFrame) -> Expr:
    """The extracted memories of the page's owner that are active and happened before its first new turn.

    Of its own session also those of the same moment: turns of a file all have one time.
    """
    new = lines.filter(~pl.col("is_read"))
    first = cast("datetime", new.select(first_of(pl.col("event_time"))).item())
    is_own = col("session_id") == lit(str(page["session_id"][0]))
    before = (col("event_time") < lit(first)) | (is_own & (col("event_time") <= lit(first)))
    return (col("status") == lit("active")) & EXTRACTED & before & same_owner(page.head(1))


def _nearest(reader: Readable, page: pl.DataFrame, lines: pl.DataFrame, past: Expr) -> pl.DataFrame:
    """Memories nearest to what each chunk of the page says, best first; none where no embedder serves."""
    texts = lines.group_by("chunk_id", maintain_order=True).agg(text=pl.col("text").str.join("\n"))
    asked = texts.join(page.select("chunk_id", *OWNER), on="chunk_id", how="inner", maintain_order="left")
    vectors = reader.vectors_of(asked["text"])
    if vectors is None:
        return pl.DataFrame(schema={name: frame_schema("cells")[name] for name in _READ})
    most = max(KNOWN_CELLS, NEAR_NAMES * TOPIC_NAMES)
    asked = asked.select("chunk_id", *OWNER, vectors)
    near = nearest_of_owner(reader.store, "cells", asked, k=most, where=past)
    best = near.group_by(cell_id="target_id").agg(pl.col("similarity").max())
    cells = reader.store.by_key("cells", best["cell_id"], _READ)
    ranked = cells.join(best, on="cell_id", how="inner")
    return ranked.sort("similarity", "cell_id", descending=[True, False]).drop("similarity")


def _numbered(reader: Readable, known: pl.DataFrame) -> pl.DataFrame:
    names = _names_of(reader, known)
    return names.with_columns(topic_hint="name").select(
        pl.int_range(1, pl.len() + 1).alias("known"), pl.col("cell_id").alias("target_id"), *SHOWN
    )


def _names_of(reader: Readable, cells: pl.DataFrame) -> pl.DataFrame:
    """Memories with `name`: that of their topic, else the one that the extractor gave."""
    topics = reader.store.by_key("topics", cells["topic_id"].drop_nulls(), ["topic_id", "name"])
    joined = cells.join(topics, on="topic_id", how="left", maintain_order="left")
    return joined.with_columns(pl.coalesce("name", "topic_hint"))


def _topic_names(reader: Readable, cells: pl.DataFrame) -> list[str]:
    names = _names_of(reader, cells)["name"].drop_nulls().unique(maintain_order=True)
    return names.head(TOPIC_NAMES).to_list()


def _with_frequent(reader: Readable, names: list[str], past: Expr) -> list[str]:
    """Names near the page and, where there is room, those that the owner's memories bear most."""
    if len(names) >= TOPIC_NAMES:
        return names
    hints = reader.store.rows("cells", ["topic_hint"], past).drop_nulls()
    frequent = hints.group_by("topic_hint").len().sort("len", "topic_hint", descending=[True, False])
    return list(dict.fromkeys([*names, *frequent["topic_hint"]]))[:TOPIC_NAMES]


def _newest(texts: pl.Series, *, most: int) -> list[str]:
    """As many texts as fit into `most` tokens, newest first in `texts`, oldest first in the answer."""
    length = (texts.str.len_chars() / CHARACTERS_A_TOKEN).ceil().cum_sum()
    return texts.filter(length <= most).reverse().to_list()
