"""The compress stage's work: conversations whose episode is missing, behind or in doubt."""

import polars as pl

from slowwave.schemas.choices import EPISODE
from slowwave.schemas.tables import OWNER, RAW_PROMPT, STATED
from slowwave.stages.episodes.episodes import due_sessions, orphans, session_spans
from slowwave.stages.run import Stage
from slowwave.store import col, is_none_of, lit

SPAN = [*OWNER, "session_id", "event_time", "recorded_at"]


def find_sessions(run: Stage) -> pl.DataFrame:
    """Conversations that are over and whose episode is missing, behind or in doubt, as far as they may be told now.

    The whole turns are never read for it: only when they were said, in which conversation.
    """
    talk = (col("source_type") == lit("conversation")) & is_none_of("source_id", STATED)
    spans = session_spans(run.store.rows("turns", SPAN, talk))
    episodes = run.store.rows("episodes")
    run.commit({"episode.dropped": orphans(episodes, spans)})
    is_episode = col("cell_type") == lit(EPISODE)
    flagged = run.store.rows("cells", ["cell_id"], is_episode & (col("needs_review") == lit(value=True)))
    newest = run.store.rows("cells", [*OWNER, "session_id", "recorded_at"], col("cell_type") != lit(EPISODE))
    due = due_sessions(
        spans,
        episodes,
        learned=newest.group_by(*OWNER, "session_id").agg(last_learned=pl.col("recorded_at").max()),
        flagged=flagged["cell_id"],
        now=run.now,
        settings=run.settings.episodes,
        has_llm=run.workspace.llm is not None,
    )
    dead = run.store.by_key("tombstones", due["cell_id"], ["cell_id"])
    due = _worked_through(run, due.join(dead, on="cell_id", how="anti", maintain_order="left"))
    run.reject("quarantined", due.filter("is_waiting", pl.col("status") == "quarantined").height)
    run.reject("waits for its next try", due.filter("is_waiting", pl.col("status") == "failed").height)
    run.report.rows_in = due.height
    return due.filter(~pl.col("is_waiting"))


def _worked_through(run: Stage, due: pl.DataFrame) -> pl.DataFrame:
    """Conversations of which a part became memories and none still waits for the extractor.

    The others are told when it has seen them, and what the gate refused as a whole is not told.
    """
    on = [*OWNER, "session_id"]
    parts = run.store.rows(
        "chunks", [*on, "status", "prompt_version"], col("status").isin(["pending", "extracted"])
    )
    is_raw = (pl.col("prompt_version") == RAW_PROMPT) & (pl.col("status") == "extracted")
    waits = pl.col("status") == "pending"
    if run.workspace.llm is not None:
        waits = waits | is_raw.fill_null(value=False)
    open_parts = parts.filter(waits).select(on).unique()
    run.reject("waits for its memories", due.join(open_parts, on=on, how="semi").height)
    done = parts.filter(pl.col("status") == "extracted")
    ready = due.join(open_parts, on=on, how="anti", maintain_order="left")
    return ready.join(done, on=on, how="semi", maintain_order="left")
