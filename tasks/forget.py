"""Forget: what faded is archived, what a person deleted stays out, what was long superseded may be pruned.

The store picks out the memories that may leave; only these are read, in narrow columns.
"""

from datetime import timedelta

import polars as pl

from slowwave.journal.plan import Plan
from slowwave.lifecycle.fading import to_archive, to_delete_again, to_prune
from slowwave.schemas.tables import OWNER
from slowwave.store import col, lit
from slowwave.store.forgetting import long_unused
from tasks.step import Readable, step

COLUMNS = [
    "cell_id", *OWNER, "status", "confidence", "decay_rate", "protected", "superseded_at", "content_hash", "topic_id",
]  # fmt: skip


@step
def find_leaving(reader: Readable) -> pl.DataFrame:
    """Rows of `cells` (`COLUMNS`) that may leave: long unused, deleted by a person, or long superseded."""
    forget = reader.settings.forget
    limit = reader.now - timedelta(days=forget.unused_days)
    parts = [_came_back(reader), long_unused(reader.store, COLUMNS, since=limit)]
    if forget.prune:
        parts.append(reader.store.rows("cells", COLUMNS, col("status") == lit("superseded")))
    return pl.concat(parts).unique("cell_id").sort("cell_id")


@step
def plan_deleted_again(reader: Readable, cells: pl.DataFrame) -> Plan:
    """Deletes again what a person had deleted and some work brought back."""
    back = to_delete_again(cells, reader.store.rows("tombstones"))
    note = pl.lit("deleted earlier, came back")
    return Plan(
        events={"cell.deleted": back.select("cell_id", "content_hash", *OWNER, note=note)},
        rows_in=reader.store.count("cells"),
    )


@step
def plan_archive(reader: Readable, cells: pl.DataFrame) -> Plan:
    """Archives what faded; the topics it leaves are summarized anew."""
    usage = reader.store.by_key("cell_usage", cells["cell_id"])
    faded = to_archive(cells, usage, now=reader.now, forget=reader.settings.forget)
    left = cells.join(faded, on="cell_id", how="semi").drop_nulls("topic_id")
    reason = pl.lit("a memory of this topic was archived")
    topics = left.select("topic_id").unique().sort("topic_id").with_columns(reason=reason)
    texts = reader.store.by_key("cells", faded["cell_id"], ["cell_id", "content"])
    shown = faded.join(texts, on="cell_id", how="inner", maintain_order="left")
    return Plan(
        events={"cell.archived": faded, "topic.flagged": topics},
        examples=shown.select(pl.format("{}: {}", "content", "reason")).to_series().to_list(),
    )


@step
def plan_prune(reader: Readable, cells: pl.DataFrame) -> Plan:
    """Removes long superseded memories from the store, where the settings allow it."""
    return Plan(events={"cell.pruned": to_prune(cells, now=reader.now, forget=reader.settings.forget)})


# Inside


def _came_back(reader: Readable) -> pl.DataFrame:
    """Memories with the id or the text of a tombstone; `to_delete_again` checks whose they are."""
    dead = reader.store.rows("tombstones", ["cell_id", "content_hash"])
    names = ("cell_id", "content_hash")
    return pl.concat([reader.store.having("cells", name, dead[name], COLUMNS) for name in names])
