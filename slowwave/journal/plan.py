"""`Plan`: what a step of the night wants to change, before anything is written."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from slowwave.journal.catalogue import EventRows


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Events to commit together, and what the report says of the work.

    `rejected` names the rows that were left out by reason (ids or page numbers, never stored text: the report also
    lies in Prefect's database, which an erase does not reach). `examples` are a few changes as a person reads them.
    """

    events: EventRows = field(default_factory=dict)
    rows_in: int = 0
    rejected: Mapping[str, Sequence[str]] = field(default_factory=dict)
    notes: Sequence[str] = ()
    examples: Sequence[str] = ()


def rejected(reason: str, ids: Iterable[str]) -> dict[str, list[str]]:
    """The rejected rows of one reason; empty where there are none."""
    rows = list(ids)
    return {reason: rows} if rows else {}
