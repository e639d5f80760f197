"""The changes of tables that scanned events ask for, as their rows of the catalogue say.

The store applies collapsed changes (`slowwave/journal/changes.py`) and `rebuild` is the same fold over the whole
journal, so that both reach the same tables.
"""

import polars as pl

from slowwave.journal.catalogue import CATALOGUE, decode
from slowwave.journal.changes import Change
from slowwave.journal.event_kind import Write
from slowwave.schemas.tables import KEYS, frame_schema


def fold(events: pl.DataFrame) -> list[Change]:
    """Changes that scanned events (`SCAN_SCHEMA`) ask for, in no particular order; `order` tells which is later."""
    ordered = events.with_row_index("order").with_columns(pl.col("order").cast(pl.Int64))
    changes: list[Change] = []
    for part in ordered.partition_by("kind", maintain_order=True):
        kind = CATALOGUE[part["kind"][0]]
        payloads = decode(kind.kind, part)
        changes.extend(_change(write, payloads, kind.status) for write in kind.writes)
    return changes


def _change(write: Write, payloads: pl.DataFrame, status: str | None) -> Change:
    rows = write.rows(payloads) if write.rows is not None else payloads
    key, types = KEYS[write.table], frame_schema(write.table)
    if write.mode == "removal":
        return Change(write.table, rows.select(key, "order"), "removal")
    values = dict(write.values)
    if write.table == "cells" and write.mode == "patch" and status is not None:
        values["status"] = status
    if write.mode in ("birth", "whole"):
        nothing = {
            name: pl.lit([] if isinstance(dtype, pl.List) else None, dtype=dtype)
            for name, dtype in types.items()
            if name not in rows.columns
        }
        values = {**nothing, **values}
    taken = types.names() if write.columns is None else (key, *write.columns)
    return Change(
        write.table,
        rows.select(
            "order",
            *(name for name in taken if name in rows.columns and name not in values),
            *(
                (value if isinstance(value, pl.Expr) else pl.lit(value, dtype=types[name])).alias(name)
                for name, value in values.items()
            ),
        ),
        write.mode,
    )
