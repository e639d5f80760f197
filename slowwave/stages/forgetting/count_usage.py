"""The decay stage: usage records are counted into cell usage."""

import polars as pl

from slowwave.decay.retention import fold_usage, found_again
from slowwave.home.usage import collect_spools
from slowwave.stages.run import Stage
from slowwave.store import col


def commit_spooled_usage(run: Stage) -> None:
    """Commits what readers left in the usage spool, then removes it.

    If it is killed in between, the next run takes the same records again, and they count once.
    """
    spooled = collect_spools(run.workspace.home)
    run.commit({"usage.recorded": spooled.usage})
    run.reject("unreadable line in the usage spool", spooled.unreadable_count)
    if not run.report.dry_run:
        spooled.discard()


def find_usage(run: Stage) -> pl.DataFrame:
    """Usage records that did not reach cell usage yet."""
    usage = run.store.rows("usage", where=col("folded_at").is_null())
    run.report.rows_in = usage.height
    return usage


def count_usage(run: Stage, usage: pl.DataFrame) -> None:
    """Counts usage into cell usage; a retrieved or cited memory that was archived comes back."""
    cell_usage = run.store.by_key("cell_usage", usage["cell_id"])
    folded = fold_usage(usage, cell_usage)
    cells = run.store.by_key("cells", folded["cell_id"], ["cell_id", "status"])
    is_found = pl.col("cell_id").is_in(found_again(usage).implode())
    archived = cells.filter((pl.col("status") == "archived") & is_found)
    revived = folded.join(archived, on="cell_id", how="semi").select(
        "cell_id",
        last_accessed=pl.max_horizontal("last_accessed", "retrieved_at"),
        revived_count=pl.col("revived_count") + 1,
        reason=pl.lit("found again"),
    )
    run.reject("use of a memory that is gone", usage.join(cell_usage, on="cell_id", how="anti").height)
    run.commit(
        {
            "cell_usage.folded": folded,
            "cell.revived": revived,
            "usage.folded": usage.select("usage_id").sort("usage_id"),
        }
    )
