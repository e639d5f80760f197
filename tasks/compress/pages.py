"""The turns and memories that an episode is written from, and how much of them a page shows."""

import polars as pl
from pandera.typing.polars import DataFrame

from slowwave.models.rows import told_date
from slowwave.schemas.choices import EPISODE
from slowwave.schemas.table_parts import nullable
from slowwave.schemas.tables import RAW_PROMPT, Cells, Turns
from slowwave.trust.origins import answered_for_first
from tasks.compress.sessions import SESSION, DueSessions
from tasks.extractive import with_centrality
from tasks.frames import Frame
from tasks.step import Readable, step

ENDS = 2
"""Turns at the beginning and at the end of a conversation that are always shown."""

TURNS_A_MEMORY = 4
"""Up to so many turns for each memory the memories tell a conversation: its page needs few turns then."""

_GAP = " [...] "

MOST_TURNS, REMEMBERED_TURNS = 30, 8
"""Turns shown for one episode, and for one whose memories already say most of it."""

TURN_CHARACTERS = 600
"""Longest part of one turn that is shown."""


class EpisodeTurns(Frame, Turns):
    """Turns of the conversations in their order, numbered from 1; `is_shown` are those that may be told."""

    episode_id: str
    number: int
    is_shown: bool


class EpisodeCells(Frame, Cells):
    """Memories of the conversations with their day, and the text that replaced one with the day since when."""

    episode_id: str
    date: str
    replaced_by: str = nullable()
    replaced_date: str = nullable()


@step
def find_turns(reader: Readable, due: DataFrame[DueSessions]) -> DataFrame[EpisodeTurns]:
    """All turns of the conversations.

    Not shown are those that a person deleted a memory of, and untrusted ones where anything else was said.
    """
    dead = reader.store.rows("tombstones", ["evidence"])["evidence"].explode().drop_nulls()
    turns = reader.store.having("turns", "session_id", due["session_id"]).join(_named(due), on=SESSION)
    ordered = turns.sort("episode_id", "turn_index", "turn_id").with_columns(
        number=pl.int_range(1, pl.len() + 1).over("episode_id")
    )
    shown = ordered.filter(~pl.col("turn_id").is_in(dead.implode())).filter(answered_for_first("episode_id"))
    return EpisodeTurns.of(ordered.with_columns(is_shown=pl.col("turn_id").is_in(shown["turn_id"].implode())))


@step
def find_cells(reader: Readable, due: DataFrame[DueSessions]) -> DataFrame[EpisodeCells]:
    """All memories of the conversations but their episodes."""
    cells = reader.store.having("cells", "session_id", due["session_id"]).filter(
        pl.col("cell_type") != EPISODE
    )
    columns = ["cell_id", "content", "valid_from", "valid_precision"]
    later = reader.store.by_key("cells", cells["superseded_by"].drop_nulls(), columns)
    later = later.select(superseded_by="cell_id", replaced_by="content", replaced_date=told_date())
    named = cells.join(_named(due), on=SESSION).with_columns(date=told_date())
    return EpisodeCells.of(named.join(later, on="superseded_by", how="left"))


def page_cells(cells: pl.DataFrame, *, most: int, characters: int) -> pl.DataFrame:
    """The memories of each page, oldest first: the most salient active or replaced ones that no rule made."""
    is_replaced = (pl.col("status") == "superseded") & pl.col("valid_until").is_not_null()
    shown = cells.filter((pl.col("status") == "active") | is_replaced, pl.col("prompt_version") != RAW_PROMPT)
    ranked = shown.sort(
        "episode_id", "salience", "event_time", "cell_id", descending=[False, True, True, False]
    )
    size = pl.sum_horizontal(pl.col("content", "replaced_by").str.len_chars()).cum_sum().over("episode_id")
    place = pl.int_range(pl.len()).over("episode_id")
    kept = ranked.filter((place < most) & (size <= characters))
    return kept.sort("episode_id", "valid_from", "event_time", "cell_id")


def page_turns(turns: pl.DataFrame, cells: pl.DataFrame, *, characters: int) -> pl.DataFrame:
    """Turns of each page with `text`: few where many memories (rows of `page_cells`) tell the conversation.

    They get the characters that the memories leave.
    """
    shown = turns.filter("is_shown")
    counts = shown.group_by("episode_id").agg(turns=pl.len())
    memories = cells.group_by("episode_id").agg(cells=pl.len(), taken=pl.col("content").str.len_chars().sum())
    pages = counts.join(memories, on="episode_id", how="left").with_columns(
        pl.col("cells", "taken").fill_null(0)
    )
    pages = pages.select(
        "episode_id",
        most=pl.when(pl.col("cells") * TURNS_A_MEMORY >= pl.col("turns"))
        .then(REMEMBERED_TURNS)
        .otherwise(MOST_TURNS),
        room=characters - pl.col("taken").cast(pl.Int64),
    )
    bounds = {"most": pl.col("most"), "page_characters": pl.col("room")}
    return choose_excerpts(shown.join(pages, on="episode_id"), turn_characters=TURN_CHARACTERS, **bounds)


def choose_excerpts(
    turns: pl.DataFrame, *, most: int | pl.Expr, turn_characters: int, page_characters: int | pl.Expr
) -> pl.DataFrame:
    """The turns that stand for each conversation with `text`, cut to size, in their order.

    The first and the last two, then the most central ones of people and of assistants alternately, since people state
    briefly what they want and decide, until `most` turns or `page_characters` characters. A turn longer than
    `turn_characters` keeps its beginning and its end. `turns` has `episode_id`, `turn_id`, `turn_index`, `role`,
    `content`.
    """
    order, left = pl.int_range(pl.len()).over("episode_id"), pl.len().over("episode_id") - 1
    ties = ["turn_index", "turn_id"]
    central = with_centrality(
        turns.sort("episode_id", *ties), group="episode_id", text="turn_id", content="content"
    )
    marked = central.with_columns(
        is_end=(order < ENDS) | (left - order < ENDS),
        is_user=pl.col("role") == "user",
        text=_cut(pl.col("content").str.strip_chars(), turn_characters),
    )
    best_first = ["episode_id", "is_end", "centrality", *ties]
    alternately = ["episode_id", "is_end", "round", "is_user", *ties]
    ranked = (
        marked.filter(pl.col("text") != "")
        .sort(best_first, descending=[False, True, True, False, False])
        .with_columns(round=pl.int_range(pl.len()).over("episode_id", "is_end", "is_user"))
        .sort(alternately, descending=[False, True, False, True, False, False])
    )
    size = pl.col("text").str.len_chars().cum_sum().over("episode_id")
    place = pl.int_range(pl.len()).over("episode_id")
    kept = ranked.filter((place == 0) | ((place < most) & (size <= page_characters)))
    return kept.select(*turns.columns, "text").sort("episode_id", *ties)


# Inside


def _named(due: pl.DataFrame) -> pl.DataFrame:
    return due.select(*SESSION, episode_id="cell_id")


def _cut(text: pl.Expr, most: int) -> pl.Expr:
    tail = most // 3
    short = pl.concat_str(text.str.slice(0, most - tail - len(_GAP)), pl.lit(_GAP), text.str.slice(-tail))
    return pl.when(text.str.len_chars() > most).then(short).otherwise(text)
