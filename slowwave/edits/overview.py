"""`weak` and `stats`: memories that fade soon, and counts of the whole memory."""

from datetime import datetime
from pathlib import Path

import polars as pl

from slowwave.edits.resolve import disputes
from slowwave.journal.segments import Journal
from slowwave.lifecycle.fading import fading
from slowwave.lifecycle.retention import days_since, effective_confidence
from slowwave.recall.reader import Reader
from slowwave.recall.results import CELL, cell_of, use_of
from slowwave.schemas.moments import DAY_UNKNOWN, are_unknown
from slowwave.schemas.requests import WeakRequest
from slowwave.schemas.results import Cell, Stats
from slowwave.store import Store, col, lit, owned_by
from slowwave.store.forgetting import PREVIEW_DAYS

AGES = ((1.0, "a day"), (7.0, "a week"), (30.0, "a month"), (365.0, "a year"))
TOPICS = 10


def weak(reader: Reader, request: WeakRequest, *, now: datetime) -> list[Cell]:
    """Memories that the nights would archive within so many days, as `Memory.weak` says."""
    ahead = PREVIEW_DAYS if request.days is None else request.days
    store = reader.current()
    if store is None:
        return []
    columns = [*CELL, "decay_rate"]
    cells = store.rows("cells", columns, owned_by(reader.settings.owner) & (col("status") == lit("active")))
    cell_usage, settings = store.by_key("cell_usage", cells["cell_id"]), reader.settings
    found = (
        fading(cells, cell_usage, now=now, forget=settings.forget, days=ahead)
        .join(cells, on="cell_id", how="inner", maintain_order="left")
        .join(cell_usage, on="cell_id", how="inner", maintain_order="left")
        .with_columns(effective_confidence=effective_confidence(now=now))
    )
    names = ("fades_at", "effective_confidence")
    return [
        cell_of(row, use=use_of(row, **{name: row[name] for name in names}))
        for row in found.iter_rows(named=True)
    ]


def stats(reader: Reader, *, now: datetime) -> Stats:
    """Count the memory of this owner, as `Memory.stats` says."""
    home, store = reader.home, reader.current()
    sizes = {
        "journal_bytes": _size(home.journal.root),
        "journal_segments": len(home.journal.segment_ids()),
        "store_bytes": _size(home.store_root),
        **_forgetting(home.journal),
    }
    if store is None:
        return Stats(**sizes, notes=[reader.why_nothing()])
    mine = owned_by(reader.settings.owner)
    names = ["cell_id", "topic_id", "cell_type", "status", "origin", "protected", "event_time"]
    cells = store.rows("cells", names, mine)
    active = cells.filter(pl.col("status") == "active")
    return Stats(
        cells=cells.height,
        by_status=_counted(cells, "status"),
        by_type=_counted(active, "cell_type"),
        by_origin=_counted(active, "origin"),
        by_age=_ages(active, now=now),
        by_topic=_largest(store, active),
        without_topic=active["topic_id"].null_count(),
        protected=active["protected"].sum(),
        never_used=_never_used(store, active),
        turns=store.count("turns", mine),
        topics=store.rows("topics", ["merged_into"], mine)["merged_into"].null_count(),
        tombstones=store.count("tombstones", mine),
        erased_turns=store.count("erasures", mine),
        open_contradictions=len(disputes(reader)),
        usage=_uses(store, cells),
        **sizes,
    )


def _counted(rows: pl.DataFrame, name: str) -> dict[str, int]:
    counted = rows.group_by(name).len().sort("len", name, descending=[True, False])
    return dict(counted.iter_rows())


def _ages(active: pl.DataFrame, *, now: datetime) -> dict[str, int]:
    """Active memories by how long ago it was said, youngest first; those of which nobody knows it last."""
    is_undated = are_unknown(pl.col("event_time"))
    undated_count, active = active.filter(is_undated).height, active.filter(~is_undated)
    days = active.select(days=days_since(pl.col("event_time"), now=now))["days"]
    found, below = {}, 0.0
    for most, label in AGES:
        found[f"up to {label}"] = int(((days >= below) & (days < most)).sum())
        below = most
    found["older"] = int((days >= below).sum())
    return {**found, DAY_UNKNOWN: undated_count} if undated_count else found


def _largest(store: Store, active: pl.DataFrame) -> dict[str, int]:
    topics = store.by_key("topics", active["topic_id"].drop_nulls(), ["topic_id", "name"])
    counted = active.group_by("topic_id").len().join(topics, on="topic_id", how="inner")
    largest = counted.group_by("name").agg(pl.col("len").sum()).sort("len", "name", descending=[True, False])
    return dict(largest.head(TOPICS).iter_rows())


def _never_used(store: Store, active: pl.DataFrame) -> int:
    """Active memories without a use, those counted already and those not folded in yet."""
    cell_usage = store.rows("cell_usage", ["cell_id", "retrieval_count", "citation_count"])
    used = cell_usage.filter((pl.col("retrieval_count") + pl.col("citation_count")) > 0)["cell_id"]
    waiting = store.rows("usage", ["cell_id"], col("usage_type").isin(["retrieved", "cited"]))["cell_id"]
    return active.filter(~pl.col("cell_id").is_in(pl.concat([used, waiting]).unique().implode())).height


def _uses(store: Store, cells: pl.DataFrame) -> dict[str, int]:
    uses = store.rows("usage", ["usage_type", "cell_id"]).join(cells, on="cell_id", how="semi")
    return _counted(uses, "usage_type")


def _forgetting(journal: Journal) -> dict[str, int | float | None]:
    """Numbers of archivals and revivals, counted from events since rows may have left the store."""
    archived = revived = 0
    for segment_id in journal.segment_ids():
        data = journal.path_of(segment_id).read_bytes()
        archived += data.count(b'"kind": "cell.archived"')
        revived += data.count(b'"kind": "cell.revived"')
    rate = revived / archived if archived else None
    return {"archived_events": archived, "revived_events": revived, "false_forgetting_rate": rate}


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) if folder.is_dir() else 0
