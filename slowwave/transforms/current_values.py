"""Which of several values holds: latest `valid_from`, then `recorded_at`. Computed, never asked of a model."""

import polars as pl

ATTRIBUTE = ["subject", "attribute"]
"""The pair that names a single-valued property."""

HOLDING = ["valid_from", "recorded_at", "cell_id"]
"""The order in which values follow each other; the last one holds."""


def holders(cells: pl.DataFrame, *, doubted: pl.Series) -> pl.DataFrame:
    """Live cells that another live cell outdates: `cell_id` and `holder_id`, the cell whose value holds.

    Cells with the same subject and attribute (case and blanks aside) and different values compete; those in
    `doubted` stand in an open contradiction, and no date decides that.
    """
    live = cells.filter((pl.col("status") == "active") & ~pl.col("cell_id").is_in(doubted.implode()))
    keyed = live.drop_nulls([*ATTRIBUTE, "value"]).with_columns(
        _plain(pl.col(name)).alias(f"{name}_key") for name in (*ATTRIBUTE, "value")
    )
    group = ["subject_key", "attribute_key"]
    last = keyed.sort(HOLDING).group_by(group, maintain_order=True).last()
    return (
        keyed.join(last.select(*group, holder_id="cell_id", held="value_key"), on=group, how="inner")
        .filter(pl.col("value_key") != pl.col("held"))
        .select("cell_id", "holder_id")
        .sort("cell_id")
    )


def timelines(cells: pl.DataFrame, outdated: pl.DataFrame) -> pl.DataFrame:
    """The former values of each cell: `holder_id` and the columns of `cells`, newest first within a holder.

    A cell precedes the one that superseded it, through the whole chain, and its holder in `outdated`. What was
    merged as the same memory said twice has no end of validity and is no former value.
    """
    superseded = cells.filter(
        (pl.col("status") == "superseded") & pl.col("valid_until").is_not_null()
    ).select("cell_id", holder_id="superseded_by")
    steps = pl.concat([superseded.drop_nulls(), outdated]).unique(
        "cell_id", keep="first", maintain_order=True
    )
    ends, before = steps, steps.clear()
    while not ends.equals(before):  # chains have no circle: what supersedes is later
        before = ends
        ends = before.join(
            steps.select(holder_id="cell_id", next_id="holder_id"),
            on="holder_id",
            how="left",
            maintain_order="left",
        ).select("cell_id", holder_id=pl.coalesce("next_id", "holder_id"))
    return (
        ends.join(cells, on="cell_id", how="inner")
        .filter(pl.col("holder_id") != pl.col("cell_id"))
        .sort("holder_id", *HOLDING, descending=[False, True, True, True])
    )


def _plain(text: pl.Expr) -> pl.Expr:
    return text.str.to_lowercase().str.replace_all(r"\s+", " ").str.strip_chars(" .")
