"""Derivations: which derived events still hold after another derivation took the place of the memory.

A derivation comes into the journal as one segment that begins with `derivation.switched`. What was derived in the
segments before stays in the journal, to be read, and is folded no more. What came in, a person's statements among it,
and the record of the nights and of the fits of the vector space are folded for ever.
"""

import json
from collections.abc import Sequence
from itertools import islice

import polars as pl

from slowwave.errors import NotFoundError
from slowwave.journal.catalogue import CATALOGUE, FORMER_KINDS
from slowwave.journal.segments import Journal
from slowwave.schemas.tables import STATED
from slowwave.whole_file import open_plain

SWITCHED = "derivation.switched"

LASTING = sorted(
    {kind for kind, entry in CATALOGUE.items() if entry.is_raw}
    | {"night.completed", "space.fitted", "text.redacted"}
)
"""Kinds of events that no switch ends."""

_MARK = f'"kind": "{SWITCHED}"'.encode()


def is_statement() -> pl.Expr:
    """Return whether a scanned event is a memory kept word by word: a person's statement, or an imported one."""
    # quotes within a text are escaped in the payload, so that no text can look like it
    said = pl.col("payload").str.contains_any([f'"prompt_version":"{name}"' for name in STATED])
    return (pl.col("kind") == "cell.extracted") & said


def last_switch(journal: Journal, segment_ids: Sequence[str]) -> str:
    """The last of these segments (in their order) that begins with a switch; empty where none does."""
    return next((segment for segment in reversed(segment_ids) if _is_switch(journal, segment)), "")


def in_force(events: pl.DataFrame, switch: str) -> pl.DataFrame:
    """Scanned events without what was derived before the segment `switch`; all of them where it is empty."""
    if not switch:
        return events
    lasts = pl.col("kind").is_in(LASTING) | is_statement()
    return events.filter((pl.col("segment_id") >= switch) | lasts)


def is_replaced(line: str) -> bool:
    """Return whether a segment's event line, of before the switch, is one that the switch ended."""
    event = json.loads(line)
    is_said = event["kind"] == "cell.extracted" and event["payload"].get("prompt_version") in STATED
    return FORMER_KINDS.get(event["kind"], event["kind"]) not in LASTING and not is_said


def _is_switch(journal: Journal, segment_id: str) -> bool:
    """Return whether the first event of a segment is a switch; only the beginning of any other file is read.

    A broken one is none: what it put in the memory's place is not there, and the memory before it holds.
    """
    try:
        with open_plain(journal.path_of(segment_id)) as file:
            is_marked = any(_MARK in line for line in islice(file, 1, 2))
        return is_marked and not journal.read([segment_id]).problems
    except (OSError, NotFoundError):
        return False  # reading it whole says what is wrong with it
