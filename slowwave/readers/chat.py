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

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from slowwave.readers.bounds import DEFAULTS, Counts
from slowwave.readers.files import file_time, id_of, path_text, text_of, time_of
from slowwave.readers.lines import json_records
from slowwave.readers.reading import RawMessage, Reading, source_of, to_parts
from slowwave.settings.readers import ReaderSettings

_ROLES: dict[str, Literal["user", "assistant"]] = {
    **dict.fromkeys(("user", "human"), "user"),
    **dict.fromkeys(("assistant", "ai"), "assistant"),
}
_UNSPOKEN = dict.fromkeys(("system", "developer"), "system message") | dict.fromkeys(
    ("tool", "function"), "tool message"
)


def read_chat(path: Path, *, bounds: ReaderSettings = DEFAULTS) -> Iterator[Reading]:
    """Turns of a chat file in the form above, in parts.

    Raises:
        NotFoundError: There is no such file.
        InputError: It cannot be read, or no line of it is JSON.
    """
    counts = Counts()
    yield from to_parts(
        _messages(path, counts, bounds),
        source=source_of(path, "conversation"),
        kind="chat",
        counts=counts,
        bounds=bounds,
    )


def _messages(path: Path, counts: Counts, bounds: ReaderSettings) -> Iterator[RawMessage]:
    time, file_name = file_time(path), path_text(path.stem)
    for line, record in json_records(path, counts, bounds):
        time = time_of(record, counts.parts) or time
        role = record.get("role")
        name = role.strip().lower() if isinstance(role, str) else ""
        if name not in _ROLES:
            counts.skip(_UNSPOKEN.get(name, "unknown role"))
            continue
        parts = _parts(record.get("content"), counts.parts)
        if parts is None:
            counts.skip("unreadable message")
            continue
        session_id, native_id = id_of(record, "session_id") or file_name, id_of(record, "id")
        yield RawMessage(
            session_id=session_id,
            role=_ROLES[name],
            parts=parts,
            event_time=time,
            identity=None if native_id is None else (session_id, native_id),
            speaker=text_of(record, "speaker", "name"),
            cwd=text_of(record, "cwd"),
            place=f"line {line}",
        )


def _parts(content: object, skipped: Counter[str]) -> tuple[str, ...] | None:
    """Texts of a message; null where its content has no known form."""
    if isinstance(content, str):
        return (content,)
    if not isinstance(content, list):
        return None
    texts = []
    for block in content:
        text = block.get("text") if isinstance(block, dict) and block.get("type") == "text" else block
        if isinstance(text, str):
            texts.append(text)
        else:
            skipped["block without text"] += 1
    return tuple(texts)
