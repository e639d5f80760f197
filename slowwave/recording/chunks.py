"""Chunks of new turns; those of turns that were recorded one by one are cut with the next ingest.

A chunk a message would be read alone, so they wait until more of their conversation is there.
"""

import polars as pl

from slowwave.home.stage import Stage
from slowwave.ingest.chunk import cut_chunks, with_overlap
from slowwave.journal.catalogue import CATALOGUE
from slowwave.schemas.tables import shaped
from slowwave.settings.groups import ChunkSettings
from slowwave.store import col, lit

RECORDED = "recorded"
"""`source_id` of turns that were recorded one by one, and not read from a file."""


def chunks_of(turns: pl.DataFrame, *, new_turn_ids: pl.Series, settings: ChunkSettings) -> pl.DataFrame:
    """Rows of `chunk.cut` for new turns; the others are of the same conversations, and may come before them."""
    overlap = settings.overlap_tokens
    context = with_overlap(turns, new_turn_ids=new_turn_ids, overlap_tokens=overlap)
    cut = cut_chunks(context, window_tokens=settings.window_tokens, overlap_tokens=overlap)
    pending = cut.with_columns(status=pl.lit("pending"), attempts=pl.lit(0))
    return shaped(pending, CATALOGUE["chunk.cut"].payload)


def cut_recorded(run: Stage) -> None:
    """Commit chunks of the recorded turns that no chunk holds as they are now; what comes meanwhile waits."""
    uncut = _uncut(run)
    if uncut.is_empty():
        return
    turns = run.store.having("turns", "session_id", uncut["session_id"].unique())
    until_now = turns.filter(pl.col("recorded_at") <= run.now)
    counted = uncut.group_by("session_id", maintain_order=True).len()
    run.show(counted.select(pl.format("recorded: {} turns of {}", "len", "session_id")).to_series())
    cut = chunks_of(until_now, new_turn_ids=uncut["turn_id"], settings=run.settings.chunks)
    run.commit({"chunk.cut": cut})


def _uncut(run: Stage) -> pl.DataFrame:
    """Recorded turns without a chunk that was cut since they said what they say: `turn_id`, `session_id`."""
    is_recorded = (col("source_id") == lit(RECORDED)) & (col("recorded_at") <= lit(run.now))
    turns = run.store.rows("turns", ["turn_id", "session_id", "turn_index", "recorded_at"], is_recorded)
    chunks = run.store.having(
        "chunks", "session_id", turns["session_id"].unique(), ["turn_ids", "recorded_at"]
    )
    cut = chunks.explode("turn_ids").group_by(turn_id="turn_ids").agg(cut_at=pl.col("recorded_at").max())
    joined = turns.join(cut, on="turn_id", how="left")
    in_no_chunk, was_said_anew = pl.col("cut_at").is_null(), pl.col("cut_at") < pl.col("recorded_at")
    waiting = joined.filter(in_no_chunk | was_said_anew)
    if not waiting.filter(in_no_chunk).is_empty():
        # a turn that a memory rests on without a chunk came with that memory, from another home
        cells = run.store.having("cells", "session_id", turns["session_id"].unique(), ["evidence"])
        is_read = pl.col("turn_id").is_in(cells["evidence"].explode().drop_nulls().implode())
        waiting = waiting.filter(was_said_anew | ~is_read)
    return waiting.sort("session_id", "turn_index").select("turn_id", "session_id")
