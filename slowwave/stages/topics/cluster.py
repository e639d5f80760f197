"""The cluster stage. What looks at everything reads centroids alone; only what changed is written."""

import polars as pl

from slowwave.embeddings import load_profile
from slowwave.home.topic_counts import topic_counts
from slowwave.language.text import without_speakers
from slowwave.schemas.choices import EPISODE
from slowwave.schemas.tables import OWNER, RAW_PROMPT
from slowwave.stages.run import Stage
from slowwave.stages.topics.topic_names import name_topics
from slowwave.stages.topics.topic_upkeep import merge_topics, split_topics
from slowwave.stages.topics.topics import assign_hinted_topics, assign_topics
from slowwave.stages.topics.topics_by_text import assign_topics_by_text
from slowwave.store import col, lit

SPLIT_MIN_CELLS = 12
"""A topic smaller than this is never split."""


def find_unassigned(run: Stage) -> pl.DataFrame:
    """Active memories without a topic."""
    columns = ["cell_id", *OWNER, "topic_hint", "content", "prompt_version"]
    living = (col("status") == lit("active")) & (col("cell_type") != lit(EPISODE))
    cells = run.store.rows("cells", columns, living & col("topic_id").is_null()).sort("cell_id")
    run.report.rows_in = cells.height
    return cells.with_columns(without_speakers(pl.col("content")).alias("content"))


def assign(run: Stage, cells: pl.DataFrame) -> set[str]:
    """Joins memories to topics and opens new ones; returns the topics that changed."""
    is_raw = pl.col("prompt_version") == RAW_PROMPT
    extracted, raw = cells.filter(~is_raw), cells.filter(is_raw)
    assigned = pl.concat([_assign(run, extracted, is_raw=False), _assign(run, raw, is_raw=True)])
    run.reject("waits for its vector", cells.height - assigned.height)
    opened = _opened(assigned.filter("is_new_topic").join(cells, on="cell_id", how="inner"))
    run.show(opened.select(pl.format("new topic: {}", "name")).to_series())
    run.commit({"topic.opened": opened, "cell.assigned": assigned.sort("cell_id")})
    return set(assigned["topic_id"])


def _assign(run: Stage, cells: pl.DataFrame, *, is_raw: bool) -> pl.DataFrame:
    """A topic for each memory, by hint and vector where there is an embedder, else by hint and words."""
    embedder = run.workspace.embedder
    if embedder is None:
        run.note("no embedder: topics by hint and by words")
        known = _living_topics(run, "name", "summary").rename({"summary": "text"})
        return assign_topics_by_text(cells, known, threshold=load_profile("lexical").topic_threshold)
    placed = cells.join(run.store.vectors("cells", cells["cell_id"]), on="cell_id", how="inner")
    topics = _with_centroids(run)
    by_vector = assign_topics if is_raw else assign_hinted_topics
    return by_vector(placed, topics, threshold=embedder.profile.mean_topic_threshold)


def _living_topics(run: Stage, *columns: str) -> pl.DataFrame:
    return run.store.rows("topics", ["topic_id", *OWNER, *columns], col("merged_into").is_null())


def _with_centroids(run: Stage) -> pl.DataFrame:
    """Living topics with `name`, `cell_count` and their centroid as `vector`."""
    topics = _living_topics(run, "name", "cell_count", "centroid")
    return topics.drop_nulls("centroid").rename({"centroid": "vector"})


def merge(run: Stage, touched: set[str]) -> set[str]:
    """Merges near-identical topics, the touched ones among them; returns the topics that changed."""
    embedder = run.workspace.embedder
    if embedder is None or run.report.dry_run:
        return set()
    topics = _with_centroids(run)
    merged = merge_topics(topics, touched, threshold=embedder.profile.merge_threshold)
    members = run.store.rows(
        "cells", ["cell_id", "topic_id"], col("topic_id").isin(merged["topic_id"].to_list())
    )
    moved = members.join(merged, on="topic_id", how="inner").select(
        "cell_id", topic_id="merged_into", similarity=pl.lit(None, dtype=pl.Float64)
    )
    names = dict(topics.select("topic_id", "name").iter_rows())
    named = [pl.col(name).replace(names) for name in ("topic_id", "merged_into")]
    run.show(merged.select(pl.format("topic merged: {} into {}", *named)).to_series())
    run.commit({"topic.merged": merged, "cell.assigned": moved.sort("cell_id")})
    return {*merged["topic_id"], *merged["merged_into"]}


def split(run: Stage, touched: set[str]) -> set[str]:
    """Splits touched topics that fell apart; returns the new ones."""
    embedder = run.workspace.embedder
    if embedder is None or run.report.dry_run or not touched:
        return set()
    where = col("topic_id").isin(sorted(touched)) & (col("status") == lit("active"))
    members = run.store.rows(
        "cells", ["cell_id", "topic_id", "topic_hint", "content", *OWNER, "vector"], where
    )
    leaving = split_topics(
        members.drop_nulls("vector"),
        split_threshold=embedder.profile.split_threshold,
        min_cells=SPLIT_MIN_CELLS,
    )
    opened = _opened(members.drop("topic_id").join(leaving, on="cell_id", how="inner"))
    run.show(opened.select(pl.format("topic split off: {}", "name")).to_series())
    moved = leaving.with_columns(similarity=pl.lit(None, dtype=pl.Float64))
    run.commit({"topic.opened": opened, "cell.assigned": moved})
    return set(leaving["topic_id"])


def _opened(founders: pl.DataFrame) -> pl.DataFrame:
    """New topics with their names and owners, from the memories that founded them."""
    owners = founders.select("topic_id", *OWNER).unique("topic_id")
    return name_topics(founders).join(owners, on="topic_id", how="inner").sort("topic_id")


def count_topics(run: Stage, touched: set[str]) -> None:
    """Counts the live and the unsummarized cells of topics that changed."""
    if not run.report.dry_run:
        run.commit({"topic.counted": topic_counts(run.store, touched, {})})


def find_miscounted(run: Stage) -> set[str]:
    """Topics whose count is not that of their living memories: a run was cut off before it had counted them."""
    topics = _living_topics(run, "cell_count")
    active = run.store.rows("cells", ["topic_id"], col("status") == lit("active"))
    living = active.group_by("topic_id").agg(living=pl.len().cast(pl.Int64))
    counts = topics.join(living, on="topic_id", how="left").with_columns(pl.col("living").fill_null(0))
    return set(counts.filter(pl.col("cell_count") != pl.col("living"))["topic_id"])
