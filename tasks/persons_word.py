"""What the nightly judge may not touch: memories that a person confirmed, and pairs that a person settled."""

import polars as pl

from slowwave.store import col, lit
from slowwave.supersede_chains import with_earlier_links
from slowwave.transforms.reconciliation import spare_protected
from tasks.stage import Stage


def as_a_person_left_it(run: Stage, judged: pl.DataFrame, cells: pl.DataFrame) -> pl.DataFrame:
    """Guarded judgements that change nothing of a pair that a person settled, and retire nothing that one confirmed."""
    return _sparing(run, _without_settled(run, judged), cells)


def protection_passed_on(said: pl.DataFrame, cells: pl.DataFrame) -> pl.DataFrame:
    """Rows of `cell.protected` for memories in which a protected one lives on.

    `said` has `cell_id` (the one that stays) and `confirmed_by`; `cells` has both.
    """
    protected = cells.filter("protected")
    heirs = said.join(protected, left_on="confirmed_by", right_on="cell_id", how="semi")
    open_to = heirs.join(protected, on="cell_id", how="anti").filter(
        pl.col("cell_id") != pl.col("confirmed_by")
    )
    return (
        open_to.select("cell_id")
        .unique()
        .sort("cell_id")
        .with_columns(confidence=pl.lit(1.0), note=pl.lit("a memory that a person confirmed lives on in it"))
    )


def _without_settled(run: Stage, judged: pl.DataFrame) -> pl.DataFrame:
    pairs = judged.drop_nulls("target_id")
    ids = pl.concat([pairs["cell_id"], pairs["target_id"]]).unique().sort().to_list()
    if not ids:
        return judged
    both = col("cell_a").isin(ids) & col("cell_b").isin(ids) & (col("status") == lit("resolved"))
    settled = run.store.rows("contradictions", ["cell_a", "cell_b"], both)
    known = settled.select(_pair("cell_a", "cell_b")).to_series()
    hits = _pair("cell_id", "target_id").is_in(known.implode()).fill_null(value=False) & (
        pl.col("effect") != "none"
    )
    return judged.with_columns(
        guard_note=pl.when(hits).then(pl.lit("a person settled these two memories")).otherwise("guard_note"),
        effect=pl.when(hits).then(pl.lit("none")).otherwise("effect"),
    )


def _sparing(run: Stage, judged: pl.DataFrame, cells: pl.DataFrame) -> pl.DataFrame:
    retiring = judged.filter(pl.col("effect") == "superseded").select("cell_id", "target_id", "verdict")
    if retiring.is_empty() or not run.store.count("cells", col("protected") == lit(value=True)):
        return judged
    chain, members = with_earlier_links(run.store, retiring, cells)
    return spare_protected(judged, chain, members) if members["protected"].any() else judged


def _pair(one: str, other: str) -> pl.Expr:
    return pl.concat_list(one, other).list.sort().list.join(" ")
