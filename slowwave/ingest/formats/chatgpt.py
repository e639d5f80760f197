"""ChatGPT's export: `conversations.json`, or several `conversations-000.json`, bare or in the ZIP archive.

A conversation is a tree of messages, since answers can be asked for again. The branch that was
read last counts, from `current_node` up to the root. Custom instructions, hidden messages, tools and reasoning are left
out, and so is a conversation that the person asked not to be remembered (`is_do_not_remember`). Each message of the
tree is an entry.
"""

import re
from collections.abc import Iterator
from datetime import datetime
from typing import Final

from slowwave.ingest.counts import Counts
from slowwave.ingest.fields import Fields, id_of, object_of, parse_time, role_name, texts_in
from slowwave.ingest.files import Input, file_time
from slowwave.ingest.formats.archive import conversations_of
from slowwave.ingest.formats.row import Format
from slowwave.ingest.lines import Record
from slowwave.ingest.turns import NOBODYS, SPOKEN, RawMessage

PRIVATE: Final = "conversation not to be remembered"

_INSTRUCTIONS: Final = {"user_editable_context", "model_editable_context"}
_REASONING: Final = {"thoughts", "reasoning_recap"}

# a quote within a text has a backslash before it, so that no text can look like a field
_START: Final = re.compile(rb'\[(?:\s*\]\s*\Z|.*?(?<!\\)"mapping"\s*:\s*\{)', re.DOTALL)
"""An array of conversations, or one without anything in it."""


def messages(file: Input) -> Iterator[RawMessage]:
    """The messages of an export of ChatGPT."""
    modified = file_time(file.path)
    for conversation in conversations_of(file):
        session_id = id_of(conversation.fields, "conversation_id", "id")
        if session_id is None or not isinstance(conversation.fields.get("mapping"), dict):
            file.counts.leave_out("unreadable conversation")
            continue
        yield from _of_conversation(conversation, session_id, file.counts, modified)


FORMAT: Final = Format(
    name="chatgpt",
    title="an export of ChatGPT",
    messages=messages,
    start=_START,
    in_folders=r".*/conversations(?:-\d{1,6})?\.json",
)


def _of_conversation(
    conversation: Record, session_id: str, counts: Counts, modified: datetime
) -> Iterator[RawMessage]:
    fields = conversation.fields
    nodes = object_of(fields.get("mapping"))
    spoken = {name for name, node in nodes.items() if object_of(object_of(node).get("message"))}
    counts.entry_count += len(spoken)
    if fields.get("is_do_not_remember") is True:
        counts.parts[PRIVATE] += 1
        counts.skip(f"message of a {PRIVATE}", len(spoken))
        return
    path = _branch(fields, nodes)
    counts.skip("message of another branch", len(spoken.difference(path)))
    time = parse_time(fields.get("create_time")) or parse_time(fields.get("update_time")) or modified
    for name in path:
        if name not in spoken:
            continue
        message = object_of(object_of(nodes[name]).get("message"))
        time = parse_time(message.get("create_time")) or time
        reason = _reason_to_skip(message)
        if reason:
            counts.skip(reason)
            continue
        yield RawMessage(
            session_id=session_id,
            role=SPOKEN[_role(message)],
            parts=tuple(texts_in(object_of(message.get("content")).get("parts"), counts.parts)),
            event_time=time,
            identity=(session_id, id_of(message, "id") or id_of({"id": name}, "id") or name),
            place=f"conversation {conversation.line}",
        )


def _branch(fields: Fields, nodes: Fields) -> list[str]:
    """Names of the nodes from the root to the one that was read last; none where that is not named."""
    node = fields.get("current_node")
    seen: dict[str, None] = {}
    while isinstance(node, str) and node in nodes and node not in seen:
        seen[node] = None
        node = object_of(nodes[node]).get("parent")
    return list(reversed(seen))


def _reason_to_skip(message: Fields) -> str | None:
    """The reason why a message is no turn; null for one that is."""
    content, metadata = object_of(message.get("content")), object_of(message.get("metadata"))
    kind, role = str(content.get("content_type")), _role(message)
    if kind in _INSTRUCTIONS or metadata.get("is_user_system_message") is True:
        return "custom instructions"
    if role not in SPOKEN:
        return NOBODYS.get(role, "unknown role")
    if metadata.get("is_visually_hidden_from_conversation") is True:
        return "hidden message"
    if message.get("recipient") not in (None, "all"):
        return "message to a tool"
    if kind in _REASONING:
        return "reasoning"
    return None if kind in ("text", "multimodal_text") else "message of another kind"


def _role(message: Fields) -> str:
    return role_name(object_of(message.get("author")).get("role"))
