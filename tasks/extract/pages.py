"""Pages of a night: consecutive chunks of one session that go to the extractor together, and what of them is new.

A chunk repeats the end of the one before. What a chunk that was read already holds is shown as context only; a chunk
that holds nothing else is not asked about.
"""

import polars as pl

from slowwave.schemas.moments import first_of
from slowwave.schemas.table_parts import Timestamp, nullable
from slowwave.schemas.tables import OWNER
from tasks.frames import Frame

FULL_PAGE = 1.2
"""A page may hold so many times the tokens wanted, so that a session is cut evenly and leaves no small rest."""

POSITION = ["first_turn_index", "first_char", "chunk_id"]

PAGE_TOKENS = 1_500
"""New tokens of one request to the extractor: three chunks of `chunks.window_tokens`."""


class Lines(Frame):
    """Lines of pages: turns or parts of turns, numbered from 1 a page; `content` is the whole turn."""

    page: int
    turn_number: int
    turn_id: str
    chunk_id: str
    is_read: bool
    role: str
    speaker: str = nullable()
    origin: str
    event_time: Timestamp
    text: str
    content: str


def in_pages(chunks: pl.DataFrame, *, page_tokens: int, overlap_tokens: int) -> pl.DataFrame:
    """Chunks in the order of the work, with `page` and `round` (both from 0).

    Sessions of one owner follow each other, oldest first, and so do the pages of a session. A round has one page of
    each owner that still has one: no page is another's past. A chunk that failed before has a page of its own.
    """
    same = [*OWNER, "session_id"]
    ordered = (
        chunks.with_columns(began=first_of(pl.col("event_time")).over(same))
        .sort(*OWNER, "began", "session_id", *POSITION)
        .with_columns(
            follows=pl.all_horizontal(pl.col(name) == pl.col(name).shift(1) for name in same)
            & (pl.col("first_turn_index") <= pl.col("last_turn_index").shift(1) + 1)
            & (pl.col("attempts") == 0)
            & (pl.col("attempts").shift(1) == 0),
        )
        .with_columns(pl.col("follows").fill_null(value=False))
    )
    repeats = pl.col("follows") & (pl.col("first_turn_index") <= pl.col("last_turn_index").shift(1))
    tokens = pl.col("token_count") - pl.when(repeats).then(overlap_tokens).otherwise(0)
    run = (~pl.col("follows")).cum_sum()
    sized = ordered.with_columns(run=run, tokens=tokens.clip(lower_bound=1)).with_columns(
        start=(pl.col("tokens").cum_sum() - pl.col("tokens")).over("run"),
        total=pl.col("tokens").sum().over("run"),
    )
    pages = (pl.col("total") / (page_tokens * FULL_PAGE)).ceil()
    part = (pl.col("start") * pages / pl.col("total")).floor()
    return (
        sized.with_columns(page=pl.struct("run", part.alias("part")).rle_id().cast(pl.Int64))
        .with_columns(round=pl.col("page") - pl.col("page").min().over(*OWNER))
        .select(*chunks.columns, "page", "round")
    )


def page_lines(chunks: pl.DataFrame, turns: pl.DataFrame, read: pl.DataFrame) -> pl.DataFrame:
    """The lines of each page: turns, or parts of turns, numbered from 1 a page, marked where they were read before.

    `chunks` has `page`; `turns` are those of the chunks, and `read` the chunks of their sessions that were read
    already. A turn that was recorded anew after a chunk was read is new. A chunk without anything new has no line.

    Returns the columns of `Lines`, sorted by page and number; `content` is that of the whole turn, and `chunk_id` the
    page's first chunk that holds the line.
    """
    mine = _spans(chunks, turns).join(chunks.select("chunk_id", "page"), on="chunk_id", how="inner")
    known = _spans(read, turns).filter(pl.col("recorded_at") <= pl.col("read_from"))
    parts = _parts(mine, known)
    held = parts.join(mine, on=["page", "turn_id"], how="inner", suffix="_held").filter(
        (pl.col("begin_held") <= pl.col("begin")) & (pl.col("end_held") >= pl.col("end"))
    )
    telling = held.filter(~pl.col("is_read")).select("page", "chunk_id").unique()
    shown = held.join(telling, on=["page", "chunk_id"], how="semi")
    first = shown.sort("page", "turn_index", "begin", "place").unique(
        ["page", "turn_id", "begin"], keep="first", maintain_order=True
    )
    joined = first.with_columns(line=pl.struct("page", "turn_id", "is_read").rle_id()).group_by(
        "line", maintain_order=True
    )
    whole = joined.agg(
        pl.col("page", "turn_id", "chunk_id", "is_read", "begin").first(), pl.col("end").last()
    )
    told = ["turn_id", "role", "speaker", "origin", "event_time", "content"]
    return (
        whole.join(turns.select(told), on="turn_id", how="inner", maintain_order="left")
        .with_columns(
            text=pl.col("content").str.slice(pl.col("begin"), pl.col("end") - pl.col("begin")),
            turn_number=pl.int_range(1, pl.len() + 1).over("page"),
        )
        .select(Lines.names())
    )


def _spans(chunks: pl.DataFrame, turns: pl.DataFrame) -> pl.DataFrame:
    """The part of each turn that a chunk holds, in characters from `begin` to before `end`."""
    length = turns.select(
        "turn_id", "turn_index", "recorded_at", length=pl.col("content").str.len_chars().cast(pl.Int64)
    )
    exploded = (
        chunks.select("chunk_id", "first_char", "last_char", read_from="recorded_at", turn_id="turn_ids")
        .with_row_index("place")
        .explode("turn_id")
        .with_columns(nth=pl.int_range(pl.len()).over("chunk_id"), count=pl.len().over("chunk_id"))
    )
    return exploded.join(length, on="turn_id", how="inner").select(
        "chunk_id",
        "place",
        "turn_id",
        "turn_index",
        "recorded_at",
        "read_from",
        begin=pl.when(pl.col("nth") == 0).then("first_char").otherwise(0),
        end=pl.when(pl.col("nth") == pl.col("count") - 1).then("last_char").otherwise("length"),
    )


def _parts(mine: pl.DataFrame, known: pl.DataFrame) -> pl.DataFrame:
    """Turns of pages, parted where something read begins or ends: `page`, `turn_id`, `begin`, `end`, `is_read`."""
    bounds = known.join(mine.select("page", "turn_id").unique(), on="turn_id", how="inner")
    cuts = pl.concat(
        [frame.select("page", "turn_id", at=edge) for frame in (mine, bounds) for edge in ("begin", "end")]
    )
    parts = (
        cuts.unique()
        .sort("page", "turn_id", "at")
        .select("page", "turn_id", begin="at", end=pl.col("at").shift(-1).over("page", "turn_id"))
        .drop_nulls("end")
    )
    covered = (
        parts.join(known.select("turn_id", from_="begin", to="end"), on="turn_id", how="inner")
        .filter((pl.col("from_") <= pl.col("begin")) & (pl.col("to") >= pl.col("end")))
        .select("page", "turn_id", "begin")
        .unique()
        .with_columns(is_read=pl.lit(value=True))
    )
    return parts.join(covered, on=["page", "turn_id", "begin"], how="left").with_columns(
        pl.col("is_read").fill_null(value=False)
    )
