"""One row of the catalogue: a kind of event, the columns of its payload, and the changes of tables that it asks for."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial

import polars as pl

from slowwave.journal.changes import Mode
from slowwave.schemas.tables import OWNER, TABLES, Dtype, frame_schema

OF_EVENTS_ALONE: dict[str, Dtype] = {
    "is_worth": pl.Boolean,
    "rejected_count": pl.Int64,
    "confirmed_by": pl.String,
    "effective_confidence": pl.Float64,
    "similarity": pl.Float64,
    "cell_ids": pl.List(pl.String),
    "winner_id": pl.String,
    "derivation_id": pl.String,
    "event_id": pl.String,
    "redaction_id": pl.String,
    "rules_id": pl.String,
    "secret_kind": pl.String,
    "secret_count": pl.Int64,
    "imported_from": pl.String,
}
"""Columns of payloads that no table has; every other one has the type that it has in the tables."""

TYPES: dict[str, Dtype] = {
    **{name: dtype for table in TABLES for name, dtype in frame_schema(table).items()},
    **OF_EVENTS_ALONE,
}

GROUPS = {
    "OWNER": tuple(OWNER),
    "MADE_BY": ("prompt_version", "model"),
    "TRIED": ("attempts", "status", "error", "retry_at"),
}
"""Names of several columns that many payloads share. `TRIED` is the state of work that failed: how often it was tried,
and when it is tried again."""


Value = str | bool | int | pl.Expr | None
Sentence = Callable[[Mapping[str, object]], str]

RECORDED = pl.col("event_recorded_at")
"""The time of the event, as the value of a column."""


@dataclass(frozen=True)
class Write:
    """The change of one table by a kind of event.

    A row takes the payload's columns that the table has (or of these only the named `columns`), and `values` in place
    of them or beside them. A row that is complete (a birth, or a whole one) is null elsewhere, and empty in lists.
    """

    table: str
    mode: Mode
    values: Mapping[str, Value]
    columns: tuple[str, ...] | None = None
    rows: Callable[[pl.DataFrame], pl.DataFrame] | None = None
    """The rows that are written, from the payloads; null for all of them as they are."""

    def taking(self, *columns: str) -> "Write":
        """The same, with these columns of the payload alone."""
        return replace(self, columns=columns)

    def of(self, rows: Callable[[pl.DataFrame], pl.DataFrame]) -> "Write":
        """The same, of these rows."""
        return replace(self, rows=rows)


def _write(mode: Mode, table: str, **values: Value) -> Write:
    return Write(table, mode, values)


birth, whole, patch = (partial(_write, mode) for mode in ("birth", "whole", "patch"))
"""The modes of `Change`, but for removals."""


def removals(*tables: str) -> list[Write]:
    """The row leaves each of these tables."""
    return [Write(table, "removal", {}) for table in tables]


@dataclass(frozen=True)
class EventKind:
    """One kind of event; what it means to a reader says `docs/events.md`.

    `status` is the status in which it leaves its memory, which a patch of `cells` sets; null where it leaves that as it
    was. `sentence` renders a payload as a step of its memory's life; kinds without one are no such step. A payload that
    gets new columns adds a step to `added`: the columns, with the value that older events mean. Old segments are never
    rewritten and stay readable.
    """

    kind: str
    payload: pl.Schema
    writes: tuple[Write, ...]
    is_raw: bool
    added: tuple[Mapping[str, object], ...] = ()
    status: str | None = None
    sentence: Sentence | None = None

    @property
    def version(self) -> int:
        """Version of the payload: 1, and one more for each step of `added`."""
        return 1 + len(self.added)

    def defaults(self, version: int) -> dict[str, object]:
        """Values of the columns that came after `version`."""
        return {name: value for step in self.added[version - 1 :] for name, value in step.items()}


def derived(
    kind: str,
    payload: str | Mapping[str, Dtype],
    *writes: Write,
    added: tuple[Mapping[str, object], ...] = (),
    status: str | None = None,
    sentence: Sentence | None = None,
    is_raw: bool = False,
) -> EventKind:
    """A kind that says what was decided; `payload` may be names (`columns_named`)."""
    columns = columns_named(payload) if isinstance(payload, str) else payload
    return EventKind(kind, pl.Schema(columns), writes, is_raw, added, status, sentence)


raw = partial(derived, is_raw=True)
"""A kind that says what came in."""


def columns_named(names: str) -> dict[str, Dtype]:
    """Columns by their names, with the types of the tables; a name of `GROUPS` stands for several."""
    return {name: TYPES[name] for word in names.split() for name in GROUPS.get(word, (word,))}


def row_of(table: str, more: str = "", *, without: tuple[str, ...] = ("recorded_at",)) -> dict[str, Dtype]:
    """The columns of a table that an event of its rows carries, and `more` columns by name."""
    columns = {name: dtype for name, dtype in frame_schema(table).items() if name not in without}
    return {**columns, **columns_named(more)}
