"""Cutting turns into chunks: windows of consecutive turns, and of parts of turns that are too long for one."""

import polars as pl

from slowwave.language.text import CHARACTERS_A_TOKEN, token_count
from slowwave.schemas.identity import content_hashes, stable_ids
from slowwave.schemas.tables import OWNER

IN_ORDER = ["session_id", "turn_index", "event_time", "turn_id"]
"""The order of turns: two that were recorded at once may have one place, and then their times tell."""

SOURCE = ["source_type", "source_id", "source_name"]


def with_overlap(turns: pl.DataFrame, *, new_turn_ids: pl.Series, overlap_tokens: int) -> pl.DataFrame:
    """New turns and, before the first new one of each session, as many known ones as fit into the overlap.

    `turns` holds whole sessions. A transcript that grew is cut from its new turns on: what was extracted before
    is context, not new text.
    """
    tokens = token_count(pl.col("content"))
    first_new = (
        turns.filter(pl.col("turn_id").is_in(new_turn_ids.implode()))
        .group_by("session_id")
        .agg(first_new=pl.col("turn_index").min())
    )
    marked = turns.join(first_new, on="session_id", how="inner").sort(IN_ORDER)
    is_new = pl.col("turn_index") >= pl.col("first_new")
    distance = tokens.reverse().cum_sum().reverse().over("session_id")
    context = marked.filter(~is_new).filter(distance <= overlap_tokens)
    return pl.concat([context, marked.filter(is_new)]).sort(IN_ORDER).drop("first_new")


def cut_chunks(turns: pl.DataFrame, *, window_tokens: int, overlap_tokens: int) -> pl.DataFrame:
    """Windows of about `window_tokens` with `overlap_tokens` shared between neighbours, cut at turn borders.

    A turn belongs to the window in whose stride it starts, and also to the next one when it starts in the
    overlap's tail. Turns longer than a window are first cut into parts; `first_char` and `last_char` say which
    part of the first and the last turn a chunk holds.

    Returns the columns of `chunks` that come from the turns, one row a window, sorted by session and position.
    """
    stride = window_tokens - overlap_tokens
    pieces = _pieces(turns, window_tokens=window_tokens)
    start = (pl.col("token_count").cum_sum() - pl.col("token_count")).over("session_id")
    placed = pieces.with_columns(start=start).with_columns(window=pl.col("start") // stride)
    tail = placed.filter((pl.col("start") % stride < overlap_tokens) & (pl.col("window") > 0)).with_columns(
        window=pl.col("window") - 1
    )
    windows = (
        pl.concat([placed, tail])
        .sort("session_id", "window", "start", "first_char")
        .group_by("session_id", "window", maintain_order=True)
        .agg(
            pl.col(*OWNER, *SOURCE).first(),
            first_turn_index=pl.col("turn_index").first(),
            last_turn_index=pl.col("turn_index").last(),
            first_char=pl.col("first_char").first(),
            last_char=pl.col("last_char").last(),
            turn_ids=pl.col("turn_id").unique(maintain_order=True),
            text=pl.col("piece").str.join("\n"),
            token_count=pl.col("token_count").sum(),
            event_time=pl.col("event_time").max(),
        )
    )
    # a last window that holds nothing beyond its predecessor (all of it overlap) is dropped
    position = pl.struct("last_turn_index", "last_char")
    is_more = position != position.shift(1).over("session_id", order_by="window")
    whole = windows.filter(is_more.fill_null(value=True))
    hashed = whole.with_columns(content_hashes(whole["text"])).drop("text", "window")
    identity = hashed.select(
        "session_id", pl.col("turn_ids").list.join(" "), "first_char", "last_char", "content_hash"
    )
    return hashed.with_columns(stable_ids("chunk", identity))


def _pieces(turns: pl.DataFrame, *, window_tokens: int) -> pl.DataFrame:
    size = int(window_tokens * CHARACTERS_A_TOKEN)
    length = pl.col("content").str.len_chars().cast(pl.Int64)
    return (
        turns.sort(IN_ORDER)
        .with_columns(first_char=pl.int_ranges(0, length.clip(lower_bound=1), size))
        .explode("first_char")
        .with_columns(piece=pl.col("content").str.slice(pl.col("first_char"), size))
        .with_columns(
            last_char=pl.col("first_char") + pl.col("piece").str.len_chars(),
            token_count=token_count(pl.col("piece")),
        )
    )


def chunk_turns(chunks: pl.DataFrame, turns: pl.DataFrame) -> pl.DataFrame:
    """The turns of each chunk as a model sees them: numbered from 1, cut to the chunk's part of a long turn.

    Returns `chunk_id`, `turn_number`, `turn_id`, `role`, `speaker`, `origin`, `event_time`, `text`, sorted.
    """
    is_last = pl.col("turn_number") == pl.col("turn_number").max().over("chunk_id")
    end = pl.when(is_last).then("last_char")
    begin = pl.when(pl.col("turn_number") == 1).then(pl.col("first_char")).otherwise(0)
    return (
        chunks.select("chunk_id", "first_char", "last_char", turn_id=pl.col("turn_ids"))
        .explode("turn_id")
        .with_columns(turn_number=pl.int_range(1, pl.len() + 1).over("chunk_id"))
        .join(
            turns.select("turn_id", "role", "speaker", "origin", "event_time", "content"),
            on="turn_id",
            how="inner",
            maintain_order="left",
        )
        .with_columns(begin=begin, end=end)
        .with_columns(
            text=pl.when(pl.col("end").is_null())
            .then(pl.col("content").str.slice(pl.col("begin")))
            .otherwise(pl.col("content").str.slice(pl.col("begin"), pl.col("end") - pl.col("begin")))
        )
        .select("chunk_id", "turn_number", "turn_id", "role", "speaker", "origin", "event_time", "text")
        .sort("chunk_id", "turn_number")
    )
