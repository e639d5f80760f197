"""Topics by a model that sees the new memories of a night together: what belongs to one matter becomes one topic.

The extractor names topics a page at a time and sees no other page; so its names for one matter differ, and one name
covers several. What the model leaves out, and what nobody answers for, goes by names and vectors (`cluster`).
"""

from collections.abc import Iterator

import numpy as np
import polars as pl

from slowwave.home.centroids import centroids
from slowwave.language.sentences import shortened
from slowwave.models.answers.write import GroupsAnswer
from slowwave.models.prompts import render
from slowwave.models.requests import Request
from slowwave.models.rows import page_rows
from slowwave.schemas.identity import stable_id
from slowwave.schemas.tables import OWNER, RAW_PROMPT
from slowwave.stages.asking import ask, author_columns, usable_answers
from slowwave.stages.run import Stage
from slowwave.stages.topics.topic_clusters import free_id
from slowwave.stages.topics.topic_names import normalized
from slowwave.store import col
from slowwave.trust.origins import is_anybodys

FILED = pl.Schema({"cell_id": pl.String, "topic_id": pl.String})
"""Memories with the topics that they were filed into."""

_TOPIC = ["topic_id", *OWNER, "name", "cell_count", "centroid"]


def group(run: Stage, cells: pl.DataFrame) -> pl.DataFrame:
    """Have the model file new memories into topics there are, and into new ones; returns those filed, as `FILED`.

    `cells` has `cell_id`, the owner, `content`, `origin`, `prompt_version`, `event_time`. Pages of an owner are asked
    one after the other: each sees the topics that the one before opened.
    """
    filed = pl.DataFrame(schema=FILED)
    told = cells.filter((pl.col("prompt_version") != RAW_PROMPT) & ~is_anybodys())
    if run.workspace.llm is None or told.height < run.settings.topics.group_from:
        return filed
    topics = run.store.rows("topics", _TOPIC, col("merged_into").is_null())
    for page in _pages(told, run.settings.topics.group_memories):
        own = topics.join(page.head(1), on=OWNER, how="semi")
        shown = _nearest_topics(run, page, own)
        answers = usable_answers(GroupsAnswer, [page], ask(run, [_request(run, page, shown)], work="topics"))
        run.reject("filed by the names they came with", 0 if answers else page.height)
        for _, answer, author in answers:
            assigned, opened = groups_of(answer, page, shown, own, taken=set(topics["topic_id"]))
            run.show(opened.select(pl.format("new topic: {}", "name")).to_series())
            run.commit(
                {
                    "topic.opened": opened.with_columns(author_columns(**author)),
                    "cell.assigned": assigned.with_columns(similarity=pl.lit(None, dtype=pl.Float64)),
                }
            )
            topics = _grown(run, topics, assigned, opened)
            filed = pl.concat([filed, assigned])
    if filed.height:
        run.refresh_vectors()  # the centroids by which the rest is placed
    return filed


def _pages(cells: pl.DataFrame, size: int) -> Iterator[pl.DataFrame]:
    """Pages of one owner each, in the order of time, with `number`."""
    ordered = cells.sort(*OWNER, "event_time", "cell_id")
    for own in ordered.partition_by(OWNER, maintain_order=True):
        for page in own.iter_slices(size):
            yield page.with_row_index("number", offset=1)


def _grown(run: Stage, topics: pl.DataFrame, assigned: pl.DataFrame, opened: pl.DataFrame) -> pl.DataFrame:
    """The topics after a page: with its memories counted, and the new ones, which have their centroids already."""
    counts = assigned.group_by("topic_id").agg(added=pl.len().cast(pl.Int64))
    placed = assigned.join(run.store.vectors("cells", assigned["cell_id"]), on="cell_id", how="inner")
    means = centroids(placed).rename({"vector": "centroid"})
    new = opened.join(means, on="topic_id", how="left", maintain_order="left")
    grown = pl.concat([topics, new], how="diagonal").join(
        counts, on="topic_id", how="left", maintain_order="left"
    )
    return grown.with_columns(pl.sum_horizontal("cell_count", "added").alias("cell_count")).drop("added")


def _nearest_topics(run: Stage, page: pl.DataFrame, topics: pl.DataFrame) -> pl.DataFrame:
    """The topics shown beside a page, with `number`: those nearest to any of its memories, else the largest."""
    most = run.settings.topics.group_topics
    if topics.height > most:
        placed, vectors = topics.drop_nulls("centroid"), run.store.vectors("cells", page["cell_id"])
        if placed.height and vectors.height:
            near = (placed["centroid"].to_numpy() @ vectors["vector"].to_numpy().T).max(axis=1)
            topics = placed.with_columns(near=pl.Series(near.astype(np.float64))).sort(
                "near", "topic_id", descending=[True, False]
            )
        else:
            topics = topics.sort("cell_count", "topic_id", descending=[True, False])
    shown = topics.head(most).sort("name", "topic_id")
    return shown.select("topic_id", "name", "cell_count").with_row_index("number", offset=1)


def _request(run: Stage, page: pl.DataFrame, shown: pl.DataFrame) -> Request:
    texts = page.select("number", text=shortened(pl.col("content"), run.settings.topics.group_words))
    prompt = render(
        "group_memories",
        topics=page_rows(shown.select("number", "name", "cell_count")),
        memories=page_rows(texts),
    )
    numbers = {"page_numbers": set(page["number"]), "topic_numbers": set(shown["number"])}
    return Request(prompt, GroupsAnswer, numbers)


def groups_of(
    answer: GroupsAnswer, page: pl.DataFrame, shown: pl.DataFrame, topics: pl.DataFrame, *, taken: set[str]
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The groups of an answer: `cell_id` and `topic_id` of the page's memories, and the new topics with name and owner.

    A new topic that bears the name of one there is (`topics`: `topic_id`, `name`), or of another group, is that one.
    Ids come from the first memory of a group; `taken` are ids in use.
    """
    ids, cells = (
        dict(shown.select("number", "topic_id").rows()),
        dict(page.select("number", "cell_id").rows()),
    )
    known = dict(topics.sort("topic_id", descending=True).select(normalized("name"), "topic_id").rows())
    names = pl.DataFrame({"name": [one.name for one in answer.groups]}, schema={"name": pl.String})
    assigned, opened = list[tuple[str, str]](), list[tuple[str, str]]()
    for one, key in zip(answer.groups, names.select(normalized("name")).to_series(), strict=True):
        members = [cells[number] for number in one.memories]
        topic_id = ids[one.topic] if one.topic else known.get(key)
        if topic_id is None:
            topic_id = free_id(stable_id("topic", min(members)), {*taken, *known.values()})
            known[key] = topic_id
            opened.append((topic_id, one.name))
        assigned += [(cell_id, topic_id) for cell_id in members]
    owner = page.select(OWNER).head(1)
    return (
        pl.DataFrame(assigned, schema=FILED, orient="row").sort("cell_id"),
        pl.DataFrame(opened, schema={"topic_id": pl.String, "name": pl.String}, orient="row")
        .join(owner, how="cross")
        .sort("topic_id"),
    )
