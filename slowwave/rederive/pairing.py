"""The pairs of memories of the living store and of a derivation's that say the same."""

import polars as pl

from slowwave.home.nearest import nearest_of_owner
from slowwave.rederive.counterparts import COLUMNS, PAIRS, counterparts
from slowwave.schemas.choices import EPISODE
from slowwave.schemas.tables import OWNER
from slowwave.store import Store, col, lit

NEAR = 2
"""Nearest memories of the derivation that each living one is held against, beside those that share something."""


def pair(living: Store, derived: Store, *, least_score: float) -> pl.DataFrame:
    """All pairs (`PAIRS`), the surest first within a living memory; a conversation's episode is paired by its id."""
    is_memory = col("cell_type") != lit(EPISODE)
    old, new = (store.rows("cells", COLUMNS, is_memory) for store in (living, derived))
    found = counterparts(old, new, _near(living, derived, old), least_score=least_score)
    told = living.rows("cells", ["cell_id"], col("cell_type") == lit(EPISODE))
    same = derived.by_key("cells", told["cell_id"], ["cell_id"]).select(
        "cell_id",
        target_id="cell_id",
        score=pl.lit(1.0),
        **dict.fromkeys(["agrees", "says_all"], pl.lit(value=True)),
    )
    return pl.concat([found.select(PAIRS.names()), same.select(PAIRS.names())])


def _near(living: Store, derived: Store, old: pl.DataFrame) -> pl.DataFrame:
    nothing = pl.DataFrame(schema={"cell_id": pl.String, "target_id": pl.String})
    is_comparable = living.meta.embedder_id and living.meta.embedder_id == derived.meta.embedder_id
    if not is_comparable or derived.count("cells") == 0:
        return nothing
    placed = old.select("cell_id", *OWNER).join(
        living.vectors("cells", old["cell_id"]), on="cell_id", how="inner"
    )
    if placed.is_empty():
        return nothing
    near = nearest_of_owner(derived, "cells", placed, k=NEAR, where=col("cell_type") != lit(EPISODE))
    return near.select("cell_id", "target_id")
