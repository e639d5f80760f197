"""Contradictions: which are opened, and how they end once a side no longer stands."""

import polars as pl

from slowwave.lifecycle.pairs import oriented
from slowwave.schemas.identity import stable_ids
from slowwave.schemas.tables import OWNER


def contradiction_rows(judged: pl.DataFrame, cells: pl.DataFrame) -> pl.DataFrame:
    """Rows of `contradiction.opened` from guarded judgements: the older cell is `cell_a`; each pair once."""
    found = judged.filter(pl.col("effect") == "contradiction").drop(*OWNER, strict=False)
    rows = (
        oriented(found, cells)
        .join(cells.select("cell_id", *OWNER), on="cell_id", maintain_order="left")
        .with_columns(note=pl.coalesce("guard_note", "reason"))
    )
    return opened(rows)


def opened(pairs: pl.DataFrame) -> pl.DataFrame:
    """Rows of `contradiction.opened` for pairs, the later memory first, with what is said of them."""
    sides = {"target_id": "cell_a", "cell_id": "cell_b"}
    rows = pairs.drop(sides.values(), strict=False).rename(sides)
    names = ["cell_a", "cell_b", "subject", "attribute", "note", *OWNER, "prompt_version", "model"]
    named = rows.select(stable_ids("contradiction", rows.select("cell_a", "cell_b")), *names)
    return named.sort("contradiction_id")


def ended(found: pl.DataFrame, cells: pl.DataFrame, ends: dict[str, str]) -> pl.DataFrame:
    """Open contradictions that name a memory which no longer stands, how they end, and between whom they may go on.

    `found` has `contradiction_id`, `cell_a`, `cell_b` and more; `cells` has `cell_id`, `status`, `superseded_by`,
    `valid_until` of the memories named, as far as they are there; `ends` has the end of each chain. A memory that the
    other one superseded lost. One that lives on in a third takes the contradiction with it (`is_merged`); one that a
    third superseded, or that was deleted, leaves nobody to contradict.

    Returns the columns of `found` with `resolution`, `closing` (the reason), `is_merged`, and the ends of both chains
    as `cell_id` and `target_id` (null where there is none).
    """
    is_gone = pl.col("status") == "superseded"
    facts = cells.select(
        *("cell_id", "superseded_by"), is_gone=is_gone, is_same=~is_gone | pl.col("valid_until").is_null()
    )
    sides = found
    for side in ("a", "b"):
        mine = facts.select(pl.all().name.suffix(f"_{side}")).rename({f"cell_id_{side}": f"cell_{side}"})
        sides = sides.join(mine, on=f"cell_{side}", how="left", maintain_order="left")
    a_lost = pl.col("superseded_by_a").eq_missing(pl.col("cell_b"))
    b_lost = pl.col("superseded_by_b").eq_missing(pl.col("cell_a"))
    end_a, end_b = (
        pl.col(side).replace_strict(ends, default=None, return_dtype=pl.String)
        for side in ("cell_a", "cell_b")
    )
    return (
        sides.filter(pl.any_horizontal(pl.col("is_gone_a", "is_gone_b").fill_null(value=True)))
        .with_columns(is_merged=(pl.col("is_same_a") & pl.col("is_same_b")).fill_null(value=False))
        .select(
            *found.columns,
            "is_merged",
            cell_id=end_b,
            target_id=end_a,
            resolution=pl.when((a_lost | b_lost) & pl.col("is_merged"))
            .then(pl.lit("merged"))
            .when(a_lost)
            .then(pl.lit("b_wins"))
            .when(b_lost)
            .then(pl.lit("a_wins")),
            closing=pl.when(a_lost | b_lost)
            .then(pl.lit("one of the two memories took the place of the other"))
            .when("is_merged")
            .then(pl.lit("one of the two memories lives on in another that says the same"))
            .otherwise(pl.lit("one of the two memories was superseded by a third or is gone")),
        )
        .sort("contradiction_id")
    )
