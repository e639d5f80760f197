"""The plan of a redaction: which secrets go, and how the events of the journal change with them.

An id that is a hash of a text with a secret would tell whether a guess of it is right, and so would every id that is
made from that id. So a changed row gets another id, drawn at random, by one map for the whole journal. A message keeps
its id, which says its place in a conversation; a section of a document is known again by what its marks leave
(`slowwave/recording/turns.py`).
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from secrets import token_hex

from slowwave.home.paths import Home
from slowwave.ingest.redact import redact, redact_reply
from slowwave.ingest.redact.marks import kind_of, mark_of
from slowwave.ingest.redact.names import safe_id, safe_path
from slowwave.rewrite.engine import Plan
from slowwave.rewrite.scope import ERASE_SHORTEST
from slowwave.rewrite.transform import (
    WHOLE_TURN,
    Event,
    Masker,
    Payload,
    own_family,
    quoting,
    rehashed,
    with_texts,
)
from slowwave.schemas.identity import ID_LENGTH, stable_id
from slowwave.schemas.tables import REMEMBERED
from slowwave.schemas.text_columns import is_reference

REDACTED = "text.redacted"

MADE = {
    "turn.recorded": "turn_id", "cell.extracted": "cell_id", "chunk.cut": "chunk_id", "entity.resolved": "entity_id",
    "mention.recorded": "mention_id", "artifact.recorded": "artifact_id", "edge.drawn": "edge_id",
    "pair.judged": "judgement_id", "contradiction.opened": "contradiction_id", "identity.recorded": "identity_id",
    "usage.recorded": "usage_id",
}  # fmt: skip
"""Kinds of events that give a row an id made from its texts or from other ids, with its column."""

FOUNDING = {"turn.recorded": "turn_id", "cell.extracted": "cell_id", "episode.written": "cell_id"}
"""Kinds from whose texts others are made, with the column of their id."""

NAMES = ("name", "canonical_name")
"""Columns from whose text the column `family` beside them is worked out."""

Lost = Counter[str]
"""How many secrets of each kind a text or an event lost."""


class RedactPlan(Plan):
    """Secrets and ids by which the journal is rewritten, and what was found in numbers.

    `secrets` (with their kinds) are masked wherever they stand. `weak` ones are masked in what rests on `touched` rows;
    the shortest of them only where the rules see them. `renamed` has former and new ids and hashes of texts, `ends` the
    former lengths of turns that changed. `outside` are ids from outside that hold a secret.
    """

    rules_id: str
    secrets: dict[str, str] = {}  # noqa: RUF012 - pydantic copies it
    weak: dict[str, str] = {}  # noqa: RUF012
    touched: set[str] = set()  # noqa: RUF012
    outside: set[str] = set()  # noqa: RUF012
    renamed: dict[str, str] = {}  # noqa: RUF012
    ends: dict[str, int] = {}  # noqa: RUF012
    places: dict[str, int] = {}  # noqa: RUF012
    sources: dict[str, int] = {}  # noqa: RUF012

    @staticmethod
    def path_in(home: Home) -> Path:
        """`redact.json`, until the end."""
        return home.redact_path

    @cached_property
    def masker(self) -> Masker:
        """Masks secrets wherever they stand."""
        return _masker(self.secrets)

    @cached_property
    def weak_masker(self) -> Masker:
        """Masks plain and short words where they stand by themselves."""
        masked = {word: kind for word, kind in self.weak.items() if len(word) >= ERASE_SHORTEST}
        return _masker(masked, is_whole=True)

    @cached_property
    def any_masker(self) -> Masker:
        """Every secret, also those that only the rules take out: whatever quotes one is looked at."""
        return _masker(self.weak | self.secrets)

    def masked(self, line: str) -> str:
        """A line as the rules leave it, without known secrets."""
        return cleaned(line, self.masker)[0]

    def after(self, events: Sequence[Event]) -> list[Payload | None]:
        """The payloads without secrets. Doing it again changes nothing."""
        return [safe for safe, _ in self._redacted(events)]

    def learned(self, events: Sequence[Event]) -> Iterator[tuple[Event, Payload, Lost]]:
        """The events of a segment, without secrets by what is known so far, with what each loses.

        What a change means for later events is learned before the next one comes.
        """
        for event, (safe, lost) in zip(events, self._redacted(events), strict=True):
            named = (value for value in event.payload.values() if isinstance(value, str))
            lost.update(name=sum(value in self.outside for value in named))
            self._learn(event, safe, has_lost=bool(+lost))
            yield event, safe, +lost

    def _redacted(self, events: Sequence[Event]) -> Iterator[tuple[Payload, Lost]]:
        """The events of one segment, in order: a turn that answers the one before is redacted as a reader takes it."""
        said = ("", "")  # the session and the safe text of the turn before
        for event, is_quoting in zip(events, quoting(events, self.any_masker), strict=True):
            kind, payload = event.kind, event.payload
            safe, lost = self._cleaned(kind, payload) if is_quoting else (dict(payload), Lost())
            if kind == "turn.recorded":
                if is_quoting:
                    safe["content"], counts = as_reply(safe, said)
                    lost.update(counts)
                said = (str(safe["session_id"]), str(safe["content"]))
            if "family" in payload and any(safe.get(name) != payload.get(name) for name in NAMES):
                safe["family"] = own_family(str(next(safe[name] for name in NAMES if name in safe)))
            yield self._renamed(kind, safe), lost

    def _cleaned(self, kind: str, payload: Payload) -> tuple[Payload, Lost]:
        lost = Lost()
        maskers = [self.masker, self.weak_masker] if self._rests_on_touched(kind, payload) else [self.masker]

        def clean(text: str) -> str:
            safe, counts = cleaned(text, *maskers)
            lost.update(counts)
            return safe

        safe = with_texts(kind, payload, clean)
        if fact := named_value(safe):
            safe["value"] = fact[0]
            lost.update(fact[1])
        return safe, lost

    def _rests_on_touched(self, kind: str, payload: Payload) -> bool:
        """Return whether an event was derived from a turn, memory or topic that lost something."""
        named = (value for name, value in payload.items() if is_reference(name) and value)
        return kind != "turn.recorded" and any(
            not self.touched.isdisjoint(value if isinstance(value, list) else [value]) for value in named
        )

    def _renamed(self, kind: str, payload: Payload) -> Payload:
        """The payload with the new ids of rows, and the new hash of a text that it does not hold itself."""
        safe = dict(payload)
        for name, value in payload.items():
            if isinstance(value, str) and is_reference(name):
                safe[name] = self.renamed.get(value, value)
            elif isinstance(value, list) and is_reference(name):
                safe[name] = [self.renamed.get(item, item) for item in value]
        if payload.get("content") is None and "content_hash" in payload:
            safe["content_hash"] = self.renamed.get(str(payload["content_hash"]), payload["content_hash"])
        turns = payload.get("turn_ids")
        end = self.ends.get(turns[-1]) if isinstance(turns, list) and turns else None
        if kind == "chunk.cut" and end is not None and int(str(payload["last_char"])) >= end:
            # windows of a long turn still meet where they met; the last one ends with the turn, however long it is now
            safe["last_char"] = WHOLE_TURN
        return safe

    def _learn(self, event: Event, safe: Payload, *, has_lost: bool) -> None:
        """Take over what the change of an event, from its payload to `safe`, means for those that come later."""
        kind, payload = event.kind, event.payload
        if has_lost and kind in FOUNDING:
            self._touch(str(payload[FOUNDING[kind]]))
        safe = rehashed(payload, safe)
        if safe.get("content") != payload.get("content"):
            self.renamed[str(payload["content_hash"])] = str(safe["content_hash"])
            if kind == "turn.recorded":
                self.ends[str(payload["turn_id"])] = len(str(payload["content"]))
        turns = payload.get("turn_ids")
        is_cut_anew = (
            kind == "chunk.cut" and isinstance(turns, list) and not self.ends.keys().isdisjoint(turns)
        )
        if is_cut_anew:
            self.renamed[str(payload["content_hash"])] = token_hex(ID_LENGTH // 2)
        is_message = (
            kind == "turn.recorded" and payload["role"] != "document" and payload["source_id"] != REMEMBERED
        )
        if kind in MADE and not is_message and (safe != payload or is_cut_anew):
            self._rename(kind, str(payload[MADE[kind]]))

    def _rename(self, kind: str, former: str) -> None:
        if former in self.renamed:
            return
        new = self.renamed[former] = token_hex(ID_LENGTH // 2)
        if former in self.touched:
            self._touch(new)
        if kind == "cell.extracted":  # a topic is named after the memory that founded it
            self.renamed[stable_id("topic", former)] = stable_id("topic", new)

    def _touch(self, name: str) -> None:
        self.touched |= {name, stable_id("topic", name)}


def _masker(secrets: dict[str, str], *, is_whole: bool = False) -> Masker:
    return Masker({secret: mark_of(kind) for secret, kind in secrets.items()}, is_whole=is_whole)


def cleaned(text: str, *maskers: Masker) -> tuple[str, Lost]:
    """A text as the rules leave it, without known secrets; and how many of each kind went.

    Doing it again changes nothing.
    """
    lost = Lost()
    while True:
        safe, counts = redact(text)
        lost.update(counts)
        for masker in maskers:
            safe, marks = masker.mask(safe)
            lost.update({kind_of(mark): count for mark, count in marks.items()})
        if safe == text:
            return text, lost
        text = safe


def as_reply(turn: Payload, said: tuple[str, str]) -> tuple[str, dict[str, int]]:
    """The text of a turn without a secret that answers the turn before it, and how many of each kind."""
    text, (session_id, before) = str(turn["content"]), said
    return redact_reply(text, before) if turn["session_id"] == session_id else (text, {})


def named_value(payload: Payload) -> tuple[str, dict[str, int]] | None:
    """The value of a memory without a secret that only its attribute shows to be one, and how many of each kind."""
    attribute, value = payload.get("attribute"), payload.get("value")
    if not isinstance(attribute, str) or not isinstance(value, str):
        return None
    named = f"{attribute}: "
    safe, counts = redact(f"{named}{value}")
    is_found = counts and safe.startswith(named) and safe != f"{named}{value}"
    return (safe.removeprefix(named), counts) if is_found else None


def outside_ids(payload: Payload) -> dict[str, str]:
    """Ids that came from outside (a conversation's, a file's path, a project's) and hold a secret: what they become."""
    given = {
        name: str(payload[name]) for name in ("session_id", "project_id", "source_id") if payload.get(name)
    }
    safe = {text: safe_path(text) if name == "source_id" else safe_id(text) for name, text in given.items()}
    return {text: new for text, new in safe.items() if new != text}
