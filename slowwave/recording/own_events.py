"""The events that make a row of another home's export here: those of its birth, then its state, each at its own time.

Pure: rows in, events out. Folded in this order they give the row as it was, so that a rebuild gives it as well.
"""

from collections.abc import Callable
from datetime import datetime

import polars as pl

from slowwave.ingest.formats.own import TURN_COUNT
from slowwave.journal.catalogue import CATALOGUE, encode
from slowwave.schemas.choices import EPISODE
from slowwave.schemas.tables import TIMESTAMP, shaped

WHY = "as it was exported"

Part = tuple[str, pl.DataFrame, str]
"""A kind of event, its rows, and the column that has the time of each."""


def events_of(kind: str, rows: pl.DataFrame, *, imported_from: str, now: datetime) -> pl.DataFrame | None:
    """Events of rows of one type of line, with their `recorded_at`; null where there are none."""
    if rows.is_empty():
        return None
    told = rows.with_columns(imported_from=pl.lit(imported_from), imported_at=pl.lit(now).cast(TIMESTAMP))
    if "reason" not in rows.columns:
        told = told.with_columns(reason=pl.lit(WHY))
    parts = [
        encode(name, shaped(of_kind, CATALOGUE[name].payload)).with_columns(recorded_at=of_kind[time])
        for name, of_kind, time in _PARTS[kind](told)
        if of_kind.height
    ]
    return pl.concat(parts, rechunk=True)


def _memories(rows: pl.DataFrame) -> list[Part]:
    """A memory as it was when it was made, and what became of it; a person's confirmation stands by itself."""
    is_episode = pl.col("cell_type") == EPISODE
    is_replaced = pl.col("status") == "superseded"
    bare = dict.fromkeys(("topic_id", "summary", "supersedes", "superseded_by", "superseded_at"))
    doubts = dict.fromkeys(("needs_review", "is_judged", "is_summarized", "protected"), False)
    born = rows.filter(~is_episode).with_columns(
        **{name: pl.lit(value, dtype=rows.schema[name]) for name, value in {**bare, **doubts}.items()},
        valid_until=pl.when(~is_replaced).then("valid_until"),
        status=pl.lit("active"),
    )
    episodes = rows.filter(is_episode).with_columns(pl.col(TURN_COUNT).fill_null(0), cell_ids=_none())
    confirmed = rows.filter("protected").with_columns(note=pl.lit(None, dtype=pl.String))
    return [
        ("cell.extracted", born, "recorded_at"),
        ("episode.written", episodes, "recorded_at"),
        ("cell.protected", confirmed, "imported_at"),
        ("cell.imported", rows, "imported_at"),
    ]


def _topics(rows: pl.DataFrame) -> list[Part]:
    return [
        ("topic.opened", rows, "updated_at"),
        ("topic.summarized", rows.drop_nulls(["summary", "summarized_at"]), "summarized_at"),
        ("topic.counted", rows, "updated_at"),
        ("topic.flagged", rows.filter("needs_review"), "updated_at"),
        ("topic.merged", rows.drop_nulls("merged_into"), "updated_at"),
    ]


def _entities(rows: pl.DataFrame) -> list[Part]:
    return [
        ("entity.resolved", rows, "updated_at"),
        ("entity.enriched", rows.drop_nulls(["summary", "enriched_count"]), "updated_at"),
        ("entity.flagged", rows.filter("needs_review"), "updated_at"),
    ]


def _links(rows: pl.DataFrame) -> list[Part]:
    return [
        ("cell.linked", rows, "linked_at"),
        ("cell.examined", rows.drop_nulls("examined_at"), "examined_at"),
    ]


def _one(name: str, time: str) -> Callable[[pl.DataFrame], list[Part]]:
    """The parts of rows that one kind of event makes as they are."""
    return lambda rows: [(name, rows, time)]


def _none() -> pl.Expr:
    return pl.lit([], dtype=pl.List(pl.String))


_PARTS: dict[str, Callable[[pl.DataFrame], list[Part]]] = {
    "memory": _memories,
    "turn": _one("turn.recorded", "recorded_at"),
    "chunk": _one("chunk.cut", "recorded_at"),
    "topic": _topics,
    "contradiction": _one("contradiction.imported", "imported_at"),
    "judgement": _one("pair.judged", "judged_at"),
    "entity": _entities,
    "identity": _one("identity.recorded", "recorded_at"),
    "mention": _one("mention.recorded", "imported_at"),
    "artifact": _one("artifact.recorded", "imported_at"),
    "edge": _one("edge.drawn", "recorded_at"),
    "link": _links,
    "core_line": _one("core.promoted", "promoted_at"),
    "deleted": _one("cell.deleted", "deleted_at"),
}
