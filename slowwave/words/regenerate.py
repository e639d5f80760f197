"""A new generation of the store from a journal that was rewritten; vectors of texts that stayed are taken over."""

import shutil
from collections.abc import Collection

import polars as pl

from slowwave.schemas.events import encode
from slowwave.schemas.tables import KEYS, VECTOR_TEXT
from slowwave.store import EMBEDDER_OF, Store, col, create_store, lit
from slowwave.topic_counts import topic_counts
from slowwave.words.desk import Desk, apply_committed, embed

WHY = "a person erased what it was written from"


def regenerate(work: Desk, topic_ids: Collection[str], chunk_ids: Collection[str]) -> list[str]:
    """Makes the store anew, takes the summaries of these topics away, and removes every other generation.

    The chunks named go back to work: what is left of them was in a memory that went.

    Returns the topics that wait for a new summary. `work.store` is the new generation afterwards.
    """
    living = work.store
    fresh = create_store(
        living.root, embedder_id=living.meta.embedder_id, dims=living.meta.dims, make_current=False
    )
    try:
        apply_committed(work.home, fresh)
        _take_over_vectors(living, fresh)
        topics = _flag(work, fresh, topic_ids, chunk_ids)
        embed(fresh, work.embedder)
        fresh.make_current()
    finally:
        if not fresh.is_current():
            fresh.discard()
    for folder in fresh.root.glob("g-*"):
        if folder.name != fresh.name:
            shutil.rmtree(folder, ignore_errors=True)
    work.store = fresh
    return topics


def _flag(work: Desk, store: Store, topic_ids: Collection[str], chunk_ids: Collection[str]) -> list[str]:
    """Commits that topics lost memories: they are counted again, and answer by their memories until a new summary."""
    known = store.by_key("topics", topic_ids, ["topic_id"])
    live = store.rows(
        "cells",
        ["cell_id", "topic_id"],
        col("topic_id").isin(known["topic_id"].to_list()) & (col("status") == lit("active")),
    )
    by_topic = live.sort("cell_id").group_by("topic_id").agg(cell_ids=pl.col("cell_id"))
    emptied = (
        known.join(by_topic, on="topic_id", how="left")
        .with_columns(pl.col("cell_ids").fill_null([]), reason=pl.lit(WHY))
        .sort("topic_id")
    )
    counted = topic_counts(store, known["topic_id"].to_list(), {}, unsummarized=known["topic_id"].to_list())
    waiting = store.by_key("chunks", chunk_ids, ["chunk_id"])
    plan = {"topic.unsummarized": emptied, "topic.counted": counted, "chunk.released": waiting}
    events = [encode(kind, rows) for kind, rows in plan.items() if rows.height]
    if events:
        work.home.journal.commit(pl.concat(events), now=work.now)
    apply_committed(work.home, store)
    return known["topic_id"].sort().to_list()


def _take_over_vectors(living: Store, fresh: Store) -> None:
    for table, texts in VECTOR_TEXT.items():
        key = KEYS[table]
        missing = fresh.without_vector(table)[key]
        embedder = EMBEDDER_OF["vector"]
        names = [key, *texts]
        before = living.by_key(table, missing, [*names, embedder]).filter(pl.col(embedder) != "")
        after = fresh.by_key(table, missing, names)
        same = after.join(before, on=names, how="semi", nulls_equal=True)
        fresh.put_vectors(table, living.vectors(table, same[key]))
