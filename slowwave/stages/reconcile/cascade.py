"""What depends on a memory that was superseded, and so must be looked at again: knowledge cascades."""

import polars as pl


def dependents(
    superseded: pl.DataFrame, elaborated: pl.DataFrame, episodes: pl.DataFrame, *, gone: pl.Series
) -> pl.DataFrame:
    """Living memories that rest on superseded ones: `cell_id`, `reason`, each once, sorted.

    `superseded` has `cell_id` and `session_id` of the memories that a plan supersedes; `elaborated` has pairs
    (`cell_id`, `target_id`) of which one says the same with more in it: each rests on the other. `episodes` has
    `cell_id` and `session_id` of living episodes. What is in `gone` leaves with the plan itself.
    """
    ids = superseded.select("cell_id")
    both = pl.concat(
        [
            elaborated.select("cell_id", "target_id"),
            elaborated.select(cell_id="target_id", target_id="cell_id"),
        ]
    )
    told = both.join(ids, left_on="target_id", right_on="cell_id", how="semi").select(
        "cell_id", reason=pl.lit("says the same as a memory that was superseded, with more in it")
    )
    summed = episodes.join(superseded, on="session_id", how="semi").select(
        "cell_id", reason=pl.lit("tells of a session of which a memory was superseded")
    )
    return (
        pl.concat([told, summed])
        .filter(~pl.col("cell_id").is_in(gone.implode()))
        .unique("cell_id", keep="first", maintain_order=True)
        .sort("cell_id")
    )
