"""One kind of journal event, and the columns that many payloads share."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import polars as pl

from slowwave.schemas.tables import OWNER, TIMESTAMP, Dtype, frame_schema

STRINGS = pl.List(pl.String)


def texts(*names: str) -> dict[str, Dtype]:
    """Text columns of these names."""
    return dict.fromkeys(names, pl.String)


PROVENANCE = texts("prompt_version", "model")
OWNER_FIELDS = texts(*OWNER)
TRY_FIELDS: dict[str, Dtype] = {
    "attempts": pl.Int64,
    "status": pl.String,
    "error": pl.String,
    "retry_at": TIMESTAMP,
}
"""The state of work that failed: how often it was tried, and when it is tried again."""


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
    payload: Mapping[str, Dtype],
    title: str,
    meaning: str,
    *,
    added: tuple[Mapping[str, object], ...] = (),
    is_raw: bool = False,
    status: str | None = None,
    sentence: Callable[[Mapping[str, object]], str] | None = None,
) -> EventKind:
    """A kind of event; derived, and at version 1, unless said otherwise."""
    return EventKind(kind, pl.Schema(payload), title, meaning, added, is_raw, status, sentence)


def row_of(table: str, *, without: tuple[str, ...] = ("recorded_at",), **extra: Dtype) -> dict[str, Dtype]:
    """The columns of a table that an event of its rows carries, and some more."""
    columns = {name: dtype for name, dtype in frame_schema(table).items() if name not in without}
    return {**columns, **extra}
