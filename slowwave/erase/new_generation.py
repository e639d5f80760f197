"""A new generation of the store from a journal that was rewritten; vectors of texts that stayed are taken over."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime

import polars as pl

from slowwave.edits.chain_repair import told_anew
from slowwave.erase.plan import ErasurePlan
from slowwave.home.entities import resolved_names
from slowwave.home.vectors import take_over_vectors
from slowwave.home.workspace import Workspace
from slowwave.journal.catalogue import rows_of
from slowwave.recording.folding import embed
from slowwave.store import col, create_beside, filling, lit, remove_damaged

WHY = "a person erased what it was written from"


def regenerate(work: Workspace, plan: ErasurePlan) -> list[str]:
    """Makes the store anew, sets right what the erased memories leave behind, and removes every other generation.

    Returns the topics that wait for a new summary. `work.store` is the new generation afterwards.
    """
    with new_generation(work) as renewed:
        fresh = renewed.store
        renewed.commit_plan(
            {
                kind: rows_of(kind, [place.model_dump() for place in places])
                for kind, places in (("cell.superseded", plan.superseded), ("cell.merged", plan.merged))
            }
            | resolved_names(fresh, plan.families)
        )
        renewed.commit_plan({"cell.succeeded": told_anew(fresh, plan.successors)})
        return _flag(renewed, plan)


@contextmanager
def new_generation(work: Workspace) -> Iterator[Workspace]:
    """A workspace over a new generation, folded from the journal, with the vectors of texts that stayed.

    When the block ends, missing vectors are computed, readers are switched to it, and every other generation goes;
    `work.store` is the new one then. Cut off, the living generation stays.
    """
    living = work.store
    with filling(create_beside(living)) as fresh:
        renewed = replace(work, store=fresh)
        renewed.apply_all()
        take_over_vectors(living, fresh)
        yield renewed
        embed(renewed)
        fresh.make_current()
    for folder in fresh.root.glob("g-*"):
        if folder.name != fresh.name:
            shutil.rmtree(folder, ignore_errors=True)
    remove_damaged(fresh.root, until=datetime.max.replace(tzinfo=UTC))
    work.store, work.last_segment = fresh, renewed.last_segment


def _flag(work: Workspace, plan: ErasurePlan) -> list[str]:
    """Commits that topics lost memories: they are counted again, and answer by their memories until a new summary."""
    store = work.store
    known = store.by_key("topics", plan.topic_ids, ["topic_id"])
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
    waiting = store.by_key("chunks", plan.waiting_chunk_ids, ["chunk_id"])
    work.commit_plan({"topic.unsummarized": emptied, "chunk.released": waiting})
    return known["topic_id"].sort().to_list()
