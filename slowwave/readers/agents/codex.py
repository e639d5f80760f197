"""Sessions of Codex ("rollouts"): one JSON record a line, `{"timestamp", "type", "payload"}`, plain or as `.jsonl.zst`.

A message stands in a session up to twice: as the event that the screen showed (`event_msg` with `user_message` or
`agent_message`, or in newer sessions `item_completed`), and as what the model was sent (`response_item`), where
AGENTS.md, the environment and the context of hooks are a user's messages too. Where a turn has events of somebody, they
alone count. A fork begins with a copy of the other session, written anew with the time of the fork: a message is known
by its turn, or by all that was said before it, so that a copy is the same message. Sessions of sub-agents are left out,
since another agent wrote what stands there as the user's message. Questions that the assistant asks by a call
(`request_user_input`) are its words, and what the call returns is the person's.
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Final

from slowwave.readers.agents.codex_records import (
    SHOWN_TOO,
    Fields,
    Role,
    answer_texts,
    is_subagent,
    is_summary,
    question_texts,
    sent_role,
    sent_texts,
    shown_role,
    shown_texts,
    skip_unspoken,
    turn_of,
    unwrapped,
)
from slowwave.readers.bounds import DEFAULTS, UNSPOKEN, Counts
from slowwave.readers.files import file_time, id_of, object_of, parse_time, path_text, text_of, time_of
from slowwave.readers.lines import json_records
from slowwave.readers.reading import RawMessage, Reading, source_of, to_parts
from slowwave.schemas.identity import stable_id
from slowwave.schemas.refusals import clean_text
from slowwave.settings.readers import ReaderSettings

_UUID: Final = re.compile(
    r"(?P<high>[0-9a-f]{8})-(?P<low>[0-9a-f]{4})-(?P<version>[0-9a-f])[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}",
    re.IGNORECASE,
)


@dataclass
class _Shape:
    """The shape of a whole session: whose words stand as events in which turns."""

    is_subagent: bool = False
    has_turns: bool = False
    shown: set[tuple[str, Role]] = field(default_factory=set)

    def is_shown(self, turn_id: str, role: Role) -> bool:
        """Return whether somebody's words of a turn stand elsewhere, or stand before all turns and are no words."""
        return (turn_id, role) in self.shown or (self.has_turns and not turn_id)


@dataclass
class _Thread:
    """The session so far: `root` names the first of the sessions that were copied into one another."""

    session_id: str
    root: str = ""
    cwd: str | None = None
    git_branch: str | None = None
    began_at: datetime | None = None
    """When it was forked off another session; null for one of its own."""
    turn_id: str = ""
    said: Counter[tuple[str, Role]] = field(default_factory=Counter)
    """Messages by turn and role."""
    forms: dict[int, str] = field(default_factory=dict)
    """Messages, each a number, with the form of the record that it stood in."""
    chain: str = ""
    """Stands for all that was said so far."""
    asked: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Questions of the calls by which the assistant asked the person, and which gave no result yet."""
    is_named: bool = False
    has_spoken: bool = False

    def name(self, payload: Fields) -> None:
        """Take over a `session_meta`; of several the first is the session's own, the last before any word its root."""
        found = id_of(payload, "id", "session_id") or self.session_id
        if not self.is_named:
            self.is_named, self.session_id = True, found
            self.cwd = text_of(payload, "cwd")
            self.git_branch = text_of(object_of(payload.get("git")), "branch")
            self.root = id_of(payload, "forked_from_id") or found
            if self.root != found:
                self.began_at = _time_of_id(found) or parse_time(payload.get("timestamp"))
        elif not self.has_spoken and found != self.session_id:
            self.root = found
            self.began_at = self.began_at or _time_of_id(self.session_id)

    def exchange(self, payload: Fields) -> tuple[tuple[Role, tuple[str, ...]], ...]:
        """The assistant's questions and the person's answers, where a record has the answers; else nothing."""
        call = str(payload.get("call_id"))
        if questions := question_texts(payload):
            self.asked[call] = questions
        if payload.get("type") != "function_call_output" or not (asked := self.asked.pop(call, ())):
            return ()
        answers = answer_texts(payload)
        return (("assistant", asked), ("user", answers)) if answers else ()

    def is_repeated(self, role: Role, text: str, form: str) -> bool:
        """Return whether a record of another form had this message of the turn already."""
        return self.forms.setdefault(hash((self.turn_id, role, text)), form) != form

    def identity(self, role: Role, text: str) -> tuple[str, ...]:
        """The same for a message and its copies: its place in its turn, else the chain of all that was said."""
        self.chain = stable_id("codex", self.chain or self.root or self.session_id, role, clean_text(text))
        self.said[self.turn_id, role] += 1
        self.has_spoken = True
        if not _UUID.fullmatch(self.turn_id):
            return ("codex", self.chain)
        return ("codex", self.turn_id, role, str(self.said[self.turn_id, role]))

    def identity_of_call(self, payload: Fields, role: Role) -> tuple[str, ...]:
        """The same for what was asked or answered by a call, and its copies."""
        return ("codex", self.turn_id or self.session_id, role, str(payload.get("call_id")))

    def time(self, written: datetime) -> datetime:
        """The time of a message; of one copied from another session that of its turn, where its id tells it."""
        begun = _time_of_id(self.turn_id)
        is_copy = begun is not None and self.began_at is not None and begun < self.began_at
        return begun if is_copy and begun is not None else written


def read_codex(
    path: Path, *, speaker: str | None = None, bounds: ReaderSettings = DEFAULTS
) -> Iterator[Reading]:
    """Turns of a Codex session, in parts; `speaker` is the person whose sessions these are, null if unknown.

    Raises:
        NotFoundError: There is no such file.
        InputError: It cannot be read, or no line of it is JSON.
    """
    counts = Counts()
    yield from to_parts(
        _messages(path, speaker, counts, bounds),
        source=source_of(path, "conversation"),
        kind="codex",
        counts=counts,
        bounds=bounds,
    )


def _messages(
    path: Path, speaker: str | None, counts: Counts, bounds: ReaderSettings
) -> Iterator[RawMessage]:
    shape = _shape_of(path, bounds)
    thread, time = _Thread(path_text(path.name.split(".")[0])), file_time(path)
    for line, record in json_records(path, counts, bounds):
        if shape.is_subagent:
            counts.skip("sub-agent")
            continue
        time = time_of(record, counts.parts) or time
        kind, payload = unwrapped(record)
        if kind == "session_meta":
            thread.name(payload)
        elif kind == "turn_context":
            thread.cwd = text_of(payload, "cwd") or thread.cwd
        thread.turn_id = turn_of(kind, payload) or thread.turn_id
        if is_summary(record):
            counts.skip("compaction summary")
            continue
        if exchange := thread.exchange(payload):
            said = [(role, parts, thread.identity_of_call(payload, role)) for role, parts in exchange]
        elif (spoken := _spoken(kind, payload, thread, shape, counts)) is None:
            continue
        else:
            role, parts = spoken
            text = "\n".join(parts)
            if thread.is_repeated(role, text, str(payload.get("type"))):
                counts.skip("repeated message")
                continue
            said = [(role, parts, thread.identity(role, text))]
        for number, (role, parts, identity) in enumerate(said):
            yield RawMessage(
                session_id=thread.session_id,
                role=role,
                parts=parts,
                identity=identity,
                event_time=thread.time(time),
                speaker=speaker if role == "user" else None,
                cwd=thread.cwd,
                git_branch=thread.git_branch,
                place=f"line {line}",
                entry_count=int(number == 0),
            )


def _shape_of(path: Path, bounds: ReaderSettings) -> _Shape:
    """The shape of a session, which is read for it once more: an event may stand behind what the model was sent."""
    shape, turn_id, is_first = _Shape(), "", True
    for _, record in json_records(path, Counts(), bounds):
        kind, payload = unwrapped(record)
        if kind == "session_meta" and is_first:
            is_first = False
            if is_subagent(payload):
                return _Shape(is_subagent=True)
        turn_id = turn_of(kind, payload) or turn_id
        shape.has_turns |= bool(turn_id)
        if (role := shown_role(kind, payload)) is not None:
            shape.shown.add((turn_id, role))
    return shape


def _spoken(
    kind: str, payload: Fields, thread: _Thread, shape: _Shape, counts: Counts
) -> tuple[Role, tuple[str, ...]] | None:
    """The role and the texts of a message; null, and counted by its reason, for a record that says nothing."""
    if (role := shown_role(kind, payload)) is not None:
        texts = shown_texts(payload, role, counts.parts)
    elif kind != "response_item" or (role := sent_role(payload)) is None:
        skip_unspoken(kind, payload, counts)
        return None
    elif shape.is_shown(thread.turn_id, role):
        counts.skip(SHOWN_TOO)
        return None
    else:
        texts = sent_texts(payload, role, counts.parts)
    parts = tuple(text for text in texts if text.strip())
    if parts:
        return role, parts
    counts.skip(UNSPOKEN if texts else "empty message")
    return None


def _time_of_id(text: str) -> datetime | None:
    """The time at which an id of version 7 was made; null for another id."""
    found = _UUID.fullmatch(text)
    if found is None or found["version"] != "7":
        return None
    return parse_time(int(found["high"] + found["low"], 16))
