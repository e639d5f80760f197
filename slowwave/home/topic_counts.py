"""Counts of the live and unsummarized memories of topics, for the plan that changes them to commit as well."""

from collections.abc import Collection, Mapping

import polars as pl

from slowwave.journal.catalogue import CATALOGUE, EventRows
from slowwave.store import Store, col


def with_counts(store: Store, plan: EventRows) -> EventRows:
    """The rows of a plan that are there, with `topic.counted` for the topics whose counts it changes."""
    parts = {kind: rows for kind, rows in plan.items() if rows.height}
    statuses: dict[str, str] = {}
    for kind, rows in parts.items():
        if CATALOGUE[kind].status is not None:
            statuses.update(dict.fromkeys(rows["cell_id"], CATALOGUE[kind].status))
        elif kind == "cell.restored":
            statuses.update(rows.select("cell_id", "status").iter_rows())
    emptied = parts["topic.unsummarized"]["topic_id"].to_list() if "topic.unsummarized" in parts else []
    topics = store.by_key("cells", statuses, ["cell_id", "topic_id"])["topic_id"].drop_nulls().unique()
    counted = topic_counts(store, {*topics, *emptied}, statuses, unsummarized=emptied)
    return parts | ({"topic.counted": counted} if counted.height else {})


def topic_counts(
    store: Store,
    topic_ids: Collection[str],
    statuses: Mapping[str, str],
    *,
    unsummarized: Collection[str] = (),
) -> pl.DataFrame:
    """Live and unsummarized cells of these topics, where they are not what is stored.

    `statuses` has the new status of each cell that the plan changes, `unsummarized` the topics that lose their summary.
    Returns `topic_id`, `cell_count`, `unsummarized_count`.
    """
    names = ["topic_id", "cell_count", "unsummarized_count"]
    known = store.by_key("topics", topic_ids, names)
    columns = ["cell_id", "topic_id", "status", "is_summarized"]
    cells = store.rows("cells", columns, col("topic_id").isin(known["topic_id"].to_list()))
    becomes = pl.col("cell_id").replace_strict(statuses, default=None, return_dtype=pl.String)
    is_live = pl.coalesce(becomes, "status") == "active"
    waits = ~pl.col("is_summarized") | pl.col("topic_id").is_in(list(unsummarized))
    counted = cells.group_by("topic_id").agg(
        cell_count=is_live.sum().cast(pl.Int64),
        unsummarized_count=(is_live & waits).sum().cast(pl.Int64),
    )
    every = known.select("topic_id").join(counted, on="topic_id", how="left").fill_null(0)
    return every.join(known, on=names, how="anti").sort("topic_id")
