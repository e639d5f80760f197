"""Recording messages as they are said: durable at once, in one segment of the journal, without the writer lock.

Whoever records takes a lock of its own for a moment, and looks at what others have committed: a place in a
conversation is given once, by the order of the commits.

A message goes the same way as one of a transcript (`to_parts`): injected memory and secrets are left out, and its id is
made from the same parts, so that recording it again, or taking in its transcript later, adds nothing. The store gets it
some seconds later (`folding.py`), the next ingest cuts its chunks (`recorded_chunks.py`), the next night extracts.
"""

import threading
from collections import Counter, OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from datetime import datetime

import polars as pl

from slowwave.home.kept_out import without_erased_turns
from slowwave.home.lock import recording
from slowwave.home.swept import keep_fresh
from slowwave.ingest.redact.known import Known
from slowwave.ingest.redact.names import safe_path
from slowwave.journal.catalogue import encode
from slowwave.journal.lookup import of_kind
from slowwave.journal.segments import Journal
from slowwave.readers.agents.opencode import opencode_identity
from slowwave.readers.bounds import Counts, with_possible_times
from slowwave.readers.reading import RawMessage, Role, Source, to_parts, whole
from slowwave.recall.reader import Reader
from slowwave.schemas.identity import content_hash
from slowwave.schemas.requests import RecordRequest, RecordTurn
from slowwave.schemas.results import Recorded
from slowwave.schemas.tables import OWNER
from slowwave.settings.projects import project_of
from slowwave.stages.ingest.redacted_turns import as_stored
from slowwave.store import Store, col, lit

RECORDED = "recorded"
"""`source_id` of turns that were recorded one by one, and not read from a file."""

OPENCODE = "opencode"
"""The client whose transcript is a database, in which other things than its ids stand for a message."""

ROLES: dict[str, Role] = {"user": "user", "assistant": "assistant"}

MOST_CONVERSATIONS = 200
"""Conversations whose turns are known without a look at the store; of more the oldest are read again."""


@dataclass
class _Conversation:
    """The turns of a conversation that are known: their text's hash and their place, by id."""

    project_id: str | None = None
    turns: dict[str, tuple[str, int]] = field(default_factory=dict)
    next_index: int = 0
    seen: tuple[str, int] = ("", -1)
    """The generation and version of the stored turns that it was read from."""
    may_wait: bool = False
    """Turns of it were committed that the store may not have yet."""

    def add(self, turn_id: str, digest: str, index: int) -> None:
        self.turns[turn_id] = (digest, index)
        self.next_index = max(self.next_index, index + 1)


class Conversations:
    """The conversations that this process records; threads take turns."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self._known: OrderedDict[str, _Conversation] = OrderedDict()
        self._told: OrderedDict[str, Known] = OrderedDict()
        self._looked_to = ""
        """The last segment of the journal that was looked at; empty where all that waits must be read again."""
        self._own = ""
        """The segment that was committed here last."""

    def told_in(self, session_ids: Iterable[str]) -> dict[str, Known]:
        """The secrets that these conversations showed while this process recorded them."""
        with self.lock:
            named = {session_id: self._told.setdefault(session_id, Known()) for session_id in session_ids}
            for session_id in named:
                self._told.move_to_end(session_id)
            while len(self._told) > max(MOST_CONVERSATIONS, len(named)):
                self._told.popitem(last=False)
        return named

    def catch_up(self, journal: Journal, store: Store | None) -> None:
        """Take over what others recorded, now or before a kill, and no writer has put into the store yet.

        Only segments that came since the last look; all of them after a conversation was let go that may wait.
        """
        looked_to = self._looked_to
        there = journal.segment_ids_after(looked_to) if looked_to else journal.segment_ids()
        new = [segment_id for segment_id in there if not looked_to or segment_id != self._own]
        done = store.applied_segments() if store is not None and new else set()
        for portion in journal.portions([segment_id for segment_id in new if segment_id not in done]):
            turns = of_kind(journal.read(portion).events, "turn.recorded")
            self.add(turns)
            for session_id, project_id in turns.select("session_id", "project_id").iter_rows():
                self._known[session_id].project_id = self._known[session_id].project_id or project_id
        self._looked_to = there[-1] if there else looked_to

    def of(self, store: Store | None, session_ids: Iterable[str]) -> dict[str, _Conversation]:
        """Conversations as the store has them now, with what was recorded here and is not in the store yet."""
        version = (store.name, store.version_of("turns")) if store is not None else _Conversation.seen
        named = {}
        for session_id in session_ids:
            known = named[session_id] = self._known.setdefault(session_id, _Conversation())
            self._known.move_to_end(session_id)
            if store is not None and known.seen != version:
                _read_stored(known, store, session_id)
                known.seen = version
        while len(self._known) > max(MOST_CONVERSATIONS, len(named)):
            _, gone = self._known.popitem(last=False)
            if gone.may_wait:
                self._looked_to = ""
        return named

    def commit(self, journal: Journal, turns: pl.DataFrame, *, now: datetime) -> None:
        """Commit turns, and know them from now on."""
        segment = journal.commit(encode("turn.recorded", turns), now=now)
        self._own = segment.segment_id if segment is not None else self._own
        self.add(turns)

    def add(self, turns: pl.DataFrame) -> None:
        """Take over turns that are committed."""
        for session_id, *turn in turns.select(
            "session_id", "turn_id", "content_hash", "turn_index"
        ).iter_rows():
            known = self._known.setdefault(session_id, _Conversation())
            known.add(*turn)
            known.may_wait = True


def record(
    reader: Reader, request: RecordRequest, conversations: Conversations, *, now: datetime
) -> Recorded:
    """Commit the messages as turns, as `Memory.record` says."""
    counts, owner = Counts(), reader.into(request.project, is_new=request.new_project).home.owner
    source = Source("conversation", RECORDED, safe_path(request.client) or RECORDED)
    messages = _messages(request, counts, now)
    told = conversations.told_in(turn.session_id for turn in request.turns)
    _recall_last(reader.current(), told)
    bounds = reader.settings.readers
    parts = to_parts(messages, source=source, kind=RECORDED, counts=counts, bounds=bounds, told=told)
    read = whole(parts)
    turns, is_late = with_possible_times(read.turns, now=now, bounds=bounds)
    waits = recording(reader.home) if read.turns.height else nullcontext()
    with conversations.lock, waits:
        store = reader.current()
        kept = turns if store is None else without_erased_turns(reader.home.root, store, turns)
        conversations.catch_up(reader.home.journal, store)
        new = _new(reader, store, kept, conversations, owner, has_project=request.project is not None)
        if new.height:
            keep_fresh(reader.home, now=now)
            conversations.commit(reader.home.journal, new, now=now)
    erased = read.turns.height - kept.height
    return Recorded(
        turn_ids=kept["turn_id"].to_list(),
        new_count=new.height,
        known_count=kept.height - new.height,
        left_out=read.skipped | ({"erased by a person": erased} if erased else {}),
        redacted=read.redacted,
        undated_count=new["turn_id"].is_in(turns.filter(is_late)["turn_id"].implode()).sum(),
    )


def _recall_last(store: Store | None, told: Mapping[str, Known]) -> None:
    """Let a conversation that this process does not know yet go on from its last stored message."""
    unknown = [session_id for session_id, known in told.items() if known.last_said == ("", "")]
    if store is None or not unknown:
        return
    rows = store.rows("turns", ["session_id", "turn_index", "content"], col("session_id").isin(unknown))
    last = rows.sort("turn_index").unique("session_id", keep="last", maintain_order=True)
    for session_id, content in last.select("session_id", "content").iter_rows():
        told[session_id].last_said = (session_id, content)


def _messages(request: RecordRequest, counts: Counts, now: datetime) -> Iterator[RawMessage]:
    """The messages in their order; of several with one id the last, which says the most."""
    last = {(turn.session_id, turn.id): place for place, turn in enumerate(request.turns) if turn.id}
    said = Counter[tuple[str, str, str, str]]()
    for place, turn in enumerate(request.turns):
        counts.entry_count += 1
        if turn.role not in ROLES:
            counts.skip(f"{turn.role} message")
        elif turn.id and last[turn.session_id, turn.id] != place:
            counts.skip("repeated message")
        else:
            yield RawMessage(
                session_id=turn.session_id,
                role=ROLES[turn.role],
                parts=(turn.text,),
                event_time=turn.time or now,
                identity=_identity(request.client, turn, said, now),
                speaker=turn.speaker or None,
                cwd=turn.cwd or None,
                git_branch=turn.branch or None,
                place=f"message {place + 1}",
            )


def _identity(
    client: str, turn: RecordTurn, said: Counter[tuple[str, str, str, str]], now: datetime
) -> tuple[str, ...]:
    """The parts of a message's id, as its transcript's reader has them.

    Without an id the same text at the same time is the same message.
    """
    if client == OPENCODE and turn.id and turn.time:
        return opencode_identity(ROLES[turn.role], turn.id, turn.time)
    if turn.id:
        return turn.session_id, turn.id
    parts = (turn.session_id, turn.role, (turn.time or now).isoformat(), content_hash(turn.text))
    said[parts] += 1
    return (RECORDED, *parts, str(said[parts]))


def _read_stored(known: _Conversation, store: Store, session_id: str) -> None:
    """Take over the stored turns of a conversation."""
    columns = ["turn_id", "content_hash", "turn_index", "project_id"]
    turns = store.rows_on_disk("turns", columns, col("session_id") == lit(session_id)).sort("turn_index")
    if turns.height:
        known.project_id = turns["project_id"][0]
    known.may_wait = not known.turns.keys() <= {*turns["turn_id"]}
    for row in turns.select("turn_id", "content_hash", "turn_index").iter_rows():
        known.add(*row)


def _new(
    reader: Reader,
    store: Store | None,
    turns: pl.DataFrame,
    conversations: Conversations,
    owner: dict[str, str],
    *,
    has_project: bool,
) -> pl.DataFrame:
    """Turns that are not known, or say something else there, with their place and their owner.

    With `has_project` they are of the owner's project, else of that of their conversation or their folder.
    """
    project = owner["project_id"] if has_project else None
    known = conversations.of(store, turns["session_id"].unique(maintain_order=True))
    added: Counter[str] = Counter()
    rows = []
    for row in _as_stored(store, turns, known).iter_rows(named=True):
        session_id = row["session_id"]
        digest, index = known[session_id].turns.get(row["turn_id"], ("", None))
        if digest == row["content_hash"]:
            continue
        if index is None:
            index = known[session_id].next_index + added[session_id]
            added[session_id] += 1
        if project is None and known[session_id].project_id is None and row["cwd"]:
            known[session_id].project_id = project_of(reader.settings.owner, row["cwd"])
        own = {"project_id": project or known[session_id].project_id or owner["project_id"]}
        rows.append({**row, **owner, **own, "turn_index": index})
    return pl.DataFrame(rows, schema={**turns.schema, **dict.fromkeys(OWNER, pl.String)})


def _as_stored(store: Store | None, turns: pl.DataFrame, known: Mapping[str, _Conversation]) -> pl.DataFrame:
    """The turns, but with their marks those that a redaction of the home masked further in the store."""
    is_changed = [
        known[row[0]].turns.get(row[1], (row[2], 0))[0] != row[2]
        for row in turns.select("session_id", "turn_id", "content_hash").iter_rows()
    ]
    changed = turns.filter(pl.Series(is_changed, dtype=pl.Boolean))
    if store is None or changed.is_empty():
        return turns
    columns = ["turn_id", "session_id", "content", "content_hash"]
    where = col("turn_id").isin(changed["turn_id"])
    return as_stored(turns, changed, store.rows_on_disk("turns", columns, where))
