"""Segments of the journal that the store holds and whose files are gone: a rebuild would forget what they told."""

from slowwave.journal.segments import Journal
from slowwave.store import Store


def lost_segments(journal: Journal, store: Store) -> list[str]:
    """Ids of segments that are applied and that no file has; some milliseconds for hundreds of segments."""
    return sorted(store.applied_segments() - journal.names())


def loss_note(count: int) -> str:
    """The sentence that an answer or a report says of so many lost segments; empty for none."""
    if not count:
        return ""
    gone, them = ("segments of the journal are", "them") if count > 1 else ("segment of the journal is", "it")
    return (
        f"{count} {gone} gone, and only the store has what {'they' if count > 1 else 'it'} told: "
        f"put {them} back from a backup (`slowwave doctor` names {them}), or let `slowwave rebuild` forget it"
    )
