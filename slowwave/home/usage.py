"""Record of the use of memories (retrieved, cited, ignored): events `usage.recorded`, in batches, off the hot path.

    note -> this process's memory -> a file in spool/ -> one journal segment    retrieved, ignored
    cite ---------------------------------------------> one journal segment    cited, at once

A segment for every search would make the journal a heap of tiny files. So what was retrieved or ignored waits in
memory until a batch is full, the program ends or someone asks. A batch is one file of the home's spool, written whole,
so that any number of processes write and take at once without a lock. The files become one segment when they are
many, or with the next night. A kill loses at most the batch in memory and never a citation. A record's id is a hash of
what was used, how, when and where: a file that is taken twice (by two processes, or killed between the commit and the
removal) counts once.

Nothing here reads a memory's text, and `context` is a label (a conversation's id), never a question.
"""

import json
import weakref
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Literal, NamedTuple

import polars as pl
from pydantic import AwareDatetime, TypeAdapter
from ulid import ULID

from slowwave.errors import InputError, TransientError
from slowwave.home.ids import whole_ids
from slowwave.home.paths import Home
from slowwave.ingest.redact.names import safe_id
from slowwave.journal.catalogue import encode, rows_of
from slowwave.schemas.identity import stable_id
from slowwave.schemas.refusals import clean_text
from slowwave.store import Store, open_store
from slowwave.whole_file import write_whole

UsageType = Literal["retrieved", "cited", "ignored"]

RECORDED = "usage.recorded"

BATCH = 256
"""Records that wait in memory before they are written: what a kill may lose."""

MOST_WAITING = 10_000
"""Records kept while the spool cannot be written; beyond them the oldest go."""

MOST_FILES = 64
"""Files in the spool from which they become a segment."""

MOST_CITED = 1_000
LONGEST_CONTEXT = 200


class Use(NamedTuple):
    """One use of one memory."""

    cell_id: str
    usage_type: UsageType
    used_at: AwareDatetime
    context: str

    @property
    def usage_id(self) -> str:
        """The same use has the same id; a memory is ignored once in a conversation, whenever that is settled."""
        is_settled_once = self.usage_type == "ignored" and bool(self.context)
        moment = "" if is_settled_once else self.used_at.astimezone(UTC).isoformat(timespec="microseconds")
        return stable_id("usage", self.cell_id, self.usage_type, moment, self.context)


class Usage:
    """The record of use of one home, for one process; any number of threads may share it.

    What still waits is written when the program ends. There a spool that cannot be written is passed over in
    silence: no answer ever fails for the count of its readers.
    """

    def __init__(self, home: Home) -> None:
        self._home = home
        self._waiting: deque[Use] = deque(maxlen=MOST_WAITING)
        self._at_end = weakref.finalize(self, _write_at_end, home, self._waiting)

    def note(
        self, cell_ids: Iterable[str], usage_type: UsageType, *, context: str = "", at: datetime
    ) -> None:
        """Notes that memories were used: an append in memory; a full batch is written.

        `at` is UTC. A spool that cannot be written keeps the records waiting, and no search fails for it.
        """
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
        """Writes what waits as one file of the spool; many files become a segment.

        Raises:
            TransientError: the spool or the journal cannot be written; the records wait for the next time.
        """
        _to_spool(self._home, self._waiting)


def cite(
    home: Home,
    cell_ids: Sequence[str],
    *,
    context: str = "",
    now: datetime,
    store: Store | None = None,
    done: Collection[str] = (),
) -> list[str]:
    """Records that memories were used in an answer, as one segment: when this returns, they survive a kill.

    Ids may be cut to `SHORTEST_PREFIX` characters or more where one memory alone begins so; a turn's id cites the
    memories that rest on it. Any memory that the
    asking owner may see can be cited, superseded and archived ones too. `store` is an open one, where the caller
    has it; what is `done` was recorded already. Returns the whole ids, each once, in the order given.

    Raises:
        NotFoundError: there is no such memory; nothing was recorded.
        InputError: an id stands for several memories; nothing was recorded.
        NotFoundError: there is no store yet.
        TransientError: the journal cannot be written.
    """
    wanted = list(dict.fromkeys(cell_id.strip() for cell_id in cell_ids))
    if not wanted:
        raise InputError("no memory is named: give the id of one, as `slowwave search` shows it")
    if len(wanted) > MOST_CITED:
        raise InputError(f"{len(wanted)} memories at once are too many: cite at most {MOST_CITED}")
    found = whole_ids(store or open_store(home.store_root), wanted, owner=home.settings.owner, has_turns=True)
    where = _label(context)
    uses = [Use(cell_id, "cited", now, where) for cell_id in found if cell_id not in done]
    if uses:
        home.journal.commit(encode(RECORDED, _rows(uses)), now=now)
    return found


@dataclass(frozen=True)
class Spooled:
    """Records taken from the spool: rows of `usage.recorded`, one for each `usage_id`.

    `unreadable_count` counts lines that are no record of ours.
    """

    usage: pl.DataFrame
    unreadable_count: int
    paths: tuple[Path, ...]

    def discard(self) -> None:
        """Removes the files that were taken; call it after their rows are committed."""
        for path in self.paths:
            path.unlink(missing_ok=True)


def collect_spools(home: Home) -> Spooled:
    """Reads the files of the spool: for the night, and where they are many.

    They stay until `Spooled.discard`, so that a kill before the commit loses nothing.

    Raises:
        TransientError: the spool cannot be read.
    """
    paths = tuple(_files(home))
    with _in_spool(home):
        uses = [_parsed(line) for path in paths for line in _lines_of(path)]
    known = [use for use in uses if use is not None]
    return Spooled(_rows(known), len(uses) - len(known), paths)


# -- the spool


def _files(home: Home) -> list[Path]:
    return sorted((home.root / "spool").glob("usage*.jsonl"))


@contextmanager
def _in_spool(home: Home) -> Iterator[None]:
    """Foreign errors of the work inside become ours."""
    try:
        yield
    except OSError as error:
        raise TransientError(
            f"the usage spool of {home.root} cannot be used ({error.strerror}): make room or mend its permissions"
        ) from error


def _to_spool(home: Home, waiting: "deque[Use]") -> None:
    drained = list(_drain(waiting))
    if not drained:
        return
    lines = "".join(f"{json.dumps(use._asdict(), default=str)}\n" for use in drained)
    try:
        with _in_spool(home):
            write_whole(home.root / "spool" / f"usage-{ULID()}.jsonl", lines, is_durable=False)
    except TransientError:
        waiting.extendleft(reversed(drained))
        raise
    if len(_files(home)) >= MOST_FILES:
        spooled = collect_spools(home)
        home.journal.commit(encode(RECORDED, spooled.usage), now=datetime.now(UTC))
        spooled.discard()


def _lines_of(path: Path) -> list[bytes]:
    try:
        return [line for line in path.read_bytes().split(b"\n") if line.strip()]
    except FileNotFoundError:  # another taker was done with it just now
        return []


def _drain(waiting: "deque[Use]") -> Iterator[Use]:
    """Empties a deque that other threads may fill and empty meanwhile."""
    with suppress(IndexError):
        while True:
            yield waiting.popleft()


def _write_at_end(home: Home, waiting: "deque[Use]") -> None:
    with suppress(TransientError):
        _to_spool(home, waiting)


_LINE = TypeAdapter(Use)


def _parsed(line: bytes) -> Use | None:
    """The record of a line, or None for one that is not ours."""
    try:
        use = _LINE.validate_json(line)
        return use._replace(used_at=use.used_at.astimezone(UTC))
    except (ValueError, OverflowError):
        return None


# -- rows


def _rows(uses: Sequence[Use]) -> pl.DataFrame:
    whole: list[tuple[object, ...]] = [
        (use.usage_id, use.cell_id, use.usage_type, use.used_at.astimezone(UTC), use.context or None)
        for use in uses
    ]
    return rows_of(RECORDED, whole).unique("usage_id", keep="first", maintain_order=True)


def _label(context: str) -> str:
    return safe_id(" ".join(clean_text(context).split())[:LONGEST_CONTEXT])


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
