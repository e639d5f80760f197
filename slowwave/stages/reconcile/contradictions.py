"""Contradictions end when a side no longer stands: none ever names a memory that another has replaced."""

import polars as pl

from slowwave.chains.stored import standing_ends
from slowwave.chains.timelines import AGE_ORDER
from slowwave.schemas.identity import stable_ids
from slowwave.schemas.tables import OWNER
from slowwave.stages.reconcile.older_pairs import oriented, without_named
from slowwave.stages.reconcile.settle import judgement_rows
from slowwave.stages.reconcile.vetoes import closings
from slowwave.stages.run import Stage
from slowwave.store import col, lit

SIDES = ["cell_id", "status", "superseded_by", "valid_until"]
UNWRITTEN = {"prompt_version": pl.lit(None, dtype=pl.String), "model": pl.lit(None, dtype=pl.String)}


def close_contradictions(run: Stage) -> None:
    """Closes what names a superseded or deleted memory.

    Where a side lives on word for word in another memory, the doubt goes on between the heirs. Where a third memory
    took the place of a side, the third and the other wait for a judgement of their own.
    """
    columns = ["contradiction_id", "cell_a", "cell_b", "subject", "attribute", "note", *OWNER]
    found = run.store.rows("contradictions", columns, col("status") == lit("open"))
    sides = run.store.by_key("cells", pl.concat([found["cell_a"], found["cell_b"]]), SIDES)
    ended = closings(found, sides)
    if ended.is_empty():
        return
    successors = standing_ends(
        run.store, pl.concat([ended["successor_a"], ended["successor_b"]]).drop_nulls()
    )
    left = ended.with_columns(
        pl.col(name).replace_strict(successors, default=None, return_dtype=pl.String)
        for name in ("successor_a", "successor_b")
    ).filter(pl.col("successor_a") != pl.col("successor_b"))
    cells = run.store.by_key(
        "cells", pl.concat([left["successor_a"], left["successor_b"]]), ["cell_id", *AGE_ORDER[:3]]
    )
    pairs = oriented(left.with_columns(cell_id="successor_a", target_id="successor_b"), cells)
    known = run.store.having("contradictions", "cell_a", [*cells["cell_id"]], ["cell_a", "cell_b"])
    fresh = without_named(pairs, known.select(cell_id="cell_b", target_id="cell_a"))
    merged = fresh.filter("is_merged").with_columns(cell_a="target_id", cell_b="cell_id", **UNWRITTEN)
    note = pl.concat_str(["note", pl.format("closed: {}", "closing")], separator="; ", ignore_nulls=True)
    run.commit(
        {
            "contradiction.closed": ended.with_columns(note=note),
            "contradiction.opened": merged.with_columns(
                stable_ids("contradiction", merged.select("cell_a", "cell_b"))
            ),
            "pair.judged": _asked_later(run, fresh.filter(~pl.col("is_merged"))),
        }
    )


def _asked_later(run: Stage, pairs: pl.DataFrame) -> pl.DataFrame:
    """Rows of pairs that wait for a judge, without those that were judged before."""
    names = ["cell_id", "target_id"]
    judged = pl.concat([run.store.having("judgements", name, pairs["cell_id"], names) for name in names])
    return judgement_rows(
        without_named(pairs, judged).with_columns(
            verdict=pl.lit("unjudged"),
            effect=pl.lit("none"),
            reason=pl.lit("one of the two took the place of a memory that the other contradicted"),
            **UNWRITTEN,
        )
    )
