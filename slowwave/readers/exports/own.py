"""Slowwave's own export as checked rows, in batches of a bounded size."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import polars as pl

from slowwave.errors import InputError
from slowwave.readers.bounds import DEFAULTS, Counts
from slowwave.readers.exports.forms import SLOWWAVE
from slowwave.readers.exports.own_lines import FORMAT, TABLE_OF, checked_row, schema_of
from slowwave.readers.files import shown_path
from slowwave.readers.lines import Record, json_records
from slowwave.settings.readers import ReaderSettings


class Batch(NamedTuple):
    """Rows of one type of line, in the order of the file."""

    kind: str
    rows: pl.DataFrame


def read_own(path: Path, counts: Counts, *, bounds: ReaderSettings = DEFAULTS) -> Iterator[Batch]:
    """The rows of an export; lines that cannot be used are counted in `counts`.

    Raises:
        NotFoundError: There is no such file.
        InputError: It cannot be read, or is of a later form than this program knows.
    """
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


def _refuse_later(path: Path, record: Record) -> None:
    if record.fields.get("format") != FORMAT:
        raise InputError(
            f"{shown_path(path)} is an export in format {str(record.fields.get('format'))[:20]}, and this program "
            f"knows {FORMAT}: upgrade Slowwave."
        )
