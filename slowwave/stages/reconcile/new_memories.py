"""New memories: found, merged where they repeat exactly, and judged, or noted while there is no language model."""

import polars as pl

from slowwave.lifecycle.order import AGE_ORDER
from slowwave.schemas.choices import EPISODE
from slowwave.schemas.tables import OWNER
from slowwave.stages.reconcile.candidates import exact_duplicates, near_pairs
from slowwave.stages.reconcile.chain_plan import NOTHING, plan_chains
from slowwave.stages.reconcile.find_candidates import find_candidates, near_threshold
from slowwave.stages.reconcile.judge import judge, without_waiting
from slowwave.stages.reconcile.judgements import commit_judgements
from slowwave.stages.reconcile.pairs import near_rows
from slowwave.stages.run import Stage
from slowwave.store import col, lit
from slowwave.trust.origins import PERSON

MOST_ROUNDS = 4
"""Rounds of judging in a night: the few memories whose judgement rested on one that was retired wait for the second."""


def find_new_cells(run: Stage) -> pl.DataFrame:
    """Active memories that were never reconciled, without those that wait after an unusable answer."""
    active = col("status") == lit("active")
    new = run.store.rows("cells", where=active & (col("is_judged") == lit(value=False)))
    due = new if run.workspace.llm is None else without_waiting(run, new)
    run.report.rows_in = due.height
    return due.sort(AGE_ORDER)


def merge_exact(run: Stage, new: pl.DataFrame) -> pl.DataFrame:
    """Memories that say exactly what another says live on in the most trusted, oldest one; returns the others.

    What is archived comes back only by what a person says.
    """
    known = run.store.having("cells", "content_hash", new["content_hash"])
    said = (pl.col("origin") == PERSON).any().over(*OWNER, "content_hash")
    is_there = (pl.col("status") == "active") | ((pl.col("status") == "archived") & said)
    living = known.filter(is_there & (pl.col("cell_type") != EPISODE))
    repeated = exact_duplicates(living)
    if repeated.is_empty():
        return new
    plan = plan_chains(run, NOTHING, repeated.select("cell_id", target_id="superseded_by"))
    run.commit({**plan.events, "cell.judged": repeated.select("cell_id")})
    return new.join(plan.merged, on="cell_id", how="anti", maintain_order="left")


def note_unjudged(run: Stage, new: pl.DataFrame, candidates: pl.DataFrame) -> None:
    """Without a model: near pairs are noted for a later judge, and nothing is dropped."""
    pairs = near_pairs(candidates, threshold=near_threshold(run)).join(
        new.select("cell_id", *OWNER), on="cell_id", how="inner"
    )
    run.commit({"pair.judged": near_rows(pairs), "cell.judged": new.select("cell_id").sort("cell_id")})
    if pairs.height:
        run.note("near pairs are noted as unjudged: without a language model nobody decides what they mean")


def judge_new_memories(run: Stage, new: pl.DataFrame, candidates: pl.DataFrame) -> None:
    """Asks about memories, and again about those whose judgement rested on one that was retired meanwhile."""
    _pass_alone(run, new, candidates)
    for _ in range(MOST_ROUNDS):
        waiting = run.store.by_key("cells", commit_judgements(run, judge(run, new, candidates)))
        new = waiting.filter(pl.col("status") == "active")
        found_its_place = waiting.join(new, on="cell_id", how="anti")  # another took it into its chain since
        run.commit({"cell.judged": found_its_place.select("cell_id")})
        if new.is_empty() or run.report.dry_run:
            break
        candidates = find_candidates(run, new)
        _pass_alone(run, new, candidates)
    run.reject("waits for a judgement against what holds now", new.height)


def _pass_alone(run: Stage, new: pl.DataFrame, candidates: pl.DataFrame) -> None:
    """Memories without any candidate need no judge."""
    alone = new.join(candidates, on="cell_id", how="anti")
    run.commit({"cell.judged": alone.select("cell_id").sort("cell_id")})
