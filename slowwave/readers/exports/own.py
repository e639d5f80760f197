"""Slowwave's own export as checked rows, in batches of a bounded size."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import polars as pl

from slowwave.errors import InputError
from slowwave.readers.bounds import DEFAULTS, Counts
from slowwave.readers.exports.forms import SLOWWAVE
from slowwave.readers.exports.own_lines import FORMAT, TABLE_OF, checked_row, schema_of
from slowwave.readers.files import object_of, shown_path
from slowwave.readers.lines import Line, Record, json_records, lines_of
from slowwave.settings.readers import ReaderSettings


class Batch(NamedTuple):
    """Rows of one type of line, in the order of the file."""

    kind: str
    rows: pl.DataFrame


def read_own(path: Path, counts: Counts, *, bounds: ReaderSettings = DEFAULTS) -> Iterator[Batch]:
    """The rows of an export; lines that cannot be used are counted in `counts`.

    Raises:
        NotFoundError: There is no such file.
        InputError: It cannot be read, is not whole, or is of a later form than this program knows.
    """
    _refuse_cut(path, bounds)
    rows: list[dict[str, object]] = []
    kind, size = "", 0
    for record in json_records(path, counts, bounds):
        name = str(record.fields.get("type"))
        if name == SLOWWAVE:
            _refuse_later(path, record)
            counts.skip("header")
            continue
        row = _row(name, record, counts, bounds)
        if row is None:
            continue
        if rows and (name != kind or len(rows) >= bounds.part_turns or size >= bounds.part_characters):
            yield Batch(kind, pl.DataFrame(rows, schema=schema_of(kind), orient="row"))
            rows, size = [], 0
        kind = name
        rows.append(row)
        size += len(str(row.get("content", "")))
    if rows:
        yield Batch(kind, pl.DataFrame(rows, schema=schema_of(kind), orient="row"))


def _row(name: str, record: Record, counts: Counts, bounds: ReaderSettings) -> dict[str, object] | None:
    if name not in TABLE_OF:
        counts.skip("line of an unknown type")
        return None
    row = checked_row(name, record.fields, counts.redacted, most_characters=bounds.line_bytes)
    if row is None:
        counts.skip("line that cannot be used")
        told = f"line {record.line} ({name}) lacks a value, or has one that is not possible"
        counts.exceed("line that cannot be used", told, most=bounds.shown_places)
        return None
    counts.taken_count += 1
    return row


def _refuse_cut(path: Path, bounds: ReaderSettings) -> None:
    """Refuses a file with fewer lines than its header counts, before anything of it is taken in."""
    lines = (line for line in lines_of(path, bounds) if line.data is None or line.data.strip())
    header = next(lines, None)
    counted = object_of(object_of(_value(header)).get("counts")).values()
    row_count = sum(count for count in counted if isinstance(count, int))
    found = sum(line.is_ended or _value(line) is not None for line in lines)
    if found < row_count:
        raise InputError(
            f"{shown_path(path)} is not whole: it has {found:,} of the {row_count:,} rows that its first line "
            "counts. Copy it again, or export again."
        )


def _value(line: Line | None) -> object:
    """The JSON value of a line; null where it is none."""
    try:
        return json.loads(((line and line.data) or b"").decode("utf-8-sig", "replace"), strict=False)
    except (ValueError, RecursionError):
        return None


def _refuse_later(path: Path, record: Record) -> None:
    if record.fields.get("format") != FORMAT:
        raise InputError(
            f"{shown_path(path)} is an export in format {str(record.fields.get('format'))[:20]}, and this program "
            f"knows {FORMAT}: upgrade Slowwave."
        )
