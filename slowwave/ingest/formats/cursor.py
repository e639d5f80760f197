"""Sessions of Cursor's agent: `~/.cursor/projects/<project>/agent-transcripts/<session>/<session>.jsonl`.

    {"role": "user" | "assistant", "message": {"content": [{"type": "text", "text": "..."}, {"type": "tool_use", ...}]}}
    {"type": "turn_ended", "status": "success"}

The form is not documented; several programs that read it agree. A line has no id and no time: it is known by its
place in the session, which only grows, and gets the file's time. A person's words are between `<user_query>` tags;
all else in a message is context that Cursor put in. Tool calls, thoughts and sessions of sub-agents are left out.
"""

import re
from collections import Counter
from collections.abc import Iterator
from typing import Final

from slowwave.ingest.counts import UNSPOKEN
from slowwave.ingest.fields import Fields, object_of, texts_in
from slowwave.ingest.files import Input, file_time
from slowwave.ingest.formats.row import Format, Place
from slowwave.ingest.lines import json_records
from slowwave.ingest.turns import SPOKEN, RawMessage

_QUERY: Final = re.compile(r"<user_query>\s*(.*?)\s*(?=</user_query>|<user_query>|\Z)", re.DOTALL)
_CONTEXT: Final = re.compile(r"\s*<[a-z]+(?:_[a-z]+)*>")
_HIDDEN: Final = re.compile(r"\s*\[REDACTED\]\s*\Z")
_SUBAGENTS: Final = "subagents"


def _is_record(record: Fields) -> bool:
    """Return whether a line is a message: its role is next to the message that holds its content."""
    role, message = record.get("role"), record.get("message")
    return isinstance(role, str) and role in SPOKEN and isinstance(message, dict) and "content" in message


def messages(file: Input) -> Iterator[RawMessage]:
    """The messages of a session of Cursor's agent."""
    counts, time = file.counts, file_time(file.path)
    for line, record in json_records(file):
        if file.path.parent.name == _SUBAGENTS:
            counts.skip("sub-agent")
            continue
        if not _is_record(record):
            counts.skip("session record" if record.get("type") == "turn_ended" else "unknown record type")
            continue
        role = SPOKEN[str(record["role"])]
        texts = _texts(object_of(record["message"]).get("content"), role, counts.parts)
        if not texts:
            counts.skip(UNSPOKEN)
            continue
        yield RawMessage(
            session_id=file.name,
            role=role,
            parts=tuple(texts),
            event_time=time,
            identity=("cursor", file.name, str(line)),
            place=f"line {line}",
        )


FORMAT: Final = Format(
    name="cursor",
    title="Cursor",
    messages=messages,
    is_record=_is_record,
    in_folders=r".*\.jsonl",
    places=(
        Place(
            "Cursor",
            (".cursor/projects",),
            ("*/agent-transcripts/*.jsonl", "*/agent-transcripts/*/*.jsonl"),
        ),
    ),
)


def _texts(content: object, role: str, skipped: Counter[str]) -> list[str]:
    """The texts that were said in a message."""
    texts = texts_in(content, skipped, kind="text")
    said = _typed(texts, skipped) if role == "user" else [_HIDDEN.sub("", text) for text in texts]
    return [text for text in said if text.strip()]


def _typed(texts: list[str], skipped: Counter[str]) -> list[str]:
    """The words of a person's message. With two queries in it, one is in an attached file: none counts."""
    queries = [query for text in texts for query in _QUERY.findall(text)]
    if queries:
        skipped["injected context"] += len(texts) - 1 if len(queries) == 1 else len(texts)
        return queries if len(queries) == 1 else []
    typed = [text for text in texts if not _CONTEXT.match(text)]
    skipped["injected context"] += len(texts) - len(typed)
    return typed
