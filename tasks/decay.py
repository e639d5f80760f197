"""Decay: records of use are counted into the usage of each memory. Retention is computed where it is read."""

import polars as pl

from slowwave.journal.plan import Plan, rejected
from slowwave.lifecycle.retention import fold_usage, found_again
from slowwave.store import col
from tasks.step import Readable, step


@step
def find_uncounted_usage(reader: Readable) -> pl.DataFrame:
    """Rows of `usage` that the usage of their memory does not count yet."""
    return reader.store.rows("usage", where=col("folded_at").is_null())


@step
def find_usage_of(reader: Readable, usage: pl.DataFrame) -> pl.DataFrame:
    """The usage of the memories used: rows of `cell_usage` with the `status` of the memory."""
    counted = reader.store.by_key("cell_usage", usage["cell_id"])
    cells = reader.store.by_key("cells", counted["cell_id"], ["cell_id", "status"])
    return counted.join(cells, on="cell_id", how="left")


@step
def plan_usage(usage: pl.DataFrame, usage_of: pl.DataFrame) -> Plan:
    """The new counts; a retrieved or cited memory that was archived comes back."""
    folded = fold_usage(usage, usage_of.drop("status"))
    archived = usage_of.filter(pl.col("status") == "archived")
    is_found = pl.col("cell_id").is_in(found_again(usage).implode())
    revived = folded.join(archived.filter(is_found), on="cell_id", how="semi").select(
        "cell_id",
        last_accessed=pl.max_horizontal("last_accessed", "retrieved_at"),
        revived_count=pl.col("revived_count") + 1,
        reason=pl.lit("found again"),
    )
    gone = usage.join(usage_of, on="cell_id", how="anti")
    return Plan(
        events={
            "cell_usage.folded": folded,
            "cell.revived": revived,
            "usage.folded": usage.select("usage_id").sort("usage_id"),
        },
        rows_in=usage.height,
        rejected=rejected("use of a memory that is gone", gone["cell_id"]),
    )
