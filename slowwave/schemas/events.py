"""The catalogue of journal events: every kind, its current version and the columns of its payload.

One event is one line; its payload is flat, so that a frame of events of one kind is a frame of rows. A raw
event says what came in, a derived one what was decided, naming the prompt version and model behind it.
`docs/events.md` writes the catalogue down and a test holds it against this file.

A payload that changes shape gets the next version here and an upcast in `UPCASTS`; old segments are never
rewritten and stay readable.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from slowwave.schemas.tables import OWN, TIMESTAMP, Dtype, frame_schema

PROVENANCE = {"prompt_version": pl.String, "model": pl.String}
STRINGS = pl.List(pl.String)

SCAN_SCHEMA = pl.Schema(
    [
        ("segment_id", pl.String),
        ("event_id", pl.String),
        ("kind", pl.String),
        ("version", pl.Int64),
        ("recorded_at", TIMESTAMP),
        ("payload", pl.String),
    ]
)
"""A scanned journal: one row an event in segment order, the payload as JSON text."""


@dataclass(frozen=True)
class EventKind:
    """One kind of event: what its payload holds at the current version."""

    kind: str
    version: int
    is_raw: bool
    payload: pl.Schema
    meaning: str


def _row_of(table: str, *, without: tuple[str, ...] = ("recorded_at",), **extra: Dtype) -> dict[str, Dtype]:
    columns = {name: kind for name, kind in frame_schema(table).items() if name not in without}
    return {**columns, **extra}


def _kind(
    kind: str, payload: Mapping[str, Dtype], meaning: str, *, is_raw: bool = False, version: int = 1
) -> EventKind:
    return EventKind(kind, version, is_raw, pl.Schema(payload), meaning)


_OWN = dict.fromkeys(OWN, pl.String)

CATALOGUE: dict[str, EventKind] = {
    entry.kind: entry
    for entry in (
        _kind("turn.recorded", _row_of("turns"), "A message or a section of a file came in.", is_raw=True),
        _kind(
            "source.recorded", _row_of("sources"), "A file was taken in whole, with this hash.", is_raw=True
        ),
        _kind(
            "usage.recorded",
            _row_of("usage", without=("folded_at",)),
            "A memory was retrieved, cited or ignored.",
            is_raw=True,
        ),
        _kind(
            "cell.deleted",
            {"cell_id": pl.String, "content_hash": pl.String, "note": pl.String, **_OWN},
            "A person deleted a memory: a tombstone that no later run undoes.",
            is_raw=True,
        ),
        _kind(
            "chunk.released",
            {"chunk_id": pl.String},
            "A person sent a quarantined chunk back to work.",
            is_raw=True,
        ),
        _kind("chunk.cut", _row_of("chunks"), "A window of turns was cut for extraction."),
        _kind(
            "chunk.gated",
            {"chunk_id": pl.String, "is_worth": pl.Boolean, "reason": pl.String, **PROVENANCE},
            "The gate said whether a chunk holds anything worth remembering.",
        ),
        _kind(
            "chunk.extracted",
            {"chunk_id": pl.String, "cell_count": pl.Int64, "rejected_count": pl.Int64, **PROVENANCE},
            "A chunk's memories were extracted.",
        ),
        _kind(
            "chunk.failed",
            {
                "chunk_id": pl.String,
                "attempts": pl.Int64,
                "status": pl.String,
                "error": pl.String,
                "retry_at": TIMESTAMP,
                **PROVENANCE,
            },
            "A model's answers for a chunk could not be used.",
        ),
        _kind(
            "cell.extracted",
            _row_of("cells"),
            "A memory was made from a chunk.",
        ),
        _kind(
            "cell.confirmed",
            {
                "cell_id": pl.String,
                "confirmed_by": pl.String,
                "confirmations": pl.Int64,
                "evidence": STRINGS,
                "last_accessed": TIMESTAMP,
                **PROVENANCE,
            },
            "A known memory was said again: the new count and the joined evidence.",
        ),
        _kind(
            "cell.merged",
            {"cell_id": pl.String, "superseded_by": pl.String, "superseded_at": TIMESTAMP},
            "A memory said exactly or, as judged, the same as another and lives on in it.",
        ),
        _kind(
            "cell.retired",
            {"cell_id": pl.String, "superseded_at": TIMESTAMP},
            "A raw cell made way for the extracted cells of its chunk.",
        ),
        _kind(
            "cell.superseded",
            {
                "cell_id": pl.String,
                "superseded_by": pl.String,
                "superseded_at": TIMESTAMP,
                "valid_until": TIMESTAMP,
                "verdict": pl.String,
                **PROVENANCE,
            },
            "A memory was corrected or updated by another.",
        ),
        _kind(
            "cell.succeeded",
            {"cell_id": pl.String, "supersedes": pl.String, "summary": pl.String, **PROVENANCE},
            "A memory took the place of another; its summary carries the timeline.",
        ),
        _kind("cell.judged", {"cell_id": pl.String}, "A new memory went through reconciliation."),
        _kind(
            "cell.flagged",
            {"cell_id": pl.String, "reason": pl.String},
            "A memory depends on one that was superseded and needs review.",
        ),
        _kind(
            "cell.archived",
            {
                "cell_id": pl.String,
                "effective_confidence": pl.Float64,
                "reason": pl.String,
                "archived_count": pl.Int64,
            },
            "A faded memory left default search; it can be revived.",
            version=2,
        ),
        _kind(
            "cell.revived",
            {
                "cell_id": pl.String,
                "revived_count": pl.Int64,
                "last_accessed": TIMESTAMP,
                "reason": pl.String,
            },
            "An archived memory came back.",
            version=2,
        ),
        _kind(
            "cell.pruned",
            {"cell_id": pl.String, "reason": pl.String},
            "A long superseded memory left the store; the journal keeps it.",
        ),
        _kind(
            "cell.assigned",
            {"cell_id": pl.String, "topic_id": pl.String, "similarity": pl.Float64},
            "A memory joined a topic.",
        ),
        _kind("topic.opened", {"topic_id": pl.String, "name": pl.String, **_OWN}, "A topic was opened."),
        _kind(
            "topic.counted",
            {"topic_id": pl.String, "cell_count": pl.Int64, "unsummarized_count": pl.Int64},
            "A topic's live and unsummarized cells were counted again.",
        ),
        _kind(
            "topic.merged",
            {"topic_id": pl.String, "merged_into": pl.String},
            "A topic was found near-identical to another.",
        ),
        _kind("topic.renamed", {"topic_id": pl.String, "name": pl.String}, "A topic got a better name."),
        _kind(
            "topic.summarized",
            {
                "topic_id": pl.String,
                "summary": pl.String,
                "compressed": pl.String,
                "cell_ids": STRINGS,
                **PROVENANCE,
            },
            "A topic's summary was written from the live cells named.",
        ),
        _kind(
            "topic.flagged",
            {"topic_id": pl.String, "reason": pl.String},
            "A topic's summary depends on a superseded memory.",
        ),
        _kind(
            "pair.judged",
            _row_of("judgements", without=("judged_at",)),
            "A pair of memories was judged, or noted as unjudged.",
        ),
        _kind(
            "contradiction.opened",
            {
                "contradiction_id": pl.String,
                "cell_a": pl.String,
                "cell_b": pl.String,
                "subject": pl.String,
                "attribute": pl.String,
                "note": pl.String,
                **_OWN,
                **PROVENANCE,
            },
            "Two memories cannot both hold.",
        ),
        _kind(
            "vitals.folded",
            _row_of("vitals", without=("archived_count", "archived_at", "revived_at")),
            "A memory's counts after usage was folded in.",
            version=2,
        ),
        _kind("usage.folded", {"usage_id": pl.String}, "A usage record reached the vitals."),
        _kind(
            "core.promoted",
            _row_of(
                "core", without=("promoted_at",), reason=pl.String(), **{k: pl.String() for k in PROVENANCE}
            ),
            "A memory stands in core memory at this line.",
        ),
        _kind(
            "core.moved",
            {"cell_id": pl.String, "line_rank": pl.Int64},
            "A line of core memory has another place, because of lines before it that came or left.",
        ),
        _kind(
            "core.demoted",
            {"cell_id": pl.String, "reason": pl.String},
            "A memory left core memory; it stays in the store.",
        ),
        _kind("night.completed", _row_of("nights"), "A night ended: what it did and what it cost."),
    )
}

UPCASTS: dict[tuple[str, int], dict[str, object]] = {
    ("cell.archived", 1): {"archived_count": 1},
    ("cell.revived", 1): {"reason": None},
    ("vitals.folded", 1): {"retrieved_at": None},
}
"""For a kind and an old version: the columns that the next version added, with the value that old events mean."""


def is_readable(kind: str, version: int) -> bool:
    """Whether this program understands an event of this kind and version."""
    return kind in CATALOGUE and 1 <= version <= CATALOGUE[kind].version


def upcast_defaults(kind: str, version: int) -> dict[str, object]:
    """Values for columns that came after `version`, oldest step first."""
    defaults: dict[str, object] = {}
    for step in range(version, CATALOGUE[kind].version):
        defaults.update(UPCASTS[(kind, step)])
    return defaults


def rows_of(kind: str, rows: Sequence[tuple[object, ...] | dict[str, object]]) -> pl.DataFrame:
    """Rows of one kind's payload, from tuples in the order of its columns or from dicts."""
    return pl.DataFrame(rows, schema=CATALOGUE[kind].payload, orient="row")


_ISO = "%Y-%m-%dT%H:%M:%S%.6fZ"


def _wire_schema(payload: pl.Schema) -> pl.Schema:
    return pl.Schema({name: pl.String if kind == TIMESTAMP else kind for name, kind in payload.items()})


def encode(kind: str, rows: pl.DataFrame) -> pl.DataFrame:
    """Events of one kind from rows that hold at least the payload's columns: `kind` and `payload` as JSON text."""
    payload = CATALOGUE[kind].payload
    wire = rows.select(
        pl.col(name).cast(TIMESTAMP).dt.strftime(_ISO) if dtype == TIMESTAMP else pl.col(name).cast(dtype)
        for name, dtype in payload.items()
    )
    return wire.select(kind=pl.lit(kind), payload=pl.struct(pl.all()).struct.json_encode())


def decode(kind: str, events: pl.DataFrame) -> pl.DataFrame:
    """Rows of the payload of events that all are of `kind`, in their order, with `recorded_at` and `order` kept."""
    payload = CATALOGUE[kind].payload
    frames = [
        _decode_version(kind, part, payload) for part in events.partition_by("version", maintain_order=True)
    ]
    return pl.concat(frames).sort("order") if frames else _decode_version(kind, events, payload)


def _decode_version(kind: str, events: pl.DataFrame, payload: pl.Schema) -> pl.DataFrame:
    version = int(events["version"][0]) if events.height else CATALOGUE[kind].version
    defaults = upcast_defaults(kind, version)
    wire = _wire_schema(payload)
    decoded = events.select(
        pl.col("payload").str.json_decode(pl.Struct(wire)),
        event_recorded_at=pl.col("recorded_at"),
        order=pl.col("order"),
    ).unnest("payload")
    columns = [
        pl.lit(defaults[name], dtype=dtype).alias(name)
        if name in defaults
        else pl.col(name).str.to_datetime(_ISO, time_unit="us", time_zone="UTC")
        if dtype == TIMESTAMP
        else pl.col(name)
        for name, dtype in payload.items()
    ]
    return decoded.select(*columns, "event_recorded_at", "order")
