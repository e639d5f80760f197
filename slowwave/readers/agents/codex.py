"""Sessions of Codex ("rollouts"): one JSON record a line, `{"timestamp", "type", "payload"}`, plain or as `.jsonl.zst`.

A message stands in a session up to twice: as the event that the screen showed (`event_msg` with `user_message` or
`agent_message`, or in newer sessions `item_completed`), and as what the model was sent (`response_item`), where
AGENTS.md, the environment and the context of hooks are a user's messages too. Where a session has events, they alone
count. A fork begins with a copy of the other session, written anew with the time of the fork: a message is known by its
turn, or by all that was said before it, so that a copy is the same message. Sessions of sub-agents are left out, since
another agent wrote what stands there as the user's message.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Final, Literal

from slowwave.readers.bounds import DEFAULTS, UNSPOKEN, Counts
from slowwave.readers.files import file_time, id_of, parse_time, path_text, text_of, time_of
from slowwave.readers.lines import json_records
from slowwave.readers.reading import RawMessage, Reading, source_of, to_parts
from slowwave.schemas.identity import stable_id
from slowwave.schemas.refusals import clean_text
from slowwave.settings.readers import ReaderSettings

RECORD_TYPES: Final = frozenset({"session_meta", "response_item", "event_msg", "turn_context", "compacted"})
"""Record types of a session; others are counted together as unknown."""

_Role = Literal["user", "assistant"]
_Fields = Mapping[str, object]

_EVENTS: Final[dict[str, _Role]] = {"user_message": "user", "agent_message": "assistant"}
_ITEMS: Final[dict[str, _Role]] = {"usermessage": "user", "agentmessage": "assistant"}
_ROLES: Final[dict[str, _Role]] = {"user": "user", "assistant": "assistant"}

_INJECTED_TAGS = (
    "environment_context|user_instructions|permissions instructions|collaboration_mode|skill|"
    "skills_instructions|apps_instructions|plugins_instructions|personality_spec|model_switch|hook_prompt|"
    "hook_context|turn_aborted|user_shell_command|subagent_notification|user_action|realtime_conversation"
)
_INJECTED: Final = re.compile(
    rf"# AGENTS\.md instructions|<(?P<tag>{_INJECTED_TAGS})(?:\s[^>]*)?>",
    re.IGNORECASE,
)
_REQUEST: Final = re.compile(r"^## My request for Codex:[ \t]*", re.MULTILINE)
_OF_A_TURN: Final = ("task_started", "turn_started", "item_completed")
"""Events that name the turn they belong to."""
_UUID: Final = re.compile(
    r"(?P<high>[0-9a-f]{8})-(?P<low>[0-9a-f]{4})-(?P<version>[0-9a-f])[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}",
    re.IGNORECASE,
)


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
    said: Counter[str] = field(default_factory=Counter)
    """Messages of the turn by role."""
    forms: dict[int, str] = field(default_factory=dict)
    """Messages of the turn, each a number, with the form of the record that it stood in."""
    chain: str = ""
    """Stands for all that was said so far."""
    is_named: bool = False
    has_spoken: bool = False

    def name(self, payload: _Fields) -> None:
        """Take over a `session_meta`; of several the first is the session's own, the last before any word its root."""
        found = id_of(payload, "id", "session_id") or self.session_id
        if not self.is_named:
            self.is_named, self.session_id = True, found
            self.cwd = text_of(payload, "cwd")
            self.git_branch = text_of(_fields(payload.get("git")), "branch")
            self.root = id_of(payload, "forked_from_id") or found
            if self.root != found:
                self.began_at = _time_of_id(found) or parse_time(payload.get("timestamp"))
        elif not self.has_spoken and found != self.session_id:
            self.root = found
            self.began_at = self.began_at or _time_of_id(self.session_id)

    def begin(self, turn_id: str | None) -> None:
        """Begin a turn, unless it is under way."""
        if turn_id is not None and turn_id != self.turn_id:
            self.turn_id = turn_id
            self.said.clear()
            self.forms.clear()

    def is_repeated(self, role: _Role, text: str, form: str) -> bool:
        """Return whether a record of another form had this message of the turn already."""
        return self.forms.setdefault(hash((role, text)), form) != form

    def identity(self, role: _Role, text: str) -> tuple[str, ...]:
        """The same for a message and its copies: its place in its turn, else the chain of all that was said."""
        self.chain = stable_id("codex", self.chain or self.root or self.session_id, role, clean_text(text))
        self.said[role] += 1
        self.has_spoken = True
        if not _UUID.fullmatch(self.turn_id):
            return ("codex", self.chain)
        return ("codex", self.turn_id, role, str(self.said[role]))

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
    has_events, is_subagent = _shape_of(path, bounds)
    thread, time = _Thread(path_text(path.name.split(".")[0])), file_time(path)
    for line, record in json_records(path, counts, bounds):
        if is_subagent:
            counts.skip("sub-agent")
            continue
        time = time_of(record, counts.parts) or time
        kind, payload = _unwrapped(record)
        _follow(thread, kind, payload)
        if (spoken := _spoken(kind, payload, counts, has_events=has_events)) is None:
            continue
        role, texts = spoken
        parts = tuple(text for text in texts if text.strip())
        if not parts:
            counts.skip(UNSPOKEN if texts else "empty message")
            continue
        said = "\n".join(parts)
        if thread.is_repeated(role, said, str(payload.get("type"))):
            counts.skip("repeated message")
            continue
        yield RawMessage(
            session_id=thread.session_id,
            role=role,
            parts=parts,
            identity=thread.identity(role, said),
            event_time=thread.time(time),
            speaker=speaker if role == "user" else None,
            cwd=thread.cwd,
            git_branch=thread.git_branch,
            place=f"line {line}",
        )


def _shape_of(path: Path, bounds: ReaderSettings) -> tuple[bool, bool]:
    """Return whether a session has messages as events, and whether it is that of a sub-agent."""
    is_first = True
    for _, record in json_records(path, Counts(), bounds):
        kind, payload = _unwrapped(record)
        if kind == "session_meta" and is_first:
            is_first = False
            if _is_subagent(payload):
                return False, True
        if kind == "event_msg" and _role_of_event(payload) is not None:
            return True, False
    return False, False


def _is_subagent(payload: _Fields) -> bool:
    source = payload.get("source")
    if text_of(payload, "thread_source") == "subagent" or text_of(payload, "parent_thread_id"):
        return True
    return source == "subagent" or (isinstance(source, dict) and "subagent" in source)


def _unwrapped(record: _Fields) -> tuple[str, _Fields]:
    """The type and the payload of a record; in the first sessions of all, these stood bare on their lines."""
    kind, payload = str(record.get("type")), record.get("payload")
    if isinstance(payload, dict):
        return kind, payload
    if "type" not in record and "instructions" in record:
        return "session_meta", record
    return (kind, {}) if kind in RECORD_TYPES else ("response_item", record)


def _follow(thread: _Thread, kind: str, payload: _Fields) -> None:
    """Take over what a record tells of the session and its turn."""
    if kind == "session_meta":
        thread.name(payload)
    elif kind == "turn_context":
        thread.begin(id_of(payload, "turn_id"))
        thread.cwd = text_of(payload, "cwd") or thread.cwd
    elif kind == "event_msg" and payload.get("type") in _OF_A_TURN:
        thread.begin(id_of(payload, "turn_id"))


def _role_of_event(payload: _Fields) -> _Role | None:
    kind = str(payload.get("type"))
    if kind == "item_completed":
        return _ITEMS.get(str(_fields(payload.get("item")).get("type")).lower().replace("_", ""))
    return _EVENTS.get(kind)


def _spoken(
    kind: str, payload: _Fields, counts: Counts, *, has_events: bool
) -> tuple[_Role, list[str]] | None:
    """The role and the texts of a message; null, and counted by its reason, for a record that is none."""
    role: _Role | None = None
    content: object = None
    reason = kind if kind in RECORD_TYPES else "unknown record type"
    if kind == "event_msg":
        role = _role_of_event(payload)
        item = _fields(payload.get("item"))
        content = item.get("content", item.get("text")) if item else payload.get("message")
        reason = "event"
    elif kind == "response_item":
        reason = _reason_of_item(payload)
        if not reason and has_events:
            reason = "message that stands as an event too"
        elif not reason:
            role, content = _ROLES[str(payload.get("role"))], payload.get("content")
    if role is None:
        counts.skip(reason)
        return None
    texts = _texts(content, counts.parts)
    if role == "user":
        if text_of(payload, "kind") not in (None, "plain"):
            counts.parts["injected context"] += len(texts)
            texts = ["" for _ in texts]
        texts = [_typed(text, counts.parts) for text in texts]
    return role, texts


def _reason_of_item(payload: _Fields) -> str:
    """The reason why an item of the model's conversation is no message; empty for a message."""
    kind = str(payload.get("type"))
    if kind == "message":
        role = str(payload.get("role"))
        system = "system message" if role in ("system", "developer") else "unknown role"
        return "" if role in _ROLES else system
    if kind.endswith("_output"):
        return "tool result"
    if kind.endswith("_call"):
        return "tool use"
    return "thinking" if kind == "reasoning" else "unknown record type"


def _texts(content: object, skipped: Counter[str]) -> list[str]:
    if isinstance(content, str):
        return [content]
    texts = []
    for block in content if isinstance(content, list) else []:
        text = block.get("text") if isinstance(block, dict) else block
        if isinstance(text, str):
            texts.append(text)
        else:
            skipped["block without text"] += 1
    return texts


def _typed(text: str, skipped: Counter[str]) -> str:
    """The part of a user's text that a person typed: without what Codex or a hook put before it.

    The last mark of a kind counts, so that nothing within what was put there can pass for the person's word.
    """
    while found := _INJECTED.match(text.lstrip()):
        skipped["injected context"] += 1
        closing = f"</{(found['tag'] or 'instructions').lower()}>"
        place = text.lower().rfind(closing)
        text = text[place + len(closing) :] if place >= 0 else ""
    *_, mark = [None, *_REQUEST.finditer(text)]
    if mark is not None:
        skipped["context of an editor"] += bool(text[: mark.start()].strip())
        text = text[mark.end() :]
    return text.strip()


def _time_of_id(text: str) -> datetime | None:
    """The time at which an id of version 7 was made; null for another id."""
    found = _UUID.fullmatch(text)
    if found is None or found["version"] != "7":
        return None
    return parse_time(int(found["high"] + found["low"], 16))


def _fields(value: object) -> _Fields:
    return value if isinstance(value, dict) else {}
