"""The records of a Codex session: of which turn each is, and what a person or the assistant says in it."""

import re
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from typing import Final, Literal

from slowwave.readers.agents.questions import object_in, questions_in
from slowwave.readers.bounds import Counts
from slowwave.readers.files import id_of, list_of, object_of, text_of

RECORD_TYPES: Final = frozenset({"session_meta", "response_item", "event_msg", "turn_context", "compacted"})
"""Record types by which a session is known."""

_NOTES: Final = frozenset(
    {"world_state", "token_usage_record", "retained_context", "dynamic_tools_updated", "realtime_item"}
    | {"security_risk_score", "inter_agent_communication", "inter_agent_communication_metadata"}
)
"""Types of records on the session itself, counted together; others are counted as unknown."""

Role = Literal["user", "assistant"]
Fields = Mapping[str, object]

SHOWN_TOO: Final = "message that stands as an event too"

_EVENTS: Final[dict[str, Role]] = {"user_message": "user", "agent_message": "assistant"}
_ITEMS: Final[dict[str, Role]] = {"usermessage": "user", "agentmessage": "assistant"}
_ROLES: Final[dict[str, Role]] = {"user": "user", "assistant": "assistant"}
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
_REQUEST: Final = re.compile(r"^## My request for Codex:[ \t]*", re.MULTILINE)


def unwrapped(record: Fields) -> tuple[str, Fields]:
    """The type and the payload of a record; in the first sessions of all, these stood bare on their lines."""
    kind, payload = str(record.get("type")), record.get("payload")
    if isinstance(payload, dict):
        return kind, payload
    if "type" not in record and "instructions" in record:
        return "session_meta", record
    return (kind, {}) if kind in RECORD_TYPES else ("response_item", record)


def is_subagent(meta: Fields) -> bool:
    """Return whether a `session_meta` says that another agent began the session."""
    source = meta.get("source")
    if text_of(meta, "thread_source") == "subagent" or text_of(meta, "parent_thread_id"):
        return True
    return source == "subagent" or (isinstance(source, dict) and "subagent" in source)


def turn_of(kind: str, payload: Fields) -> str | None:
    """The id of the turn that a record names as its own; null where it names none."""
    if kind == "turn_context" or (kind == "event_msg" and payload.get("type") in _OF_A_TURN):
        return id_of(payload, "turn_id")
    return id_of(object_of(payload.get(_METADATA)), "turn_id") if kind == "response_item" else None


def shown_role(kind: str, payload: Fields) -> Role | None:
    """The role of whoever speaks in an event; null for another record."""
    name = str(payload.get("type"))
    if kind != "event_msg":
        return None
    if name == "item_completed":
        return _ITEMS.get(str(object_of(payload.get("item")).get("type")).lower().replace("_", ""))
    return _EVENTS.get(name)


def shown_texts(payload: Fields, role: Role, skipped: Counter[str]) -> list[str]:
    """The texts of an event; of a person's those that were typed, the others empty."""
    item = object_of(payload.get("item"))
    texts = _texts(item.get("content", item.get("text")) if item else payload.get("message"), skipped)
    if role == "user" and text_of(payload, "kind") not in (None, "plain"):
        skipped["injected context"] += len(texts)
        return ["" for _ in texts]
    return [_typed(text, skipped, _INJECTED) for text in texts] if role == "user" else texts


def sent_role(payload: Fields) -> Role | None:
    """The role of whoever speaks in an item of the model's conversation; null for other items and system messages."""
    return _ROLES.get(str(payload.get("role"))) if payload.get("type") == "message" else None


def sent_texts(payload: Fields, role: Role, skipped: Counter[str]) -> list[str]:
    """The texts of an item; of a person's those that were typed, by their kinds or else by how they begin."""
    content = payload.get("content")
    texts = _texts(content, skipped)
    if role == "assistant":
        return texts
    kinds = object_of(payload.get(_METADATA)).get("content_item_kinds")
    if isinstance(kinds, Sequence) and isinstance(content, list) and len(kinds) == len(content) == len(texts):
        skipped["injected context"] += sum(kind != _TYPED for kind in kinds)
        typed = [text if kind == _TYPED else "" for text, kind in zip(texts, kinds, strict=True)]
        return [_typed(text, skipped, _INJECTED) for text in typed]
    return [_typed(text, skipped, _ANY_TAG) for text in texts]


def is_summary(record: Fields) -> bool:
    """Return whether a record is what the model wrote when the conversation was compacted."""
    return object_of(record.get("metadata")).get("compaction_output") is True


def question_texts(payload: Fields) -> tuple[str, ...]:
    """The questions that the assistant asks the person by a call, with what he can choose of; none in another item."""
    if payload.get("type") != "function_call" or payload.get("name") != _ASKING:
        return ()
    return tuple(questions_in(object_in(payload.get("arguments"))))


def answer_texts(payload: Fields) -> tuple[str, ...]:
    """The answers in the result of such a call, and what the person added to them."""
    answers = object_of(object_in(payload.get("output")).get("answers"))
    told = [[str(line) for line in list_of(object_of(given).get("answers"))] for given in answers.values()]
    return tuple(". ".join(line.removeprefix(_ADDED) for line in lines) for lines in told if lines)


def skip_unspoken(kind: str, payload: Fields, counts: Counts) -> None:
    """Count a record that is no message by its reason."""
    name = str(payload.get("type"))
    if kind == "event_msg":
        reason = "event"
    elif kind != "response_item":
        known = kind if kind in RECORD_TYPES else "unknown record type"
        reason = "session record" if kind in _NOTES else known
    elif name == "message":
        reason = "system message" if payload.get("role") in ("system", "developer") else "unknown role"
    elif name.endswith("_output"):
        reason = "tool result"
    elif name.endswith("_call"):
        reason = "tool use"
    else:
        reason = "thinking" if name == "reasoning" else "unknown record type"
    counts.skip(reason)


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
