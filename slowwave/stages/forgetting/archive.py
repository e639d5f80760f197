"""The forget stage. The store picks out the memories that may leave; only these are read, in narrow columns."""

from datetime import timedelta

import polars as pl

from slowwave.decay.fading import to_archive, to_delete_again, to_prune
from slowwave.decay.measures import fading_of, forgetting_of, long_unused
from slowwave.schemas.report import several_memories
from slowwave.schemas.tables import OWNER
from slowwave.stages.night.report import forgetting_line
from slowwave.stages.run import Stage
from slowwave.store import col, lit

COLUMNS = [
    "cell_id", *OWNER, "status", "confidence", "decay_rate", "protected", "superseded_at", "content_hash", "topic_id",
]  # fmt: skip

HASHES_A_READ = 2_000


def find_leaving(run: Stage) -> pl.DataFrame:
    """The memories that may leave, in narrow columns: long unused, deleted by a person, or long superseded."""
    run.report.rows_in = run.store.count("cells")
    limit = run.now - timedelta(days=run.settings.forget.unused_days)
    parts = [_came_back(run), long_unused(run.store, COLUMNS, since=limit)]
    if run.settings.forget.prune:
        parts.append(run.store.rows("cells", COLUMNS, col("status") == lit("superseded")))
    return pl.concat(parts).unique("cell_id").sort("cell_id")


def _came_back(run: Stage) -> pl.DataFrame:
    """Memories with the id or the text of a tombstone; `delete_again` looks at whose they are."""
    dead = run.store.rows("tombstones", ["cell_id", "content_hash"])
    by_id = run.store.by_key("cells", dead["cell_id"], COLUMNS)
    hashes = dead["content_hash"].unique().sort().to_list()
    by_text = [
        run.store.rows("cells", COLUMNS, col("content_hash").isin(hashes[start : start + HASHES_A_READ]))
        for start in range(0, len(hashes), HASHES_A_READ)
    ]
    return pl.concat([by_id, *by_text])


def delete_again(run: Stage, cells: pl.DataFrame) -> None:
    """Deletes again what a person had deleted and some work brought back."""
    back = to_delete_again(cells, run.store.rows("tombstones"))
    note = pl.lit("deleted earlier, came back")
    run.commit({"cell.deleted": back.select("cell_id", "content_hash", *OWNER, note=note)})


def archive(run: Stage, cells: pl.DataFrame) -> None:
    """Archives faded memories; their topics are summarized anew."""
    cell_usage = run.store.by_key("cell_usage", cells["cell_id"])
    faded = to_archive(cells, cell_usage, now=run.now, forget=run.settings.forget, decay=run.settings.decay)
    left = cells.join(faded, on="cell_id", how="semi").drop_nulls("topic_id")
    reason = pl.lit("a memory of this topic was archived")
    topics = left.select("topic_id").unique().sort("topic_id").with_columns(reason=reason)
    texts = run.store.by_key("cells", faded["cell_id"], ["cell_id", "content"])
    told = faded.join(texts, on="cell_id", how="inner", maintain_order="left")
    run.show(told.select(pl.format("{}: {}", "content", "reason")).to_series())
    run.commit({"cell.archived": faded, "topic.flagged": topics})


def preview_fading(run: Stage) -> None:
    """Tells what will fade soon, and how often forgetting was wrong so far."""
    forget = run.settings.forget
    found = fading_of(run.store, now=run.now, forget=forget, decay=run.settings.decay)
    if found.height:
        run.note(
            f"{several_memories(found.height)} will fade within {forget.preview_days:g} days "
            "if nobody uses them"
        )
    counted = forgetting_of(run.store, now=run.now, days=forget.recent_days)
    if counted.archived_count:
        run.note(forgetting_line(counted))
    most = forget.max_false_rate
    if (counted.rate or 0.0) > most:
        run.note(f"that is above {most:.1%}: raise forget.unused_days, or lower the rates of decay")


def prune(run: Stage, cells: pl.DataFrame) -> None:
    """Removes long superseded memories from the store, where the settings allow it."""
    run.commit({"cell.pruned": to_prune(cells, now=run.now, forget=run.settings.forget)})
