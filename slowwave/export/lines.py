"""An export as JSONL, from which `ingest` makes the same memory in another home."""

import json
from collections.abc import Iterator
from datetime import datetime

import polars as pl

from slowwave.export.rows import Rows
from slowwave.ingest.formats.own import HEADER, VERSION
from slowwave.journal.catalogue import ISO
from slowwave.progress import progress
from slowwave.schemas.tables import TIMESTAMP

JSONL_HEAD = f'{{"type": "{HEADER}"'


def jsonl_lines(rows: Rows, *, version: str, now: datetime) -> Iterator[str]:
    """The lines of an export, each with its end: the header, then each row, without the columns that have no value."""
    header = {
        "type": HEADER,
        "format": VERSION,
        "slowwave": version,
        "exported_at": now.isoformat(),
        "counts": {kind: frame.height for kind, frame in rows.items() if frame.height},
    }
    yield _line(header)
    done, total = 0, sum(frame.height for frame in rows.values())
    for kind, frame in rows.items():
        times = [name for name, dtype in frame.schema.items() if dtype == TIMESTAMP]
        for part in frame.iter_slices(10_000):
            told = part.with_columns(pl.col(times).dt.strftime(ISO))
            for row in told.iter_rows(named=True):
                yield _line(
                    {"type": kind, **{name: value for name, value in row.items() if value not in (None, [])}}
                )
            done += part.height
            progress("export", done, total)


def _line(fields: dict[str, object]) -> str:
    return json.dumps(fields, ensure_ascii=False, allow_nan=False) + "\n"
