"""Keeps out what a person deleted, also where it is said in other words.

Similarity finds which deleted memories a new one could repeat; a language model decides, and a strict rule where there
is none. A chunk whose question the model did not answer stays pending: an outage brings nothing back.
"""

from typing import cast

import numpy as np
import polars as pl

from slowwave.errors import InputError, OutputError
from slowwave.models.answers.extract import TombstoneAnswer
from slowwave.models.prompts import render
from slowwave.models.requests import Request
from slowwave.models.rows import page_rows
from slowwave.schemas.tables import OWNER
from slowwave.stages.asking import ask
from slowwave.stages.extract.tombstones import said_again, without_deleted
from slowwave.stages.nearest import nearest_of_owner
from slowwave.stages.run import Stage

KEPT_OUT = "deleted by a person"
WAITS = "waits: perhaps deleted by a person"

PAIR = pl.Schema({"cell_id": pl.String, "content": pl.String, "deleted": pl.String, "similarity": pl.Float64})
"""A new cell and the text of a deleted one."""


def without_deleted_turns(run: Stage, chunks: pl.DataFrame, turns: pl.DataFrame) -> pl.DataFrame:
    """Turns of raw memories without those that a person deleted word by word."""
    dead = run.store.rows("tombstones", [*OWNER, "content"]).drop_nulls("content")
    if dead.is_empty():
        return turns
    owned = turns.join(chunks.select("chunk_id", *OWNER), on="chunk_id", how="inner", maintain_order="left")
    kept = without_deleted(owned, dead, owner=OWNER).select(turns.columns)
    run.reject(KEPT_OUT, turns.height - kept.height)
    return kept


def keep_out_deleted(run: Stage, cells: pl.DataFrame) -> tuple[pl.DataFrame, set[str]]:
    """Cells without those that a person deleted, and the chunks that wait for the model's word about one.

    Cells of waiting chunks are left out too.
    """
    dead = run.store.rows("tombstones", ["cell_id", *OWNER, "content_hash", "content"])
    exact = cells.join(dead, on=[*OWNER, "content_hash"], how="anti", maintain_order="left")
    exact = exact.join(dead, on="cell_id", how="anti", maintain_order="left")
    run.reject(KEPT_OUT, cells.height - exact.height)
    pairs = _candidates(run, exact, dead.drop_nulls("content"))
    if pairs.is_empty():
        return exact, set()
    same, undecided = _judged(run, pairs) if run.workspace.llm is not None else (_by_rule(run, pairs), set())
    chunks = set(exact.filter(pl.col("cell_id").is_in(sorted(undecided)))["chunk_id"].drop_nulls())
    run.reject(KEPT_OUT, len(same))
    run.reject(WAITS, len(undecided))
    out = pl.col("cell_id").is_in(sorted(same)) | pl.col("chunk_id").is_in(sorted(chunks))
    return exact.filter(~out.fill_null(value=False)), chunks


def _candidates(run: Stage, cells: pl.DataFrame, dead: pl.DataFrame) -> pl.DataFrame:
    """Pairs of a new cell and a deleted one that it could repeat (`PAIR`), nearest first."""
    asked = cells.join(dead, on=OWNER, how="semi", maintain_order="left")
    if asked.is_empty():
        return pl.DataFrame(schema=PAIR)
    pairs = asked.select("cell_id", "content", *OWNER).join(dead.select(*OWNER, deleted="content"), on=OWNER)
    again = pairs.filter(_is_again(run)).select(*PAIR.names()[:3], similarity=pl.lit(1.0))
    found = pl.concat([again, _near(run, asked, dead)])
    ordered = found.sort("cell_id", "similarity", "deleted", descending=[False, True, False])
    distinct = ordered.unique(["cell_id", "deleted"], keep="first", maintain_order=True)
    return distinct.group_by("cell_id", maintain_order=True).head(run.settings.edits.tombstones_a_memory)


def _is_again(run: Stage) -> pl.Expr:
    return said_again("content", "deleted", same_words=run.settings.edits.same_words)


def _near(run: Stage, cells: pl.DataFrame, dead: pl.DataFrame) -> pl.DataFrame:
    """The deleted memories nearest to cells of their owner, from the embedder's threshold for near pairs on."""
    embedder = run.workspace.embedder
    if embedder is None:
        return pl.DataFrame(schema=PAIR)
    vectors = np.asarray(embedder.embed_documents(cells["content"].to_list()).vectors)
    asked = cells.select("cell_id", *OWNER, "content", pl.Series("vector", vectors))
    near = nearest_of_owner(run.store, "tombstones", asked, k=run.settings.edits.tombstones_a_memory)
    return (
        near.filter(pl.col("similarity") >= embedder.profile.near_threshold)
        .join(asked, on="cell_id", how="inner")
        .join(dead.select(target_id="cell_id", deleted="content"), on="target_id", how="inner")
        .select(PAIR.names())
    )


def _by_rule(run: Stage, pairs: pl.DataFrame) -> set[str]:
    return set(pairs.filter(_is_again(run))["cell_id"])


def _judged(run: Stage, pairs: pl.DataFrame) -> tuple[set[str], set[str]]:
    """Cells that the model calls the same as a deleted one, and cells that it was not able to judge."""
    pages = pairs.partition_by("cell_id", maintain_order=True)
    requests = [
        Request(
            render(
                "judge_tombstone",
                content=page["content"][0],
                deleted=page_rows(page.select(content="deleted")),
            ),
            TombstoneAnswer,
            {"page_numbers": set(range(1, page.height + 1))},
        )
        for page in pages
    ]
    same: set[str] = set()
    undecided: set[str] = set()
    for page, outcome in zip(pages, ask(run, requests, work="tombstones"), strict=True):
        cell_id = str(page["cell_id"][0])
        if outcome.answer is not None:
            same |= {cell_id} if cast("TombstoneAnswer", outcome.answer).same_as else set()
        elif isinstance(outcome.error, OutputError | InputError):
            same |= _by_rule(run, page)
        else:
            undecided.add(cell_id)
    return same, undecided
