"""Conversations in a plain form that any program can write: JSONL, one message a line.

    {"role": "user", "content": "Let us take Redis.", "timestamp": "2026-06-05T09:12:22Z", "speaker": "Mara"}

| field | meaning |
|---|---|
| `role` | `user` or `human`, `assistant` or `ai`; `system`, `developer`, `tool` and `function` are left out |
| `content` | text, or a list of `{"type": "text", "text": ...}`; other blocks are left out |
| `id` | optional: the message's own id, unique in its session |
| `session_id` | optional: the conversation; without it, the file's name without its ending |
| `timestamp` | optional: ISO 8601, epoch seconds or milliseconds; else the last one before, else the file's |
| `speaker` or `name` | optional: who said it |
| `cwd` | optional: the folder that it was said in |

What is left out is counted by reason.
"""

from collections.abc import Iterator
from typing import Final

from slowwave.ingest.fields import Fields, id_of, role_name, text_of, texts_in, time_of
from slowwave.ingest.files import Input, file_time
from slowwave.ingest.formats.row import Format
from slowwave.ingest.lines import json_records
from slowwave.ingest.turns import NOBODYS, ROLES, RawMessage


def messages(file: Input) -> Iterator[RawMessage]:
    """The messages of a chat file in the form above."""
    counts, time = file.counts, file_time(file.path)
    for line, record in json_records(file):
        time = time_of(record, counts.parts) or time
        name, content = role_name(record.get("role")), record.get("content")
        if name not in ROLES:
            counts.skip(NOBODYS.get(name, "unknown role"))
        elif not isinstance(content, str | list):
            counts.skip("unreadable message")
        else:
            session_id, native_id = id_of(record, "session_id") or file.name, id_of(record, "id")
            yield RawMessage(
                session_id=session_id,
                role=ROLES[name],
                parts=tuple(texts_in(content, counts.parts, kind="text")),
                event_time=time,
                identity=None if native_id is None else (session_id, native_id),
                speaker=text_of(record, "speaker", "name"),
                cwd=text_of(record, "cwd"),
                place=f"line {line}",
            )


def is_record(record: Fields) -> bool:
    """Return whether a line is a message of a chat."""
    return "role" in record and "content" in record


FORMAT: Final = Format(
    name="chat",
    title="a chat (`role` and `content` on every line)",
    messages=messages,
    is_record=is_record,
    in_folders=r".*\.jsonl",
)
