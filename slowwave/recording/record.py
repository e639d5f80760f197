"""Recording messages as they are said: durable at once, in one segment of the journal, without a lock.

A message goes the same way as one of a transcript (`to_parts`): injected memory and secrets are left out, and its id is
made from the same parts, so that recording it again, or taking in its transcript later, adds nothing. The store gets it
some seconds later (`folding.py`), the next ingest cuts its chunks (`chunks.py`), the next night extracts.
"""

import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime

import polars as pl

from slowwave.home.kept_out import without_erased_turns
from slowwave.home.swept import keep_fresh
from slowwave.ingest.bounds import Bounds
from slowwave.ingest.counts import Counts
from slowwave.ingest.formats.opencode import opencode_identity
from slowwave.ingest.redact.known import Known
from slowwave.ingest.redact.names import safe_path
from slowwave.ingest.turns import SPOKEN, RawMessage, Source, to_parts, with_possible_times
from slowwave.journal.catalogue import encode
from slowwave.journal.lookup import of_kind
from slowwave.recall.reader import Reader
from slowwave.recording.chunks import RECORDED
from slowwave.recording.turns import ERASED, STORED, Row, settled, takes_over
from slowwave.schemas.identity import content_hash
from slowwave.schemas.requests import RecordRequest, RecordTurn
from slowwave.schemas.results import Recorded
from slowwave.settings.groups import ScopeSettings
from slowwave.store import FirstQuery, Store, col, lit

OPENCODE = "opencode"
"""The client whose transcript is a database, in which other things than its ids stand for a message."""

MOST_CONVERSATIONS = 200
"""Conversations whose secrets are known: of more the oldest are forgotten."""

_COLUMNS = [*STORED, "content"]


class Recorder:
    """Records messages for one process; its threads take turns."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._lock = threading.Lock()
        self._secrets: dict[str, Known] = {}

    def record(self, request: RecordRequest, *, now: datetime) -> Recorded:
        """Commit the messages as turns, as `Memory.record` says."""
        reader, counts, bounds = self._reader, Counts(), Bounds.of(self._reader.settings.readers)
        owner = reader.into(request.project, is_new=request.new_project).settings.owner
        if request.project is not None:  # whatever project their conversation or their folder has
            owner = owner.model_copy(update={"project_from": "setting"})
        source = Source("conversation", RECORDED, safe_path(request.client) or RECORDED)
        secrets = self._secrets_of(turn.session_id for turn in request.turns)
        messages = _messages(request, counts, now)
        (read,) = to_parts(
            messages, source=source, counts=counts, bounds=bounds.in_one_part(), secrets=secrets
        )
        turns, is_late = with_possible_times(read.turns, now=now, ahead_hours=bounds.ahead_hours)
        with self._lock:
            store = reader.current()
            kept = without_erased_turns(reader.home.root, store, turns) if store is not None else turns
            new = self._new(store, kept, owner)
            if new.height:
                keep_fresh(reader.home, now=now)
                reader.home.journal.commit(encode("turn.recorded", new), now=now)
        erased = turns.height - kept.height
        return Recorded(
            turn_ids=kept["turn_id"].to_list(),
            new_count=new.height,
            known_count=kept.height - new.height,
            left_out=read.skipped | ({ERASED: erased} if erased else {}),
            redacted=dict(read.counts.redacted),
            undated_count=new["turn_id"].is_in(turns.filter(is_late)["turn_id"].implode()).sum(),
        )

    def _secrets_of(self, session_ids: Iterable[str]) -> dict[str, Known]:
        """The secrets that these conversations showed while this process recorded them."""
        with self._lock:
            named = {one: self._secrets.pop(one, Known()) for one in dict.fromkeys(session_ids)}
            self._secrets |= named
            for oldest in list(self._secrets)[: -max(MOST_CONVERSATIONS, len(named))]:
                del self._secrets[oldest]
        _recall_last(self._reader.current(), named)
        return named

    def _new(self, store: Store | None, turns: pl.DataFrame, owner: ScopeSettings) -> pl.DataFrame:
        """Turns that are not known, or go on there, behind those of their conversation, with their owner."""
        known = self._known(store, turns["session_id"].unique(maintain_order=True).to_list())
        is_new = [
            (before := known.get(turn_id)) is None
            or (digest != before["content_hash"] and takes_over(text, before["content"]))
            for turn_id, digest, text in turns.select("turn_id", "content_hash", "content").iter_rows()
        ]
        return settled(turns.filter(is_new), known.values(), owner)

    def _known(self, store: Store | None, session_ids: Sequence[str]) -> dict[str, Row]:
        """The turns of conversations that anybody recorded so far, by id, each as it was said last."""
        is_theirs, journal = col("session_id").isin(session_ids), self._reader.home.journal
        if store is not None and store.shows("turns"):  # with what no writer has put into the store yet
            stored = store.rows("turns", _COLUMNS, is_theirs)
            return {row["turn_id"]: row for row in stored.iter_rows(named=True)}
        known: dict[str, Row] = {}
        if store is not None:
            stored = store.rows_on_disk("turns", _COLUMNS, is_theirs)
            known = {row["turn_id"]: row for row in stored.iter_rows(named=True)}
        applied = store.applied_segments() if store is not None else set()
        for portion in journal.portions([one for one in journal.segment_ids() if one not in applied]):
            turns = of_kind(journal.read(portion).events, "turn.recorded").select(_COLUMNS)
            waiting = turns.filter(pl.col("session_id").is_in(session_ids))
            known |= {row["turn_id"]: row for row in waiting.iter_rows(named=True)}
        return known


def _recall_last(store: Store | None, told: Mapping[str, Known]) -> None:
    """Let a conversation that this process does not know yet go on from its last stored message."""
    unknown = [session_id for session_id, known in told.items() if known.last_said == ("", "")]
    if store is None or not unknown:
        return
    newest = [
        FirstQuery("turns", "turn_index", 1, col("session_id") == lit(one), ("session_id", "content"))
        for one in unknown
    ]
    for rows in store.find(newest):
        for row in rows:
            told[row["session_id"]].last_said = (row["session_id"], row["content"])


def _messages(request: RecordRequest, counts: Counts, now: datetime) -> Iterator[RawMessage]:
    """The messages in their order; of several with one id the last, which says the most."""
    last = {(turn.session_id, turn.id): place for place, turn in enumerate(request.turns) if turn.id}
    said = Counter[tuple[str, str, str, str]]()
    for place, turn in enumerate(request.turns):
        counts.entry_count += 1
        if turn.role not in SPOKEN:
            counts.skip(f"{turn.role} message")
        elif turn.id and last[turn.session_id, turn.id] != place:
            counts.skip("repeated message")
        else:
            yield RawMessage(
                session_id=turn.session_id,
                role=SPOKEN[turn.role],
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
        return opencode_identity(turn.role, turn.id, turn.time)
    if turn.id:
        return turn.session_id, turn.id
    parts = (turn.session_id, turn.role, (turn.time or now).isoformat(), content_hash(turn.text))
    said[parts] += 1
    return (RECORDED, *parts, str(said[parts]))
