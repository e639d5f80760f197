"""Work of the forget stage. It looks at every memory, in narrow columns, and writes only what leaves."""

import polars as pl

from slowwave.schemas.tables import OWN
from slowwave.transforms.forgetting import to_archive, to_bury, to_prune
from tasks.stage import Stage

COLUMNS = [
    "cell_id",
    *OWN,
    "status",
    "confidence",
    "decay_rate",
    "protected",
    "superseded_at",
    "content_hash",
    "topic_id",
]


def find_cells(run: Stage) -> pl.DataFrame:
    """The narrow columns of all memories."""
    cells = run.store.rows("cells", COLUMNS)
    run.report.rows_in = cells.height
    return cells


def bury(run: Stage, cells: pl.DataFrame) -> None:
    """Takes out again what a person had deleted."""
    back = to_bury(cells, run.store.rows("tombstones"))
    run.commit(
        {
            "cell.deleted": back.select(
                "cell_id", "content_hash", *OWN, note=pl.lit("deleted earlier, came back")
            )
        }
    )


def archive(run: Stage, cells: pl.DataFrame) -> None:
    """Archives what faded; its topic is summarized anew."""
    faded = to_archive(
        cells, run.store.rows("vitals"), now=run.now, forget=run.settings.forget, decay=run.settings.decay
    )
    topics = (
        cells.join(faded, on="cell_id", how="semi")
        .drop_nulls("topic_id")
        .select("topic_id")
        .unique()
        .sort("topic_id")
    )
    run.show(faded.select(pl.format("{}: {}", "cell_id", "reason")).to_series())
    run.commit(
        {
            "cell.archived": faded,
            "topic.flagged": topics.with_columns(reason=pl.lit("a memory of this topic was archived")),
        }
    )


def prune(run: Stage, cells: pl.DataFrame) -> None:
    """Removes long superseded memories from the store, where the settings allow it."""
    run.commit({"cell.pruned": to_prune(cells, now=run.now, forget=run.settings.forget)})
