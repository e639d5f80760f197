"""Memories that this process cited, by conversation: for its end, and so that what is said again counts once."""

from collections.abc import Iterable
from datetime import datetime, timedelta

SAME_ANSWER = timedelta(minutes=5)
"""A memory that is cited again within this time in one conversation is cited in one answer, said twice."""

MOST_CONVERSATIONS = 1_000
"""Conversations whose citations are kept; of more, the oldest go."""


class Citations:
    """The citations of one process."""

    def __init__(self) -> None:
        self._known: dict[str, dict[str, datetime]] = {}

    def of(self, context: str) -> frozenset[str]:
        """Ids that were cited in a conversation."""
        return frozenset(self._known.get(context, ()))

    def just_now(self, context: str, at: datetime) -> frozenset[str]:
        """Ids that were cited in a conversation a moment ago; without a name none is one."""
        known = self._known.get(context, {}) if context else {}
        return frozenset(cell_id for cell_id, before in known.items() if abs(at - before) < SAME_ANSWER)

    def add(self, context: str, cell_ids: Iterable[str], at: datetime) -> None:
        """Take over what was cited."""
        self._known.setdefault(context, {}).update(dict.fromkeys(cell_ids, at))
        if len(self._known) > MOST_CONVERSATIONS:
            self._known.pop(next(iter(self._known)))
