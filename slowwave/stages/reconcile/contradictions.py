"""Open contradictions: which are opened, and how they end once a side no longer stands.

An open contradiction never names a memory that another has replaced.
"""

import polars as pl

from slowwave.lifecycle.order import AGE_ORDER
from slowwave.schemas.identity import stable_ids
from slowwave.schemas.tables import OWNER
from slowwave.stages.asking import author_columns
from slowwave.stages.reconcile.pairs import (
    contradicting_pairs,
    judged_pairs,
    oriented,
    unjudged_rows,
    without_named,
)
from slowwave.stages.run import Stage
from slowwave.store import col, lit
from slowwave.store.chains import standing_ends


def contradiction_rows(judged: pl.DataFrame, cells: pl.DataFrame) -> pl.DataFrame:
    """Rows of open contradictions from guarded judgements: the older cell is `cell_a`; each pair once.

    Returns `contradiction_id`, `cell_a`, `cell_b`, `subject`, `attribute`, `note`, the owner and provenance.
    """
    found = judged.filter(pl.col("effect") == "contradiction").drop(*OWNER, strict=False)
    rows = (
        oriented(found, cells)
        .join(cells.select("cell_id", *OWNER), on="cell_id", how="inner", maintain_order="left")
        .rename({"target_id": "cell_a", "cell_id": "cell_b"})
        .with_columns(note=pl.coalesce("guard_note", "reason"))
    )
    names = ["cell_a", "cell_b", "subject", "attribute", "note", *OWNER, "prompt_version", "model"]
    return rows.select(_contradiction_ids(rows), *names).sort("contradiction_id")


def close_contradictions(run: Stage) -> None:
    """Closes contradictions that name a superseded or deleted memory.

    Where a side lives on word for word in another memory, the contradiction goes on between the successors. Where a
    third memory took the place of a side, the third and the other side wait for a judgement of their own.
    """
    columns = ["contradiction_id", "cell_a", "cell_b", "subject", "attribute", "note", *OWNER]
    found = run.store.rows("contradictions", columns, col("status") == lit("open"))
    sides = run.store.by_key(
        "cells",
        pl.concat([found["cell_a"], found["cell_b"]]),
        ["cell_id", "status", "superseded_by", "valid_until"],
    )
    ended = closings(found, sides)
    if ended.is_empty():
        return
    names = ["successor_a", "successor_b"]
    ends = standing_ends(run.store, pl.concat([ended[name] for name in names]).drop_nulls())
    left = ended.with_columns(
        pl.col(names).replace_strict(ends, default=None, return_dtype=pl.String)
    ).filter(pl.col("successor_a") != pl.col("successor_b"))
    dates = [*AGE_ORDER, "valid_precision"]
    cells = run.store.by_key("cells", pl.concat([left[name] for name in names]), dates)
    pairs = oriented(left.with_columns(cell_id="successor_a", target_id="successor_b"), cells)
    fresh = without_named(pairs, contradicting_pairs(run, cells["cell_id"]))
    merged = fresh.filter("is_merged").with_columns(*author_columns(), cell_a="target_id", cell_b="cell_id")
    later = without_named(fresh.filter(~pl.col("is_merged")), judged_pairs(run, fresh["cell_id"]))
    reason = pl.lit("one of the two took the place of a memory that the other contradicted")
    note = pl.concat_str(["note", pl.format("closed: {}", "closing")], separator="; ", ignore_nulls=True)
    run.commit(
        {
            "contradiction.closed": ended.with_columns(note=note),
            "contradiction.opened": merged.with_columns(_contradiction_ids(merged)),
            "pair.judged": unjudged_rows(later, reason),
        }
    )


def _contradiction_ids(sides: pl.DataFrame) -> pl.Series:
    return stable_ids("contradiction", sides.select("cell_a", "cell_b"))


def closings(found: pl.DataFrame, cells: pl.DataFrame) -> pl.DataFrame:
    """Open contradictions that name a memory which no longer stands, and how they end.

    `found` has `contradiction_id`, `cell_a`, `cell_b` and more; `cells` has `cell_id`, `status`, `superseded_by`,
    `valid_until` of the memories named, as far as they are there. A memory that the other one superseded lost. One that
    was merged into a third lives on in it and the contradiction with it; one that a third superseded, or that was
    deleted, leaves nobody to contradict.

    Returns the columns of `found` with `resolution`, `closing` (the reason), `successor_a`, `successor_b` (the
    memories that took the place of the two sides, null where there is none) and `is_merged` (what is said did not
    change).
    """
    facts = cells.select(
        "cell_id",
        "superseded_by",
        is_gone=pl.col("status") == "superseded",
        is_same=pl.col("valid_until").is_null(),
    )
    sides = found
    for side in ("a", "b"):
        mine = facts.rename({name: f"{name}_{side}" for name in facts.columns if name != "cell_id"})
        sides = sides.join(
            mine, left_on=f"cell_{side}", right_on="cell_id", how="left", maintain_order="left"
        ).with_columns(pl.col(f"is_gone_{side}").fill_null(value=True))
    a_lost = pl.col("is_gone_a") & pl.col("superseded_by_a").eq_missing(pl.col("cell_b"))
    b_lost = pl.col("is_gone_b") & pl.col("superseded_by_b").eq_missing(pl.col("cell_a"))
    is_same = (pl.col("is_same_a") | ~pl.col("is_gone_a")) & (pl.col("is_same_b") | ~pl.col("is_gone_b"))
    return (
        sides.filter(pl.col("is_gone_a") | pl.col("is_gone_b"))
        .with_columns(
            resolution=pl.when((a_lost | b_lost) & is_same)
            .then(pl.lit("merged"))
            .when(a_lost)
            .then(pl.lit("b_wins"))
            .when(b_lost)
            .then(pl.lit("a_wins")),
            closing=pl.when(a_lost | b_lost)
            .then(pl.lit("one of the two memories took the place of the other"))
            .when(is_same)
            .then(pl.lit("one of the two memories lives on in another that says the same"))
            .otherwise(pl.lit("one of the two memories was superseded by a third or is gone")),
            successor_a=pl.when("is_gone_a").then("superseded_by_a").otherwise("cell_a"),
            successor_b=pl.when("is_gone_b").then("superseded_by_b").otherwise("cell_b"),
            is_merged=is_same.fill_null(value=False),
        )
        .select(*found.columns, "resolution", "closing", "successor_a", "successor_b", "is_merged")
        .sort("contradiction_id")
    )
