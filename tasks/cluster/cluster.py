"""Cluster: which memories wait for a topic, which topics there are, and the plans that change them.

Topics never reach over an owner. Nothing here says that two memories are the same: that is reconciliation.
"""

import polars as pl
from pandera.typing.polars import DataFrame

from slowwave.journal.plan import Plan, rejected
from slowwave.language.text import plain_value, without_speakers
from slowwave.schemas.choices import EPISODE
from slowwave.schemas.table_parts import Timestamp, nullable
from slowwave.schemas.tables import OWNER
from slowwave.store import Expr, col, lit
from tasks.cluster.names import UNTITLED
from tasks.frames import Frame
from tasks.step import Readable, step

TOPIC_MEMORIES = 40
"""Memories that one summary can describe in 150 words; a topic with more is split."""


class NewCells(Frame):
    """Active memories without a topic; `content` is without the names of speakers."""

    cell_id: str
    user_id: str
    project_id: str
    scope: str
    topic_hint: str = nullable()
    content: str
    summary: str = nullable()
    supersedes: str = nullable()
    origin: str
    prompt_version: str = nullable()
    event_time: Timestamp


class KnownTopics(Frame):
    """All topics with the number of their active memories; those that were merged away are there for their ids."""

    topic_id: str
    user_id: str
    project_id: str
    scope: str
    name: str
    cell_count: int
    merged_into: str = nullable()


class Filed(Frame):
    """Memories with their topics. `name` is that of a new topic, null for one there was; `similarity` is a cosine."""

    cell_id: str
    topic_id: str
    user_id: str
    project_id: str
    scope: str
    similarity: float = nullable()
    name: str = nullable()
    prompt_version: str = nullable()
    model: str = nullable()


@step
def find_unassigned(reader: Readable) -> DataFrame[NewCells]:
    """Active memories without a topic, by id. Episodes have none."""
    return _cells(reader, col("topic_id").is_null() & (col("cell_type") != lit(EPISODE)))


@step
def find_topics(reader: Readable) -> DataFrame[KnownTopics]:
    """The topics as they are now, by id."""
    topics = reader.store.rows("topics", ["topic_id", *OWNER, "name", "merged_into"])
    counted = topics.join(_counts(reader), on="topic_id", how="left")
    return KnownTopics.of(counted.with_columns(pl.col("cell_count").fill_null(0)).sort("topic_id"))


def living(topics: pl.DataFrame) -> pl.DataFrame:
    """The topics that were not merged into another."""
    return topics.filter(pl.col("merged_into").is_null())


@step
def left_over(cells: DataFrame[NewCells], filed: DataFrame[Filed]) -> DataFrame[NewCells]:
    """The memories that still have no topic."""
    return NewCells.of(cells.join(filed, on="cell_id", how="anti", maintain_order="left"))


@step
def plan_filed(cells: DataFrame[NewCells], filed: DataFrame[Filed], *, otherwise: str) -> Plan:
    """The new topics and the memories that join a topic; `otherwise` says what becomes of the other `cells`."""
    opened = filed.drop_nulls("name").unique("topic_id").sort("topic_id")
    others = cells.join(filed, on="cell_id", how="anti", maintain_order="left")
    return Plan(
        events={"topic.opened": opened, "cell.assigned": filed.sort("cell_id")},
        rows_in=filed.height,
        rejected=rejected(otherwise, others["cell_id"]),
        examples=opened.select(pl.format("new topic: {}", "name")).to_series().to_list(),
    )


@step
def plan_merges(reader: Readable, topics: DataFrame[KnownTopics]) -> Plan:
    """Topics of one name become the largest of them, as long as one summary can still describe it."""
    key = [*OWNER, "key"]
    named = living(topics).with_columns(key=plain_value(pl.col("name"))).filter(pl.col("key") != UNTITLED)
    ordered = named.sort("cell_count", "topic_id", descending=[True, False]).with_columns(
        into=pl.col("topic_id").first().over(key), size=pl.col("cell_count").sum().over(key)
    )
    gone = ordered.filter((pl.col("topic_id") != pl.col("into")) & (pl.col("size") <= TOPIC_MEMORIES))
    merged = gone.select("topic_id", "name", merged_into="into").sort("topic_id")
    cells = reader.store.rows("cells", ["cell_id", "topic_id"], col("topic_id").isin([*merged["topic_id"]]))
    moved = cells.join(merged, on="topic_id").select("cell_id", topic_id="merged_into")
    survivors = merged.select(topic_id="merged_into").unique().sort("topic_id")
    return Plan(
        events={
            "topic.merged": merged,
            "cell.assigned": moved.with_columns(similarity=pl.lit(None, pl.Float64)).sort("cell_id"),
            "topic.flagged": survivors.with_columns(reason=pl.lit("merged")),
        },
        examples=merged.select(pl.format("topics merged: {}", "name")).to_series().to_list(),
    )


@step
def find_oversize(reader: Readable, topics: DataFrame[KnownTopics]) -> list[str]:
    """Topics with more memories than one summary can describe."""
    return living(topics).filter(pl.col("cell_count") > TOPIC_MEMORIES)["topic_id"].to_list()


@step
def find_members(reader: Readable, topic: str) -> DataFrame[NewCells]:
    """The active memories of a topic."""
    return _cells(reader, col("topic_id") == lit(topic))


@step
def plan_split(reader: Readable, topic: str, parts: DataFrame[Filed]) -> Plan:
    """The memories that leave a topic with their part; the largest new part stays, and both summaries are written anew.

    An answer with one part changes nothing.
    """
    if parts["topic_id"].n_unique() < 2:  # noqa: PLR2004 - one part is no split
        return Plan()
    new = parts.drop_nulls("name").group_by("topic_id").len()
    largest = new.sort("len", "topic_id", descending=[True, False])["topic_id"].head(1).to_list()
    [stays] = largest if largest and topic not in parts["topic_id"] else [topic]
    leaving = parts.filter(pl.col("topic_id") != stays).sort("cell_id")
    staying = parts.filter(pl.col("topic_id") == stays).drop_nulls("name").head(1)
    opened = leaving.drop_nulls("name").unique("topic_id").sort("topic_id")
    cells = reader.store.by_key("cells", leaving["cell_id"], ["cell_id", "is_summarized"])
    summarized = leaving.join(cells.filter("is_summarized"), on="cell_id").sort("cell_id")
    is_new = pl.col("topic_id").is_in(opened["topic_id"].to_list())
    left = summarized.with_columns(topic_id=pl.lit(topic))
    rewritten = pl.concat([summarized.filter(~is_new), left]).select("topic_id").unique().sort("topic_id")
    taken_back = summarized.filter(is_new).group_by("topic_id").agg(cell_ids="cell_id")
    reason = pl.lit("split")
    return Plan(
        events={
            "topic.opened": opened,
            "topic.renamed": staying.select(topic_id=pl.lit(topic), name="name"),
            "cell.assigned": leaving,
            "topic.flagged": rewritten.with_columns(reason=reason),
            "topic.unsummarized": taken_back.sort("topic_id").with_columns(reason=reason),
        },
        examples=opened.select(pl.format("topic split off: {}", "name")).to_series().to_list(),
    )


@step
def plan_counts(reader: Readable) -> Plan:
    """The counts of topics that are not those of their memories, also where a run was cut off before it counted."""
    columns = ["topic_id", "cell_count", "unsummarized_count"]
    stored = reader.store.rows("topics", columns, col("merged_into").is_null())
    counted = stored.select("topic_id").join(_counts(reader), on="topic_id", how="left").fill_null(0)
    return Plan(events={"topic.counted": counted.join(stored, on=columns, how="anti").sort("topic_id")})


# Inside


def _cells(reader: Readable, where: Expr) -> DataFrame[NewCells]:
    cells = reader.store.rows("cells", NewCells.names(), where & (col("status") == lit("active")))
    shown = cells.with_columns(without_speakers(pl.col("content")).alias("content"))
    return NewCells.of(shown.sort("cell_id"))


def _counts(reader: Readable) -> pl.DataFrame:
    """topic_id, cell_count, unsummarized_count: of the active memories."""
    where = (col("status") == lit("active")) & col("topic_id").is_not_null()
    cells = reader.store.rows("cells", ["topic_id", "is_summarized"], where)
    return cells.group_by("topic_id").agg(
        cell_count=pl.len().cast(pl.Int64), unsummarized_count=(~pl.col("is_summarized")).sum().cast(pl.Int64)
    )
