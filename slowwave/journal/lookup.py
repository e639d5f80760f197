"""Look-ups in the journal by id: segments that do not hold the id are not parsed."""

from collections.abc import Sequence

import polars as pl

from slowwave.journal.catalogue import decode
from slowwave.journal.segments import Journal
from slowwave.whole_file import read_plain


def mentioning(journal: Journal, ids: Sequence[str]) -> pl.DataFrame:
    """Events (`SCAN_SCHEMA`, in their order) whose payload holds one of these ids."""
    wanted = [name.encode() for name in ids]

    def holds(segment_id: str) -> bool:
        try:
            data = read_plain(journal.path_of(segment_id))
        except OSError:
            return False  # `slowwave doctor` and `rebuild` name it
        return any(name in data for name in wanted)

    events = journal.read(filter(holds, journal.segment_ids())).events
    return events.filter(pl.col("payload").str.contains_any(list(ids)))


def journaled(journal: Journal, ids: Sequence[str], kind: str) -> pl.DataFrame:
    """Payloads of the events of one kind that hold one of these ids, in their order."""
    return of_kind(mentioning(journal, ids), kind)


def of_kind(events: pl.DataFrame, kind: str) -> pl.DataFrame:
    """Payloads of the scanned events that are of one kind, in their order."""
    found = events.filter(pl.col("kind") == kind).with_row_index("order")
    return decode(kind, found.cast({"order": pl.Int64}))
