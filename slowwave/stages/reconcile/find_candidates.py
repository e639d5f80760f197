"""The search for candidates: which known memories a judge should see beside a memory.

Nothing is decided here. What a list finds is a reason to look, never a reason to drop.
"""

import polars as pl

from slowwave.language.text import full_text_queries
from slowwave.lifecycle.order import PAIR
from slowwave.schemas.choices import EPISODE
from slowwave.schemas.tables import OWNER
from slowwave.stages.nearest import nearest_of_owner
from slowwave.stages.reconcile.candidates import best_of_later, fuse_candidates
from slowwave.stages.reconcile.pairs import judged_pairs
from slowwave.stages.reconcile.related import SHOWN_FACTS, TOLD_FACTS, related, word_weights
from slowwave.stages.run import Stage
from slowwave.store import Expr, col, lit, same_owner

WHOLE_WORDS, TELLING_WORDS = 64, 24
"""Full-text search looks for every word of a memory with at most so many different ones, and for so many telling ones
of a longer one. From windows of a conversation the telling ones found more of the statements that others update
than the first 48 words did, at half the cost in a large store."""

SAMPLE = 5_000
"""Memories whose words are counted: those with the first ids, which are hashes, so that it is a fair sample."""

CANDIDATES = {"cell_id": pl.String, "target_id": pl.String, "score": pl.Float64, "similarity": pl.Float64}
"""Columns of candidates, best first within a cell; `similarity` is null where only the words matched."""

JUDGEABLE = col("status").isin(["active", "archived"]) & (col("cell_type") != lit(EPISODE))
"""Memories that a judge may be shown."""


def find_candidates(run: Stage, new: pl.DataFrame, *, k: int | None = None) -> pl.DataFrame:
    """The candidates of each memory among the living and the archived of its owner: near ones about the same.

    `k` bounds the neighbours that are looked at, and the candidates of a memory; the settings do where it is None.
    """
    settings = run.settings.reconcile
    if new.is_empty():
        return pl.DataFrame(schema=CANDIDATES)
    if not run.report.dry_run:
        run.store.index_if_stale("cells")  # each query would read every new text otherwise
    vectors = run.store.vectors("cells", new["cell_id"])
    found = []
    for owner in new.partition_by(OWNER, maintain_order=True):
        where = JUDGEABLE & same_owner(owner)
        neighbours = _neighbours(run, owner, vectors, where, k=k or settings.neighbours)
        noted = _noted(run, owner["cell_id"])
        pairs = pl.concat([noted, neighbours]).unique(PAIR, keep="first", maintain_order=True)
        cells = run.store.by_key("cells", pl.concat([pairs[name] for name in PAIR]), [*TOLD_FACTS, "status"])
        standing = cells.filter(pl.col("status") != "superseded")
        sample = run.store.rows("cells", SHOWN_FACTS, where).sort("cell_id").head(SAMPLE)
        near = related(
            pairs,
            standing,
            word_weights(sample),
            near_words=settings.near_words,
            near_vectors=near_threshold(run),
        )
        found.append(best_of_later(near, owner, k=k or settings.shown_candidates))
    return pl.concat(found)


def _neighbours(
    run: Stage, owner: pl.DataFrame, vectors: pl.DataFrame, where: Expr, *, k: int
) -> pl.DataFrame:
    """The k nearest of each memory of one owner by hybrid search: `CANDIDATES` and `is_noted`, which is false."""
    queries = owner.select("cell_id").with_row_index("query_index").cast({"query_index": pl.Int64})
    placed = owner.select("cell_id", *OWNER).join(
        vectors.select("cell_id", "vector"), on="cell_id", how="inner", maintain_order="left"
    )
    # one pass for all queries costs less than the index does for each, and no state of an index changes pages
    near = nearest_of_owner(run.store, "cells", placed, k=2 * k, where=where)
    near = near.join(queries, on="cell_id", how="inner", maintain_order="left")
    texts = full_text_queries(owner["content"], whole=WHOLE_WORDS, most=TELLING_WORDS)
    matching = run.store.matching("cells", texts, 2 * k, where=where)
    fused = fuse_candidates(
        queries,
        near.select("query_index", "similarity", cell_id="target_id"),
        matching,
        k=k,
        rank_constant=run.settings.search.rank_constant,
    )
    return fused.with_columns(is_noted=pl.lit(value=False))


def _noted(run: Stage, cell_ids: pl.Series) -> pl.DataFrame:
    """Pairs of these memories that were noted and wait for a judge (`CANDIDATES`, `is_noted`): the extractor's."""
    waiting = judged_pairs(run, cell_ids, "verdict").filter(pl.col("verdict") == "unjudged").select(PAIR)
    turned = waiting.select(cell_id="target_id", target_id="cell_id")
    both = pl.concat([waiting, turned]).filter(pl.col("cell_id").is_in(cell_ids.implode()))
    return both.unique(maintain_order=True).select(
        *PAIR,
        score=pl.lit(1.0),
        similarity=pl.lit(None, dtype=pl.Float64),
        is_noted=pl.lit(value=True),
    )


def near_threshold(run: Stage) -> float:
    """Similarity from which a pair is worth a judgement; nothing is near without an embedder."""
    return run.workspace.embedder.profile.near_threshold if run.workspace.embedder else 1.0
