"""Event lines without their secrets: texts by the rules, ids and hashes that were made from them by what is new.

Pure, and doing it again changes nothing, so that a sweep that was cut off is ended by the same steps.
"""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from slowwave.erase.payloads import own_family, texts_of
from slowwave.ingest.redact import redact, redact_reply
from slowwave.ingest.redact.marks import gaps
from slowwave.journal.catalogue import FORMER_KINDS
from slowwave.schemas.identity import content_hash, stable_id
from slowwave.schemas.text_columns import is_reference
from slowwave.sweep.ids import RECIPES, renamed_id
from slowwave.sweep.masking import Masker, cleaned
from slowwave.sweep.plan import Cut

REDACTED = "text.redacted"

Payload = dict[str, object]

FOUNDING = {"turn.recorded": "turn_id", "cell.extracted": "cell_id", "episode.written": "cell_id"}
"""Kinds from whose texts others are made, with the column of their id."""

NAMES = ("name", "canonical_name")
"""Columns from whose text the column `family` beside them is worked out."""


@dataclass
class Rewriting:
    """Changes of a journal, of its ids beside its texts; `learn` fills it, event by event in their order."""

    masker: Masker
    weak: Masker
    """Secrets too plain to be masked everywhere: they are masked in what was made from a text that lost something."""
    touched: set[str] = field(default_factory=set)
    """Former and new ids of turns, memories and topics that lost something."""
    outside: frozenset[str] = frozenset()
    """Ids from outside that hold a secret: `renamed` has what they become."""
    renamed: dict[str, str] = field(default_factory=dict)
    hashes: dict[str, str] = field(default_factory=dict)
    cuts: dict[str, Cut] = field(default_factory=dict)
    known_ids: set[str] = field(default_factory=set)
    last_said: tuple[str, str] = ("", "")
    """The session and the safe text of the turn before, as a reader hears it."""
    _turns: dict[str, tuple[str, str, str]] = field(default_factory=dict)
    """Former text, new text and new hash of turns that changed."""

    def begin_segment(self) -> None:
        """Forgets the message before: a segment is looked at by itself, whichever others are."""
        self.last_said = ("", "")

    def after(self, kind: str, payload: Payload, *, is_clean: bool = False) -> tuple[Payload, Counter[str]]:
        """The payload without secrets, by what is known so far, and how many of each kind went.

        `is_clean` says that no text of it holds one.
        """
        found: Counter[str] = Counter()
        safe = dict(payload) if is_clean else self._texts(kind, payload, found)
        if kind == "turn.recorded":
            if not is_clean:
                safe["content"], counts = as_reply(safe, self.last_said)
                found.update(counts)
            self.last_said = (str(safe["session_id"]), str(safe["content"]))
        if "family" in payload and any(safe.get(name) != payload.get(name) for name in NAMES):
            safe["family"] = own_family(str(next(safe[name] for name in NAMES if name in safe)))
        for name, value in payload.items():
            if not is_reference(name):
                continue
            if isinstance(value, str):
                safe[name] = self.renamed.get(value, value)
                found["name"] += value in self.outside
            elif isinstance(value, list):
                safe[name] = [self.renamed.get(item, item) for item in value]
        if kind == "chunk.cut" and (cut := self.cuts.get(str(payload["chunk_id"]))):
            safe |= cut.model_dump()
        elif "content_hash" in payload:
            is_same = safe.get("content") == payload.get("content")
            digest = str(payload["content_hash"])
            safe["content_hash"] = (
                self.hashes.get(digest, digest) if is_same else content_hash(str(safe["content"]))
            )
        return safe, +found

    def covers(self, events: Sequence[tuple[str, str, Payload]]) -> set[int]:
        """The places of events (as `read_line` gives them) in whose texts a known secret stands."""
        texts = [
            (place, text)
            for place, (_, kind, payload) in enumerate(events)
            for text in texts_in(kind, payload)
        ]
        told = [text for _, text in texts]
        hits = zip(texts, self.masker.covers(told), self.weak.covers(told), strict=True)
        return {place for (place, _), is_known, is_weak in hits if is_known or is_weak}

    def learn(self, kind: str, payload: Payload, *, is_clean: bool = False) -> tuple[Payload, Counter[str]]:
        """`after`, and what follows from it for the events that come later."""
        safe, found = self.after(kind, payload, is_clean=is_clean)
        if kind == "turn.recorded" and safe["content"] != payload["content"]:
            texts = (str(payload["content"]), str(safe["content"]), str(safe["content_hash"]))
            self._turns[str(payload["turn_id"])] = texts
        if kind == "chunk.cut":
            safe |= self._cut_anew(payload)
        if found and kind in FOUNDING:
            self.touched.add(str(payload[FOUNDING[kind]]))
            self.touched.add(stable_id("topic", str(payload[FOUNDING[kind]])))
        if "content" in payload and safe.get("content_hash") != payload.get("content_hash"):
            self.hashes[str(payload["content_hash"])] = str(safe["content_hash"])
        if kind in RECIPES and safe != payload:
            self._rename(kind, payload, safe)
        return safe, found

    def _texts(self, kind: str, payload: Payload, found: Counter[str]) -> Payload:
        safe = dict(payload)
        maskers = [self.masker, self.weak] if self._rests_on_touched(kind, payload) else [self.masker]
        for name, texts in texts_of(kind, payload).items() if kind != REDACTED else ():
            whole = []
            for text in texts:
                new, counts = cleaned(text, *maskers)
                found.update(counts)
                whole.append(new)
            safe[name] = whole if isinstance(payload[name], list) else whole[0]
        if fact := named_value(safe):
            safe["value"] = fact[0]
            found.update(fact[1])
        return safe

    def _rests_on_touched(self, kind: str, payload: Payload) -> bool:
        """Return whether an event was derived from a turn, memory or topic that lost something."""
        if not self.touched or kind == "turn.recorded":
            return False
        named = (value for name, value in payload.items() if is_reference(name))
        return any(
            not self.touched.isdisjoint(value if isinstance(value, list) else [value]) for value in named
        )

    def _rename(self, kind: str, payload: Payload, safe: Payload) -> None:
        key = RECIPES[kind][0]
        former = str(payload[key])
        if former not in self.renamed and (wanted := renamed_id(kind, payload, safe)):
            while wanted in self.known_ids:  # another row says the same by now: both stay
                wanted = stable_id(wanted, "another")
            self.known_ids.add(wanted)
            self.renamed[former] = wanted
            if former in self.touched:
                self.touched |= {wanted, stable_id("topic", wanted)}
            if key == "cell_id":  # a topic is named after the memory that founded it
                self.renamed[stable_id("topic", former)] = stable_id("topic", wanted)
            if key == "chunk_id" and former in self.cuts:
                self.cuts[wanted] = self.cuts[former]
        safe[key] = self.renamed.get(former, former)

    def _cut_anew(self, payload: Payload) -> Payload:
        """Borders and hash of a window after the texts of its turns."""
        turn_ids = [str(turn_id) for turn_id in as_list(payload["turn_ids"])]
        if not any(turn_id in self._turns for turn_id in turn_ids):
            return {}
        said = (self._turns[turn_id][2] if turn_id in self._turns else turn_id for turn_id in turn_ids)
        cut = Cut(
            first_char=self._moved(turn_ids[0], int(str(payload["first_char"]))),
            last_char=self._moved(turn_ids[-1], int(str(payload["last_char"]))),
            content_hash=content_hash("\n".join(said)),
        )
        self.cuts[str(payload["chunk_id"])] = cut
        return cut.model_dump()

    def _moved(self, turn_id: str, place: int) -> int:
        """A place in a turn's former text as one in its new text: within a secret, the begin of its mark."""
        if turn_id not in self._turns:
            return place
        before, after, _ = self._turns[turn_id]
        moved = place
        for begin, end, mark in gaps(before, after) or ():
            if end <= place:
                moved += len(mark) - (end - begin)
            elif begin < place:
                moved -= place - begin
        return max(moved, 0)


def as_reply(turn: Payload, last_said: tuple[str, str]) -> tuple[str, dict[str, int]]:
    """The text of a turn without a secret that answers the turn before it, and how many of each kind."""
    text, (session_id, before) = str(turn["content"]), last_said
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


def texts_in(kind: str, payload: Payload) -> Iterable[str]:
    """The texts of an event in which a secret may stand."""
    for texts in texts_of(kind, payload).values() if kind != REDACTED else ():
        yield from texts


def read_line(line: str) -> tuple[str, str, Payload]:
    """Id, kind and payload of an event's line; a kind goes by its name of today."""
    event = json.loads(line)
    kind = str(event["kind"])
    return str(event["event_id"]), FORMER_KINDS.get(kind, kind), event["payload"]


def with_payload(line: str, payload: Payload) -> str:
    """An event's line with another payload; all else byte for byte as it was."""
    head, _, _ = line.partition('"payload": ')
    return f'{head}"payload": {json.dumps(payload, ensure_ascii=False, separators=(",", ":"))}}}'


def as_list(value: object) -> list[object]:
    """A list as such; anything else as a list of nothing."""
    return value if isinstance(value, list) else []
