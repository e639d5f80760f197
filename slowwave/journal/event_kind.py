"""What a kind of journal event is, and the parts that many payloads have."""

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from slowwave.schemas.tables import OWNER, Dtype, frame_schema

PROVENANCE = {"prompt_version": pl.String, "model": pl.String}
STRINGS = pl.List(pl.String)


@dataclass(frozen=True)
class EventKind:
    """One kind of event: what its payload holds at the current version."""

    kind: str
    version: int
    is_raw: bool
    payload: pl.Schema
    meaning: str


def row_of(table: str, *, without: tuple[str, ...] = ("recorded_at",), **extra: Dtype) -> dict[str, Dtype]:
    """The columns of a table that an event of its rows carries, and some more."""
    columns = {name: kind for name, kind in frame_schema(table).items() if name not in without}
    return {**columns, **extra}


def kind_of(
    kind: str, payload: Mapping[str, Dtype], meaning: str, *, is_raw: bool = False, version: int = 1
) -> EventKind:
    """A kind of event; derived and at version 1 where nothing else is said."""
    return EventKind(kind, version, is_raw, pl.Schema(payload), meaning)


OWNER_FIELDS = dict.fromkeys(OWNER, pl.String)
"""Whose memory a row is."""
