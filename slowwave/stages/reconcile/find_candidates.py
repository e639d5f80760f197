"""The search for candidates: which known memories a judge should see beside a memory.

Nothing is decided here. What a list finds is a reason to look, never a reason to drop.
"""

import numpy as np
import polars as pl

from slowwave.language.text import full_text_queries
from slowwave.schemas.choices import EPISODE
from slowwave.schemas.tables import OWNER
from slowwave.stages.reconcile.candidates import fuse_candidates
from slowwave.stages.run import Stage
from slowwave.store import col, lit, same_owner

WHOLE_WORDS, TELLING_WORDS = 64, 24
"""Full-text search looks for every word of a memory with at most so many different ones, and for so many telling ones
of a longer one. From windows of a conversation the telling ones found more of the statements that others update
than the first 48 words did, at half the cost in a large store."""

CANDIDATES = {"cell_id": pl.String, "target_id": pl.String, "score": pl.Float64, "similarity": pl.Float64}
"""Columns of candidates, best first within a cell; `similarity` is null where only the words matched."""


def find_candidates(run: Stage, new: pl.DataFrame, *, k: int | None = None) -> pl.DataFrame:
    """The k best candidates of each memory among the living and the archived of its owner, by hybrid search."""
    k = k or run.settings.reconcile.neighbours
    if new.is_empty():
        return pl.DataFrame(schema=CANDIDATES)
    if not run.report.dry_run:
        run.store.index_if_stale("cells")  # each query would read every new text otherwise
    nothing = {"query_index": pl.Int64, "cell_id": pl.String, "similarity": pl.Float64}
    found = []
    for owner in new.partition_by(OWNER, maintain_order=True):
        queries = owner.select("cell_id").with_row_index("query_index").cast({"query_index": pl.Int64})
        judgeable = col("status").isin(["active", "archived"]) & (col("cell_type") != lit(EPISODE))
        where = judgeable & same_owner(owner)
        near = pl.DataFrame(schema=nothing)
        vectors = run.store.vectors("cells", owner["cell_id"])
        if vectors.height:
            placed = queries.join(vectors, on="cell_id", how="inner", maintain_order="left")
            sought = placed["vector"].to_numpy().astype(np.float32)
            # one pass for all queries costs less than the index does for each, and no state of an index changes pages
            near = run.store.nearest("cells", sought, 2 * k, where=where, exact=True)
            near = near.with_columns(placed["query_index"].gather(near["query_index"]))
        texts = full_text_queries(owner["content"], whole=WHOLE_WORDS, most=TELLING_WORDS)
        matching = run.store.matching("cells", texts, 2 * k, where=where)
        found.append(
            fuse_candidates(queries, near, matching, k=k, rank_constant=run.settings.search.rank_constant)
        )
    return pl.concat(found)


def near_threshold(run: Stage) -> float:
    """Similarity from which a pair is worth a judgement; nothing is near without an embedder."""
    return run.workspace.embedder.profile.near_threshold if run.workspace.embedder else 1.0
