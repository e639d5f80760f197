"""The use of memories, carried to their counterparts: citations go on counting, and memories fade as before."""

from collections.abc import Mapping

import polars as pl

from slowwave.journal.catalogue import CATALOGUE
from slowwave.lifecycle.retention import fold_usage
from slowwave.schemas.tables import shaped

SUMS = ["retrieval_count", "citation_count", "ignore_count", "revived_count"]


def carried_usage(
    usage: pl.DataFrame, old: pl.DataFrame, new: pl.DataFrame, best: Mapping[str, str]
) -> pl.DataFrame:
    """Rows of `cell_usage.folded` for memories of the derivation that have a counterpart.

    `usage` has the records that were not counted yet, `old` and `new` are rows of `cell_usage`, `best` has the new id
    of each old memory. Counts of several old memories add up; a memory is as old as its youngest use, and confirmed as
    often as either derivation says.
    """
    counted = pl.concat([fold_usage(usage, old), old]).unique("cell_id", keep="first")
    ids = pl.DataFrame(list(best.items()), schema={"cell_id": pl.String, "new_id": pl.String}, orient="row")
    carried = (
        counted.join(ids, on="cell_id", how="inner")
        .group_by("new_id")
        .agg(
            *(pl.col(name).sum() for name in SUMS),
            pl.col("last_accessed").max(),
            pl.col("retrieved_at").max(),
            pl.col("confirmations").max(),
        )
        .rename({"new_id": "cell_id"})
    )
    joined = carried.join(new.select("cell_id", said="confirmations"), on="cell_id", how="inner")
    rows = joined.with_columns(confirmations=pl.max_horizontal("confirmations", "said")).sort("cell_id")
    return shaped(rows, CATALOGUE["cell_usage.folded"].payload)
