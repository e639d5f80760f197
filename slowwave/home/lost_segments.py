"""Segments that the store holds and whose files are gone, and those that it does not hold yet.

A rebuild would forget what the former told; the latter are found once a writer applied them.
"""

from slowwave.journal.segments import Journal
from slowwave.store import Store


def lost_segments(journal: Journal, store: Store) -> list[str]:
    """Ids of segments that are applied and that no file has; some milliseconds for hundreds of segments."""
    return sorted(store.applied_segments() - journal.names())


def waiting_segments(journal: Journal, store: Store) -> set[str]:
    """Ids of whole segments that are committed and not applied."""
    if not journal.names() - (applied := store.applied_segments()):
        return set()
    waiting = {*journal.segment_ids()} - applied
    return waiting - {problem.path.stem for problem in journal.read(sorted(waiting)).problems}


def loss_note(count: int) -> str:
    """The sentence that an answer or a report says of so many lost segments; empty for none."""
    if not count:
        return ""
    gone, them = ("segments of the journal are", "them") if count > 1 else ("segment of the journal is", "it")
    return (
        f"{count} {gone} gone, and only the store has what {'they' if count > 1 else 'it'} told: "
        f"put {them} back from a backup (`slowwave doctor` names {them}), or let `slowwave rebuild` forget it"
    )
