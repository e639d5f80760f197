"""Record of the use of memories (retrieved, cited, ignored): events `usage.recorded`.

A segment for every search would make the journal a heap of tiny files. So what was retrieved or ignored waits in memory
until a batch is full, the program ends or someone asks; a kill loses at most that batch. Citations are committed at
once. A record's id is a hash of what was used, how, when and where, so that the same use counts once.

Nothing here reads a memory's text, and `context` is a label (a conversation's id), never a question.
"""

import weakref
from collections import deque
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Literal, NamedTuple

from slowwave.errors import InputError, TransientError
from slowwave.home.ids import whole_ids
from slowwave.home.paths import Home
from slowwave.ingest.redact.names import safe_id
from slowwave.journal.catalogue import encode, rows_of
from slowwave.schemas.identity import stable_id
from slowwave.schemas.refusals import clean_text
from slowwave.store import Store, open_store

UsageType = Literal["retrieved", "cited", "ignored"]

RECORDED = "usage.recorded"

BATCH = 256
"""Records that wait in memory before they are committed: what a kill may lose."""

MOST_WAITING = 10_000
"""Records kept while the journal cannot be written; beyond them the oldest go."""

MOST_CITED = 1_000
LONGEST_CONTEXT = 200

SAME_ANSWER = timedelta(minutes=5)
"""A memory that is cited again within this time in one conversation is cited in one answer, said twice."""

MOST_CONVERSATIONS = 1_000
"""Conversations whose citations are kept; of more, the oldest go."""


class Use(NamedTuple):
    """One use of one memory; `used_at` is UTC."""

    cell_id: str
    usage_type: UsageType
    used_at: datetime
    context: str

    @property
    def usage_id(self) -> str:
        """The same use has the same id; a memory is ignored once in a conversation, whenever that is settled."""
        is_settled_once = self.usage_type == "ignored" and bool(self.context)
        moment = "" if is_settled_once else self.used_at.isoformat(timespec="microseconds")
        return stable_id("usage", self.cell_id, self.usage_type, moment, self.context)


class Usage:
    """The record of use of one home, for one process; any number of threads may share it.

    What still waits is committed when the program ends, without an error where that fails: no answer ever fails for
    the count of its readers.
    """

    def __init__(self, home: Home) -> None:
        self._home = home
        self._waiting: deque[Use] = deque(maxlen=MOST_WAITING)
        self._at_end = weakref.finalize(self, _commit_at_end, home, self._waiting)

    def note(
        self, cell_ids: Iterable[str], usage_type: UsageType, *, context: str = "", at: datetime
    ) -> None:
        """Note in memory that memories were used, at a time in UTC; a full batch is committed if the journal lets."""
        where = _label(context)
        self._waiting.extend(Use(cell_id, usage_type, at, where) for cell_id in cell_ids)
        if len(self._waiting) >= BATCH:
            with suppress(TransientError):
                self.flush()

    def settle(
        self, context: str, *, shown: Iterable[str], cited: Collection[str], at: datetime
    ) -> list[str]:
        """At the end of a conversation: what was shown in it and not cited is noted as ignored; returns its ids.

        Settling a conversation again adds nothing.
        """
        ignored = [cell_id for cell_id in dict.fromkeys(shown) if cell_id not in cited]
        self.note(ignored, "ignored", context=context, at=at)
        return ignored

    def flush(self) -> None:
        """Commit what waits as one segment.

        Raises:
            TransientError: the journal cannot be written; the records wait for the next time.
        """
        _commit_waiting(self._home, self._waiting)


def cite(
    home: Home,
    cell_ids: Sequence[str],
    *,
    context: str = "",
    now: datetime,
    store: Store | None = None,
    done: Collection[str] = (),
) -> list[str]:
    """Record that memories were used in an answer, as one segment: when this returns, they survive a kill.

    Ids may be cut as for `whole_ids`; a turn's id cites the memories that rest on it. Any memory that the asking owner
    may see can be cited, superseded and archived ones too. `store` is an open one, where the caller has it; what is
    `done` was recorded already. Returns the whole ids, each once, in the order given.

    Raises:
        NotFoundError: there is no such memory, or no store yet; nothing was recorded.
        InputError: an id stands for several memories; nothing was recorded.
        TransientError: the journal cannot be written.
    """
    if not cell_ids:
        raise InputError("no memory is named: give the id of one, as `slowwave search` shows it")
    if len(cell_ids) > MOST_CITED:
        raise InputError(f"{len(cell_ids)} memories at once are too many: cite at most {MOST_CITED}")
    found = whole_ids(
        store or open_store(home.store_root), cell_ids, owner=home.settings.owner, has_turns=True
    )
    where = _label(context)
    _commit(home, [Use(cell_id, "cited", now, where) for cell_id in found if cell_id not in done], now=now)
    return found


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


# Inside


def _commit(home: Home, uses: Sequence[Use], *, now: datetime) -> None:
    rows: list[tuple[object, ...]] = [
        (use.usage_id, use.cell_id, use.usage_type, use.used_at, use.context or None) for use in uses
    ]
    records = rows_of(RECORDED, rows).unique("usage_id", keep="first", maintain_order=True)
    home.journal.commit(encode(RECORDED, records), now=now)


def _commit_waiting(home: Home, waiting: "deque[Use]") -> None:
    drained = list[Use]()
    with suppress(IndexError):  # other threads may fill and empty it meanwhile
        while True:
            drained.append(waiting.popleft())
    try:
        _commit(home, drained, now=datetime.now(UTC))
    except TransientError:
        waiting.extendleft(reversed(drained))
        raise


def _commit_at_end(home: Home, waiting: "deque[Use]") -> None:
    with suppress(TransientError):
        _commit_waiting(home, waiting)


def _label(context: str) -> str:
    return safe_id(" ".join(clean_text(context).split())[:LONGEST_CONTEXT])
