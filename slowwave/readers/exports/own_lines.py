"""The lines of Slowwave's own export: their types, their columns, and the check of each value that comes from outside.

The first line names the form; each other one has a `type` and the columns of a table (`data/README.md`). The user is
left out, and the project where it is the home's own: a home that takes the export in puts its own there. So are columns
without a value.
"""

import math
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Final

import polars as pl

from slowwave.ingest.redact import redact
from slowwave.ingest.redact.names import safe_id
from slowwave.journal.catalogue import CATALOGUE
from slowwave.readers.fences import strip_injected
from slowwave.readers.files import LONGEST_LABEL, parse_time
from slowwave.schemas.identity import content_hash
from slowwave.schemas.refusals import clean_text
from slowwave.schemas.tables import KEYS, TABLES, TIMESTAMP, Dtype, frame_schema
from slowwave.schemas.text_columns import text_columns

FORMAT: Final = 1

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
"""The table of each type of line, in the order in which the lines stand."""

LEFT_OUT: Final = {"tombstones": {"content", "note"}}
"""Columns that no export holds, beside the user: the text of what a person deleted."""

TURN_COUNT, CELL_IDS = "turn_count", "cell_ids"
"""Columns beside those of the table: an episode's turns when it was told, and the memories behind a topic's summary."""

_MOST_IN_LIST: Final = 100_000
_KEY: Final = re.compile(r"[0-9A-Za-z_-]{1,48}")
_HASH: Final = re.compile(r"[0-9a-f]{16,64}")
_HASHED: Final = {"cells", "turns"}


@dataclass(frozen=True)
class Column:
    """The rule for a column of a line."""

    dtype: Dtype
    is_nullable: bool
    is_text: bool = False
    choices: frozenset[str] = frozenset()
    least: float = -math.inf
    most: float = math.inf


@cache
def columns_of(kind: str) -> dict[str, Column]:
    """The columns of a type of line, in their order."""
    table = TABLE_OF[kind]
    found = _of_table(table)
    if kind == "memory":
        found |= {name: column for name, column in _of_table("cell_usage").items() if name != "cell_id"}
        found[TURN_COUNT] = Column(pl.Int64(), is_nullable=True, least=0)
    if kind == "topic":
        found[CELL_IDS] = Column(pl.List(pl.String), is_nullable=True)
    return found


def schema_of(kind: str) -> pl.Schema:
    """Columns and types of a type of line."""
    return pl.Schema({name: column.dtype for name, column in columns_of(kind).items()})


def checked_row(
    kind: str, fields: Mapping[str, object], redacted: Counter[str], *, most_characters: int
) -> dict[str, object] | None:
    """The row of a line, without secrets and without injected memory; null where a value is not possible.

    Hashes are computed anew from the text.
    """
    row: dict[str, object] = {}
    later = CATALOGUE["cell.extracted"].defaults(1) if kind == "memory" else {}  # an older export lacks them
    for name, column in columns_of(kind).items():
        value = fields.get(name, later.get(name))
        if value is None and column.dtype == pl.List(pl.String):
            value = []
        if value is None:
            if not column.is_nullable:
                return None
            row[name] = None
            continue
        made = _value(value, column, redacted, most=most_characters if column.is_text else LONGEST_LABEL)
        if made is None:
            return None
        row[name] = made
    if not _KEY.fullmatch(str(row[KEYS[TABLE_OF[kind]]])):
        return None
    if TABLE_OF[kind] in _HASHED:
        row["content_hash"] = content_hash(str(row["content"]))
    return row


def _of_table(table: str) -> dict[str, Column]:
    model, texts = TABLES[table].to_schema().columns, set(text_columns(table))
    left_out = {"user_id", *LEFT_OUT.get(table, ())}
    found: dict[str, Column] = {}
    for name, dtype in frame_schema(table).items():
        if name in left_out:
            continue
        rules = {key: value for check in model[name].checks for key, value in check.statistics.items()}
        found[name] = Column(
            dtype,
            is_nullable=model[name].nullable or name == "project_id",
            is_text=name in texts,
            choices=frozenset(rules.get("allowed_values", ())),
            least=rules.get("min_value", -math.inf),
            most=rules.get("max_value", math.inf),
        )
    return found


def _value(value: object, column: Column, redacted: Counter[str], *, most: int) -> object | None:
    """A value as its column has it; null where it is not possible."""
    if column.dtype == pl.List(pl.String):
        if not isinstance(value, list) or len(value) > _MOST_IN_LIST:
            return None
        texts = [_text(item, column, redacted, most=most) for item in value]
        return None if None in texts else texts
    if column.dtype == pl.String:
        return _text(value, column, redacted, most=most)
    if column.dtype == TIMESTAMP:
        return _time(value)
    if column.dtype == pl.Boolean:
        return value if isinstance(value, bool) else None
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not column.least <= value <= column.most or abs(value) >= 2**63:  # type: ignore[operator, arg-type]
        return None
    if column.dtype == pl.Int64:
        return int(value) if value == int(value) else None  # type: ignore[call-overload]
    return float(value)  # type: ignore[arg-type]


def _text(value: object, column: Column, redacted: Counter[str], *, most: int) -> str | None:
    if not isinstance(value, str) or len(value) > most:
        return None
    text = clean_text(value)
    if column.choices:
        return text if text in column.choices else None
    if not column.is_text:
        return text if _HASH.fullmatch(text) else safe_id(text)
    safe, found = redact(strip_injected(text)[0])
    redacted.update(found)
    return safe


def _time(value: object) -> datetime | None:
    return parse_time(value) if isinstance(value, str) else None
