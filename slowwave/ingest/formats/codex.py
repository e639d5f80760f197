"""Sessions of Codex ("rollouts"): one JSON record a line, `{"timestamp", "type", "payload"}`, plain or as `.jsonl.zst`.

A session has a message up to twice: as the event that the screen showed (`event_msg` with `user_message` or
`agent_message`, or in newer sessions `item_completed`), and as what the model was sent (`response_item`), where
AGENTS.md, the environment and the context of hooks are a user's messages too. Where a turn has events of somebody, they
alone count. A fork begins with a copy of the other session: a message is known by its turn, or by all that was said
before it, so that a copy is the same message. Sessions of sub-agents are left out, since another agent wrote the user's
messages in them. Questions that the assistant asks by a call (`request_user_input`) are its words, and what the call
returns is the person's.
"""

import re
from collections import Counter, deque
from collections.abc import Iterator
from typing import Final

from slowwave.ingest.counts import UNSPOKEN, Counts
from slowwave.ingest.fields import (
    Fields,
    id_of,
    json_value,
    list_of,
    object_of,
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

_UUID: Final = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}", re.IGNORECASE)

_RECORD_TYPES: Final = frozenset({"session_meta", "response_item", "event_msg", "turn_context", "compacted"})
"""Record types by which a session is known; others on the session itself are counted together."""

_EVENTS: Final[dict[str, Role]] = {"user_message": "user", "agent_message": "assistant"}
_ITEMS: Final[dict[str, Role]] = {"usermessage": "user", "agentmessage": "assistant"}
_OF_A_TURN: Final = ("task_started", "turn_started", "item_completed")
"""Events that name the turn they belong to."""

_ASKING, _ADDED = "request_user_input", "user_note: "

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


def messages(file: Input) -> Iterator[RawMessage]:
    """The messages of a session."""
    counts, time, session = file.counts, file_time(file.path), _Session(file)
    for line, record in json_records(file):
        if session.is_subagent:
            counts.skip("sub-agent")
            continue
        time = time_of(record, counts.parts) or time
        for number, (role, parts, identity) in enumerate(session.said(record, counts)):
            yield RawMessage(
                session_id=session.session_id,
                role=role,
                parts=parts,
                identity=identity,
                event_time=time,
                cwd=session.cwd,
                git_branch=session.git_branch,
                place=f"line {line}",
                entry_count=int(number == 0),
            )


_Said = tuple[Role, tuple[str, ...], tuple[str, ...]]
"""Who said something, its texts, and what its id is made of."""


class _Session:
    """A session up to a record."""

    def __init__(self, file: Input) -> None:
        self.session_id = path_text(file.path.name.split(".")[0])
        self.cwd: str | None = None
        self.git_branch: str | None = None
        self.is_subagent = False
        self._shown = set[tuple[str, Role]]()
        """The turns in which somebody's words are events, before or after what the model was sent."""
        self._has_turns = False
        self._root = ""
        """The first of the sessions that were copied into one another."""
        self._turn_id = ""
        self._said = Counter[tuple[str, Role]]()
        """Messages by turn and role."""
        self._kinds: dict[int, str] = {}
        """Messages, each a number, with the kind of the record that had it first."""
        self._chain = ""
        """A hash of all that was said so far."""
        self._asked: dict[str, tuple[str, ...]] = {}
        """Questions of the calls by which the assistant asked the person, and which gave no result yet."""
        self._preview(file)

    def _preview(self, file: Input) -> None:
        """Read the file once: an event may follow what the model was sent."""
        is_first, turn_id = True, ""
        for _, record in json_records(file.again()):
            kind, payload = _unwrapped(record)
            if kind == "session_meta" and is_first:
                is_first, self.is_subagent = False, _is_subagent(payload)
            turn_id = _turn_of(kind, payload) or turn_id
            self._has_turns |= bool(turn_id)
            if (role := _shown_role(kind, payload)) is not None:
                self._shown.add((turn_id, role))

    def said(self, record: Fields, counts: Counts) -> Iterator[_Said]:
        """The messages of a record, an answer with its question; a record without any is counted."""
        kind, payload = _unwrapped(record)
        if kind == "session_meta":
            self._name(payload)
        elif kind == "turn_context":
            self.cwd = text_of(payload, "cwd") or self.cwd
        self._turn_id = _turn_of(kind, payload) or self._turn_id
        if object_of(record.get("metadata")).get("compaction_output") is True:
            counts.skip("compaction summary")
        elif exchange := self._exchange(payload):
            yield from exchange
        elif spoken := self._spoken(kind, payload, counts):
            role, parts = spoken
            text = "\n".join(parts)
            name = str(payload.get("type"))
            if self._kinds.setdefault(hash((self._turn_id, role, text)), name) != name:
                counts.skip("repeated message")
            else:
                yield role, parts, self._identity(role, text)

    def _name(self, payload: Fields) -> None:
        """Take over a `session_meta`; of several the first is the session's own, the last before any word its root."""
        found = id_of(payload, "id", "session_id") or self.session_id
        if not self._root:
            self.session_id, self._root = found, id_of(payload, "forked_from_id") or found
            self.cwd = text_of(payload, "cwd")
            self.git_branch = text_of(object_of(payload.get("git")), "branch")
        elif not self._chain and found != self.session_id:
            self._root = found

    def _exchange(self, payload: Fields) -> list[_Said]:
        """The assistant's questions and the person's answers, where a record has the answers; else nothing."""
        call = str(payload.get("call_id"))
        if payload.get("type") == "function_call" and payload.get("name") == _ASKING:
            self._asked[call] = tuple(questions_in(object_of(json_value(payload.get("arguments")))))
        if payload.get("type") != "function_call_output" or not (asked := self._asked.pop(call, ())):
            return []
        turn_id = self._turn_id or self.session_id
        exchange: list[_Said] = [
            ("assistant", asked, ("codex", turn_id, "assistant", call)),
            ("user", answers := _answer_texts(payload), ("codex", turn_id, "user", call)),
        ]
        return exchange if answers else []

    def _identity(self, role: Role, text: str) -> tuple[str, ...]:
        """The same for a message and its copies: its place in its turn, else the chain of all that was said."""
        self._chain = stable_id("codex", self._chain or self._root or self.session_id, role, clean_text(text))
        self._said[self._turn_id, role] += 1
        if not _UUID.fullmatch(self._turn_id):
            return ("codex", self._chain)
        return ("codex", self._turn_id, role, str(self._said[self._turn_id, role]))

    def _spoken(self, kind: str, payload: Fields, counts: Counts) -> tuple[Role, tuple[str, ...]] | None:
        """The role and the texts of a message; null, and counted by its reason, for a record that says nothing."""
        sent_role = SPOKEN.get(str(payload.get("role"))) if payload.get("type") == "message" else None
        if (role := _shown_role(kind, payload)) is not None:
            texts = _shown_texts(payload, role, counts.parts)
        elif kind != "response_item" or (role := sent_role) is None:
            counts.skip(_reason(kind, payload))
            return None
        elif (self._turn_id, role) in self._shown or (self._has_turns and not self._turn_id):
            counts.skip("message that stands as an event too")
            return None
        else:
            texts = texts_in(payload.get("content"), counts.parts)
            texts = [_typed(text, counts.parts, _ANY_TAG) for text in texts] if role == "user" else texts
        if parts := tuple(text for text in texts if text.strip()):
            return role, parts
        counts.skip(UNSPOKEN if texts else "empty message")
        return None


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
    names_turn = kind == "turn_context" or (kind == "event_msg" and payload.get("type") in _OF_A_TURN)
    return id_of(payload, "turn_id") if names_turn else None


def _shown_role(kind: str, payload: Fields) -> Role | None:
    """The role of whoever speaks in an event; null for another record."""
    if kind != "event_msg":
        return None
    item = str(object_of(payload.get("item")).get("type")).lower().replace("_", "")
    is_item = payload.get("type") == "item_completed"
    return _ITEMS.get(item) if is_item else _EVENTS.get(str(payload.get("type")))


def _shown_texts(payload: Fields, role: Role, skipped: Counter[str]) -> list[str]:
    """The texts of an event; of a person's those that were typed, the others empty."""
    item = object_of(payload.get("item"))
    texts = texts_in(item.get("content", item.get("text")) if item else payload.get("message"), skipped)
    if role == "user" and text_of(payload, "kind") not in (None, "plain"):
        skipped["injected context"] += len(texts)
        return ["" for _ in texts]
    return [_typed(text, skipped, _INJECTED) for text in texts] if role == "user" else texts


def _answer_texts(payload: Fields) -> tuple[str, ...]:
    """The answers in the result of a call that asked the person, and what the person added to them."""
    answers = object_of(object_of(json_value(payload.get("output"))).get("answers"))
    told = [[str(line) for line in list_of(object_of(given).get("answers"))] for given in answers.values()]
    return tuple(". ".join(line.removeprefix(_ADDED) for line in lines) for lines in told if lines)


def _reason(kind: str, payload: Fields) -> str:
    """The reason why a record is no message."""
    name = str(payload.get("type"))
    if kind != "response_item":
        return "event" if kind == "event_msg" else kind if kind in _RECORD_TYPES else "session record"
    if name == "message":
        return "system message" if payload.get("role") in ("system", "developer") else "unknown role"
    if name.endswith(("_output", "_call")):
        return "tool result" if name.endswith("_output") else "tool use"
    return "thinking" if name == "reasoning" else "unknown record type"


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
