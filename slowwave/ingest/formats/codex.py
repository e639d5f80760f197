"""Sessions of Codex ("rollouts"): one JSON record a line, `{"timestamp", "type", "payload"}`, plain or as `.jsonl.zst`.

A session has a message up to twice: as the event that the screen showed (`event_msg` with `user_message` or
`agent_message`, or in newer sessions `item_completed`), and as what the model was sent (`response_item`), where
AGENTS.md, the environment and the context of hooks are a user's messages too. Where a turn has events of somebody, they
alone count. A fork begins with a copy of the other session, written anew with the time of the fork: a message is known
by its turn, or by all that was said before it, so that a copy is the same message. Sessions of sub-agents are left out,
since another agent wrote the user's messages in them. Questions that the assistant asks by a call
(`request_user_input`) are its words, and what the call returns is the person's.
"""

import re
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from slowwave.ingest.counts import UNSPOKEN, Counts
from slowwave.ingest.fields import (
    Fields,
    id_of,
    json_value,
    list_of,
    object_of,
    parse_time,
    questions_in,
    text_of,
    texts_in,
    time_of,
)
from slowwave.ingest.files import Input, file_time, path_text
from slowwave.ingest.formats.row import Format, Place
from slowwave.ingest.lines import json_records
from slowwave.ingest.turns import SPOKEN, RawMessage, Role
from slowwave.schemas.identity import stable_id
from slowwave.schemas.refusals import clean_text

_UUID: Final = re.compile(
    r"(?P<high>[0-9a-f]{8})-(?P<low>[0-9a-f]{4})-(?P<version>[0-9a-f])[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}",
    re.IGNORECASE,
)

_RECORD_TYPES: Final = frozenset({"session_meta", "response_item", "event_msg", "turn_context", "compacted"})
"""Record types by which a session is known; others on the session itself are counted together."""

_SHOWN_TOO: Final = "message that stands as an event too"

_EVENTS: Final[dict[str, Role]] = {"user_message": "user", "agent_message": "assistant"}
_ITEMS: Final[dict[str, Role]] = {"usermessage": "user", "agentmessage": "assistant"}
_OF_A_TURN: Final = ("task_started", "turn_started", "item_completed")
"""Events that name the turn they belong to."""

_TYPED: Final = "user.text"
"""The kind of a block that a person typed, where blocks have kinds."""
_ASKING, _ADDED = "request_user_input", "user_note: "
_METADATA: Final = "internal_chat_message_metadata_passthrough"

_TAGS: Final = (
    "environment_context|user_instructions|permissions instructions|collaboration_mode|skill|skills_instructions|"
    "apps_instructions|app-context|plugins_instructions|recommended_plugins|personality_spec|model_switch|hook_prompt|"
    "hook_context|turn_aborted|user_shell_command|subagent_notification|user_action|realtime_conversation|"
    "codex_internal_context|codex_delegation|loaded_context"
)
_AGENTS_MD: Final = r"# AGENTS\.md instructions|<AGENTS\.md INSTRUCTIONS\b[^>]*>"
_INJECTED: Final = re.compile(rf"{_AGENTS_MD}|<(?P<tag>{_TAGS})(?:\s[^>]*)?>", re.IGNORECASE)
_ANY_TAG: Final = re.compile(
    rf"{_AGENTS_MD}|<(?P<tag>[a-z][\w.-]*(?: instructions)?)(?:\s[^>]*)?>", re.IGNORECASE
)
_MOST_ELEMENTS: Final = 50
"""Elements before a prompt, one behind the other; where there are more, nobody typed any of it."""
_ROLLOUTS: Final = ("**/rollout-*.jsonl", "**/rollout-*.jsonl.zst")
_REQUEST: Final = re.compile(r"^## My request for Codex:[ \t]*", re.MULTILINE)


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
        if questions := _question_texts(payload):
            self.asked[call] = questions
        if payload.get("type") != "function_call_output" or not (asked := self.asked.pop(call, ())):
            return ()
        answers = _answer_texts(payload)
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


def messages(file: Input) -> Iterator[RawMessage]:
    """The messages of a session."""
    shape = _shape_of(file)
    counts, time = file.counts, file_time(file.path)
    thread = _Thread(path_text(file.path.name.split(".")[0]))
    for line, record in json_records(file):
        if shape.is_subagent:
            counts.skip("sub-agent")
            continue
        time = time_of(record, counts.parts) or time
        kind, payload = _unwrapped(record)
        if kind == "session_meta":
            thread.name(payload)
        elif kind == "turn_context":
            thread.cwd = text_of(payload, "cwd") or thread.cwd
        thread.turn_id = _turn_of(kind, payload) or thread.turn_id
        if _is_summary(record):
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
                cwd=thread.cwd,
                git_branch=thread.git_branch,
                place=f"line {line}",
                entry_count=int(number == 0),
            )


def _is_record(record: Fields) -> bool:
    kind = str(record.get("type"))
    if kind == "message" and "role" in record:  # of the first sessions of all, which had no `payload`
        blocks = map(object_of, list_of(record.get("content")))
        return any(block.get("type") in ("input_text", "output_text") for block in blocks)
    return kind in _RECORD_TYPES and "payload" in record


FORMAT: Final = Format(
    name="codex",
    title="Codex (`type` and `payload`)",
    messages=messages,
    is_record=_is_record,
    in_folders=r".*\.jsonl(?:\.zst)?",
    places=tuple(
        Place("Codex", (f"$CODEX_HOME/{folder}", f".codex/{folder}"), _ROLLOUTS)
        for folder in ("sessions", "archived_sessions")
    ),
)


def _shape_of(file: Input) -> _Shape:
    """The shape of a session, which is read for it once more: an event may stand behind what the model was sent."""
    shape, turn_id, is_first = _Shape(), "", True
    for _, record in json_records(file.again()):
        kind, payload = _unwrapped(record)
        if kind == "session_meta" and is_first:
            is_first = False
            if _is_subagent(payload):
                return _Shape(is_subagent=True)
        turn_id = _turn_of(kind, payload) or turn_id
        shape.has_turns |= bool(turn_id)
        if (role := _shown_role(kind, payload)) is not None:
            shape.shown.add((turn_id, role))
    return shape


def _spoken(
    kind: str, payload: Fields, thread: _Thread, shape: _Shape, counts: Counts
) -> tuple[Role, tuple[str, ...]] | None:
    """The role and the texts of a message; null, and counted by its reason, for a record that says nothing."""
    if (role := _shown_role(kind, payload)) is not None:
        texts = _shown_texts(payload, role, counts.parts)
    elif kind != "response_item" or (role := _sent_role(payload)) is None:
        _skip_unspoken(kind, payload, counts)
        return None
    elif shape.is_shown(thread.turn_id, role):
        counts.skip(_SHOWN_TOO)
        return None
    else:
        texts = _sent_texts(payload, role, counts.parts)
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


def _unwrapped(record: Fields) -> tuple[str, Fields]:
    """The type and the payload of a record; in the first sessions of all, these stood bare on their lines."""
    kind, payload = str(record.get("type")), record.get("payload")
    if isinstance(payload, dict):
        return kind, payload
    if "type" not in record and "instructions" in record:
        return "session_meta", record
    return (kind, {}) if kind in _RECORD_TYPES else ("response_item", record)


def _is_subagent(meta: Fields) -> bool:
    """Return whether a `session_meta` says that another agent began the session."""
    source = meta.get("source")
    if text_of(meta, "thread_source") == "subagent" or text_of(meta, "parent_thread_id"):
        return True
    return source == "subagent" or (isinstance(source, dict) and "subagent" in source)


def _turn_of(kind: str, payload: Fields) -> str | None:
    """The id of the turn that a record names as its own; null where it names none."""
    if kind == "turn_context" or (kind == "event_msg" and payload.get("type") in _OF_A_TURN):
        return id_of(payload, "turn_id")
    return id_of(object_of(payload.get(_METADATA)), "turn_id") if kind == "response_item" else None


def _shown_role(kind: str, payload: Fields) -> Role | None:
    """The role of whoever speaks in an event; null for another record."""
    name = str(payload.get("type"))
    if kind != "event_msg":
        return None
    if name == "item_completed":
        return _ITEMS.get(str(object_of(payload.get("item")).get("type")).lower().replace("_", ""))
    return _EVENTS.get(name)


def _shown_texts(payload: Fields, role: Role, skipped: Counter[str]) -> list[str]:
    """The texts of an event; of a person's those that were typed, the others empty."""
    item = object_of(payload.get("item"))
    texts = texts_in(item.get("content", item.get("text")) if item else payload.get("message"), skipped)
    if role == "user" and text_of(payload, "kind") not in (None, "plain"):
        skipped["injected context"] += len(texts)
        return ["" for _ in texts]
    return [_typed(text, skipped, _INJECTED) for text in texts] if role == "user" else texts


def _sent_role(payload: Fields) -> Role | None:
    """The role of whoever speaks in an item of the model's conversation; null for other items and system messages."""
    return SPOKEN.get(str(payload.get("role"))) if payload.get("type") == "message" else None


def _sent_texts(payload: Fields, role: Role, skipped: Counter[str]) -> list[str]:
    """The texts of an item; of a person's those that were typed, by their kinds or else by how they begin."""
    content = payload.get("content")
    texts = texts_in(content, skipped)
    if role == "assistant":
        return texts
    kinds = object_of(payload.get(_METADATA)).get("content_item_kinds")
    if isinstance(kinds, Sequence) and isinstance(content, list) and len(kinds) == len(content) == len(texts):
        skipped["injected context"] += sum(kind != _TYPED for kind in kinds)
        typed = [text if kind == _TYPED else "" for text, kind in zip(texts, kinds, strict=True)]
        return [_typed(text, skipped, _INJECTED) for text in typed]
    return [_typed(text, skipped, _ANY_TAG) for text in texts]


def _is_summary(record: Fields) -> bool:
    """Return whether a record is what the model wrote when the conversation was compacted."""
    return object_of(record.get("metadata")).get("compaction_output") is True


def _question_texts(payload: Fields) -> tuple[str, ...]:
    """The questions that the assistant asks the person by a call, with what he can choose of; none in another item."""
    if payload.get("type") != "function_call" or payload.get("name") != _ASKING:
        return ()
    return tuple(questions_in(object_of(json_value(payload.get("arguments")))))


def _answer_texts(payload: Fields) -> tuple[str, ...]:
    """The answers in the result of such a call, and what the person added to them."""
    answers = object_of(object_of(json_value(payload.get("output"))).get("answers"))
    told = [[str(line) for line in list_of(object_of(given).get("answers"))] for given in answers.values()]
    return tuple(". ".join(line.removeprefix(_ADDED) for line in lines) for lines in told if lines)


def _skip_unspoken(kind: str, payload: Fields, counts: Counts) -> None:
    """Count a record that is no message by its reason."""
    name = str(payload.get("type"))
    if kind == "event_msg":
        reason = "event"
    elif kind != "response_item":
        reason = kind if kind in _RECORD_TYPES else "session record"
    elif name == "message":
        reason = "system message" if payload.get("role") in ("system", "developer") else "unknown role"
    elif name.endswith("_output"):
        reason = "tool result"
    elif name.endswith("_call"):
        reason = "tool use"
    else:
        reason = "thinking" if name == "reasoning" else "unknown record type"
    counts.skip(reason)


def _typed(text: str, skipped: Counter[str], injected: re.Pattern[str]) -> str:
    """The part of a user's text that a person typed: without what Codex or a hook put before it.

    The last mark of a kind counts, so that nothing within what was put there can pass for the person's word.
    """
    for _ in range(_MOST_ELEMENTS):
        if not (found := injected.match(text.lstrip())):
            break
        skipped["injected context"] += 1
        closing = f"</{(found['tag'] or 'instructions').lower()}>"
        place = text.lower().rfind(closing)
        text = text[place + len(closing) :] if place >= 0 else ""
    else:
        return ""
    mark = next(iter(deque(_REQUEST.finditer(text), maxlen=1)), None)
    if mark is not None:
        skipped["context of an editor"] += bool(text[: mark.start()].strip())
        text = text[mark.end() :]
    return text.strip()
