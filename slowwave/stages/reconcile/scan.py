"""The scan of older pairs: what nobody judged yet is found a few memories a night, and asked about a few pairs a night.

Pairs that wait are rows of `judgements` with the verdict `unjudged`: noted by nights without a language model, or by
this scan. So what a budget does not reach waits for the next night, and a pair with any other verdict is never asked
again. Ids of memories are hashes of their owner, session and text: a pair of ids is a pair of contents.
"""

from datetime import timedelta

import polars as pl

from slowwave.schemas.tables import OWNER
from slowwave.stages.reconcile.find_candidates import find_candidates
from slowwave.stages.reconcile.judge import without_waiting
from slowwave.stages.reconcile.older_pairs import PAIR, oriented, similarities, without_named, worth
from slowwave.stages.reconcile.settle import judgement_rows, near_threshold
from slowwave.stages.run import Stage
from slowwave.store import col, lit

SLICE = 10
"""Waiting pairs that are weighed for each one that may be asked: the oldest so many, whatever else waits."""

NOTHING = {"cell_id": pl.String, "target_id": pl.String, "similarity": pl.Float64, "score": pl.Float64}


def scan(run: Stage) -> None:
    """Looks at the neighbours of the memories longest not looked at, and notes near pairs that nobody judged."""
    most = run.settings.reconcile.scan_cells
    if most == 0 or run.workspace.embedder is None:
        return
    limit = run.now - timedelta(days=run.settings.reconcile.scan_days)
    columns = ["cell_id", "scanned_at"]
    due = (
        run.store.rows("judging", columns, col("scanned_at") <= lit(limit))
        .sort("scanned_at", "cell_id")
        .head(most)
    )
    if due.is_empty():
        return
    cells = run.store.by_key("cells", due["cell_id"])
    active = cells.filter((pl.col("status") == "active") & pl.col("is_judged"))
    found = find_candidates(run, active).filter(pl.col("similarity") >= near_threshold(run))
    targets = run.store.by_key("cells", found["target_id"])
    living = targets.filter((pl.col("status") == "active") & pl.col("is_judged"))
    everyone = pl.concat([active, living]).unique("cell_id")
    near = without_named(
        oriented(found.select(*PAIR, "similarity"), everyone), _named(run, everyone["cell_id"])
    )
    owned = near.join(everyone.select("cell_id", *OWNER), on="cell_id", how="inner", maintain_order="left")
    noted = owned.with_columns(
        verdict=pl.lit("unjudged"),
        effect=pl.lit("none"),
        reason=pl.format("similarity {}", pl.col("similarity").round(3)),
        prompt_version=pl.lit(None, dtype=pl.String),
        model=pl.lit(None, dtype=pl.String),
    )
    run.commit({"pair.judged": judgement_rows(noted), "cell.scanned": due.select("cell_id").sort("cell_id")})


def waiting_pairs(run: Stage) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The pairs that a judge is asked about tonight, with their later memories.

    Returns the later memories (rows of `cells`), and the pairs as candidates: `cell_id`, `target_id`, `similarity`,
    `score`. Those that wait longest come first; of these the most similar and most salient.
    """
    most = run.settings.reconcile.scan_pairs
    columns = ["judgement_id", *PAIR, "judged_at"]
    noted = run.store.rows("judgements", columns, col("verdict") == lit("unjudged"))
    oldest = noted.sort("judged_at", "judgement_id").head(most * SLICE)
    cells = run.store.by_key("cells", pl.concat([oldest["cell_id"], oldest["target_id"]]))
    living = cells.filter(pl.col("status") == "active")
    _drop_gone(run, oldest, cells)
    pairs = without_named(oriented(oldest, living), _doubted(run, living["cell_id"]))
    vectors = run.store.vectors("cells", pl.concat([pairs["cell_id"], pairs["target_id"]]))
    weighed = worth(similarities(pairs, vectors), living).sort(
        "judged_at", "score", "judgement_id", descending=[False, True, False]
    )
    fit = without_waiting(run, weighed)
    asked = fit.head(most).select(*NOTHING)
    run.reject(
        "older pairs wait for the next night", noted.height - oldest.height + fit.height - asked.height
    )
    return living.join(asked, on="cell_id", how="semi").sort("cell_id"), asked


def _drop_gone(run: Stage, noted: pl.DataFrame, cells: pl.DataFrame) -> None:
    """A waiting pair of which a side no longer stands needs no judgement."""
    standing = cells.filter(pl.col("status") != "superseded").select("cell_id")
    left = noted.join(standing, on="cell_id", how="semi").join(
        standing, left_on="target_id", right_on="cell_id", how="semi"
    )
    gone = noted.join(left, on="judgement_id", how="anti")["judgement_id"]
    rows = run.store.by_key("judgements", gone).drop("judgement_id")
    settled = rows.with_columns(verdict=pl.lit("keep"), reason=pl.lit("one of the two no longer stands"))
    run.commit({"pair.judged": judgement_rows(settled)})


def _named(run: Stage, cell_ids: pl.Series) -> pl.DataFrame:
    """Pairs with these memories that wait, were judged, or stand or stood in a contradiction."""
    parts = [run.store.having("judgements", name, cell_ids, PAIR) for name in PAIR]
    return pl.concat([*parts, _doubted(run, cell_ids)]).unique()


def _doubted(run: Stage, cell_ids: pl.Series) -> pl.DataFrame:
    doubted = run.store.having("contradictions", "cell_a", cell_ids, ["cell_a", "cell_b"])
    return doubted.select(cell_id="cell_b", target_id="cell_a")
