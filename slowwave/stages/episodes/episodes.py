"""Episodes: which conversations are due to be told, what a row of one is, and what stands for it by its age."""

from datetime import datetime, timedelta

import polars as pl

from slowwave.schemas.choices import EPISODE
from slowwave.schemas.identity import content_hashes, stable_ids
from slowwave.schemas.moments import first_of
from slowwave.schemas.tables import OWNER, RAW_PROMPT, frame_schema
from slowwave.settings.groups import EpisodeSettings
from slowwave.trust.origins import as_told, least_trusted


def session_spans(turns: pl.DataFrame) -> pl.DataFrame:
    """One row a conversation, sorted by the episode's `cell_id`, which depends on owner and session alone.

    `turns` has the owner, `session_id`, `event_time`, `recorded_at`. Returns `cell_id`, the owner, `session_id`,
    `turn_count`, `valid_from` and `event_time` (its first and last turn), `last_recorded`.
    """
    spans = turns.group_by(*OWNER, "session_id").agg(
        turn_count=pl.len().cast(pl.Int64),
        valid_from=first_of(pl.col("event_time")),
        event_time=pl.col("event_time").max(),
        last_recorded=pl.col("recorded_at").max(),
    )
    identity = spans.select(*OWNER, "session_id")
    return spans.with_columns(stable_ids(EPISODE, identity).alias("cell_id")).sort("cell_id")


def due_sessions(
    spans: pl.DataFrame,
    episodes: pl.DataFrame,
    *,
    learned: pl.DataFrame,
    flagged: pl.Series,
    now: datetime,
    settings: EpisodeSettings,
    has_llm: bool,
) -> pl.DataFrame:
    """Conversations that are over and whose episode is missing, behind or in doubt, oldest first.

    `episodes` are the rows of that table; `learned` has the owner, `session_id` and `last_learned`, when its newest
    memory was recorded; `flagged` the ids of episodes that need review. Over means: no turn for `quiet_hours`, by
    the clock of the turns, or by that of the journal where a turn claims to come from the future. With a model,
    what was told without one is told again; without one, what a model told stays as it is. A conversation that failed
    waits for `retry_at`, and one in quarantine until it grows.

    Returns the columns of `session_spans` with those of `episodes` that tell its state, `is_waiting` for what is due
    but has to wait.
    """
    quiet = pl.lit(now - timedelta(hours=settings.quiet_hours))
    is_over = pl.min_horizontal("event_time", "last_recorded") <= quiet
    state = episodes.select(
        *("cell_id", "status", "attempts", "retry_at", "written_at"),
        told_count="turn_count",
        told_by="prompt_version",
    )
    known = (
        spans.join(state, on="cell_id", how="left", maintain_order="left")
        .join(learned, on=[*OWNER, "session_id"], how="left", maintain_order="left")
        .with_columns(is_flagged=pl.col("cell_id").is_in(flagged.implode()))
    )
    is_raw = (pl.col("told_by") == RAW_PROMPT).fill_null(value=False)
    grew = pl.col("told_count") != pl.col("turn_count")
    is_behind = (
        pl.col("written_at").is_null()
        | grew
        | (pl.col("status") != "written")
        | (pl.col("last_learned") > pl.col("written_at")).fill_null(value=False)
        | pl.col("is_flagged")
    )
    if has_llm:
        is_due = is_behind | is_raw
        pauses = (pl.col("status") == "failed") & (pl.col("retry_at") > now).fill_null(value=False)
        is_waiting = pauses | ((pl.col("status") == "quarantined") & ~grew).fill_null(value=False)
    else:
        is_due = pl.col("written_at").is_null() | (is_raw & is_behind)
        is_waiting = pl.lit(value=False)
    return (
        known.filter(is_over & is_due & (pl.col("turn_count") >= settings.min_turns))
        .with_columns(is_waiting=is_waiting.fill_null(value=False))
        .sort("event_time", "cell_id")
    )


def orphans(episodes: pl.DataFrame, spans: pl.DataFrame) -> pl.DataFrame:
    """Episodes whose conversation has no turn any more: `cell_id`, `reason`."""
    gone = episodes.join(spans, on="cell_id", how="anti").select("cell_id").sort("cell_id")
    return gone.with_columns(reason=pl.lit("its conversation is gone"))


def episode_rows(
    texts: pl.DataFrame,
    sessions: pl.DataFrame,
    turns: pl.DataFrame,
    cells: pl.DataFrame,
    artifacts: pl.DataFrame,
    *,
    decay_rate: float,
) -> pl.DataFrame:
    """The payload of `episode.written`, one row a told conversation, sorted by `cell_id`.

    `texts` has `cell_id`, `title`, `content`, `summary`, `compressed`, `index_label`, `prompt_version`, `model`,
    `cell_ids`; `sessions` are rows of `due_sessions`; `turns` and `cells` (the living ones) carry the episode's id
    as `episode_id`; `artifacts` has `episode_id` and `artifacts`. An episode rests on every turn of its
    conversation, is as trusted as the least trusted text in them, and as salient and sure as its memories are on
    average.
    """
    said = (
        as_told(turns)
        .sort("episode_id", "turn_index", "turn_id")
        .group_by("episode_id", maintain_order=True)
        .agg(
            pl.col("source_type", "source_id", "source_name").last(),
            evidence=pl.col("turn_id"),
            origin=least_trusted(pl.col("origin")),
        )
    )
    worth = cells.group_by("episode_id").agg(pl.col("salience", "confidence").mean())
    columns = ["cell_id", *OWNER, "session_id", "turn_count", "valid_from", "event_time"]
    rows = (
        texts.join(sessions.select(columns), on="cell_id")
        .join(said, left_on="cell_id", right_on="episode_id", how="inner")
        .join(worth, left_on="cell_id", right_on="episode_id", how="left")
        .join(artifacts, left_on="cell_id", right_on="episode_id", how="left")
        .sort("cell_id")
        .with_columns(
            subject=pl.col("title"),
            salience=pl.col("salience").fill_null(0.5).round(4).clip(0, 1),
            confidence=pl.col("confidence").fill_null(1.0).round(4).clip(0, 1),
            artifacts=pl.col("artifacts").fill_null(pl.lit([], dtype=pl.List(pl.String))),
            valid_until=pl.col("event_time"),
            decay_rate=pl.lit(decay_rate),
        )
    )
    whole = rows.with_columns(content_hashes(rows["content"]))
    names = [name for name in frame_schema("cells").names() if name in whole.columns]
    return whole.select(*names, "turn_count", "cell_ids")


def joined_artifacts(named: pl.DataFrame, *, most: int) -> pl.DataFrame:
    """The artifacts of each conversation, those named most often first, at most `most`, then in order of name.

    `named` has `episode_id` and `artifacts`, a row a turn or memory. Returns one row a conversation with any.
    """
    return (
        named.explode("artifacts")
        .drop_nulls("artifacts")
        .group_by("episode_id", artifact="artifacts")
        .len()
        .sort("episode_id", "len", "artifact", descending=[False, True, False])
        .group_by("episode_id", maintain_order=True)
        .agg(artifacts=pl.col("artifact").head(most).sort())
    )
