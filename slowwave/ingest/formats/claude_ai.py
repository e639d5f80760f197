"""Claude.ai's export: `conversations.json`, bare or in the ZIP archive.

What a person attached to a message comes with its text, and is a document: nobody's own word. Each message and each
attachment is an entry.
"""

import re
from collections.abc import Iterator
from datetime import datetime
from typing import Final

from slowwave.ingest.counts import Counts
from slowwave.ingest.fields import Fields, id_of, list_of, object_of, parse_time, role_name, text_of, texts_in
from slowwave.ingest.files import Input, file_time
from slowwave.ingest.formats.archive import conversations_of
from slowwave.ingest.formats.row import Format
from slowwave.ingest.lines import Record
from slowwave.ingest.turns import ROLES, RawMessage


def messages(file: Input) -> Iterator[RawMessage]:
    """The messages and attachments of an export of Claude.ai."""
    modified = file_time(file.path)
    for conversation in conversations_of(file):
        session_id, said = id_of(conversation.fields, "uuid"), conversation.fields.get("chat_messages")
        if session_id is None or not isinstance(said, list):
            file.counts.leave_out("unreadable conversation")
            continue
        time = parse_time(conversation.fields.get("created_at")) or modified
        for message in map(object_of, said):
            time = parse_time(message.get("created_at")) or time
            yield from _of_message(conversation, message, session_id, file.counts, time)


FORMAT: Final = Format(
    name="claude_ai",
    title="an export of Claude.ai",
    messages=messages,
    start=re.compile(rb'\[.*?(?<!\\)"chat_messages"\s*:\s*\[', re.DOTALL),
)


def _of_message(
    conversation: Record, message: Fields, session_id: str, counts: Counts, time: datetime
) -> Iterator[RawMessage]:
    """The message, and what was attached to it before it: it speaks of that."""
    counts.entry_count += 1
    role = ROLES.get(role_name(message.get("sender")))
    place = f"conversation {conversation.line}"
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
    texts = texts_in(list_of(message.get("content")), counts.parts, kind="text")
    whole = message.get("text")
    return tuple(texts) if texts or not isinstance(whole, str) else (whole,)
