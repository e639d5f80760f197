"""Conversations that are over, and which of them have no episode that tells all of them."""

from datetime import datetime, timedelta

import polars as pl
from pandera.typing.polars import DataFrame

from slowwave.journal.plan import Plan
from slowwave.schemas.choices import EPISODE
from slowwave.schemas.identity import stable_ids
from slowwave.schemas.moments import first_of
from slowwave.schemas.table_parts import Owned, Timestamp, nullable
from slowwave.schemas.tables import OWNER, RAW_PROMPT, STATED
from slowwave.store import col, is_none_of, lit
from tasks.frames import Frame
from tasks.step import Readable, step

SPAN = [*OWNER, "session_id", "event_time", "recorded_at"]
SESSION = [*OWNER, "session_id"]

MIN_TURNS = 4
"""Turns that make a conversation worth an episode: a question with its answer and one thing more."""

TOLD_TOGETHER = 8
"""Conversations that are told and committed together: a kill loses no more paid answers than these."""


class Sessions(Frame, Owned):
    """Conversations from first to last turn; the episode's `cell_id` depends on owner and session alone."""

    cell_id: str
    session_id: str
    turn_count: int
    valid_from: Timestamp
    event_time: Timestamp
    last_recorded: Timestamp


class DueSessions(Sessions):
    """Conversations whose episode is missing, behind or in doubt, oldest first.

    `told_count` are the turns of the last telling, `attempts` the failures since.
    """

    told_count: int = nullable()
    attempts: int = nullable()


@step
def find_sessions(reader: Readable) -> DataFrame[Sessions]:
    """All conversations but what a person told Slowwave itself; no text is read for it."""
    talk = (col("source_type") == lit("conversation")) & is_none_of("source_id", STATED)
    return Sessions.of(session_spans(reader.store.rows("turns", SPAN, talk)))


@step
def plan_orphans(reader: Readable, sessions: DataFrame[Sessions]) -> Plan:
    """Drops the episodes whose conversation has no turn any more."""
    gone = reader.store.rows("episodes", ["cell_id"]).join(sessions, on="cell_id", how="anti").sort("cell_id")
    return Plan(events={"episode.dropped": gone.with_columns(reason=pl.lit("its conversation is gone"))})


@step
def find_due_sessions(
    reader: Readable, sessions: DataFrame[Sessions], *, has_model: bool
) -> DataFrame[DueSessions]:
    """Conversations to tell, but for what a person deleted and what the gate refused as a whole.

    One of which a part still waits for the extractor is left to a later night.
    """
    store = reader.store
    doubted = (col("cell_type") == lit(EPISODE)) & (col("needs_review") == lit(value=True))
    newest = store.rows("cells", [*SESSION, "recorded_at"], col("cell_type") != lit(EPISODE))
    due = due_sessions(
        sessions,
        store.rows("episodes"),
        learned=newest.group_by(SESSION).agg(last_learned=pl.col("recorded_at").max()),
        flagged=store.rows("cells", ["cell_id"], doubted)["cell_id"],
        now=reader.now,
        quiet_hours=reader.settings.episodes.quiet_hours,
        has_model=has_model,
    )
    chunks = store.rows(
        "chunks", [*SESSION, "status", "prompt_version"], col("status").isin(["pending", "extracted"])
    )
    is_raw = (pl.col("prompt_version") == RAW_PROMPT) & (pl.col("status") == "extracted")
    is_open = (pl.col("status") == "pending") | (is_raw & pl.lit(has_model))
    read = chunks.group_by(SESSION).agg(
        is_open=is_open.fill_null(value=False).any(), is_read=(pl.col("status") == "extracted").any()
    )
    ready = due.join(
        read.filter("is_read", ~pl.col("is_open")), on=SESSION, how="semi", maintain_order="left"
    )
    dead = store.by_key("tombstones", due["cell_id"], ["cell_id"])
    return DueSessions.of(ready.join(dead, on="cell_id", how="anti", maintain_order="left"))


@step
def split_due(due: DataFrame[DueSessions]) -> list[DataFrame[DueSessions]]:
    """The conversations, `TOLD_TOGETHER` at a time."""
    return [DueSessions.of(batch) for batch in due.iter_slices(TOLD_TOGETHER)]


def session_spans(turns: pl.DataFrame) -> pl.DataFrame:
    """One row a conversation (`Sessions`), by `cell_id`; `turns` has the owner, `session_id` and its two times."""
    spans = turns.group_by(SESSION).agg(
        turn_count=pl.len().cast(pl.Int64),
        valid_from=first_of(pl.col("event_time")),
        event_time=pl.col("event_time").max(),
        last_recorded=pl.col("recorded_at").max(),
    )
    return spans.with_columns(stable_ids(EPISODE, spans.select(SESSION)).alias("cell_id")).sort("cell_id")


def due_sessions(
    sessions: pl.DataFrame,
    episodes: pl.DataFrame,
    *,
    learned: pl.DataFrame,
    flagged: pl.Series,
    now: datetime,
    quiet_hours: float,
    has_model: bool,
) -> pl.DataFrame:
    """Rows of `DueSessions`: conversations that are over and long enough, whose episode is missing, behind or in doubt.

    `episodes` are the rows of that table; `learned` has the owner, `session_id` and `last_learned`, when its newest
    memory was recorded; `flagged` the ids of episodes that need review. Over means no turn for `quiet_hours`, by
    the clock of the turns, or by that of the journal where a turn claims to come from the future. With a model,
    what was told without one is told again; without one, what a model told stays. A conversation that failed
    is not due until `retry_at`, one in quarantine until it grows.
    """
    quiet = pl.lit(now - timedelta(hours=quiet_hours))
    is_over = pl.min_horizontal("event_time", "last_recorded") <= quiet
    state = episodes.select(
        *("cell_id", "status", "attempts", "retry_at", "written_at"),
        told_count="turn_count",
        is_raw=pl.col("prompt_version") == RAW_PROMPT,
    )
    known = sessions.join(state, on="cell_id", how="left").join(learned, on=SESSION, how="left")
    is_raw = pl.col("is_raw").fill_null(value=False)
    has_grown = pl.col("told_count") != pl.col("turn_count")
    is_behind = pl.any_horizontal(
        pl.col("written_at").is_null(),
        has_grown,
        pl.col("status") != "written",
        pl.col("last_learned") > pl.col("written_at"),
        pl.col("cell_id").is_in(flagged.implode()),
    ).fill_null(value=False)
    is_due = is_behind | is_raw if has_model else pl.col("written_at").is_null() | (is_raw & is_behind)
    is_early = (pl.col("status") == "failed") & (pl.col("retry_at") > now)
    is_held = is_early | ((pl.col("status") == "quarantined") & ~has_grown)
    may_be_asked = ~is_held.fill_null(value=False) | pl.lit(not has_model)
    return known.filter(is_over, is_due, may_be_asked, pl.col("turn_count") >= MIN_TURNS).sort(
        "event_time", "cell_id"
    )
