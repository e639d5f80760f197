"""The catalogue of journal events: every kind, with all that is to be known of it but what it changes (`fold.py`).

One event is one line; its payload is flat, so that a frame of events of one kind is a frame of rows. A raw
event says what came in, a derived one what was decided, naming the prompt version and model behind it.
`docs/events.md` writes the catalogue down and a test holds it against this file.
"""

from collections.abc import Sequence

import polars as pl

from slowwave.journal.event_kind import EventKind
from slowwave.journal.memory_events import OF_MEMORIES
from slowwave.journal.relation_events import OF_RELATIONS
from slowwave.schemas.tables import TIMESTAMP

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


CATALOGUE: dict[str, EventKind] = {kind.kind: kind for kind in (*OF_MEMORIES, *OF_RELATIONS)}

FORMER_KINDS = {"vitals.folded": "cell_usage.folded"}
"""Names that kinds have in segments of an older Slowwave, with the names of today."""


def title_of(name: str) -> str:
    """The title of a kind of event in counts; any other name of a count is its own title."""
    return CATALOGUE[name].title if name in CATALOGUE else name


def is_readable(kind: str, version: int) -> bool:
    """Return whether this program understands an event of this kind and version."""
    return kind in CATALOGUE and 1 <= version <= CATALOGUE[kind].version


def rows_of(kind: str, rows: Sequence[tuple[object, ...] | dict[str, object]]) -> pl.DataFrame:
    """Rows of one kind's payload, from tuples in the order of its columns or from dicts."""
    return pl.DataFrame(rows, schema=CATALOGUE[kind].payload, orient="row")


ISO = "%Y-%m-%dT%H:%M:%S%.6fZ"
"""A time as it stands in a segment."""


def from_iso(column: str) -> pl.Expr:
    """The times of a column of texts."""
    return pl.col(column).str.to_datetime(ISO, time_unit="us", time_zone="UTC")


def encode(kind: str, rows: pl.DataFrame) -> pl.DataFrame:
    """Events of one kind from rows that hold at least the payload's columns: `kind` and `payload` as JSON text."""
    payload = CATALOGUE[kind].payload
    wire = rows.select(
        pl.col(name).cast(TIMESTAMP).dt.strftime(ISO) if dtype == TIMESTAMP else pl.col(name).cast(dtype)
        for name, dtype in payload.items()
    )
    return wire.select(kind=pl.lit(kind), payload=pl.struct(pl.all()).struct.json_encode())


EventRows = dict[str, pl.DataFrame]
"""Rows by event kind, in the order in which they are committed."""


def encode_plan(plan: EventRows) -> pl.DataFrame:
    """The events of a plan, which has one kind at least."""
    return pl.concat([encode(kind, rows) for kind, rows in plan.items()])


def decode(kind: str, events: pl.DataFrame) -> pl.DataFrame:
    """Payloads of events that all are of `kind`, in their order, with `event_recorded_at` and `order`."""
    payload = CATALOGUE[kind].payload
    frames = [
        _decode_version(kind, part, payload) for part in events.partition_by("version", maintain_order=True)
    ]
    return pl.concat(frames).sort("order") if frames else _decode_version(kind, events, payload)


def _decode_version(kind: str, events: pl.DataFrame, payload: pl.Schema) -> pl.DataFrame:
    version = int(events["version"][0]) if events.height else CATALOGUE[kind].version
    defaults = CATALOGUE[kind].defaults(version)
    wire = {name: pl.String if dtype == TIMESTAMP else dtype for name, dtype in payload.items()}
    decoded = events.select(
        pl.col("payload").str.json_decode(pl.Struct(wire)),
        event_recorded_at=pl.col("recorded_at"),
        order=pl.col("order"),
    ).unnest("payload")
    columns = [
        pl.lit(defaults[name], dtype=dtype).alias(name)
        if name in defaults
        else from_iso(name)
        if dtype == TIMESTAMP
        else pl.col(name)
        for name, dtype in payload.items()
    ]
    return decoded.select(*columns, "event_recorded_at", "order")
