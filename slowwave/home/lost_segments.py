"""Segments that the store holds and whose files are gone, and those that it does not hold yet.

A rebuild would forget what the former told; the latter are found once a writer applied them.
"""

import polars as pl

from slowwave.journal.segments import Journal
from slowwave.store import Store

LOOKED_AT = 50
"""Segments that are read: each citation is one, and the next night counts them."""


def lost_segments(journal: Journal, store: Store) -> list[str]:
    """Ids of segments that are applied and that no file has; some milliseconds for hundreds of segments."""
    return sorted(store.applied_segments() - journal.names())


def waiting_segments(journal: Journal, store: Store) -> set[str]:
    """Ids of the newest segments that are committed and not applied, but for those that only count uses."""
    if not journal.names() - (applied := store.applied_segments()):
        return set()
    waiting = sorted({*journal.segment_ids()} - applied)[-LOOKED_AT:]
    told = journal.read(waiting).events.filter(pl.col("kind") != "usage.recorded")
    return {*told["event_id"].str.split(".").list.first()}


def loss_note(count: int) -> str:
    """The sentence that an answer or a report says of so many lost segments; empty for none."""
    if not count:
        return ""
    gone, them = ("segments of the journal are", "them") if count > 1 else ("segment of the journal is", "it")
    return (
        f"{count} {gone} gone, and only the store has what {'they' if count > 1 else 'it'} told: "
        f"put {them} back from a backup (`slowwave doctor` names {them}), or let `slowwave run rebuild` forget it"
    )
