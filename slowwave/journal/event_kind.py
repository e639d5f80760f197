"""One kind of journal event, and the columns that many payloads share."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import polars as pl

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


@dataclass(frozen=True)
class EventKind:
    """One kind of event.

    `title` names its events in counts ("memories archived"), `meaning` is its line in `docs/events.md`. `status` is the
    status in which it leaves its memory; null where it leaves that as it was. `sentence` tells a payload as a step of
    its memory's life; kinds without one are no such step. A payload that gets new columns adds a step to `added`: the
    columns, with the value that older events mean. Old segments are never rewritten and stay readable.
    """

    kind: str
    payload: pl.Schema
    title: str
    meaning: str
    added: tuple[Mapping[str, object], ...] = ()
    is_raw: bool = False
    status: str | None = None
    sentence: Callable[[Mapping[str, object]], str] | None = None

    @property
    def version(self) -> int:
        """Version of the payload: 1, and one more for each step of `added`."""
        return 1 + len(self.added)

    def defaults(self, version: int) -> dict[str, object]:
        """Values of the columns that came after `version`."""
        return {name: value for step in self.added[version - 1 :] for name, value in step.items()}


def kind_of(
    kind: str,
    payload: str | Mapping[str, Dtype],
    title: str,
    meaning: str,
    *,
    added: tuple[Mapping[str, object], ...] = (),
    is_raw: bool = False,
    status: str | None = None,
    sentence: Callable[[Mapping[str, object]], str] | None = None,
) -> EventKind:
    """A kind of event; derived, and at version 1, unless said otherwise. `payload` may be names (`columns_named`)."""
    columns = columns_named(payload) if isinstance(payload, str) else payload
    return EventKind(kind, pl.Schema(columns), title, meaning, added, is_raw, status, sentence)


def columns_named(names: str) -> dict[str, Dtype]:
    """Columns by their names, with the types of the tables; a name of `GROUPS` stands for several."""
    return {name: TYPES[name] for word in names.split() for name in GROUPS.get(word, (word,))}


def row_of(table: str, more: str = "", *, without: tuple[str, ...] = ("recorded_at",)) -> dict[str, Dtype]:
    """The columns of a table that an event of its rows carries, and `more` columns by name."""
    columns = {name: dtype for name, dtype in frame_schema(table).items() if name not in without}
    return {**columns, **columns_named(more)}
