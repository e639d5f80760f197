"""Pairs of older memories that nobody judged yet: found for a few memories a night, judged a few pairs a night.

Pairs that wait are rows of `judgements` with the verdict `unjudged`: noted by nights without a language model, or by
`note_older_pairs`. So what a budget does not reach waits for the next night, and a pair with any other verdict is never
asked again. Ids of memories are hashes of their owner, session and text: a pair of ids is a pair of contents.
"""

from datetime import timedelta

import polars as pl

from slowwave.lifecycle.order import PAIR
from slowwave.schemas.tables import OWNER
from slowwave.stages.reconcile.find_candidates import CANDIDATES, find_candidates, near_threshold
from slowwave.stages.reconcile.judge import judge, without_waiting
from slowwave.stages.reconcile.judgements import commit_judgements
from slowwave.stages.reconcile.pairs import (
    contradicting_pairs,
    judged_pairs,
    judgement_rows,
    near_rows,
    oriented,
    with_score,
    with_similarity,
    without_named,
)
from slowwave.stages.run import Stage
from slowwave.store import col, lit

WEIGHED_A_PAIR = 10
"""Waiting pairs that are weighed for each one that may be asked: the oldest so many, whatever else waits."""


def note_older_pairs(run: Stage) -> None:
    """Looks at the neighbours of the memories longest not looked at, and notes near pairs that nobody judged."""
    most = run.settings.reconcile.scan_cells
    if most == 0 or run.workspace.embedder is None:
        return
    limit = run.now - timedelta(days=run.settings.reconcile.scan_days)
    due = (
        run.store.rows("judging", ["cell_id", "scanned_at"], col("scanned_at") <= lit(limit))
        .sort("scanned_at", "cell_id")
        .head(most)
    )
    if due.is_empty():
        return
    active = _judged(run, due["cell_id"])
    found = find_candidates(run, active).filter(pl.col("similarity") >= near_threshold(run))
    cells = pl.concat([active, _judged(run, found["target_id"])]).unique("cell_id")
    ids = cells["cell_id"]
    known = pl.concat([judged_pairs(run, ids), contradicting_pairs(run, ids)]).unique()
    near = without_named(oriented(found.select(*PAIR, "similarity"), cells), known).join(
        cells.select("cell_id", *OWNER), on="cell_id", how="inner", maintain_order="left"
    )
    run.commit({"pair.judged": near_rows(near), "cell.scanned": due.select("cell_id").sort("cell_id")})


def judge_older_pairs(run: Stage) -> None:
    """Asks about pairs that wait, as many as a night may."""
    commit_judgements(run, judge(run, *_waiting_pairs(run)))


def _waiting_pairs(run: Stage) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The pairs that a judge is asked about tonight, with their later memories.

    Returns the later memories (rows of `cells`), and the pairs as candidates: `cell_id`, `target_id`, `score`,
    `similarity`. Those that wait longest come first; of these the most similar and most salient.
    """
    most = run.settings.reconcile.scan_pairs
    columns = ["judgement_id", *PAIR, "judged_at"]
    noted = run.store.rows("judgements", columns, col("verdict") == lit("unjudged"))
    oldest = noted.sort("judged_at", "judgement_id").head(most * WEIGHED_A_PAIR)
    cells = run.store.by_key("cells", pl.concat([oldest[name] for name in PAIR]))
    living = cells.filter(pl.col("status") == "active")
    _settle_gone(run, oldest, cells)
    pairs = without_named(oriented(oldest, living), contradicting_pairs(run, living["cell_id"]))
    vectors = run.store.vectors("cells", pl.concat([pairs[name] for name in PAIR]))
    weighed = with_score(with_similarity(pairs, vectors), living).sort(
        "judged_at", "score", "judgement_id", descending=[False, True, False]
    )
    fit = without_waiting(run, weighed)
    asked = fit.head(most).select(*CANDIDATES)
    left = noted.height - oldest.height + fit.height - asked.height
    run.reject("older pairs wait for the next night", left)
    return living.join(asked, on="cell_id", how="semi").sort("cell_id"), asked


def _settle_gone(run: Stage, noted: pl.DataFrame, cells: pl.DataFrame) -> None:
    """A waiting pair of which a side no longer stands needs no judgement."""
    standing = cells.filter(pl.col("status") != "superseded")["cell_id"].implode()
    gone = noted.filter(~pl.all_horizontal(pl.col(PAIR).is_in(standing)))["judgement_id"]
    rows = run.store.by_key("judgements", gone).drop("judgement_id")
    settled = rows.with_columns(verdict=pl.lit("keep"), reason=pl.lit("one of the two no longer stands"))
    run.commit({"pair.judged": judgement_rows(settled)})


def _judged(run: Stage, cell_ids: pl.Series) -> pl.DataFrame:
    """Those of these memories that are active and were judged when they were new."""
    return run.store.by_key("cells", cell_ids).filter((pl.col("status") == "active") & pl.col("is_judged"))
