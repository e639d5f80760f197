"""Claude.ai's export: `conversations.json`, bare or in the ZIP archive.

What a person attached to a message comes with its text, and is a document: nobody's own word. Each message and each
attachment is an entry.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Final

from slowwave.readers.bounds import DEFAULTS, Counts
from slowwave.readers.exports.conversations import (
    BROKEN,
    Conversation,
    conversations_of,
    id_by_content,
    leave_out,
)
from slowwave.readers.files import file_time, id_of, list_of, object_of, parse_time, text_of
from slowwave.readers.reading import RawMessage, Reading, Role, source_of, to_parts
from slowwave.settings.readers import ReaderSettings

_ROLES: Final[dict[str, Role]] = {"human": "user", "assistant": "assistant"}

Fields = Mapping[str, object]


def read_claude_ai(path: Path, *, bounds: ReaderSettings = DEFAULTS) -> Iterator[Reading]:
    """Turns of an export of Claude.ai, in parts.

    Raises:
        NotFoundError: There is no such file.
        InputError: It cannot be read, or holds no conversations.
    """
    counts = Counts()
    yield from to_parts(
        _messages(path, counts, bounds),
        source=source_of(path, "conversation"),
        kind="claude_ai",
        counts=counts,
        bounds=bounds,
    )


def _messages(path: Path, counts: Counts, bounds: ReaderSettings) -> Iterator[RawMessage]:
    modified = file_time(path)
    for conversation in conversations_of(path, counts, bounds):
        session_id = id_of(conversation.fields, "uuid") or _id_by_content(conversation.fields)
        time = parse_time(conversation.fields.get("created_at")) or modified
        messages = conversation.fields.get("chat_messages")
        if not isinstance(messages, list):
            leave_out(BROKEN, counts)
        for message in list_of(messages):
            time = parse_time(object_of(message).get("created_at")) or time
            yield from _of_message(conversation, object_of(message), session_id, counts, time)


def _id_by_content(fields: Fields) -> str:
    first = object_of(next(iter(list_of(fields.get("chat_messages"))), None))
    said = id_of(first, "uuid") or "\n\n".join(_texts(first, Counts()))
    return id_by_content(text_of(fields, "created_at") or "", said)


def _of_message(
    conversation: Conversation, message: Fields, session_id: str, counts: Counts, time: datetime
) -> Iterator[RawMessage]:
    """The message, and what was attached to it before it: it speaks of that."""
    counts.entry_count += 1
    sender = message.get("sender")
    role = _ROLES.get(sender.strip().lower()) if isinstance(sender, str) else None
    place = f"conversation {conversation.number}"
    for attachment in map(object_of, list_of(message.get("attachments"))):
        counts.entry_count += 1
        text = attachment.get("extracted_content")
        if not isinstance(text, str) or not text.strip():
            counts.skip("attachment without text")
            continue
        name = text_of(attachment, "file_name")
        head = f"{' '.join(name.split())}\n\n" if name else ""
        yield RawMessage(session_id, "document", (head + text,), time, place=place)
    if files := list_of(message.get("files")):
        counts.parts["file without text"] += len(files)
    if role is None:
        counts.skip("unknown role")
        return
    native_id = id_of(message, "uuid")
    yield RawMessage(
        session_id=session_id,
        role=role,
        parts=_texts(message, counts),
        event_time=time,
        identity=None if native_id is None else (session_id, native_id),
        place=place,
    )


def _texts(message: Fields, counts: Counts) -> tuple[str, ...]:
    """The texts of a message: its blocks, else its `text`; what was thought, and what tools said, is counted."""
    texts = []
    for block in map(object_of, list_of(message.get("content"))):
        text = block.get("text")
        if block.get("type") == "text" and isinstance(text, str):
            texts.append(text)
        else:
            counts.parts["block without text"] += 1
    whole = message.get("text")
    return tuple(texts) if texts or not isinstance(whole, str) else (whole,)
