"""Slowwave's own export: its lines, their columns, and the checks of what comes from outside.

The first line names the form; each other one has a `type` and the columns of a table (`data/README.md`). The user is
left out, and the project where it is the home's own: a home that takes the export in puts its own there. So are columns
without a value.
"""

import math
import re
from collections.abc import Iterator
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Final

import pandera.polars as pa
import polars as pl
from pandera.errors import SchemaErrors

from slowwave.errors import InputError
from slowwave.ingest.bounds import Bounds
from slowwave.ingest.counts import Counts
from slowwave.ingest.fences import strip_injected
from slowwave.ingest.fields import Fields, json_value, object_of, parse_time
from slowwave.ingest.files import Input, shown_path
from slowwave.ingest.formats.row import Format
from slowwave.ingest.lines import Record, json_records, lines_of
from slowwave.ingest.redact import redact
from slowwave.ingest.redact.names import safe_id
from slowwave.journal.catalogue import CATALOGUE
from slowwave.schemas.identity import content_hash
from slowwave.schemas.refusals import clean_text
from slowwave.schemas.tables import KEYS, TABLES, TIMESTAMP, Dtype, frame_schema
from slowwave.schemas.text_columns import text_columns

VERSION: Final = 1
HEADER: Final = "slowwave_export"
"""`type` of the first line."""

TABLE_OF: Final[dict[str, str]] = {
    "memory": "cells",
    "turn": "turns",
    "chunk": "chunks",
    "topic": "topics",
    "contradiction": "contradictions",
    "judgement": "judgements",
    "entity": "entities",
    "identity": "identities",
    "mention": "mentions",
    "artifact": "artifacts",
    "edge": "edges",
    "link": "links",
    "core_line": "core",
    "deleted": "tombstones",
}
"""The table of each type of line, in the order of the lines."""

TURN_COUNT, CELL_IDS = "turn_count", "cell_ids"
"""Columns that no table has: the turns of an episode when it was written, and the memories behind a topic's summary."""

UNUSABLE: Final = "line that cannot be used"

_LEFT_OUT: Final = {"tombstones": {"content", "note"}}
"""Columns that no export has, as well as the user: the text of what a person deleted."""

_KEY: Final = re.compile(r"[0-9A-Za-z_-]{1,48}")
_HASH: Final = re.compile(r"[0-9a-f]{16,64}")
_HASHED: Final = {"cells", "turns"}

FORMAT: Final = Format(
    name="slowwave",
    title="an export of Slowwave",
    messages=None,
    is_record=lambda record: record.get("type") == HEADER,
)


@cache
def checks_of(kind: str) -> pa.DataFrameSchema:
    """The schema of a type of line: its columns in their order, and what their values may be."""
    found = _of_table(TABLE_OF[kind])
    if kind == "memory":
        usage = {
            name: column for name, column in _of_table("cell_usage").columns.items() if name != "cell_id"
        }
        turn_count = pa.Column(pl.Int64, pa.Check.ge(0), nullable=True)
        found = found.add_columns({**usage, TURN_COUNT: turn_count})
    if kind == "topic":
        found = found.add_columns({CELL_IDS: pa.Column(pl.List(pl.String), nullable=True)})
    return found


def _of_table(table: str) -> pa.DataFrameSchema:
    left_out = {"user_id", *_LEFT_OUT.get(table, ())}
    schema = TABLES[table].to_schema()
    schema = schema.remove_columns([name for name in schema.columns if name in left_out])
    has_project = "project_id" in schema.columns
    return schema.update_column("project_id", nullable=True) if has_project else schema


@cache
def schema_of(kind: str) -> pl.Schema:
    """Columns and types of a type of line."""
    known = {**frame_schema(TABLE_OF[kind]), **frame_schema("cell_usage")}
    extra = {TURN_COUNT: pl.Int64(), CELL_IDS: pl.List(pl.String)}
    return pl.Schema({name: known.get(name, extra.get(name)) for name in checks_of(kind).columns})


@cache
def texts_of(kind: str) -> frozenset[str]:
    """The columns of a type of line that hold somebody's text, as far as it has them."""
    return frozenset(text_columns(TABLE_OF[kind]))


def read_own(file: Input) -> Iterator[tuple[str, pl.DataFrame]]:
    """The rows of an export with their type of line, in bounded batches; lines that cannot be used are counted.

    Raises:
        NotFoundError: There is no such file.
        InputError: It cannot be read, is not whole, or is of a later form than this program knows.
    """
    _refuse_cut(file.path, file.bounds)
    for kind, records in _batches(file):
        rows = {
            record.line: row for record in records if (row := _row(kind, record.fields, file)) is not None
        }
        frame = pl.DataFrame([*rows.values()], schema=schema_of(kind), orient="row")
        kept = frame.with_columns(record_line=pl.Series([*rows], dtype=pl.Int64))
        try:
            checks_of(kind).validate(frame, lazy=True)
        except SchemaErrors as error:
            kept = kept.filter(~pl.int_range(pl.len()).is_in(error.failure_cases["index"].implode()))
        for line in sorted({record.line for record in records} - {*kept["record_line"]}):
            file.counts.skip(UNUSABLE)
            excess = f"line {line} ({kind}) lacks a value, or has one that is not possible"
            file.counts.exceed(UNUSABLE, excess)
        file.counts.taken_count += kept.height
        if kept.height:
            yield kind, kept.drop("record_line")


def _batches(file: Input) -> Iterator[tuple[str, list[Record]]]:
    """The records of an export, those of one type that follow one another together."""
    batch: list[Record] = []
    kind, size = "", 0
    for record in json_records(file):
        name = str(record.fields.get("type"))
        if name == HEADER:
            _refuse_later(file.path, record)
            file.counts.skip("header")
        elif name not in TABLE_OF:
            file.counts.skip("line of an unknown type")
        else:
            is_full = len(batch) >= file.bounds.part_turns or size >= file.bounds.part_characters
            if batch and (name != kind or is_full):
                yield kind, batch
                batch, size = [], 0
            kind = name
            batch.append(record)
            size += len(str(record.fields.get("content", "")))
    if batch:
        yield kind, batch


def _refuse_cut(path: Path, bounds: Bounds) -> None:
    """Refuse a file with fewer lines than its header counts, before anything of it is taken in."""
    lines = (line for line in lines_of(path, bounds) if line.data is None or line.text)
    header = "".join(line.text for line in islice(lines, 1))
    counted = object_of(object_of(json_value(header)).get("counts")).values()
    row_count = sum(count for count in counted if isinstance(count, int))
    found = sum(line.is_ended or json_value(line.text) is not None for line in lines)
    if found < row_count:
        raise InputError(
            f"{shown_path(path)} is not whole: it has {found:,} of the {row_count:,} rows that its first line "
            "counts. Copy it again, or export again."
        )


def _refuse_later(path: Path, record: Record) -> None:
    if record.fields.get("format") != VERSION:
        raise InputError(
            f"{shown_path(path)} is an export in format {str(record.fields.get('format'))[:20]}, and this program "
            f"knows {VERSION}: upgrade Slowwave."
        )


def _row(kind: str, fields: Fields, file: Input) -> dict[str, object] | None:
    """The row of a line, without secrets and without injected memory; null where a value is of another type.

    Hashes are computed anew from the text.
    """
    row: dict[str, object] = {}
    later = CATALOGUE["cell.extracted"].defaults(1) if kind == "memory" else {}  # an older export lacks them
    for name, dtype in schema_of(kind).items():
        given = fields.get(name, later.get(name))
        if given is None:
            row[name] = [] if dtype == pl.List(pl.String) else None
        elif (value := _typed(given, dtype)) is None:
            return None
        else:
            row[name] = _clean(value, file.counts, is_text=name in texts_of(kind))
    if not _KEY.fullmatch(str(row[KEYS[TABLE_OF[kind]]])):
        return None
    if TABLE_OF[kind] in _HASHED:
        row["content_hash"] = content_hash(str(row["content"]))
    return row


def _typed(value: object, dtype: Dtype) -> object | None:
    """A value in the type of its column; null where it has another."""
    if dtype == TIMESTAMP:
        return parse_time(value) if isinstance(value, str) else None
    if dtype == pl.List(pl.String):
        return value if isinstance(value, list) and all(isinstance(item, str) for item in value) else None
    if dtype in (pl.String, pl.Boolean):
        return value if isinstance(value, str if dtype == pl.String else bool) else None
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    if not math.isfinite(value) or abs(value) >= 2**63 or (dtype == pl.Int64 and value != int(value)):
        return None
    return int(value) if dtype == pl.Int64 else float(value)


def _clean(value: object, counts: Counts, *, is_text: bool) -> object:
    """A text, or each of a list, without injected memory and secrets; an id with a secret in it as a hash."""
    if isinstance(value, list):
        return [_clean(item, counts, is_text=is_text) for item in value]
    if not isinstance(value, str):
        return value
    text = clean_text(value)
    if not is_text:
        return text if _HASH.fullmatch(text) else safe_id(text)
    safe, found = redact(strip_injected(text)[0])
    counts.redacted.update(found)
    return safe
