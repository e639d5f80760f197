"""Topics by a model that reads the new memories of a night together, and the parts of a topic that grew too large.

The extractor names topics a page at a time and sees no other page, so its names for one subject differ, and one name
covers several subjects.
"""

import numpy as np
import polars as pl
from pandera.typing.polars import DataFrame

from slowwave.language.text import plain_value, shortened
from slowwave.models.answers.write import GroupsAnswer
from slowwave.models.prompts import render
from slowwave.models.requests import Request
from slowwave.models.rows import page_rows
from slowwave.schemas.tables import OWNER, RAW_PROMPT
from slowwave.store import col
from slowwave.trust.origins import is_anybodys
from tasks.ask import Answered, Model
from tasks.cluster.cluster import Filed, KnownTopics, NewCells, living
from tasks.cluster.names import founded_id
from tasks.extractive import brief
from tasks.frames import Frame
from tasks.step import Readable, step

GROUP_MEMORIES = 300
"""New memories on a page: of `GROUP_WORDS` words each they are about 7,500 tokens; `llm.context_tokens` has 12,288."""

GROUP_TOPICS = 80
"""Topics shown on a page, nearest first."""

GROUP_WORDS = 18
"""Words of a memory on a page: enough to say what it is about."""


class ShownTopics(Frame):
    """The topics on a page, with their numbers there."""

    number: int
    topic_id: str
    name: str
    cell_count: int


@step
def find_pages(reader: Readable, cells: DataFrame[NewCells]) -> list[DataFrame[NewCells]]:
    """Pages of one owner each, in the order of time: what a model read before, and somebody answers for."""
    readable = cells.filter((pl.col("prompt_version") != RAW_PROMPT) & ~is_anybodys())
    return _pages(readable)


@step
def find_nearest_topics(
    reader: Readable, page: DataFrame[NewCells], topics: DataFrame[KnownTopics]
) -> DataFrame[ShownTopics]:
    """The topics shown beside a page: those nearest to any of its memories, else the largest."""
    own = living(topics).join(page.head(1), on=OWNER, how="semi")
    if own.height > GROUP_TOPICS:
        own = own.sort("cell_count", "topic_id", descending=[True, False])
        centres = reader.store.rows("topics", ["topic_id", "centroid"], col("centroid").is_not_null())
        placed = own.join(centres, on="topic_id", how="inner", maintain_order="left")
        vectors = reader.store.vectors("cells", page["cell_id"])
        if placed.height and vectors.height:
            near = (placed["centroid"].to_numpy() @ vectors["vector"].to_numpy().T).max(axis=1)
            own = placed.with_columns(near=pl.Series(near.astype(np.float64))).sort(
                "near", "topic_id", descending=[True, False]
            )
    ordered = own.head(GROUP_TOPICS).sort("name", "topic_id").with_row_index("number", offset=1)
    return ShownTopics.of(ordered.cast({"number": pl.Int64}))


@step
def ask_groups(
    model: Model,
    page: DataFrame[NewCells],
    shown: DataFrame[ShownTopics],
    topics: DataFrame[KnownTopics],
) -> DataFrame[Filed]:
    """The memories of a page that the model filed; none without a usable answer."""
    numbered = page.with_row_index("number", offset=1)
    texts = numbered.select("number", text=pl.coalesce(brief(), shortened(pl.col("content"), GROUP_WORDS)))
    topics_shown = page_rows(shown.select("number", "name", "cell_count"))
    prompt = render("group_memories", topics=topics_shown, memories=page_rows(texts))
    numbers = {"page_numbers": set(numbered["number"]), "topic_numbers": set(shown["number"])}
    said = model.ask(GroupsAnswer, {"": Request(prompt, GroupsAnswer, numbers)}, work="topics").get("")
    return groups_of(said, numbered, shown, topics) if said else Filed.empty()


@step
def ask_parts(model: Model, members: DataFrame[NewCells], topics: DataFrame[KnownTopics]) -> DataFrame[Filed]:
    """The parts of one topic, by the same prompt over its oldest memories, shown no topics."""
    pages = _pages(members.filter(~is_anybodys()))
    return ask_groups(model, pages[0], ShownTopics.empty(), topics) if pages else Filed.empty()


def groups_of(
    said: Answered[GroupsAnswer], page: pl.DataFrame, shown: pl.DataFrame, topics: pl.DataFrame
) -> DataFrame[Filed]:
    """The groups of an answer about a page of one owner; `page` and `shown` have `number`.

    A new topic that has the name of a topic there is, or of another group, is that one.
    """
    cells = dict(page.select("number", "cell_id").rows())
    ids, taken = dict(shown.select("number", "topic_id").rows()), set(topics["topic_id"])
    own = living(topics).join(page.head(1), on=OWNER, how="semi").sort("topic_id", descending=True)
    known = dict(own.select(plain_value(pl.col("name")), "topic_id").rows())
    groups = pl.DataFrame({"name": [one.name for one in said.answer.groups]}, schema={"name": pl.String})
    opened, rows = dict[str, str](), list[tuple[str, str]]()
    for one, key in zip(
        said.answer.groups, groups.select(plain_value(pl.col("name"))).to_series(), strict=True
    ):
        members = [cells[number] for number in one.memories]
        topic_id = ids[one.topic] if one.topic else known.get(key)
        if topic_id is None:
            topic_id = founded_id(min(members), {*taken, *opened})
            known[key], opened[topic_id] = topic_id, one.name
        rows += [(cell_id, topic_id) for cell_id in members]
    filed = pl.DataFrame(rows, schema={"cell_id": pl.String, "topic_id": pl.String}, orient="row")
    return Filed.of(
        filed.join(page.select("cell_id", *OWNER), on="cell_id")
        .with_columns(
            similarity=pl.lit(None, pl.Float64),
            name=pl.col("topic_id").replace_strict(opened, default=None, return_dtype=pl.String),
            prompt_version=pl.lit(said.prompt_version),
            model=pl.lit(said.model),
        )
        .sort("cell_id")
    )


# Inside


def _pages(cells: pl.DataFrame) -> list[DataFrame[NewCells]]:
    ordered = cells.sort(*OWNER, "event_time", "cell_id")
    return [
        NewCells.of(page)
        for own in ordered.partition_by(OWNER, maintain_order=True)
        for page in own.iter_slices(GROUP_MEMORIES)
    ]
