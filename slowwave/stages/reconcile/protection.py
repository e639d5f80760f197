"""What the nightly judge may not retire: memories that a person confirmed, and those in which they live on."""

import polars as pl

from slowwave.chains.stored import with_stored_chains
from slowwave.chains.timelines import spare_protected
from slowwave.stages.run import Stage
from slowwave.store import col, lit


def without_protected(run: Stage, judged: pl.DataFrame, cells: pl.DataFrame) -> pl.DataFrame:
    """Guarded judgements that retire nothing which a person confirmed, through whatever chain."""
    retiring = judged.filter(pl.col("effect") == "superseded").select("cell_id", "target_id", "verdict")
    if retiring.is_empty() or not run.store.count("cells", col("protected") == lit(value=True)):
        return judged
    chains = with_stored_chains(run.store, retiring)
    members = pl.concat([cells, chains.members]).unique("cell_id", keep="first", maintain_order=True)
    return spare_protected(judged, chains.links, members) if members["protected"].any() else judged


def protection_passed_on(said: pl.DataFrame, cells: pl.DataFrame) -> pl.DataFrame:
    """Rows of `cell.protected` for memories in which a protected one lives on.

    `said` has `cell_id` (the one that stays) and `confirmed_by`; `cells` has both.
    """
    protected = cells.filter("protected")
    successors = said.join(protected, left_on="confirmed_by", right_on="cell_id", how="semi")
    open_to = successors.join(protected, on="cell_id", how="anti").filter(
        pl.col("cell_id") != pl.col("confirmed_by")
    )
    return (
        open_to.select("cell_id")
        .unique()
        .sort("cell_id")
        .with_columns(confidence=pl.lit(1.0), note=pl.lit("a memory that a person confirmed lives on in it"))
    )
