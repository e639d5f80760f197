"""The texts of an episode, whoever wrote them, and the row that they become with what the episode rests on."""

from collections.abc import Mapping
from typing import NamedTuple

import polars as pl
from pandera.typing.polars import DataFrame

from slowwave.language.artifacts import artifacts_in
from slowwave.models.requests import Outcome
from slowwave.schemas.identity import content_hashes
from slowwave.schemas.table_parts import Made, nullable, strings
from slowwave.schemas.tables import OWNER, frame_schema
from slowwave.trust.origins import as_told, least_trusted
from tasks.frames import Frame

UNJUDGED_SALIENCE = 0.5
"""The salience of an episode without memories."""


class EpisodeTexts(Frame, Made):
    """An episode's texts, and the memories that its writer was shown."""

    cell_id: str
    title: str
    content: str
    summary: str
    compressed: str = nullable()
    index_label: str = nullable()
    cell_ids: pl.List = strings()


class Told(NamedTuple):
    """Episodes as they were written, and what the model said of each conversation that it was asked about."""

    texts: DataFrame[EpisodeTexts]
    outcomes: Mapping[str, Outcome]


def episode_rows(
    texts: pl.DataFrame,
    sessions: pl.DataFrame,
    turns: pl.DataFrame,
    cells: pl.DataFrame,
    *,
    decay_rate: float,
) -> pl.DataFrame:
    """The payload of `episode.written`, one row a conversation in `texts`, by `cell_id`.

    `sessions` are rows of `DueSessions`; `turns` and `cells` (the active ones) carry the episode's id as `episode_id`.
    An episode rests on every turn of its conversation, is as trusted as the least trusted text in them, and as
    salient and sure as its memories are on average.
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
        .join(said, left_on="cell_id", right_on="episode_id")
        .join(worth, left_on="cell_id", right_on="episode_id", how="left")
        .join(_artifacts(turns, cells), left_on="cell_id", right_on="episode_id", how="left")
        .sort("cell_id")
        .with_columns(
            subject=pl.col("title"),
            salience=pl.col("salience").fill_null(UNJUDGED_SALIENCE).round(4).clip(0, 1),
            confidence=pl.col("confidence").fill_null(1.0).round(4).clip(0, 1),
            artifacts=pl.col("artifacts").fill_null(pl.lit([], dtype=pl.List(pl.String))),
            valid_until=pl.col("event_time"),
            decay_rate=pl.lit(decay_rate),
        )
    )
    whole = rows.with_columns(content_hashes(rows["content"]))
    names = [name for name in frame_schema("cells").names() if name in whole.columns]
    return whole.select(*names, "turn_count", "cell_ids")


def _artifacts(turns: pl.DataFrame, cells: pl.DataFrame) -> pl.DataFrame:
    """`episode_id`, `artifacts`: what a conversation and its memories name, sorted."""
    said = turns.select("episode_id", artifacts=artifacts_in(pl.col("content")))
    every = (
        pl.concat([said, cells.select("episode_id", "artifacts")])
        .explode("artifacts")
        .drop_nulls("artifacts")
    )
    return every.group_by("episode_id").agg(pl.col("artifacts").unique().sort())
