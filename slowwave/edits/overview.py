"""Memories that fade soon, counts of the whole memory, and the state of its home."""

from datetime import datetime
from functools import reduce
from operator import or_
from pathlib import Path

import polars as pl

from slowwave.edits.resolve import disputes
from slowwave.errors import NotFoundError
from slowwave.home.paths import Home
from slowwave.journal.segments import Journal
from slowwave.lifecycle.retention import days_since, effective_confidence
from slowwave.recall.reader import Reader
from slowwave.recall.results import CELL, cell_of, use_of
from slowwave.schemas.moments import DAY_UNKNOWN, are_unknown
from slowwave.schemas.requests import WeakRequest
from slowwave.schemas.results import Cell, Night, Stats, Status, columns_of
from slowwave.schemas.tables import TABLES, VECTOR_TEXT
from slowwave.store import EMBEDDER_OF, Expr, Store, as_filter, col, lit, open_store, owned_by
from slowwave.store.forgetting import PREVIEW_DAYS, fading_of, forgetting_of

AGES = ((1.0, "up to a day"), (7.0, "up to a week"), (30.0, "up to a month"), (365.0, "up to a year"))
TOPICS = 10

ACTIVE = col("status") == lit("active")
WAITING = {
    "chunks_pending": ("chunks", col("status") == lit("pending")),
    "chunks_failed": ("chunks", col("status") == lit("failed")),
    "chunks_quarantined": ("chunks", col("status") == lit("quarantined")),
    "memories_not_reconciled": ("cells", ACTIVE & (col("is_judged") == lit(value=False))),
    "pairs_not_judged": ("judgements", col("verdict") == lit("unjudged")),
    "memories_to_review": ("cells", ACTIVE & (col("needs_review") == lit(value=True))),
    "judgements_in_quarantine": ("judging", col("status") == lit("quarantined")),
    "memories_without_topic": (
        "cells",
        ACTIVE & col("topic_id").is_null() & (col("cell_type") != lit("episode")),  # one never has a topic
    ),
    "open_contradictions": ("contradictions", col("status") == lit("open")),
    "uses_not_counted": ("usage", col("folded_at").is_null()),
}
"""Work of the next runs: the rows that wait for it."""

SEGMENTS = "journal_segments_not_applied"
"""The same of the journal."""


def weak(reader: Reader, request: WeakRequest, *, now: datetime) -> list[Cell]:
    """Memories that the nights would archive within so many days, as `Memory.weak` says."""
    ahead = PREVIEW_DAYS if request.days is None else request.days
    store = reader.current()
    if store is None:
        return []
    soon = fading_of(store, now=now, forget=reader.settings.forget, days=ahead)
    cells = store.by_key("cells", soon["cell_id"], [*CELL, "decay_rate"])
    found = (
        soon.join(
            cells.filter(as_filter(owned_by(reader.settings.owner))), on="cell_id", maintain_order="left"
        )
        .join(store.by_key("cell_usage", soon["cell_id"]), on="cell_id", maintain_order="left")
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
    sizes = {"journal_bytes": size_of(home.journal.root), "store_bytes": size_of(home.store_root)}
    if store is None:
        return Stats(**sizes, notes=[reader.why_nothing()])
    mine = owned_by(reader.settings.owner)
    names = ["cell_id", "topic_id", "cell_type", "status", "origin", "protected", "event_time"]
    cells = store.rows("cells", names, mine)
    active = cells.filter(pl.col("status") == "active")
    uses = store.rows("usage", ["usage_type", "cell_id"]).join(cells, on="cell_id", how="semi")
    return Stats(
        cells=cells.height,
        turns=store.count("turns", mine),
        topics=store.rows("topics", ["merged_into"], mine)["merged_into"].null_count(),
        by={
            "status": _counted(cells, "status"),
            "type": _counted(active, "cell_type"),
            "origin": _counted(active, "origin"),
            "age": _ages(active, now=now),
            "use": _counted(uses, "usage_type"),
            "topic": _largest(store, active),
        },
        without_topic=active.filter(pl.col("cell_type") != "episode")["topic_id"].null_count(),
        protected=active["protected"].sum(),
        never_used=_never_used(store, active),
        tombstones=store.count("tombstones", mine),
        erased_turns=store.count("erasures", mine),
        open_contradictions=len(disputes(reader)),
        forgetting=forgetting_of(store, now=now),
        **sizes,
    )


def read_status(home: Home, *, now: datetime) -> Status:
    """The state of a home, read without a lock.

    Raises:
        ConfigError: the store is damaged or of another version.
    """
    journal = home.journal
    sizes = {
        "journal_bytes": size_of(journal.root),
        "store_bytes": size_of(home.store_root),
        "cache_bytes": size_of(home.cache_path.parent),
    }
    segments = set(journal.segment_ids())
    try:
        store = open_store(home.store_root)
    except NotFoundError:
        return Status(home=home.root, has_memory=False, pending={SEGMENTS: len(segments)}, **sizes)
    applied = store.applied_segments()
    unreadable = _unreadable(journal, segments - applied)
    return Status(
        home=home.root,
        has_memory=True,
        embedder_id=store.meta.embedder_id,
        pending={SEGMENTS: len(segments - applied - unreadable), **_pending(store)},
        lost_segments=len(unreadable | (applied - segments)),
        last_night=_last_night(store),
        forgetting=forgetting_of(store, now=now),
        rows={name: store.count(name) for name in TABLES},
        **sizes,
    )


def size_of(path: Path) -> int:
    """Bytes of a file or of everything in a folder; 0 where there is nothing."""
    files = [path] if path.is_file() else path.rglob("*")
    total = 0
    for file in files:
        try:
            total += file.stat().st_size if file.is_file() else 0
        except FileNotFoundError:  # a running night tidied it away
            continue
    return total


def _unreadable(journal: Journal, segment_ids: set[str]) -> set[str]:
    """Segments that are torn: no run will ever apply them, `doctor` names them."""
    return {problem.path.stem for problem in journal.read(sorted(segment_ids)).problems}


def _pending(store: Store) -> dict[str, int]:
    """The work that waits for the next runs, counted by its name."""
    counts = {name: store.count(table, where) for name, (table, where) in WAITING.items()}
    # what was deleted in another home came without its text: there is nothing to embed
    texts = (
        store.count(name, (col(EMBEDDER_OF["vector"]) == lit("")) & _has_text(name)) for name in VECTOR_TEXT
    )
    return {**counts, "texts_without_vector": sum(texts) if store.meta.embedder_id else 0}


def _has_text(table: str) -> Expr:
    return reduce(or_, (col(name).is_not_null() for name in VECTOR_TEXT[table]))


def _last_night(store: Store) -> Night | None:
    last = store.rows("nights", where=col("outcome") != lit("learned")).sort("finished_at").tail(1)
    return Night(**last.select(columns_of(Night)).row(0, named=True)) if last.height else None


def _counted(rows: pl.DataFrame, name: str) -> dict[str, int]:
    counted = rows.group_by(name).len().sort("len", name, descending=[True, False])
    return dict(counted.iter_rows())


def _ages(active: pl.DataFrame, *, now: datetime) -> dict[str, int]:
    """Active memories by how long ago it was said, youngest first; those of which nobody knows it last."""
    days, is_undated = days_since(pl.col("event_time"), now=now), are_unknown(pl.col("event_time"))
    labels = [*(label for _, label in AGES), "older", DAY_UNKNOWN]
    place = pl.sum_horizontal(days >= border for border, _ in AGES).cast(pl.Int64)
    places = active.select(place=pl.when(is_undated).then(len(labels) - 1).otherwise(place))["place"]
    counts = {label: int((places == number).sum()) for number, label in enumerate(labels)}
    return {label: count for label, count in counts.items() if count or label != DAY_UNKNOWN}


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
